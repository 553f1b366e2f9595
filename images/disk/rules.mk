# The program that looks into disk images. Without libguestfs there is none, and `--image FILE` says so.
DISK_SRC := $(wildcard images/disk/*.c)
DISK_OBJ := $(DISK_SRC:%.c=$(B)/host/%.o) $(patsubst %.c,$(B)/host/%.o,$(wildcard harness/util/*.c))

$(B)/images/disk: $(DISK_OBJ)
	$(call brief,LD)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANITIZE) -o $@ $^ $(shell pkg-config --libs libguestfs)

DISK := $(if $(shell pkg-config --exists libguestfs 2>/dev/null && echo yes),$(B)/images/disk)
