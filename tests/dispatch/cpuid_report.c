/* SPDX-License-Identifier: MIT */
/*
 * Every leaf and subleaf of CPUID, bounded: a guest's CPUID may say anything. And how they are
 * sent.
 */
#include "tests/dispatch/cpuid_report.h"

#define LEAVES_MAX    64 /* of one range; real CPUs have up to 0x24 (36) basic ones */
#define SUBLEAVES_MAX 32 /* of one leaf; real ones have up to about 20 (leaf 0xD) */
#define BITMAP_BITS   64

enum { EAX, EBX, ECX, EDX };

/* Which subleaves a leaf has, from the Intel SDM (volume 2A, CPUID) and the AMD APM (volume 3,
 * appendix E). A leaf that no row names has one. */
enum extent {
	EXTENT_MAXIMUM, /* subleaf 0 EAX is the highest subleaf */
	EXTENT_LIST,	/* until a field of the subleaf is zero */
	EXTENT_BITMAP,	/* 0, 1 and those whose bits are set in subleaf 0 (and 1) */
};

static const struct leaf_rule {
	uint32_t leaf;
	enum extent extent;
	uint8_t reg;	/* LIST: the register with the field; BITMAP: the low word in subleaf 0 */
	uint8_t from;	/* LIST: the first subleaf that may end the list */
	uint32_t field; /* LIST: the field's mask */
} leaf_rules[] = {
	{ 0x04, EXTENT_LIST, EAX, 0, 0x1F }, /* caches: type */
	{ 0x07, EXTENT_MAXIMUM, 0, 0, 0 },
	{ 0x0B, EXTENT_LIST, ECX, 0, 0xFF00 }, /* topology: level type */
	{ 0x0D, EXTENT_BITMAP, EAX, 0, 0 },    /* XSAVE: user bits in 0, supervisor bits in 1 */
	{ 0x0F, EXTENT_BITMAP, EDX, 0, 0 },    /* resource monitoring */
	{ 0x10, EXTENT_BITMAP, EBX, 0, 0 },    /* resource allocation */
	{ 0x12, EXTENT_LIST, EAX, 2, 0xF },    /* SGX: 0 and 1 always, then EPC sections: type */
	{ 0x14, EXTENT_MAXIMUM, 0, 0, 0 },     /* processor trace */
	{ 0x17, EXTENT_MAXIMUM, 0, 0, 0 },     /* SoC vendor */
	{ 0x18, EXTENT_MAXIMUM, 0, 0, 0 },     /* address translation */
	{ 0x1B, EXTENT_LIST, EAX, 0, 0xFFF },  /* PCONFIG: type */
	{ 0x1D, EXTENT_MAXIMUM, 0, 0, 0 },     /* tiles: palettes */
	{ 0x1E, EXTENT_MAXIMUM, 0, 0, 0 },     /* TMUL */
	{ 0x1F, EXTENT_LIST, ECX, 0, 0xFF00 }, /* topology, version 2 */
	{ 0x20, EXTENT_MAXIMUM, 0, 0, 0 },     /* HRESET */
	{ 0x23, EXTENT_BITMAP, EAX, 0, 0 },    /* performance monitoring */
	{ 0x24, EXTENT_MAXIMUM, 0, 0, 0 },     /* AVX10 */
	{ 0x8000001D, EXTENT_LIST, EAX, 0, 0x1F },   /* caches */
	{ 0x80000020, EXTENT_BITMAP, EBX, 0, 0 },    /* quality of service */
	{ 0x80000026, EXTENT_LIST, ECX, 0, 0xFF00 }, /* topology */
};

/* A walk through one CPU's CPUID. */
struct dump {
	dispatch_cpuid_fn *cpuid;
	void *context;
	cpuid_leaf_fn *each;
	void *each_context;
};

static struct dispatch_registers read_leaf(const struct dump *dump, uint32_t leaf, uint32_t subleaf)
{
	struct dispatch_registers out = { 0, 0, 0, 0 };

	dump->cpuid(dump->context, leaf, subleaf, &out);
	return out;
}

static uint32_t reg_of(const struct dispatch_registers *registers, unsigned reg)
{
	const uint32_t values[4] = { registers->eax, registers->ebx, registers->ecx,
				     registers->edx };

	return values[reg & 3];
}

static void send_entry(const struct dump *dump, uint32_t leaf, uint32_t subleaf,
		       const struct dispatch_registers *registers)
{
	dump->each(dump->each_context, leaf, subleaf, registers);
}

