# The Check suites of the harness: one program of every test_NAME.c here, each of which has suite_NAME().
comma       := ,
UNIT        := $(B)/tests/unit
UNIT_SRC    := $(wildcard tests/unit/test_*.c)
UNIT_OBJ    := $(UNIT_SRC:%.c=$(B)/host/%.o) $(B)/host/tests/unit/main.o
UNIT_SUITES := $(patsubst tests/unit/test_%.c,%,$(UNIT_SRC))
# All of the program but its main(): argument parsing is tested as well.
UNIT_LAB    := $(filter-out $(B)/host/lab/main.o,$(LAB_OBJ))

# test_dispatch.c takes exceptions as the Linux guest does.
UNIT_GUARD  := $(B)/linux/images/linux/platform.o $(B)/linux/images/linux/guard.o

# A line a suite; written anew only where a suite came or went.
$(B)/unit-suites.h: FORCE
	$(shell mkdir -p $(@D))$(file >$@.new,$(foreach s,$(UNIT_SUITES),SUITE($(s))))
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(B)/host/tests/unit/main.o: $(B)/unit-suites.h
$(B)/host/tests/unit/main.o: private HOST_CFLAGS += -DUNIT_SUITES='"$(abspath $(B))/unit-suites.h"'

# test_plan.c acts guests: what the schedule asks of harness/guest/ goes to it first.
UNIT_ACTED := $(addprefix -Wl$(comma)--wrap=,guest_boot connection_hypervisor connection_qemu_text \
	connection_libvirt_text)

$(UNIT): $(UNIT_OBJ) $(UNIT_LAB) $(UNIT_GUARD) $(B)/libharness.a $(B)/libdispatch.a | $(B)/cpu-models
	$(brief LD)
	@mkdir -p $(@D)
	$(Q)$(CC) -no-pie -o $@ $^ $(UNIT_ACTED) $(HOST_LIBS) \
		$(shell pkg-config --libs check 2>/dev/null)
