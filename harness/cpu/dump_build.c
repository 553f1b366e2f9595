/* SPDX-License-Identifier: MIT */
/*
 * Puts CPUs together from what a reader finds, and works out at the end what is known of each. CPUs
 * that are alike are kept once with the list of their numbers, so that a file of any size stays
 * small.
 */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAVES_MAX   1024u /* of one CPU; the largest known dumps have under 200 */
#define KINDS_MAX    64u   /* CPUs of one file that differ */
#define RANGES_MAX   4096u
#define WARNINGS_MAX 64u

#define ALL	  0xFFFFFFFFu
#define CORE_ATOM 0x20 /* leaf 0x1A EAX 31:24; Intel SDM vol. 2A names these two */
#define CORE_CORE 0x40

/* --- warnings --- */

void reading_warn(struct reading *reading, unsigned line, const char *format, ...)
{
	struct dump *dump = reading->dump;
	char text[256], inert[320], where[24] = "";
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (line)
		snprintf(where, sizeof(where), "line %u: ", line);
	text_printable(inert, sizeof(inert), text, strlen(text));
	for (size_t i = 0; i < dump->warning_count; i++)
		if (!line && !strcmp(dump->warnings[i], inert))
			return;
	if (dump->warning_count == WARNINGS_MAX) {
		dump->warnings_dropped++;
		return;
	}
	if (!dump->warnings)
		dump->warnings = xcalloc(WARNINGS_MAX, sizeof(*dump->warnings));
	dump->warnings[dump->warning_count++] = xasprintf("%s%s", where, inert);
}

/* --- leaves of the CPU at hand --- */

static int order(const struct dump_leaf *a, const struct dump_leaf *b)
{
	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? -1 : 1;
	return a->subleaf == b->subleaf ? 0 : a->subleaf < b->subleaf ? -1 : 1;
}

static int compare(const void *a, const void *b)
{
	return order(a, b);
}

/* The leaf, made where there is none; NULL where the CPU has too many. */
static struct dump_leaf *leaf_of(struct reading *reading, uint32_t leaf, uint32_t subleaf)
{
	struct dump_leaf wanted = { .leaf = leaf, .subleaf = subleaf };
	size_t count = reading->leaf_count;
	int last = count ? order(&reading->leaves[count - 1], &wanted) : -1;

	reading->touched = true;
	reading->last_leaf = leaf;
	if (!last)
		return &reading->leaves[count - 1];
	/* Most dumps are sorted, and then there is nothing to look for. */
	for (size_t i = 0; (last > 0 || !reading->sorted) && i < count; i++)
		if (!order(&reading->leaves[i], &wanted))
			return &reading->leaves[i];
	if (count == LEAVES_MAX) {
		if (!reading->overfull)
			reading_warn(reading, 0,
				     "a CPU with more than %u leaves: the rest is left out",
				     LEAVES_MAX);
		reading->overfull = true;
		return NULL;
	}
	if (count == reading->leaf_room) {
		reading->leaf_room = count ? count * 2 : 128;
		reading->leaves =
			xrealloc(reading->leaves, reading->leaf_room * sizeof(*reading->leaves));
	}
	if (last > 0)
		reading->sorted = false;
	reading->leaves[count] = wanted;
	reading->leaf_count++;
	return &reading->leaves[count];
}

static const struct dump_leaf *find(const struct dump_leaf *leaves, size_t count, uint32_t leaf,
				    uint32_t subleaf)
{
	for (size_t i = 0; i < count; i++)
		if (leaves[i].leaf == leaf && leaves[i].subleaf == subleaf)
			return &leaves[i];
	return NULL;
}

void reading_bits(struct reading *reading, uint32_t leaf, uint32_t subleaf, enum cpuid_register reg,
		  uint32_t value, uint32_t known)
{
	struct dump_leaf *at;

	if (leaf == 3) /* serial numbers */
		return;
	at = leaf_of(reading, leaf, subleaf);
	if (!at)
		return;
	if ((at->reg[reg] ^ value) & at->known[reg] & known)
		reading_warn(reading, 0,
			     "CPU %u has leaf 0x%x subleaf 0x%x twice, and they differ: "
			     "the first counts",
			     reading->number, leaf, subleaf);
	known &= ~at->known[reg];
	at->reg[reg] |= value & known;
	at->known[reg] |= known;
}

void reading_end_of_lines(struct reading *reading, const struct leaf_line *last, unsigned line)
{
	const struct dump_leaf *most = find(reading->leaves, reading->leaf_count, 0x80000000u, 0);
	const struct dump_leaf *found;
	struct dump_leaf *at;

	if (last->leaf.subleaf == SUBLEAF_BY_PLACE || !last->leaf.reg[CPUID_EDX] ||
	    (most && most->known[CPUID_EAX] == ALL && last->leaf.leaf >= most->reg[CPUID_EAX]))
		return;
	/* It may not be there: leaf 3 never is. */
	found = find(reading->leaves, reading->leaf_count, last->leaf.leaf, last->leaf.subleaf);
	if (!found || found->known[CPUID_EDX] != ALL ||
	    found->reg[CPUID_EDX] != last->leaf.reg[CPUID_EDX])
		return;
	at = &reading->leaves[found - reading->leaves];
	at->known[CPUID_EDX] = at->reg[CPUID_EDX] = 0;
	reading_warn(reading, line,
		     "leaf 0x%x is the last one, and not the highest: edx may be cut, so unknown",
		     last->leaf.leaf);
}

