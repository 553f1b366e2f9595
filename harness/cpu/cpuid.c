/* SPDX-License-Identifier: MIT */
/* A CPUID dump as a growing list of leaves. */
#include "harness/cpu/cpuid.h"

#include <stdlib.h>
#include "harness/util/text.h"

void cpuid_add(struct cpuid_dump *dump, const struct cpuid_leaf *leaf)
{
	if (dump->count == dump->room) {
		dump->room = dump->room ? dump->room * 2 : 32;
		dump->leaves = xrealloc(dump->leaves, dump->room * sizeof(*dump->leaves));
	}
	dump->leaves[dump->count++] = *leaf;
}

const struct cpuid_leaf *cpuid_find(const struct cpuid_dump *dump, uint32_t leaf, uint32_t subleaf)
{
	for (size_t i = 0; i < dump->count; i++)
		if (dump->leaves[i].leaf == leaf && dump->leaves[i].subleaf == subleaf)
			return &dump->leaves[i];
	return NULL;
}

void cpuid_free(struct cpuid_dump *dump)
{
	free(dump->leaves);
	*dump = (struct cpuid_dump){ 0 };
}
