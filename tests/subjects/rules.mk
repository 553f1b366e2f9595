# Programs that are subjects. The example is a static one, for a test of the whole way.
SUBJECT_CFLAGS = -std=gnu17 $(OPT) $(WARN) -I.
TEST_IMAGES   += $(B)/subjects/example $(B)/subjects/misbehave

$(B)/subjects/%: tests/subjects/%.c tests/subjects/quirklab.h $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(SUBJECT_CFLAGS) -static -o $@ $<

# The probe of glibc: whichever glibc it is to probe loads it. So it has no start-up code of this
# machine's, and it is bound at once: each address is the one that was resolved.
PROBE        := $(B)/images/subjects/glibc
PROBE_CFLAGS  = $(SUBJECT_CFLAGS) -U_FORTIFY_SOURCE -fno-builtin -fno-stack-protector -fPIE
images: $(PROBE)

$(PROBE): tests/subjects/glibc.c tests/subjects/quirklab.h $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(PROBE_CFLAGS) -pie -nostartfiles -Wl,-z,now -o $@ $<

# The workloads of quirklab scale: for guests and for this machine.
SCALE := $(B)/images/subjects/scale
images: $(SCALE)

$(SCALE): tests/subjects/scale.c tests/subjects/scale.h $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(SUBJECT_CFLAGS) -D_GNU_SOURCE -static -pthread -o $@ $<

# Our dispatcher on persistent memory: for guests that have some.
PMEM     := $(B)/images/subjects/pmem
PMEM_SRC := tests/subjects/pmem.c tests/subjects/pmem_map.c
images: $(PMEM)

$(PMEM): $(PMEM_SRC) tests/subjects/pmem_map.h tests/subjects/quirklab.h $(B)/libdispatch.a $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(SUBJECT_CFLAGS) -D_GNU_SOURCE -static -o $@ $(PMEM_SRC) $(B)/libdispatch.a

install: install-probe
.PHONY: install-probe
install-probe: $(PROBE) $(SCALE) $(PMEM)
	install -d $(LIBEXECDIR)/images/subjects
	install -m 755 $^ $(LIBEXECDIR)/images/subjects
