// SPDX-License-Identifier: MIT
/* Asked and seen, leaf by leaf. What each leaf is about: Intel SDM vol. 2A, CPUID; AMD APM vol. 3,
 * appendix E. */
#include "harness/cpu/compare_leaves.h"

#include <string.h>

#define EAX (1 << CPUID_EAX)
#define EBX (1 << CPUID_EBX)
#define ECX (1 << CPUID_ECX)
#define EDX (1 << CPUID_EDX)
#define ALL (EAX | EBX | ECX | EDX)

/* The first row that has the leaf and the register is the one. */
const struct leaf_subject leaf_subjects[] = {
	{ 0x0, 0x0, EAX, false, "highest basic leaf", "whether the leaves above are read at all" },
	{ 0x1, 0x1, EAX, false, "processor type", NULL },
	{ 0x1, 0x1, EBX, false, "APIC id, CPUs of a package, CLFLUSH line",
	  "the line: copies that flush line by line" },
	{ 0x1, 0x1, ECX | EDX, true, "feature bits without a name here", NULL },
	{ 0x2, 0x2, ALL, false, "cache descriptors",
	  "cache sizes, to programs that do not read leaf 4" },
	{ 0x4, 0x4, ALL, false, "cache geometry",
	  "where an extent reaches the last-level cache; a libc's non-temporal threshold" },
	{ 0x5, 0x6, ALL, false, "MONITOR, power and temperature", NULL },
	{ 0x7, 0x7, ALL, true, "feature bits without a name here", NULL },
	{ 0x9, 0x9, ALL, false, "direct cache access", NULL },
	{ 0xA, 0xA, ALL, false, "performance counters", NULL },
	{ 0xB, 0xB, ALL, false, "topology", "how many threads share a cache, to a libc" },
	{ 0xD, 0xD, ALL, false, "XSAVE areas and XCR0", "which vector registers a libc may use" },
	{ 0xF, 0x10, ALL, false, "resource monitoring and allocation", NULL },
	{ 0x12, 0x12, ALL, false, "SGX", NULL },
	{ 0x14, 0x14, ALL, false, "processor trace", NULL },
	{ 0x15, 0x16, ALL, false, "clock rates", NULL },
	{ 0x17, 0x19, ALL, false, "SoC vendor, address translation, key locker", NULL },
	{ 0x1A, 0x1A, ALL, false, "kind of core (hybrid)", "choices made for one kind of core" },
	{ 0x1B, 0x1C, ALL, false, "PCONFIG, branch records", NULL },
	{ 0x1D, 0x1E, ALL, false, "AMX tiles", NULL },
	{ 0x1F, 0x1F, ALL, false, "topology", "how many threads share a cache, to a libc" },
	{ 0x20, 0x29, ALL, false, "HRESET, performance counters, AVX10, APX", NULL },
	{ 0x40000000, 0x4FFFFFFF, ALL, false, "a hypervisor's leaves: QEMU shows its own",
	  "what a kernel knows of its hypervisor" },
	{ 0x80000000, 0x80000000, EAX, false, "highest extended leaf", NULL },
	{ 0x80000000, 0x80000000, ALL, false, "vendor, once more", NULL },
	{ 0x80000001, 0x80000001, EAX | EBX, false, "signature, once more", NULL },
	{ 0x80000001, 0x80000001, ECX | EDX, true, "feature bits without a name here", NULL },
	{ 0x80000002, 0x80000004, ALL, false, "brand string", NULL },
	{ 0x80000005, 0x80000006, ALL, false, "caches and TLBs",
	  "where an extent reaches the last-level cache, without TOPOEXT" },
	{ 0x80000007, 0x80000007, ALL, true, "feature bits without a name here", NULL },
	{ 0x80000008, 0x80000008, EBX, true, "feature bits without a name here", NULL },
	{ 0x80000008, 0x80000008, ALL, false, "width of addresses, cores", NULL },
	{ 0x8000000A, 0x8000000A, ALL, false, "SVM", NULL },
	{ 0x80000019, 0x8000001C, ALL, false, "TLBs, instruction sampling", NULL },
	{ 0x8000001D, 0x8000001D, ALL, false, "cache geometry",
	  "where an extent reaches the last-level cache; a libc's non-temporal threshold" },
	{ 0x8000001E, 0x8000001E, ALL, false, "topology", NULL },
	{ 0x8000001F, 0x80000020, ALL, false, "encryption, quality of service", NULL },
	{ 0x80000021, 0x80000021, ALL, true, "feature bits without a name here", NULL },
	{ 0x80000022, 0x80000026, ALL, false, "performance counters, encryption, topology", NULL },
	{ 0xC0000000, 0xC0000000, ALL, false, "highest leaf of Centaur's range", NULL },
	{ 0xC0000001, 0xC0000001, ALL, true, "feature bits without a name here", NULL },
};
const size_t leaf_subject_count = sizeof(leaf_subjects) / sizeof(leaf_subjects[0]);

static const struct leaf_subject *subject_of(uint32_t leaf, enum cpuid_register reg)
{
	for (size_t i = 0; i < leaf_subject_count; i++)
		if (leaf >= leaf_subjects[i].first && leaf <= leaf_subjects[i].last &&
		    leaf_subjects[i].registers >> reg & 1)
			return &leaf_subjects[i];
	return NULL;
}

static uint32_t named_bits(uint32_t leaf, uint32_t subleaf, enum cpuid_register reg)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < feature_count; i++)
		if (features[i].leaf == leaf && features[i].subleaf == subleaf &&
		    features[i].reg == reg)
			mask |= 1u << features[i].bit;
	return mask;
}

/* Family, model and stepping are cpu_compare's. */
#define SIGNATURE_MASK 0x0FFF0FFFu

static uint32_t told_elsewhere(uint32_t leaf, uint32_t subleaf, enum cpuid_register reg)
{
	if (leaf == 0 && reg != CPUID_EAX)
		return UINT32_MAX; /* the vendor */
	if (leaf == 1 && reg == CPUID_EAX)
		return SIGNATURE_MASK;
	return named_bits(leaf, subleaf, reg);
}

size_t leaves_compare(struct leaf_gap *gaps, size_t room, const struct dump_cpu *asked,
		      const struct cpuid_dump *seen)
{
	size_t count = 0;

	for (size_t i = 0; i < asked->leaf_count; i++) {
		const struct dump_leaf *leaf = &asked->leaves[i];
		const struct cpuid_leaf *found = cpuid_find(seen, leaf->leaf, leaf->subleaf);

		for (int reg = CPUID_EAX; reg <= CPUID_EDX && count < room; reg++) {
			uint32_t other = found ? found->reg[reg] : 0;
			uint32_t differs = (leaf->reg[reg] ^ other) & leaf->known[reg] &
					   ~told_elsewhere(leaf->leaf, leaf->subleaf, reg);

			if (!differs)
				continue;
			gaps[count++] = (struct leaf_gap){
				.subject = subject_of(leaf->leaf, reg),
				.leaf = leaf->leaf,
				.subleaf = leaf->subleaf,
				.reg = reg,
				.asked = leaf->reg[reg],
				.seen = other,
				.differs = differs,
			};
		}
	}
	return count;
}
