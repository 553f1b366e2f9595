/* SPDX-License-Identifier: MIT */
/* A CPUID dump: leaves and subleaves with their registers, as a guest or a file gave them. */
#ifndef QUIRKLAB_HARNESS_CPU_CPUID_H
#define QUIRKLAB_HARNESS_CPU_CPUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpuid_leaf {
	uint32_t leaf, subleaf;
	uint32_t reg[4]; /* EAX EBX ECX EDX */
};

struct cpuid_dump {
	struct cpuid_leaf *leaves; /* in no promised order; owned */
	size_t count, room;
};

void cpuid_add(struct cpuid_dump *dump, const struct cpuid_leaf *leaf);
/* NULL where the dump does not have it: missing is not zero. */
const struct cpuid_leaf *cpuid_find(const struct cpuid_dump *dump, uint32_t leaf, uint32_t subleaf);
void cpuid_free(struct cpuid_dump *dump);

#endif
