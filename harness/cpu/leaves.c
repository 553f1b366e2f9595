/* SPDX-License-Identifier: MIT */
/*
 * Between a CPU and its CPUID leaves, both ways: what a dump says of a CPU, and the leaves that
 * stand for one. Includes the vendors' rules for the last-level cache.
 */
#include "harness/cpu/cpu.h"

#include <string.h>

#define LEAF_CACHE	   0x4u
#define LEAF_STRUCTURED	   0x7u
#define LEAF_EXTENDED	   0x80000000u
#define LEAF_EXTENDED_BITS 0x80000001u
#define LEAF_AMD_CACHE	   0x80000006u
#define LEAF_ADDRESSES	   0x80000008u
#define LEAF_AMD_CACHES	   0x8000001Du
#define LEAF_CENTAUR	   0xC0000000u

#define LLC_MOST    (4ULL << 30)   /* what claims to be larger is no cache of this world */
#define LINE_UNIT   8u		   /* of leaf 1 EBX bits 15:8 */
#define AMD_L3_UNIT (512u * 1024u) /* of 0x80000006 EDX bits 31:18 */
#define AMD_L2_UNIT 1024u	   /* of 0x80000006 ECX bits 31:16 */

/* Where a vendor says how large its last-level cache is (CONTRACT, CPUs). */
enum cache_rule {
	CACHE_LEAF_4 = 1 << 0,
	CACHE_AMD = 1 << 1, /* 0x8000001D with TOPOEXT, else 0x80000006 */
};

static const struct {
	const char *vendor;
	unsigned rules;
} cache_rules[] = {
	{ "GenuineIntel", CACHE_LEAF_4 }, { "CentaurHauls", CACHE_LEAF_4 },
	{ "  Shanghai  ", CACHE_LEAF_4 }, { "AuthenticAMD", CACHE_AMD },
	{ "HygonGenuine", CACHE_AMD },
};

static unsigned cache_rule(const char *vendor)
{
	for (size_t i = 0; i < sizeof(cache_rules) / sizeof(cache_rules[0]); i++)
		if (!memcmp(vendor, cache_rules[i].vendor, 12))
			return cache_rules[i].rules;
	return CACHE_LEAF_4 | CACHE_AMD; /* nobody's rule: whichever leaf there is */
}

/* --- the highest leaf of each range
 * ---------------------------------------------------------------- */

static bool has_centaur_leaves(const char *vendor)
{
	return !memcmp(vendor, "CentaurHauls", 12) || !memcmp(vendor, "  Shanghai  ", 12);
}

/* Whether the CPU answers for this leaf. Tools write leaves above the highest one as well (libcpuid
 * its whole array, cpuid -r what it probes), and the answers there are of no meaning. */
static bool leaf_in_range(const struct cpuid_dump *dump, const char *vendor, uint32_t leaf)
{
	const struct cpuid_leaf *base = cpuid_find(dump, leaf & 0xC0000000u, 0);

	switch (leaf & 0xC0000000u) {
	case 0x00000000u:
		return base && leaf <= base->reg[CPUID_EAX];
	case 0x80000000u:
		return !base || leaf <= base->reg[CPUID_EAX];
	case 0xC0000000u:
		return has_centaur_leaves(vendor) && base && base->reg[CPUID_EAX] > LEAF_CENTAUR &&
		       leaf <= base->reg[CPUID_EAX];
	default:
		return false;
	}
}

static bool subleaf_in_range(const struct cpuid_dump *dump, const struct feature *feature)
{
	const struct cpuid_leaf *first;

	if (feature->leaf != LEAF_STRUCTURED || !feature->subleaf)
		return true;
	first = cpuid_find(dump, LEAF_STRUCTURED, 0);
	return first && feature->subleaf <= first->reg[CPUID_EAX];
}

/* --- caches
 * ---------------------------------------------------------------------------------------- */

/* The highest level of data or unified cache in leaf 4, or in 0x8000001D, which has its format. */
static uint64_t llc_of_subleaves(const struct cpuid_dump *dump, uint32_t leaf)
{
	unsigned highest = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < dump->count; i++) {
		const struct cpuid_leaf *entry = &dump->leaves[i];
		unsigned type = entry->reg[CPUID_EAX] & 0x1F,
			 level = entry->reg[CPUID_EAX] >> 5 & 7;
		uint32_t shape = entry->reg[CPUID_EBX];
		uint64_t size;

		if (entry->leaf != leaf || (type != 1 && type != 3) || level < highest)
			continue;
		size = ((uint64_t)entry->reg[CPUID_ECX] + 1) * ((shape & 0xFFF) + 1) *
		       ((shape >> 12 & 0x3FF) + 1) * ((shape >> 22) + 1);
		if (size > LLC_MOST)
			continue;
		if (level > highest || size > bytes)
			bytes = size;
		highest = level;
	}
	return bytes;
}

