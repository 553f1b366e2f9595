// SPDX-License-Identifier: MIT
/* What a dump says of a CPU beyond its bits, as QEMU properties. */
#include "harness/cpu/realise_dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"

/* QEMU's bounds of phys-bits for a CPU with long mode (target/i386/cpu.c, x86_cpu_realizefn). */
#define PHYS_BITS_LEAST 32
#define PHYS_BITS_MOST	52

/* A register of which all of `mask` is known. */
static bool dump_says(const struct dump_cpu *dump, uint32_t leaf, enum cpuid_register reg,
		      uint32_t mask, uint32_t *value)
{
	for (size_t i = 0; i < dump->leaf_count; i++) {
		if (dump->leaves[i].leaf != leaf || dump->leaves[i].subleaf ||
		    (dump->leaves[i].known[reg] & mask) != mask)
			continue;
		*value = dump->leaves[i].reg[reg] & mask;
		return true;
	}
	return false;
}

static bool has_edit(const struct cpu *cpu, const char *word)
{
	for (size_t i = 0; i < cpu->edit_count; i++)
		if (!strncmp(cpu->edits[i], word, strlen(word)))
			return true;
	return false;
}

static uint64_t number_of(const struct realised *realised, const char *name)
{
	for (size_t i = 0; i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, name))
			return strtoull(realised->property[i].value, NULL, 0);
	return 0;
}

static void set_number(struct realised *out, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	realise_set(out, name, text);
}

/*
 * The highest leaves. Of a basic range that ends below what the bits need the dump is believed:
 * that is how a firmware hides bits. An extended range may not end below the size of addresses, of
 * which QEMU and every 64-bit guest make use.
 */
static void put_levels(struct realised *out, const struct cpu *cpu, const struct dump_cpu *dump,
		       struct text *notes)
{
	static const struct {
		const char *property;
		uint32_t leaf, least;
	} ranges[] = {
		{ "level", 0, 1 },
		{ "xlevel", 0x80000000u, 0x80000008u },
		{ "xlevel2", 0xC0000000u, 0xC0000001u },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const char *property = ranges[i].property;
		uint32_t highest;

		if (!dump_says(dump, ranges[i].leaf, CPUID_EAX, UINT32_MAX, &highest) ||
		    highest < ranges[i].leaf || highest > ranges[i].leaf + 0xFFFF ||
		    (i == 0 && has_edit(cpu, "level=")))
			continue;
		/* Some hypervisors and tools answer there for CPUs that have no such range. */
		if (i == 2 && memcmp(cpu->vendor, "CentaurHauls", 12) &&
		    memcmp(cpu->vendor, "  Shanghai  ", 12))
			continue;
		if (highest < ranges[i].least) {
			text_addf(notes,
				  "leaf 0x%x says that 0x%x is the highest of its range: 0x%x is "
				  "presented, a 64-bit guest needs it\n",
				  ranges[i].leaf, highest, (uint32_t)number_of(out, property));
			continue;
		}
		set_number(out, property, highest);
	}
}

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static void put_brand(struct realised *out, const struct dump_cpu *dump, struct text *notes)
{
	char printable[256];

	if (!*dump->brand)
		return;
	if (!is_plain(dump->brand)) {
		text_addf(notes,
			  "the brand string '%s' has bytes that no XML can carry: it is left out\n",
			  text_printable(printable, sizeof(printable), dump->brand,
					 strlen(dump->brand)));
		return;
	}
	realise_set(out, "model-id", dump->brand);
}

static void put_address_width(struct realised *out, const struct dump_cpu *dump, struct text *notes)
{
	uint32_t bits;

	if (!dump_says(dump, 0x80000008u, CPUID_EAX, 0xFF, &bits) || !bits)
		return;
	if (bits < PHYS_BITS_LEAST || bits > PHYS_BITS_MOST) {
		text_addf(notes, "%u bits of physical address cannot be presented: %d to %d can\n",
			  bits, PHYS_BITS_LEAST, PHYS_BITS_MOST);
		return;
	}
	set_number(out, "phys-bits", bits);
}

/*
 * A 32-bit process of Intel's reads SYSCALL as 0 whatever the CPU has (SDM vol. 2A, CPUID
 * 80000001H), and most published dumps were made by one. A guest that believed it would lose every
 * program.
 */
static void mend_syscall(struct cpu *cpu, struct text *notes)
{
	int syscall = feature_find("syscall"), lm = feature_find("lm");

	if (memcmp(cpu->vendor, "GenuineIntel", 12) || !feature_in(&cpu->on, lm) ||
	    !feature_in(&cpu->known, syscall) || feature_in(&cpu->on, syscall))
		return;
	feature_put(&cpu->on, syscall, true);
	text_addf(notes, "syscall is off in the dump, as a 32-bit process reads it on Intel: it is "
			 "presented as on\n");
}

int realise_dump(struct realised *out, const struct cpu *cpu, const struct dump_cpu *dump,
		 enum realise_guest guest, const struct hypervisor *hypervisor, struct text *notes,
		 struct error *err)
{
	struct cpu mended = *cpu; /* borrows what it points to */

	mend_syscall(&mended, notes);
	if (realise(out, &mended, guest, hypervisor, err) < 0)
		return -1;
	if (out->model)
		return 0; /* a model brings its own */
	put_levels(out, cpu, dump, notes);
	put_brand(out, dump, notes);
	put_address_width(out, dump, notes);
	return 0;
}
