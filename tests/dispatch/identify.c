/* SPDX-License-Identifier: MIT */
/*
 * CPUID to struct dispatch_cpu: signature, feature bits, REP_GOOD, the last-level cache and the
 * quirk row. Leaves and bits are those of the Intel SDM (volume 2A, CPUID) and the AMD APM (volume
 * 3, appendix E); the rules of REP_GOOD are current Linux', named where they stand.
 */
#include "tests/dispatch/dispatch.h"

#define KIB		   1024ULL
#define LLC_BYTES_UNKNOWN  (8 * KIB * KIB) /* what the kernel postings take where no leaf tells */
#define LINE_BYTES_DEFAULT 64		   /* x86-64 without CLFLUSH in leaf 1: as Linux */

/* A CPU while it is being identified. */
struct probe {
	dispatch_cpuid_fn *cpuid;
	void *context;
	uint32_t max_leaf, max_extended;
	uint32_t signature; /* leaf 1 EAX, unpacked in struct dispatch_cpu */
	bool fast_strings;
};

void dispatch_cpuid_instruction(void *context, uint32_t leaf, uint32_t subleaf,
				struct dispatch_registers *out)
{
	(void)context;
	__asm__ volatile("cpuid"
			 : "=a"(out->eax), "=b"(out->ebx), "=c"(out->ecx), "=d"(out->edx)
			 : "a"(leaf), "c"(subleaf));
}

/* A leaf beyond the maximum reads as the highest basic leaf on Intel: it counts as empty here. */
static struct dispatch_registers read_leaf(const struct probe *probe, uint32_t leaf,
					   uint32_t subleaf)
{
	struct dispatch_registers out = { 0, 0, 0, 0 };

	if (leaf <= (leaf & 0x80000000 ? probe->max_extended : probe->max_leaf))
		probe->cpuid(probe->context, leaf, subleaf, &out);
	return out;
}

static bool bit(uint32_t value, unsigned number)
{
	return value >> number & 1;
}