static uint64_t llc_of_amd(const struct cpuid_dump *dump, const char *vendor)
{
	const struct cpuid_leaf *bits = cpuid_find(dump, LEAF_EXTENDED_BITS, 0);
	const struct cpuid_leaf *caches = cpuid_find(dump, LEAF_AMD_CACHE, 0);
	uint64_t bytes = 0;
	uint32_t l2, l3;

	if (bits && bits->reg[CPUID_ECX] >> 22 & 1 && leaf_in_range(dump, vendor, LEAF_AMD_CACHES))
		bytes = llc_of_subleaves(dump, LEAF_AMD_CACHES);
	if (bytes || !caches || !leaf_in_range(dump, vendor, LEAF_AMD_CACHE))
		return bytes;
	l2 = caches->reg[CPUID_ECX];
	l3 = caches->reg[CPUID_EDX];
	if (l3 >> 12 & 0xF && l3 >> 18) /* an associativity of 0 means: disabled */
		return (uint64_t)(l3 >> 18) * AMD_L3_UNIT;
	return l2 >> 12 & 0xF ? (uint64_t)(l2 >> 16) * AMD_L2_UNIT : 0;
}

uint64_t cpu_llc_from_dump(const struct cpuid_dump *dump, const char *vendor)
{
	unsigned rules = cache_rule(vendor);
	uint64_t bytes = 0;

	if (rules & CACHE_LEAF_4 && leaf_in_range(dump, vendor, LEAF_CACHE))
		bytes = llc_of_subleaves(dump, LEAF_CACHE);
	if (!bytes && rules & CACHE_AMD)
		bytes = llc_of_amd(dump, vendor);
	return bytes;
}

/* --- from a dump
 * ----------------------------------------------------------------------------------- */

static void read_feature(struct cpu *cpu, const struct cpuid_dump *dump, int index)
{
	const struct feature *feature = &features[index];
	const struct cpuid_leaf *leaf;

	if (!leaf_in_range(dump, cpu->vendor, feature->leaf) || !subleaf_in_range(dump, feature)) {
		/* Above the highest leaf: the CPU itself says that it has no such bit. */
		feature_put(&cpu->known, index, true);
		return;
	}
	leaf = cpuid_find(dump, feature->leaf, feature->subleaf);
	if (!leaf)
		return;
	feature_put(&cpu->known, index, true);
	feature_put(&cpu->on, index, leaf->reg[feature->reg] >> feature->bit & 1);
}

int cpu_from_dump(struct cpu *cpu, const struct cpuid_dump *dump, struct error *err)
{
	const struct cpuid_leaf *zero = cpuid_find(dump, 0, 0), *one = cpuid_find(dump, 1, 0);

	cpu_init(cpu);
	cpu->origin = CPU_DUMP;
	if (!zero || !one)
		return error_set(err, ERROR_INPUT, "the CPUID dump has no leaf %d", zero ? 1 : 0);
	memcpy(cpu->vendor, &zero->reg[CPUID_EBX], 4);
	memcpy(cpu->vendor + 4, &zero->reg[CPUID_EDX], 4);
	memcpy(cpu->vendor + 8, &zero->reg[CPUID_ECX], 4);
	signature_decode(one->reg[CPUID_EAX], &cpu->family, &cpu->model, &cpu->stepping);
	cpu->stepping_max = cpu->stepping;
	cpu->identity_known = true;
	cpu->level = zero->reg[CPUID_EAX] <= INT32_MAX ? (int)zero->reg[CPUID_EAX] : INT32_MAX;
	cpu->line_bytes = (one->reg[CPUID_EBX] >> 8 & 0xFF) * LINE_UNIT;
	cpu->llc_bytes = cpu_llc_from_dump(dump, cpu->vendor);
	for (int i = 0; i < (int)feature_count; i++)
		read_feature(cpu, dump, i);
	return 0;
}

/* --- to a dump
 * ------------------------------------------------------------------------------------- */

static struct cpuid_leaf *leaf_of(struct cpuid_dump *dump, uint32_t leaf, uint32_t subleaf)
{
	for (size_t i = 0; i < dump->count; i++)
		if (dump->leaves[i].leaf == leaf && dump->leaves[i].subleaf == subleaf)
			return &dump->leaves[i];
	cpuid_add(dump, &(struct cpuid_leaf){ .leaf = leaf, .subleaf = subleaf });
	return &dump->leaves[dump->count - 1];
}

static void raise_highest(struct cpuid_dump *dump, uint32_t leaf)
{
	struct cpuid_leaf *base = leaf_of(dump, leaf & 0xC0000000u, 0);

	if (base->reg[CPUID_EAX] < leaf)
		base->reg[CPUID_EAX] = leaf;
}