static const struct leaf_rule *rule_of(uint32_t leaf)
{
	for (size_t i = 0; i < sizeof(leaf_rules) / sizeof(leaf_rules[0]); i++)
		if (leaf_rules[i].leaf == leaf)
			return &leaf_rules[i];
	return NULL;
}

static bool bit_of(uint64_t bitmap, uint32_t subleaf)
{
	return subleaf < BITMAP_BITS && bitmap >> subleaf & 1;
}

/* Subleaves from 1 on; first is subleaf 0, which has been sent. */
static void send_subleaves(const struct dump *dump, const struct leaf_rule *rule,
			   const struct dispatch_registers *first)
{
	uint64_t bitmap = reg_of(first, rule->reg);
	unsigned sent = 1;

	if (rule->leaf == 0x0D)
		bitmap |= (uint64_t)first->edx << 32;
	for (uint32_t subleaf = 1; sent < SUBLEAVES_MAX && subleaf < BITMAP_BITS; subleaf++) {
		struct dispatch_registers leaf;

		if (rule->extent == EXTENT_MAXIMUM && subleaf > first->eax)
			return;
		if (rule->extent == EXTENT_BITMAP && !bit_of(bitmap, subleaf) &&
		    !(rule->leaf == 0x0D && subleaf == 1))
			continue;
		leaf = read_leaf(dump, rule->leaf, subleaf);
		if (rule->extent == EXTENT_LIST && subleaf >= rule->from &&
		    !(reg_of(&leaf, rule->reg) & rule->field))
			return;
		if (rule->leaf == 0x0D && subleaf == 1)
			bitmap |= leaf.ecx | (uint64_t)leaf.edx << 32;
		send_entry(dump, rule->leaf, subleaf, &leaf);
		sent++;
	}
}

static void send_leaf(const struct dump *dump, uint32_t leaf)
{
	struct dispatch_registers first = read_leaf(dump, leaf, 0);
	const struct leaf_rule *rule = rule_of(leaf);

	send_entry(dump, leaf, 0, &first);
	if (!rule)
		return;
	if (rule->extent == EXTENT_LIST && !rule->from &&
	    !(reg_of(&first, rule->reg) & rule->field))
		return;
	send_subleaves(dump, rule, &first);
}

/* A range that does not exist answers with something else than a maximum of its own; the basic one
 * always exists. */
static void send_range(const struct dump *dump, uint32_t base)
{
	uint32_t count = read_leaf(dump, base, 0).eax - base;

	if (base && count > 0xFFFF)
		return;
	if (count >= LEAVES_MAX)
		count = LEAVES_MAX - 1;
	for (uint32_t i = 0; i <= count; i++)
		send_leaf(dump, base + i);
}

void cpuid_walk(dispatch_cpuid_fn *cpuid, void *context, cpuid_leaf_fn *each, void *each_context)
{
	const struct dump dump = { cpuid, context, each, each_context };
	uint32_t letters = read_leaf(&dump, 0, 0).ebx;

	send_range(&dump, 0);
	if (read_leaf(&dump, 1, 0).ecx >> 31) /* hypervisor present */
		send_range(&dump, 0x40000000);
	send_range(&dump, 0x80000000);
	if (letters == 0x746E6543 || letters == 0x68532020) /* "Cent"aurHauls, "  Sh"anghai */
		send_range(&dump, 0xC0000000);
}

#define ENTRY_BYTES_MAX (3 + 4 * 4)

static void add_entry(void *context, uint32_t leaf, uint32_t subleaf,
		      const struct dispatch_registers *registers)
{
	struct report *report = context;
	uint8_t head = (uint8_t)(leaf >> 30 << REPORT_CPUID_BASE_SHIFT);

	for (unsigned i = 0; i < 4; i++)
		if (reg_of(registers, i))
			head |= (uint8_t)(1 << i);
	if (subleaf)
		head |= REPORT_CPUID_SUBLEAF;
	report_room(report, REPORT_CPUID, ENTRY_BYTES_MAX);
	report_u8(report, head);
	report_u8(report, (uint8_t)leaf);
	if (subleaf)
		report_u8(report, (uint8_t)subleaf);
	for (unsigned i = 0; i < 4; i++)
		if (reg_of(registers, i))
			report_u32(report, reg_of(registers, i));
}

void cpuid_report(struct report *report, dispatch_cpuid_fn *cpuid, void *context)
{
	cpuid_walk(cpuid, context, add_entry, report);
	if (report->used)
		report_send(report, REPORT_CPUID);
}