void reading_leaf(struct reading *reading, const struct cpuid_leaf *leaf, unsigned registers)
{
	const struct dump_leaf *zero = leaf->leaf || leaf->subleaf
					       ? NULL
					       : find(reading->leaves, reading->leaf_count, 0, 0);

	/* Alone and alike, it is the same line twice. */
	if (zero && (reading->leaf_count > 1 || memcmp(zero->reg, leaf->reg, sizeof(leaf->reg))))
		reading_cpu(reading, -1);
	else if (zero)
		reading_warn(reading, 0, "leaf 0x0: a line that is there twice counts once");
	for (unsigned i = 0; i < registers; i++)
		reading_bits(reading, leaf->leaf, leaf->subleaf, (enum cpuid_register)i,
			     leaf->reg[i], ALL);
}

/* --- other facts --- */

static const char *const vendors[] = {
	"GenuineIntel",
	"AuthenticAMD",
	"HygonGenuine",
	"CentaurHauls",
};
#define VENDORS (sizeof(vendors) / sizeof(vendors[0]))

/* The others that CPUs have had: Linux, arch/x86/kernel/cpu/, and Intel's AP-485. */
static const char *const older_vendors[] = {
	"  Shanghai  ", "CyrixInstead", "NexGenDriven", "Geode by NSC",
	"GenuineTMx86", "TransmetaCPU", "RiseRiseRise", "SiS SiS SiS ",
	"UMC UMC UMC ", "VIA VIA VIA ", "Genuine  RDC",
};

/* A paste in capitals, or in none, means the vendor that is known. */
static const char *known_vendor(const char *bytes)
{
	for (size_t i = 0; i < VENDORS; i++)
		if (!strncasecmp(bytes, vendors[i], 12))
			return vendors[i];
	for (size_t i = 0; i < sizeof(older_vendors) / sizeof(older_vendors[0]); i++)
		if (!strncasecmp(bytes, older_vendors[i], 12))
			return older_vendors[i];
	return bytes;
}

/* None has small letters only; capitals only are sure where the text has other letters too. */
static bool lost_its_case(const char *bytes, bool any_case)
{
	bool upper = false, lower = false;

	for (size_t i = 0; i < 12; i++) {
		upper |= isupper((unsigned char)bytes[i]) != 0;
		lower |= islower((unsigned char)bytes[i]) != 0;
	}
	return (lower && !upper) || (upper && !lower && any_case);
}

/* No CPU has a vendor that is a known one but for a sign: such are put in by damage. */
static bool is_damaged(const char *bytes)
{
	for (size_t i = 0; i < VENDORS; i++) {
		size_t same = 0, signs = 0;

		for (size_t j = 0; j < 12; j++) {
			same += bytes[j] == vendors[i][j];
			signs += bytes[j] == ' ';
		}
		if (same == 11 && signs)
			return true;
	}
	return memchr(bytes, '?', 12) != NULL;
}

static bool looks_damaged(const char *bytes)
{
	for (size_t i = 0; i < VENDORS; i++) {
		size_t same = 0;

		for (size_t j = 0; j < 12; j++)
			same += bytes[j] == vendors[i][j];
		if (same == 11)
			return true;
	}
	return false;
}

void reading_vendor(struct reading *reading, const char *bytes)
{
	static const enum cpuid_register order_of_bytes[] = { CPUID_EBX, CPUID_EDX, CPUID_ECX };
	const char *known = known_vendor(bytes);

	if (known == bytes && lost_its_case(bytes, reading->any_case)) {
		reading_warn(reading, 0,
			     "vendor '%.12s' is no known one, and its capitals are not sure: "
			     "unknown",
			     bytes);
		return;
	}
	bytes = known;
	if (is_damaged(bytes)) {
		reading_warn(reading, 0, "the vendor is damaged: unknown");
		return;
	}
	if (looks_damaged(bytes))
		reading_warn(reading, 0, "vendor '%.12s' is one letter from a known one", bytes);
	for (size_t i = 0; i < 3; i++) {
		uint32_t word;

		memcpy(&word, bytes + 4 * i, 4);
		reading_bits(reading, 0, 0, order_of_bytes[i], word, ALL);
	}
}

