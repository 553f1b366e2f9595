# Hostile guests: each NAME.c but common.c is one guest, linked like the bare guest.
GUEST_NAMES := $(filter-out common,$(basename $(notdir $(wildcard tests/guests/*.c))))
TEST_IMAGES += $(GUEST_NAMES:%=$(B)/tests/guests/%.elf)

$(B)/tests/guests/%.elf: $(B)/dispatch/tests/guests/%.o $(B)/dispatch/tests/guests/common.o \
		$(B)/images/libbare.a $(B)/libdispatch.a $(BARE_LDS)
	@mkdir -p $(@D)
	$(call brief,LD)
	$(Q)$(BARE_LINK) -o $@ $(filter-out %.lds,$^) $(filter %.a,$^)
