# quirklab. `make run` and `make check` do everything, installing what is missing first.
#
#   make              build the program and the guests
#   make run          the catalogue against the dispatcher, in bare guests     (RUN='SPEC... --option')
#   make check        all tests (under 15 minutes); check-full adds the heavy ones
#   make check-browser  the HTML report in Chromium (a part of check-full; npm fetches playwright-core)
#   make check-fresh  both in a minimal root of SUITE=bookworm or SUITE=trixie (as root)
#   make bench        speed, as ratios against plain QEMU
#   make bench-peers  quirklab bench beside perf bench (linux-perf), on an idle machine
#   make fuzz         every fuzzer for FUZZ_SECONDS=600
#   make lint         formatters and static analysers
#   make install      into PREFIX=/usr/local below DESTDIR=; make uninstall
#   make deps         install the Debian packages that all this needs
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
# Recursive makes use all cores, unless the user said how many.
PARALLEL  = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# Debian 12's Zydis has no pkg-config file.
LIBS       := libvirt libvirt-qemu libxml-2.0 jansson libarchive
LIB_CFLAGS := $(shell pkg-config --cflags $(LIBS) 2>/dev/null)
LIB_LIBS   := $(shell pkg-config --libs $(LIBS) 2>/dev/null)

HOST_CFLAGS = -std=gnu17 $(OPT) $(WARN) $(SANITIZE) -I. -D_GNU_SOURCE -pthread \
	-DQUIRKLAB_VERSION='"$(VERSION)"' \
	-DQUIRKLAB_DATADIR='"$(PREFIX)/share/quirklab"' \
	-DQUIRKLAB_LIBEXECDIR='"$(PREFIX)/libexec/quirklab"' \
	$(LIB_CFLAGS)
HOST_LIBS   = $(SANITIZE) $(LIB_LIBS) -lZydis -pthread -lm
# The dispatcher, freestanding: no libc, no SSE registers behind its back, no tail of its own. gcc
# needs to be told not to make a call of memset out of a loop; to clang -fno-builtin says it.
NO_IDIOMS  := $(shell $(CC) -Werror -fno-tree-loop-distribute-patterns -xc -fsyntax-only /dev/null \
	2>/dev/null && echo -fno-tree-loop-distribute-patterns)
DISPATCH_CFLAGS = -std=gnu17 $(OPT) $(WARN) -I. -ffreestanding -fno-builtin -fno-stack-protector \
	$(NO_IDIOMS) -fcf-protection=none -fno-pic -fno-pie \
	-mgeneral-regs-only -fno-asynchronous-unwind-tables

all: $(B)/quirklab $(B)/cpu-models images

# One short line for each thing that is built; V=1 shows the commands.
Q     = $(if $(V),,@)
brief = $(if $(V),,@echo '  $(1)  $(@:$(B)/%=%)')

.DELETE_ON_ERROR:
.PHONY: all deps images run check check-full check-browser check-fresh check-valgrind bench bench-peers fuzz lint \
	install uninstall clean FORCE
.SECONDARY:

# Other flags or another compiler: everything is built again.
$(B)/flags: FORCE
	$(shell mkdir -p $(@D))$(file >$@.new,$(CC) $(HOST_CFLAGS) $(HOST_LIBS) $(DISPATCH_CFLAGS))
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# --- objects -----------------------------------------------------------------------------------
$(B)/host/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(HOST_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/dispatch/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(DISPATCH_CFLAGS) $(DEPGEN) -c -o $@ $<

$(B)/dispatch/%.o: %.S $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(DISPATCH_CFLAGS) $(DEPGEN) -c -o $@ $<

# --- the dispatcher: one set of files, built once, linked into host, bare and Linux programs ------
DISPATCH_SRC := $(wildcard tests/dispatch/*.c tests/dispatch/*.S)
DISPATCH_OBJ := $(patsubst %,$(B)/dispatch/%.o,$(basename $(DISPATCH_SRC)))
$(B)/libdispatch.a: $(DISPATCH_OBJ)
	$(call brief,AR)
	$(Q)rm -f $@ && ar rcsD $@ $^

# --- the harness and the program ------------------------------------------------------------------
HARNESS_SRC := $(wildcard harness/*/*.c)
HARNESS_OBJ := $(HARNESS_SRC:%.c=$(B)/host/%.o)
$(B)/libharness.a: $(HARNESS_OBJ) $(B)/host/page.o
	$(call brief,AR)
	$(Q)rm -f $@ && ar rcsD $@ $^

# The HTML report's style and script, as C.
PAGE := harness/report/page/embed harness/report/page/page.css harness/report/page/page.js
$(B)/page.c: $(PAGE)
	@mkdir -p $(@D)
	$(call brief,GEN)
	$(Q)$(PAGE) >$@

$(B)/host/page.o: $(B)/page.c $(B)/flags
	@mkdir -p $(@D)
	$(call brief,CC)
	$(Q)$(CC) $(HOST_CFLAGS) $(DEPGEN) -c -o $@ $<

LAB_SRC := $(wildcard lab/*.c)
LAB_OBJ := $(LAB_SRC:%.c=$(B)/host/%.o)
# What diff asks other revisions with travels in the program as text.
$(B)/host/lab/diff_source.o: images/chooser/chooser.c

$(B)/quirklab: $(LAB_OBJ) $(B)/libharness.a $(B)/libdispatch.a
	$(call brief,LD)
	$(Q)$(CC) -no-pie -o $@ $^ $(HOST_LIBS)

# A program of the build tree finds the data beside itself; that of a copied tree, the copy's.
$(B)/cpu-models: FORCE | $(B)/flags
	@ln -sfnr cpu-models $@

# --- guests ---------------------------------------------------------------------------------------
include images/bare/rules.mk
include images/linux/rules.mk
include images/disk/rules.mk
images: $(B)/images/bare.elf $(B)/images/agent $(DISK)

# --- packages -------------------------------------------------------------------------------------
deps:
	.ci/deps check lint fuzz

# What a target needs beyond building is asked first; the build proper is a make of its own, which
# then finds what was installed a moment ago.
needs-%:
	@.ci/deps --have $(filter-out run,$*) || .ci/deps $(filter-out run,$*)

# --- running it -----------------------------------------------------------------------------------
run: needs-run
	@$(MAKE) --no-print-directory $(PARALLEL) all
	$(B)/quirklab run $(RUN)

# --- tests, lint, bench, fuzz ---------------------------------------------------------------------
# How each is done stands in tests/rules.mk and tests/fuzz/rules.mk.
check check-full check-browser check-fresh check-valgrind bench bench-peers fuzz lint:
include tests/rules.mk

# --- installing -----------------------------------------------------------------------------------
BINDIR     = $(DESTDIR)$(PREFIX)/bin
DATADIR    = $(DESTDIR)$(PREFIX)/share/quirklab
LIBEXECDIR = $(DESTDIR)$(PREFIX)/libexec/quirklab
MANDIR     = $(DESTDIR)$(PREFIX)/share/man/man1
COMPDIR    = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
INCLUDEDIR = $(DESTDIR)$(PREFIX)/include

install: all
	install -d $(BINDIR) $(DATADIR)/cpu-models/expect $(LIBEXECDIR)/images $(MANDIR) $(COMPDIR) \
		$(INCLUDEDIR)
	install -m 755 $(B)/quirklab $(BINDIR)/quirklab
	install -m 644 $(wildcard cpu-models/*.tsv) $(DATADIR)/cpu-models
	install -m 644 $(wildcard cpu-models/expect/*.tsv) $(DATADIR)/cpu-models/expect
	install -m 644 $(B)/images/bare.elf $(LIBEXECDIR)/images/bare.elf
	install -m 755 $(B)/images/agent $(DISK) $(LIBEXECDIR)/images
	install -m 644 docs/quirklab.1 $(MANDIR)/quirklab.1
	install -m 644 docs/completion/quirklab.bash $(COMPDIR)/quirklab
	install -m 644 tests/subjects/quirklab.h $(INCLUDEDIR)/quirklab.h

uninstall:
	rm -rf $(BINDIR)/quirklab $(DATADIR) $(LIBEXECDIR) $(MANDIR)/quirklab.1 $(COMPDIR)/quirklab \
		$(INCLUDEDIR)/quirklab.h

clean:
	rm -rf $(B)

-include $(shell find $(B) -path $(B)/san -prune -o -path $(B)/fuzz -prune -o -name '*.d' -print 2>/dev/null)