void reading_vendor_named(struct reading *reading, const struct line *value)
{
	const char *end = value->end;

	while (end > value->at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	/* The one vendor with blanks at both ends, which tools trim. */
	if (end - value->at == 8 && !memcmp(value->at, "Shanghai", 8))
		reading_vendor(reading, "  Shanghai  ");
	else if (value->end - value->at >= 12 && end - value->at <= 12)
		reading_vendor(reading, value->at);
	else
		reading_warn(reading, value->number,
			     "a vendor has 12 characters, this one has not");
}

bool reading_signature(struct reading *reading, uint32_t family, uint32_t model, long stepping)
{
	/* Type bits 13:12 and what is reserved are not in the numbers. */
	uint32_t known = 0x0FFF0FF0u | (stepping >= 0 ? 0xFu : 0);

	if (family > 270 || model > 255 || stepping > 15 || (family < 6 && model > 15))
		return false;
	if (stepping < 0)
		reading_warn(reading, 0, "no stepping, or one that is cut off: unknown");
	reading_bits(reading, 1, 0, CPUID_EAX,
		     signature_encode(family, model, stepping < 0 ? 0 : (unsigned)stepping), known);
	return true;
}

void reading_brand(struct reading *reading, const char *bytes, size_t length)
{
	if (reading->unwrapped || reading->any_case)
		return;
	if (length > sizeof(reading->brand) - 1)
		length = sizeof(reading->brand) - 1;
	memcpy(reading->brand, bytes, length);
	reading->brand[length] = '\0';
	reading->touched = true;
}

void reading_feature(struct reading *reading, int index, bool on)
{
	const struct feature *feature = &features[index];

	reading_bits(reading, feature->leaf, feature->subleaf, feature->reg,
		     on ? 1u << feature->bit : 0, 1u << feature->bit);
}

/* --- alike CPUs --- */

/* Bits that differ between CPUs of one kind: their own numbers, and what the system switched on. */
static const struct {
	uint32_t leaf, subleaf; /* subleaf ALL: of every one */
	enum cpuid_register reg;
	uint32_t bits;
} own_numbers[] = {
	{ 0x1, 0, CPUID_EBX, 0xFF000000 }, /* local APIC id */
	{ 0x1, 0, CPUID_ECX, 1u << 27 },   /* OSXSAVE */
	{ 0x6, 0, CPUID_EDX, 0xFFFF0000 }, /* row in the hardware feedback table */
	{ 0x7, 0, CPUID_ECX, 1u << 4 },	   /* OSPKE */
	{ 0xB, ALL, CPUID_EDX, ALL },	   /* x2APIC id */
	{ 0x1B, ALL, CPUID_EAX, ALL },	   /* key programming */
	{ 0x1F, ALL, CPUID_EDX, ALL },
	{ 0xD, 0, CPUID_EBX, ALL }, /* size of what XCR0 enables */
	{ 0xD, 1, CPUID_EBX, ALL },
	{ 0x8000001E, 0, CPUID_EAX, ALL },  /* extended APIC id */
	{ 0x8000001E, 0, CPUID_EBX, 0xFF }, /* core id */
	{ 0x8000001E, 0, CPUID_ECX, 0xFF }, /* node id */
	{ 0x80000026, ALL, CPUID_EDX, ALL },
	{ 0xC0000004, 0, CPUID_EAX, ALL }, /* temperature, voltage, multiplier as they are now */
	{ 0xC0000004, 0, CPUID_EBX, ALL },
	{ 0xC0000004, 0, CPUID_ECX, ALL },
};

static uint32_t own_bits(const struct dump_leaf *leaf, unsigned reg)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof(own_numbers) / sizeof(own_numbers[0]); i++)
		if (own_numbers[i].leaf == leaf->leaf && own_numbers[i].reg == reg &&
		    (own_numbers[i].subleaf == ALL || own_numbers[i].subleaf == leaf->subleaf))
			bits |= own_numbers[i].bits;
	return bits;
}

static bool same_leaf(const struct dump_leaf *a, const struct dump_leaf *b)
{
	if (!memcmp(a, b, sizeof(*a)))
		return true;
	if (order(a, b) || memcmp(a->known, b->known, sizeof(a->known)))
		return false;
	for (unsigned reg = 0; reg < 4; reg++)
		if ((a->reg[reg] ^ b->reg[reg]) & ~own_bits(a, reg))
			return false;
	return true;
}

static bool same_kind(const struct dump_cpu *kind, const struct reading *reading)
{
	const char *model = reading->libvirt_model, *other = kind->cpu.libvirt_model;

	if (kind->leaf_count != reading->leaf_count || strcmp(kind->brand, reading->brand) ||
	    kind->rep_good != reading->rep_good || !model != !other ||
	    (model && strcmp(model, other)))
		return false;
	for (size_t i = 0; i < kind->leaf_count; i++)
		if (!same_leaf(&kind->leaves[i], &reading->leaves[i]))
			return false;
	return true;
}

static struct dump_cpu *new_kind(struct reading *reading)
{
	struct dump *dump = reading->dump;
	struct dump_cpu *kind;

	if (dump->cpu_count == KINDS_MAX) {
		reading_warn(reading, 0, "more than %u CPUs that differ: the rest is left out",
			     KINDS_MAX);
		return NULL;
	}
	dump->cpus = xrealloc(dump->cpus, (dump->cpu_count + 1) * sizeof(*dump->cpus));
	kind = &dump->cpus[dump->cpu_count++];
	*kind = (struct dump_cpu){ .core_type = -1,
				   .rep_good = reading->rep_good,
				   .last_leaf = reading->cut_list ? reading->cut_list
								  : reading->last_leaf };
	cpu_init(&kind->cpu);
	memcpy(kind->brand, reading->brand, sizeof(kind->brand));
	kind->cpu.libvirt_model = reading->libvirt_model;
	reading->libvirt_model = NULL;
	kind->leaf_count = reading->leaf_count;
	kind->leaves = xmalloc(kind->leaf_count * sizeof(*kind->leaves));
	if (kind->leaf_count)
		memcpy(kind->leaves, reading->leaves, kind->leaf_count * sizeof(*kind->leaves));
	return kind;
}