static bool same_vendor(const char *a, const char *b)
{
	for (unsigned i = 0; i < 12; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The vendor string of leaf 0: four letters each of EBX, EDX, ECX. */
static void decode_vendor(struct dispatch_cpu *cpu, const struct dispatch_registers *leaf)
{
	const uint32_t letters[3] = { leaf->ebx, leaf->edx, leaf->ecx };

	for (unsigned i = 0; i < 12; i++)
		cpu->vendor[i] = (char)(letters[i / 4] >> (8 * (i % 4)));
	cpu->vendor[12] = '\0';
}

static void decode_signature(struct dispatch_cpu *cpu, uint32_t signature)
{
	unsigned family = signature >> 8 & 0xF;
	unsigned model = signature >> 4 & 0xF;

	if (family >= 6)
		model |= signature >> 16 << 4 & 0xF0;
	if (family == 15)
		family += signature >> 20 & 0xFF;
	cpu->family = (uint16_t)family;
	cpu->model = (uint16_t)model;
	cpu->stepping = signature & 0xF;
}

static void decode_features(struct dispatch_cpu *cpu, const struct probe *probe)
{
	struct dispatch_registers leaf1 = read_leaf(probe, 1, 0);
	struct dispatch_registers leaf7 = read_leaf(probe, 7, 0);
	struct dispatch_registers leaf7_1 = { 0, 0, 0, 0 };

	if (leaf7.eax >= 1)
		leaf7_1 = read_leaf(probe, 7, 1);
	cpu->erms = bit(leaf7.ebx, 9);
	cpu->clflushopt = bit(leaf7.ebx, 23);
	cpu->clwb = bit(leaf7.ebx, 24);
	cpu->fsrm = bit(leaf7.edx, 4);
	cpu->fsrs = bit(leaf7_1.eax, 11);
	cpu->clzero = bit(read_leaf(probe, 0x80000008, 0).ebx, 0);
	cpu->line_bytes = LINE_BYTES_DEFAULT;
	if (bit(leaf1.edx, 19))
		cpu->line_bytes = (uint16_t)((leaf1.ebx >> 8 & 0xFF) * 8);
}

/* --- vendors --------------------------------------------------------------------------------- */

/* arch/x86/kernel/cpu/intel.c: from Pentium M (Dothan, 6:13) on, ordered by family, then model;
 * where MISC_ENABLE turns fast strings off, ERMS goes with them. */
static void refine_intel(struct dispatch_cpu *cpu, const struct probe *probe)
{
	if (cpu->family < 6 || (cpu->family == 6 && cpu->model < 13))
		return;
	cpu->rep_good = probe->fast_strings;
	cpu->erms &= probe->fast_strings;
}

/* arch/x86/kernel/cpu/amd.c: K8 from revision C on (raw leaf 1 EAX), every family from 0x10 on.
 * Linux 6.12 and later take FSRM for FSRS. */
static void refine_amd(struct dispatch_cpu *cpu, const struct probe *probe)
{
	uint32_t level = probe->signature;

	cpu->rep_good = cpu->family >= 0x10;
	if (cpu->family == 15)
		cpu->rep_good = (level >= 0xF48 && level < 0xF50) || level >= 0xF58;
	cpu->fsrs |= cpu->fsrm;
}

/* arch/x86/kernel/cpu/hygon.c */
static void refine_hygon(struct dispatch_cpu *cpu, const struct probe *probe)
{
	(void)probe;
	cpu->rep_good = true;
}

/* arch/x86/kernel/cpu/centaur.c */
static void refine_centaur(struct dispatch_cpu *cpu, const struct probe *probe)
{
	(void)probe;
	cpu->rep_good = cpu->family >= 7 || (cpu->family == 6 && cpu->model >= 15);
}

/* arch/x86/kernel/cpu/zhaoxin.c */
static void refine_zhaoxin(struct dispatch_cpu *cpu, const struct probe *probe)
{
	(void)probe;
	cpu->rep_good = cpu->family >= 6;
}

#define SUBLEAVES_MAX 32 /* caches of one CPU; a bound on garbage, real ones have 3 to 5 */

/* The highest level that holds data, from leaf 4 or 0x8000001D (same layout). 0: none. */
static uint64_t llc_of_deterministic_leaf(const struct probe *probe, uint32_t leaf)
{
	enum { TYPE_NONE, TYPE_DATA, TYPE_CODE, TYPE_UNIFIED };
	unsigned best_level = 0;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < SUBLEAVES_MAX; i++) {
		struct dispatch_registers cache = read_leaf(probe, leaf, i);
		unsigned type = cache.eax & 0x1F, level = cache.eax >> 5 & 7;

		if (type == TYPE_NONE)
			break;
		if (type == TYPE_CODE || level <= best_level)
			continue;
		best_level = level;
		bytes = (uint64_t)((cache.ebx & 0xFFF) + 1) * ((cache.ebx >> 12 & 0x3FF) + 1) *
			((cache.ebx >> 22) + 1) * ((uint64_t)cache.ecx + 1);
	}
	return bytes;
}

static uint64_t llc_by_leaf_4(const struct probe *probe)
{
	return llc_of_deterministic_leaf(probe, 4);
}

static uint64_t llc_by_amd_leaves(const struct probe *probe)
{
	uint64_t bytes = 0;
	struct dispatch_registers sizes;

	if (bit(read_leaf(probe, 0x80000001, 0).ecx, 22)) /* TOPOEXT */
		bytes = llc_of_deterministic_leaf(probe, 0x8000001D);
	if (bytes)
		return bytes;
	sizes = read_leaf(probe, 0x80000006, 0);
	bytes = (sizes.edx >> 18) * 512 * KIB;		/* L3, in units of 512 KiB */
	return bytes ? bytes : (sizes.ecx >> 16) * KIB; /* L2 */
}

static const struct vendor {
	const char *name;
	void (*refine)(struct dispatch_cpu *cpu, const struct probe *probe);
	uint64_t (*llc)(const struct probe *probe);
} vendors[] = {
	{ "GenuineIntel", refine_intel, llc_by_leaf_4 },
	{ "AuthenticAMD", refine_amd, llc_by_amd_leaves },
	{ "HygonGenuine", refine_hygon, llc_by_amd_leaves },
	{ "CentaurHauls", refine_centaur, llc_by_leaf_4 },
	{ "  Shanghai  ", refine_zhaoxin, llc_by_leaf_4 },
};

/* --- the quirk table ------------------------------------------------------------------------- */

bool dispatch_row_matches(const struct dispatch_quirk_row *row, const struct dispatch_cpu *cpu)
{
	if (row->family != cpu->family || cpu->stepping < row->stepping_min ||
	    cpu->stepping > row->stepping_max || !same_vendor(row->vendor, cpu->vendor))
		return false;
	for (unsigned i = 0; i < row->model_count; i++)
		if (row->models[i] == cpu->model)
			return true;
	return false;
}

const struct dispatch_quirk_row *dispatch_find_row(const struct dispatch_quirk_table *table,
						   const struct dispatch_cpu *cpu)
{
	for (size_t i = 0; i < table->count; i++)
		if (dispatch_row_matches(&table->rows[i], cpu))
			return &table->rows[i];
	return NULL;
}

void dispatch_identify(struct dispatch_cpu *cpu, dispatch_cpuid_fn *cpuid, void *context,
		       bool fast_strings)
{
	struct probe probe = { .cpuid = cpuid, .context = context, .fast_strings = fast_strings };
	struct dispatch_registers leaf;

	cpuid(context, 0, 0, &leaf);
	probe.max_leaf = leaf.eax;
	decode_vendor(cpu, &leaf);
	cpuid(context, 0x80000000, 0, &leaf);
	probe.max_extended = leaf.eax & 0x80000000 ? leaf.eax : 0;
	probe.signature = read_leaf(&probe, 1, 0).eax;
	decode_signature(cpu, probe.signature);
	decode_features(cpu, &probe);

	cpu->rep_good = false;
	cpu->llc_bytes = 0;
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		if (!same_vendor(vendors[i].name, cpu->vendor))
			continue;
		vendors[i].refine(cpu, &probe);
		cpu->llc_bytes = vendors[i].llc(&probe);
	}
	if (!cpu->llc_bytes)
		cpu->llc_bytes = LLC_BYTES_UNKNOWN;
	cpu->row = dispatch_find_row(&dispatch_quirks, cpu);
}
