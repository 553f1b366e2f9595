# Fuzzers: every fuzz_NAME.c. With replay.c they are ordinary programs that run the seeds (make check, under
# sanitizers, any compiler); with FUZZ_LINK=-fsanitize=fuzzer they are clang's libFuzzer (make fuzz).
FUZZ_NAMES   := $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c)))
# Each reader of CPUs in files has a fuzzer of its own, all from reader.c.
FUZZ_READERS := aida64 cpuid_r libcpuid hwloc kcpuid xen x86info cpuz ohm csv cpu_features cpudata cpu_xml json \
	freebsd decoded cpuinfo lscpu darwin
FUZZ_NAMES   += $(FUZZ_READERS:%=fuzz_read_%)
FUZZ_REPLAY  := $(FUZZ_NAMES:%=$(B)/fuzz/%)
FUZZ_LINK    ?=
FUZZ_SECONDS ?= 600
# So many at once. All of them take FUZZ_SECONDS * their number / FUZZ_JOBS: with 6, less than an hour.
FUZZ_JOBS    ?= $(shell n=$$(nproc); echo $$((n > 6 ? n : 6)))

$(B)/fuzz/%: $(B)/host/tests/fuzz/%.o $(if $(FUZZ_LINK),,$(B)/host/tests/fuzz/replay.o) $(B)/libharness.a
	@mkdir -p $(@D)
	$(call brief,LD)
	$(Q)$(CC) -o $@ $^ $(FUZZ_LINK) $(HOST_LIBS)

$(FUZZ_READERS:%=$(B)/host/tests/fuzz/fuzz_read_%.o): $(B)/host/tests/fuzz/fuzz_read_%.o: tests/fuzz/reader.c $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(HOST_CFLAGS) -DREADER=reader_$* $(DEPGEN) -c -o $@ $<

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ_REPLAY) $(B)/cpu-models

fuzz: needs-fuzz
	@$(MAKE) --no-print-directory $(PARALLEL) B=$(B)/fuzzers CC=clang OPT='-O1 -g' FUZZ_LINK=-fsanitize=fuzzer \
		SANITIZE='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all' fuzz-programs
	B='$(abspath $(B))/fuzzers' tests/fuzz/fuzz $(FUZZ_SECONDS) $(FUZZ_JOBS) $(FUZZ_NAMES)