static void add_number(struct dump_cpu *kind, unsigned number)
{
	struct dump_range *last =
		kind->number_count ? &kind->numbers[kind->number_count - 1] : NULL;

	kind->count++;
	if (last && number == last->last + 1) {
		last->last = number;
		return;
	}
	if (kind->number_count == RANGES_MAX)
		return;
	if (!kind->numbers || !(kind->number_count & (kind->number_count - 1)))
		kind->numbers =
			xrealloc(kind->numbers, (kind->number_count ? kind->number_count * 2 : 1) *
							sizeof(*kind->numbers));
	kind->numbers[kind->number_count++] = (struct dump_range){ number, number };
}

static void forget(struct reading *reading)
{
	reading->leaf_count = 0;
	reading->sorted = true;
	reading->overfull = false;
	reading->touched = false;
	reading->brand[0] = '\0';
	reading->rep_good = -1;
	reading->last_leaf = reading->cut_list = 0;
	reading->row_leaf_count = 0;
	reading->lost_row = false;
	free(reading->libvirt_model);
	reading->libvirt_model = NULL;
}

static void end_cpu(struct reading *reading)
{
	struct dump *dump = reading->dump;
	struct dump_cpu *kind = NULL;

	if (!reading->touched)
		return;
	reading_settle_rows(reading);
	if (!reading->sorted)
		qsort(reading->leaves, reading->leaf_count, sizeof(*reading->leaves), compare);
	for (size_t i = dump->cpu_count; i-- > 0 && !kind;)
		if (same_kind(&dump->cpus[i], reading))
			kind = &dump->cpus[i];
	if (!kind)
		kind = new_kind(reading);
	if (kind)
		add_number(kind, reading->number);
	reading->next_number = reading->number + 1;
	forget(reading);
}

void reading_begin(struct reading *reading, struct dump *dump)
{
	*reading = (struct reading){ .dump = dump, .sorted = true, .rep_good = -1 };
}

void reading_cpu(struct reading *reading, long number)
{
	end_cpu(reading);
	reading->number =
		number < 0 || number > INT32_MAX ? reading->next_number : (unsigned)number;
}

void reading_drop(struct reading *reading)
{
	forget(reading);
}

/* --- what a dump says of a CPU --- */

/*
 * Whole words; what is not known of them is zero. A highest leaf that is not known excludes
 * nothing, and a leaf that others hang on is put in where it is missing.
 */
static void fill(const struct dump_cpu *kind, struct cpuid_dump *out)
{
	static const uint32_t bases[] = { 0, 1, 0x80000000u, 0xC0000000u, 7 };
	bool high_level = true;

	for (size_t i = 0; i < kind->leaf_count; i++) {
		const struct dump_leaf *from = &kind->leaves[i];
		struct cpuid_leaf leaf = { .leaf = from->leaf, .subleaf = from->subleaf };

		memcpy(leaf.reg, from->reg, sizeof(leaf.reg));
		for (size_t j = 0; j < sizeof(bases) / sizeof(bases[0]); j++)
			if (leaf.leaf == bases[j] && leaf.leaf != 1 && !leaf.subleaf &&
			    from->known[CPUID_EAX] != ALL)
				leaf.reg[CPUID_EAX] = ALL;
		if (!leaf.leaf && !leaf.subleaf)
			high_level = leaf.reg[CPUID_EAX] >= 7;
		cpuid_add(out, &leaf);
	}
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (!cpuid_find(out, bases[i], 0) && (bases[i] != 7 || high_level))
			cpuid_add(out, &(struct cpuid_leaf){ .leaf = bases[i],
							     .reg = { bases[i] == 1 ? 0 : ALL } });
}

/* Something was put where nothing is known. A leaf that is not there at all is above the highest.
 */
static void forget_unknown_bits(struct dump_cpu *kind, const struct cpuid_dump *filled)
{
	const struct dump_leaf *leaf = NULL;
	bool there = false;

	for (int i = 0; i < (int)feature_count; i++) {
		const struct feature *feature = &features[i];

		/* Rows of one leaf lie side by side. */
		if (!i || feature->leaf != feature[-1].leaf ||
		    feature->subleaf != feature[-1].subleaf) {
			there = cpuid_find(filled, feature->leaf, feature->subleaf) != NULL;
			leaf = find(kind->leaves, kind->leaf_count, feature->leaf,
				    feature->subleaf);
		}
		if (!feature_in(&kind->cpu.known, i) || !there)
			continue;
		if (leaf && leaf->known[feature->reg] >> feature->bit & 1)
			continue;
		feature_put(&kind->cpu.known, i, false);
		feature_put(&kind->cpu.on, i, false);
	}
}

static bool whole(const struct dump_leaf *leaf)
{
	return leaf->known[0] == ALL && leaf->known[1] == ALL && leaf->known[2] == ALL &&
	       leaf->known[3] == ALL;
}

