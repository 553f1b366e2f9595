# The bare guest. libbare.a is everything but main.c: the hostile guests of the tests link it too.
BARE_SRC := $(filter-out images/bare/main.c,$(wildcard images/bare/*.c images/bare/*.S))
BARE_OBJ := $(patsubst %,$(B)/dispatch/%.o,$(basename $(BARE_SRC)))
BARE_LDS := images/bare/bare.lds
# The archives call each other: rules name them twice.
BARE_LINK = $(CC) -nostdlib -static -Wl,--build-id=none -Wl,--gc-sections \
	-Wl,-z,max-page-size=4096 -Wl,-z,noexecstack -Wl,-T,$(BARE_LDS)

$(B)/images/libbare.a: $(BARE_OBJ)
	@mkdir -p $(@D)
	$(call brief,AR)
	$(Q)rm -f $@ && ar rcsD $@ $^

$(B)/images/bare.elf: $(B)/dispatch/images/bare/main.o $(B)/images/libbare.a $(B)/libdispatch.a $(BARE_LDS)
	$(call brief,LD)
	$(Q)$(BARE_LINK) -o $@ $(filter-out %.lds,$^) $(filter %.a,$^)