/* One unified cache of exactly that size as a subleaf of leaf 4's format: line x ways x sets. */
static void put_cache(struct cpuid_dump *dump, uint32_t leaf, unsigned level, uint64_t bytes)
{
	struct cpuid_leaf *cache = leaf_of(dump, leaf, 0);
	unsigned line = 64, ways = 16;

	while (bytes % line)
		line /= 2;
	while (bytes / line % ways)
		ways--;
	cache->reg[CPUID_EAX] = 3 | level << 5;
	cache->reg[CPUID_EBX] = (line - 1) | (ways - 1) << 22;
	cache->reg[CPUID_ECX] = (uint32_t)(bytes / line / ways - 1);
	raise_highest(dump, leaf);
}

/* Where leaf 0x80000006 can say the size, there; else in 0x8000001D, which TOPOEXT announces. */
static void put_amd_cache(struct cpuid_dump *dump, uint64_t bytes)
{
	struct cpuid_leaf *bits = leaf_of(dump, LEAF_EXTENDED_BITS, 0);
	bool topoext = bits->reg[CPUID_ECX] >> 22 & 1;
	bool l3 = bytes % AMD_L3_UNIT == 0 && bytes / AMD_L3_UNIT <= 0x3FFF;
	bool l2 = bytes % AMD_L2_UNIT == 0 && bytes / AMD_L2_UNIT <= 0xFFFF;
	struct cpuid_leaf *caches = leaf_of(dump, LEAF_AMD_CACHE, 0);

	raise_highest(dump, LEAF_AMD_CACHE);
	if (l3)
		caches->reg[CPUID_EDX] = (uint32_t)(bytes / AMD_L3_UNIT) << 18 | 8u << 12 | 64;
	else if (l2)
		caches->reg[CPUID_ECX] = (uint32_t)(bytes / AMD_L2_UNIT) << 16 | 8u << 12 | 64;
	if (topoext || (!l3 && !l2)) {
		leaf_of(dump, LEAF_EXTENDED_BITS, 0)->reg[CPUID_ECX] |= 1u << 22;
		put_cache(dump, LEAF_AMD_CACHES, 3, bytes);
	}
}

static void put_features(const struct cpu *cpu, struct cpuid_dump *dump)
{
	for (int i = 0; i < (int)feature_count; i++) {
		const struct feature *feature = &features[i];

		if (!feature_in(&cpu->known, i) || !feature_in(&cpu->on, i))
			continue;
		leaf_of(dump, feature->leaf, feature->subleaf)->reg[feature->reg] |=
			1u << feature->bit;
		raise_highest(dump, feature->leaf);
		if (feature->leaf == LEAF_STRUCTURED &&
		    leaf_of(dump, LEAF_STRUCTURED, 0)->reg[CPUID_EAX] < feature->subleaf)
			leaf_of(dump, LEAF_STRUCTURED, 0)->reg[CPUID_EAX] = feature->subleaf;
	}
}

/* A CPU asked for with a low maximum leaf has none above it. */
static void drop_above_level(struct cpuid_dump *dump, uint32_t level)
{
	size_t kept = 0;

	for (size_t i = 0; i < dump->count; i++)
		if (dump->leaves[i].leaf >= 0x40000000u || dump->leaves[i].leaf <= level)
			dump->leaves[kept++] = dump->leaves[i];
	dump->count = kept;
}

void cpu_to_dump(const struct cpu *cpu, struct cpuid_dump *dump)
{
	unsigned rules = cache_rule(cpu->vendor);
	unsigned line = cpu->line_bytes ? cpu->line_bytes : 64;
	uint64_t llc = cpu->llc_bytes <= LLC_MOST ? cpu->llc_bytes : 0;
	struct cpuid_leaf *zero, *one;

	*dump = (struct cpuid_dump){ 0 };
	raise_highest(dump, 1);
	raise_highest(dump, LEAF_ADDRESSES);
	zero = leaf_of(dump, 0, 0);
	memcpy(&zero->reg[CPUID_EBX], cpu->vendor, 4);
	memcpy(&zero->reg[CPUID_EDX], cpu->vendor + 4, 4);
	memcpy(&zero->reg[CPUID_ECX], cpu->vendor + 8, 4);
	one = leaf_of(dump, 1, 0);
	one->reg[CPUID_EAX] = signature_encode(cpu->family, cpu->model, cpu->stepping);
	one->reg[CPUID_EBX] = (line / LINE_UNIT & 0xFF) << 8;
	put_features(cpu, dump);
	if (llc && rules & CACHE_LEAF_4)
		put_cache(dump, LEAF_CACHE, 3, llc);
	if (llc && rules & CACHE_AMD)
		put_amd_cache(dump, llc);
	if (cpu->level >= 0) {
		leaf_of(dump, 0, 0)->reg[CPUID_EAX] = (uint32_t)cpu->level;
		drop_above_level(dump, (uint32_t)cpu->level);
	}
}