static void work_out_brand(struct dump_cpu *kind)
{
	char bytes[48];

	for (uint32_t i = 0; i < 3; i++) {
		const struct dump_leaf *leaf =
			find(kind->leaves, kind->leaf_count, 0x80000002u + i, 0);

		if (!leaf || !whole(leaf))
			return;
		memcpy(bytes + 16 * i, leaf->reg, 16);
	}
	memcpy(kind->brand, bytes, strnlen(bytes, 48));
	kind->brand[strnlen(bytes, 48)] = '\0';
}

/* What must be known before leaves are left out: the vendor, and the kind of a core, which some
 * systems show above the highest leaf. */
static void work_out_vendor(struct dump_cpu *kind)
{
	const struct dump_leaf *zero = find(kind->leaves, kind->leaf_count, 0, 0);
	const struct dump_leaf *type = find(kind->leaves, kind->leaf_count, 0x1A, 0);

	kind->vendor_known = zero && zero->known[CPUID_EBX] == ALL &&
			     zero->known[CPUID_ECX] == ALL && zero->known[CPUID_EDX] == ALL;
	if (type && type->known[CPUID_EAX] == ALL &&
	    (type->reg[CPUID_EAX] >> 24 == CORE_ATOM || type->reg[CPUID_EAX] >> 24 == CORE_CORE))
		kind->core_type = (int)(type->reg[CPUID_EAX] >> 24);
	if (!kind->vendor_known)
		return;
	memcpy(kind->cpu.vendor, &zero->reg[CPUID_EBX], 4);
	memcpy(kind->cpu.vendor + 4, &zero->reg[CPUID_EDX], 4);
	memcpy(kind->cpu.vendor + 8, &zero->reg[CPUID_ECX], 4);
}

/* By the kernel's name, which is in the table: no other spelling is looked for. */
static int row_of(const char *name)
{
	int row = 0;

	while (strcmp(features[row].name, name))
		row++;
	return row;
}

/*
 * Intel hides SYSCALL from 32-bit processes, and most tools are such; it is there with LM. Off is
 * off where it is known to be no such case.
 */
static void work_out_syscall(struct reading *reading, struct dump_cpu *kind)
{
	int lm = row_of("lm"), syscall = row_of("syscall");
	bool known = feature_in(&kind->cpu.known, syscall);
	bool may_have_lm = feature_in(&kind->cpu.on, lm) || !feature_in(&kind->cpu.known, lm);

	if (feature_in(&kind->cpu.on, syscall))
		return;
	if (!kind->vendor_known) {
		if (may_have_lm)
			feature_put(&kind->cpu.known, syscall, false);
		return;
	}
	if (memcmp(kind->cpu.vendor, "GenuineIntel", 12) || !may_have_lm)
		return;
	feature_put(&kind->cpu.known, syscall, feature_in(&kind->cpu.on, lm));
	feature_put(&kind->cpu.on, syscall, feature_in(&kind->cpu.on, lm));
	if (known && feature_in(&kind->cpu.on, lm))
		reading_warn(reading, 0,
			     "syscall is off beside lm, as a 32-bit program sees it on Intel: "
			     "taken as on");
}

/* Leaves above 0xC0000000 are of two vendors: of nobody knows whom, nobody knows. */
static void forget_without_vendor(struct dump_cpu *kind)
{
	for (int i = 0; i < (int)feature_count && !kind->vendor_known; i++)
		if (features[i].leaf >= 0xC0000000u && !feature_in(&kind->cpu.on, i))
			feature_put(&kind->cpu.known, i, false);
}

/* --- the last-level cache --- */

static bool is_of_amd(const struct dump_cpu *kind)
{
	return !memcmp(kind->cpu.vendor, "AuthenticAMD", 12) ||
	       !memcmp(kind->cpu.vendor, "HygonGenuine", 12);
}

/* All CPUs that list their caches have a second level; AMD's older leaf tells of a third. */
static uint32_t least_level(const struct dump_cpu *kind)
{
	const struct dump_leaf *old = find(kind->leaves, kind->leaf_count, 0x80000006u, 0);
	bool of_intel = !memcmp(kind->cpu.vendor, "GenuineIntel", 12);

	return !of_intel && old && old->reg[CPUID_EDX] >> 18 ? 3 : 2;
}

/*
 * Whether the list of caches has its end: an empty subleaf, or, where a tool leaves that out, a
 * cache of the highest level that there must be, and another leaf behind them.
 */
static bool has_all_caches(const struct dump_cpu *kind, uint32_t leaf)
{
	uint32_t next = 0, highest = 0;

	for (size_t i = 0; i < kind->leaf_count; i++) {
		const struct dump_leaf *at = &kind->leaves[i];

		if (at->leaf != leaf)
			continue;
		if (at->subleaf != next++ || !whole(at))
			return false;
		if (!(at->reg[CPUID_EAX] & 0x1F))
			return true;
		highest = at->reg[CPUID_EAX] >> 5 & 7;
	}
	return next >= 2 && highest >= least_level(kind) && kind->last_leaf != leaf;
}

