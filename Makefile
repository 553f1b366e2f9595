# quirklab. `make run` and `make check` do everything, installing what is missing first.
#
#   make            build the program and the guests      make run     the catalogue against the dispatcher
#   make check      all tests (under 15 minutes)          make bench   speed, as ratios against plain QEMU
#   make lint       formatters and static analysers       make install into PREFIX (/usr/local)
#
# Every .c file of a folder belongs to that folder's library; nothing is listed twice.

B        ?= build
CC       ?= cc
PREFIX   ?= /usr/local
VERSION  := 0.1
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
OPT      ?= -O2 -g
SANITIZE ?=
DEPGEN    = -MMD -MP

ifeq ($(filter deps,$(MAKECMDGOALS)),)
HAVE_DEPS := $(shell ./.ci/deps --have && echo yes)
endif

LIBS       := libvirt libvirt-qemu libxml-2.0 jansson libarchive
HOST_CFLAGS = -std=gnu17 $(OPT) $(WARN) $(SANITIZE) -I. -D_GNU_SOURCE -pthread \
	-DQUIRKLAB_VERSION='"$(VERSION)"' \
	-DQUIRKLAB_DATADIR='"$(PREFIX)/share/quirklab"' \
	-DQUIRKLAB_LIBEXECDIR='"$(PREFIX)/libexec/quirklab"' \
	$(shell pkg-config --cflags $(LIBS) 2>/dev/null)
HOST_LIBS   = $(SANITIZE) $(shell pkg-config --libs $(LIBS) 2>/dev/null) -lZydis -pthread
# The dispatcher, freestanding: no libc, no SSE registers behind its back, no tail of its own.
DISPATCH_CFLAGS = -std=gnu17 $(OPT) $(WARN) -I. -ffreestanding -fno-builtin -fno-stack-protector \
	-fno-tree-loop-distribute-patterns -fcf-protection=none -fno-pic -fno-pie \
	-mgeneral-regs-only -fno-asynchronous-unwind-tables

all: $(B)/quirklab images

.DELETE_ON_ERROR:
.PHONY: all deps images run check check-full check-fresh bench fuzz lint install clean FORCE
.SECONDARY:

# --- objects -----------------------------------------------------------------------------------
$(B)/host/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(HOST_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/dispatch/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(DISPATCH_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/dispatch/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(DISPATCH_CFLAGS) $(DEPGEN) -c -o $@ $<

# --- the dispatcher: one set of files, built once, linked into host, bare and Linux programs ------
DISPATCH_SRC := $(wildcard tests/dispatch/*.c tests/dispatch/*.S)
DISPATCH_OBJ := $(patsubst %,$(B)/dispatch/%.o,$(basename $(DISPATCH_SRC)))
$(B)/libdispatch.a: $(DISPATCH_OBJ)
	@rm -f $@
	ar rcsD $@ $^

# --- the harness and the program ------------------------------------------------------------------
HARNESS_SRC := $(wildcard harness/*/*.c)
HARNESS_OBJ := $(HARNESS_SRC:%.c=$(B)/host/%.o)
$(B)/libharness.a: $(HARNESS_OBJ)
	@rm -f $@
	ar rcsD $@ $^

LAB_SRC := $(wildcard lab/*.c)
LAB_OBJ := $(LAB_SRC:%.c=$(B)/host/%.o)
$(B)/quirklab: $(LAB_OBJ) $(B)/libharness.a $(B)/libdispatch.a | $(B)/cpu-models
	$(CC) -no-pie -o $@ $^ $(HOST_LIBS)

# The program finds its data beside itself, wherever B is.
$(B)/cpu-models:
	@mkdir -p $(B)
	ln -sfn $(CURDIR)/cpu-models $@

# --- guests ---------------------------------------------------------------------------------------
include images/bare/rules.mk
include images/linux/rules.mk
images: $(B)/images/bare.elf $(B)/images/agent

# --- tests ----------------------------------------------------------------------------------------
include tests/rules.mk

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
