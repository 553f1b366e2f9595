# The Linux guest: the agent, PID 1 of its initramfs, one static program.
LINUX_CFLAGS = -std=gnu17 $(OPT) $(WARN) -I. -D_GNU_SOURCE -fno-pie
# libcheck.a wants subunit, and the maths and clock libraries of older glibcs.
LINUX_LIBS   = $(or $(shell pkg-config --static --libs check 2>/dev/null),-lcheck -lsubunit -lm -lrt) -pthread

LINUX_SRC := $(wildcard images/linux/*.c images/linux/*.S)
LINUX_OBJ := $(patsubst %,$(B)/linux/%.o,$(basename $(LINUX_SRC)))

$(B)/linux/%.o: %.c $(B)/flags
	$(call brief,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINUX_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/linux/%.o: %.S $(B)/flags
	$(call brief,CC)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINUX_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/images/agent: $(LINUX_OBJ) $(B)/libdispatch.a
	$(call brief,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) -static -s -o $@ $^ $(LINUX_LIBS)

# test_linux.c and test_kernel.c read files of /proc as the agent does, test_output.c keeps a program's output.
$(B)/tests/unit: $(addprefix $(B)/linux/images/linux/,cpuinfo.o symbols.o kcore.o calls.o output.o)