/* The registers of AMD's older leaf are taken where the newer one is not, so that must be sure. */
static bool has_all_caches_of_amd(const struct dump_cpu *kind)
{
	const struct dump_leaf *most = find(kind->leaves, kind->leaf_count, 0x80000000u, 0);
	const struct dump_leaf *bits = find(kind->leaves, kind->leaf_count, 0x80000001u, 0);
	const struct dump_leaf *old = find(kind->leaves, kind->leaf_count, 0x80000006u, 0);
	bool topoext = bits && bits->reg[CPUID_ECX] >> 22 & 1;

	if (!most || most->known[CPUID_EAX] != ALL || !bits || bits->known[CPUID_ECX] != ALL)
		return false;
	if (topoext && most->reg[CPUID_EAX] >= 0x8000001Du)
		return has_all_caches(kind, 0x8000001Du);
	return old && old->known[CPUID_ECX] == ALL && old->known[CPUID_EDX] == ALL;
}

static unsigned caches_there(const struct dump_cpu *kind)
{
	unsigned count = 0;

	for (size_t i = 0; i < kind->leaf_count; i++)
		count += kind->leaves[i].leaf == 4 || kind->leaves[i].leaf == 0x8000001Du;
	return count;
}

static void forget_doubtful_cache(struct reading *reading, struct dump_cpu *kind)
{
	const struct dump_leaf *first = find(kind->leaves, kind->leaf_count, 4, 0);

	/* A list that is cut at once has no last level either. */
	if (!kind->cpu.llc_bytes && (is_of_amd(kind) || !first || !(first->reg[CPUID_EAX] & 0x1F)))
		return;
	if (kind->vendor_known &&
	    (is_of_amd(kind) ? has_all_caches_of_amd(kind) : has_all_caches(kind, 4)))
		return;
	kind->cpu.llc_bytes = 0;
	reading_warn(
		reading, 0,
		"the list of caches, %u there, is not whole, or does not show its end: the size "
		"of the last-level cache is unknown",
		caches_there(kind));
}

static void work_out(struct reading *reading, struct dump_cpu *kind)
{
	const struct dump_leaf *zero = find(kind->leaves, kind->leaf_count, 0, 0);
	const struct dump_leaf *one = find(kind->leaves, kind->leaf_count, 1, 0);
	char *model = kind->cpu.libvirt_model;
	struct cpuid_dump filled = { 0 };

	kind->family_known = one && (one->known[CPUID_EAX] & 0x0FF00F00u) == 0x0FF00F00u;
	kind->model_known = one && (one->known[CPUID_EAX] & 0x000F0FF0u) == 0x000F0FF0u;
	kind->stepping_known = one && (one->known[CPUID_EAX] & 0xFu) == 0xFu;
	fill(kind, &filled);
	cpu_from_dump(&kind->cpu, &filled, NULL);
	forget_unknown_bits(kind, &filled);
	cpuid_free(&filled);
	kind->cpu.libvirt_model = model;
	if (!kind->vendor_known)
		memset(kind->cpu.vendor, 0, sizeof(kind->cpu.vendor));
	if (!zero || zero->known[CPUID_EAX] != ALL)
		kind->cpu.level = -1;
	kind->cpu.identity_known = kind->vendor_known && kind->family_known && kind->model_known;
	work_out_brand(kind);
	work_out_syscall(reading, kind);
	forget_without_vendor(kind);
	forget_doubtful_cache(reading, kind);
	if (feature_in(&kind->cpu.on, row_of("hypervisor")))
		snprintf(kind->cpu.note, sizeof(kind->cpu.note), "the dump was taken in a guest");
	if (one && one->reg[CPUID_EAX] & one->known[CPUID_EAX] & 0x3000u)
		reading_warn(reading, 0,
			     "leaf 1 EAX has processor type %u, which no guest can be given",
			     one->reg[CPUID_EAX] >> 12 & 3);
}

/* --- leaves that no CPU answers for --- */

/* Leaves that tools probe on every CPU, or where a vendor hides a greeting: not worth a word. */
static bool is_probe(uint32_t leaf)
{
	uint32_t range = leaf & 0xFFFF0000u;

	return range == 0x20000000u || range == 0x40000000u || range == 0x80860000u ||
	       range == 0xC0000000u || leaf >> 16 == 0x8FFF || range == 0x5A0000u;
}

static bool zero_leaf(const struct dump_leaf *leaf)
{
	return !(leaf->reg[0] | leaf->reg[1] | leaf->reg[2] | leaf->reg[3]);
}

static bool answered(const struct dump_cpu *kind, uint32_t leaf, bool arrays)
{
	const struct dump_leaf *one = find(kind->leaves, kind->leaf_count, 1, 0);
	const struct dump_leaf *base = find(kind->leaves, kind->leaf_count,
					    leaf < 0x40000000u ? 0 : leaf & 0xF0000000u, 0);
	bool bounded = base && base->known[CPUID_EAX] == ALL;

	switch (leaf >> 28) {
	case 0x4: /* a hypervisor's, in its guest only */
		return one && one->reg[CPUID_ECX] >> 31;
	case 0xC:
		if (memcmp(kind->cpu.vendor, "CentaurHauls", 12) &&
		    memcmp(kind->cpu.vendor, "  Shanghai  ", 12))
			return false;
		return !bounded ||
		       (base->reg[CPUID_EAX] > 0xC0000000u && leaf <= base->reg[CPUID_EAX]);
	case 0x8:
	case 0x0:
		if (!bounded)
			return arrays ? leaf <= 1 || leaf == 0x80000000u : !is_probe(leaf);
		return !(leaf & 0x7FFFFFFFu) || leaf <= base->reg[CPUID_EAX];
	default:
		return false;
	}
}

/*
 * What a tool wrote down of leaves above the highest one is the answer to another leaf, or the
 * tool's whole array.
 */
static void drop_unanswered(struct reading *reading, struct dump_cpu *kind)
{
	size_t kept = 0, dropped = 0;
	uint32_t first = 0;

	for (size_t i = 0; i < kind->leaf_count; i++) {
		struct dump_leaf leaf = kind->leaves[i];

		/* The leaves that others are judged by are the first of their range, and stay. */
		if (answered(kind, leaf.leaf, reading->arrays)) {
			kind->leaves[kept++] = leaf;
		} else if (!is_probe(leaf.leaf) && !zero_leaf(&leaf)) {
			first = dropped++ ? first : leaf.leaf;
		}
	}
	kind->leaf_count = kept;
	if (dropped)
		reading_warn(reading, 0, "%zu %s above the highest leaf, 0x%x the first: left out",
			     dropped, dropped == 1 ? "leaf" : "leaves", first);
}

/* The bits on which dispatchers depend and of which the source says nothing, in one line. */
static void warn_unknown(struct reading *reading, const struct cpu *cpu)
{
	char names[160] = "";

	for (int i = 0; i < (int)feature_count; i++) {
		size_t length = strlen(names);

		if (features[i].dispatch && !feature_in(&cpu->known, i))
			snprintf(names + length, sizeof(names) - length, " %s", features[i].name);
	}
	if (*names && !cpu->libvirt_model)
		reading_warn(reading, 0, "not said, so unknown:%s", names);
}

/*
 * Leaves with bits of the table, or the brand, that the highest leaf says there are, and of which
 * nothing is there, in one line. Of a source that has no registers nothing of the kind is expected.
 */
static bool has_registers(const struct dump_cpu *kind)
{
	const struct dump_leaf *one = find(kind->leaves, kind->leaf_count, 1, 0);

	return one && (one->known[CPUID_ECX] == ALL || one->known[CPUID_EDX] == ALL);
}

/* Leaves that a bit of another leaf announces, and such as only some vendors have (mask 0). Others
 * are there if the highest leaf says so. */
static const struct {
	uint32_t leaf, subleaf;
	uint32_t by;
	enum cpuid_register reg;
	uint32_t mask;
} announced[] = {
	{ 0x7, 1, 0, 0, 0 },
	{ 0x7, 2, 0, 0, 0 },
	{ 0xD, 0, 0x1, CPUID_ECX, 1u << 26 }, /* xsave */
	{ 0xD, 1, 0x1, CPUID_ECX, 1u << 26 },
	{ 0x12, 0, 0x7, CPUID_EBX, 1u << 2 },  /* sgx */
	{ 0x14, 0, 0x7, CPUID_EBX, 1u << 25 }, /* intel_pt */
	{ 0x14, 1, 0x7, CPUID_EBX, 1u << 25 },
	{ 0x19, 0, 0, 0, 0 },
	{ 0x1C, 0, 0x7, CPUID_EDX, 1u << 19 }, /* arch_lbr */
	{ 0x1E, 0, 0x7, CPUID_EDX, 1u << 24 }, /* amx_tile */
	{ 0x23, 0, 0, 0, 0 },
	{ 0x24, 0, 0, 0, 0 },
	{ 0x8000000A, 0, 0x80000001, CPUID_ECX, 1u << 2 },  /* svm */
	{ 0x8000001B, 0, 0x80000001, CPUID_ECX, 1u << 10 }, /* ibs */
	{ 0x8000001F, 0, 0, 0, 0 },
	{ 0x80000021, 0, 0, 0, 0 },
	{ 0x80000022, 0, 0, 0, 0 },
};

static bool is_expected(const struct dump_cpu *kind, const struct feature *feature)
{
	const struct dump_leaf *base =
		find(kind->leaves, kind->leaf_count, feature->leaf & 0x80000000u, 0);

	if (feature->leaf == 1)
		return true;
	if (feature->leaf >= 0xC0000000u || !base || base->known[CPUID_EAX] != ALL ||
	    feature->leaf > base->reg[CPUID_EAX])
		return false;
	for (size_t i = 0; i < sizeof(announced) / sizeof(announced[0]); i++) {
		const struct dump_leaf *by;

		if (announced[i].leaf != feature->leaf || announced[i].subleaf != feature->subleaf)
			continue;
		by = find(kind->leaves, kind->leaf_count, announced[i].by, 0);
		return by && by->reg[announced[i].reg] & announced[i].mask;
	}
	return true;
}

/* Leaves without a bit of the table, all the same of every CPU whose highest leaf is no lower. */
static const struct {
	uint32_t leaf;
	bool of_amd, of_others;
} common[] = {
	{ 0x2, false, true },	    { 0x4, false, true },	{ 0x80000002, true, true },
	{ 0x80000003, true, true }, { 0x80000004, true, true }, { 0x80000005, true, false },
	{ 0x80000006, true, true },
};

static void warn_other_leaves(const struct dump_cpu *kind, char *names, size_t room)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		uint32_t leaf = common[i].leaf;
		const struct dump_leaf *base =
			find(kind->leaves, kind->leaf_count, leaf & 0x80000000u, 0);
		const struct dump_leaf *at = find(kind->leaves, kind->leaf_count, leaf, 0);
		size_t length = strlen(names);

		if (!base || base->known[CPUID_EAX] != ALL || leaf > base->reg[CPUID_EAX] ||
		    !(is_of_amd(kind) ? common[i].of_amd : common[i].of_others) ||
		    (at && at->known[0] && at->known[1] && at->known[2] && at->known[3]))
			continue;
		snprintf(names + length, room - length, " 0x%x", leaf);
	}
}

/* Arrays of leaves are written whole, up to the highest that there is room for. */
#define ARRAY_ENDS 32u

static void warn_holes(struct reading *reading, const struct dump_cpu *kind)
{
	static const uint32_t bases[] = { 0, 0x80000000u };
	char names[128] = "";

	for (size_t i = 0; reading->arrays && i < sizeof(bases) / sizeof(bases[0]); i++) {
		const struct dump_leaf *base = find(kind->leaves, kind->leaf_count, bases[i], 0);
		uint32_t most = base && base->known[CPUID_EAX] == ALL ? base->reg[CPUID_EAX] : 0;

		for (uint32_t leaf = bases[i] + 1; leaf <= most && leaf < bases[i] + ARRAY_ENDS;
		     leaf++) {
			size_t length = strlen(names);

			if (leaf != 3 && !find(kind->leaves, kind->leaf_count, leaf, 0))
				snprintf(names + length, sizeof(names) - length, " 0x%x", leaf);
		}
	}
	if (*names)
		reading_warn(reading, 0, "lost from the arrays, so unknown: leaves%s", names);
}

static void warn_missing_leaves(struct reading *reading, const struct dump_cpu *kind)
{
	char names[128] = "";
	uint32_t last = 0;

	if (!has_registers(kind))
		return;
	for (size_t i = 0; i < feature_count; i++) {
		const struct feature *feature = &features[i];
		const struct dump_leaf *leaf;
		size_t length = strlen(names);

		/* Once for each register: its bits lie side by side. */
		if (i && feature->leaf == feature[-1].leaf && feature->reg == feature[-1].reg)
			continue;
		leaf = find(kind->leaves, kind->leaf_count, feature->leaf, feature->subleaf);
		if ((leaf && leaf->known[feature->reg]) || !is_expected(kind, feature) ||
		    feature->leaf == last)
			continue;
		last = feature->leaf;
		snprintf(names + length, sizeof(names) - length, " 0x%x", feature->leaf);
	}
	warn_other_leaves(kind, names, sizeof(names));
	/* The first ones had none such. */
	if (kind->cpu.level >= 5 && !find(kind->leaves, kind->leaf_count, 0x80000000u, 0))
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " 0x80000000");
	if (*names)
		reading_warn(reading, 0, "not there, or not whole, so unknown: leaves%s", names);
}

/* --- the end --- */

static int compare_ranges(const void *left, const void *right)
{
	const struct dump_range *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

static void sort_numbers(struct dump_cpu *kind)
{
	size_t kept = 0;

	qsort(kind->numbers, kind->number_count, sizeof(*kind->numbers), compare_ranges);
	for (size_t i = 1; i < kind->number_count; i++) {
		if (kind->numbers[i].first <= kind->numbers[kept].last + 1) {
			if (kind->numbers[i].last > kind->numbers[kept].last)
				kind->numbers[kept].last = kind->numbers[i].last;
		} else {
			kind->numbers[++kept] = kind->numbers[i];
		}
	}
	kind->number_count = kept + 1;
}

static int compare_kinds(const void *left, const void *right)
{
	const struct dump_cpu *a = left, *b = right;

	return a->numbers[0].first < b->numbers[0].first
		       ? -1
		       : a->numbers[0].first > b->numbers[0].first;
}

void reading_end(struct reading *reading)
{
	struct dump *dump = reading->dump;

	end_cpu(reading);
	forget(reading);
	for (size_t i = 0; i < dump->cpu_count; i++)
		sort_numbers(&dump->cpus[i]);
	if (dump->cpu_count > 1)
		qsort(dump->cpus, dump->cpu_count, sizeof(*dump->cpus), compare_kinds);
	for (size_t i = 0; i < dump->cpu_count; i++) {
		work_out_vendor(&dump->cpus[i]);
		drop_unanswered(reading, &dump->cpus[i]);
		work_out(reading, &dump->cpus[i]);
	}
	if (dump->cpu_count)
		warn_unknown(reading, &dump->cpus[0].cpu);
	if (dump->cpu_count)
		warn_missing_leaves(reading, &dump->cpus[0]);
	if (dump->cpu_count)
		warn_holes(reading, &dump->cpus[0]);
	if (dump->cpu_count > 1)
		reading_warn(reading, 0,
			     "%zu kinds of CPU that differ: CPU %u is the one that is taken",
			     dump->cpu_count, dump->cpus[0].numbers[0].first);
	free(reading->leaves);
	reading->leaves = NULL;
	reading->leaf_room = 0;
	flags_free(reading->flags);
	reading->flags = NULL;
}
