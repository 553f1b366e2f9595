/* SPDX-License-Identifier: MIT */
/*
 * Named CPUID bits: one table (feature.c) with the kernel's flag name, QEMU's property, libvirt's
 * name, and the leaf, subleaf, register and bit behind it. Sets of them are bitmaps indexed by the
 * row in that table.
 */
#ifndef QUIRKLAB_HARNESS_CPU_FEATURE_H
#define QUIRKLAB_HARNESS_CPU_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cpuid_register { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

struct feature {
	const char *name; /* the kernel's flag name (arch/x86/include/asm/cpufeatures.h): erms */
	const char *qemu; /* QEMU 7.2's property or NULL where it has none */
	const char *qemu_new; /* the property of a newer QEMU, where 7.2 has none; else NULL */
	unsigned qemu_since;  /* that QEMU: major * 1000 + minor */
	const char *libvirt;  /* libvirt's name, NULL where it has none */
	uint32_t leaf;
	uint32_t subleaf;
	enum cpuid_register reg;
	uint8_t bit;
	unsigned tcg_since; /* the QEMU from which TCG enables it by itself (7002: or before); 0:
			       none */
	bool dispatch;	    /* a column of the catalogue: erms fsrm fsrs fzrm clzero clwb ... */
};

extern const struct feature features[];
extern const size_t feature_count;

#define FEATURE_WORDS 8
struct feature_set {
	uint64_t word[FEATURE_WORDS]; /* bit i: features[i] */
};

/* By the kernel's, QEMU's or libvirt's spelling, any case, '-' and '_' alike. -1: no such bit. */
int feature_find(const char *name);
/* The table's name that is nearest to a mistyped one, or NULL where none is near. */
const char *feature_near(const char *name);

static inline bool feature_in(const struct feature_set *set, int index)
{
	return set->word[index / 64] >> (index % 64) & 1;
}

static inline void feature_put(struct feature_set *set, int index, bool on)
{
	uint64_t mask = 1ULL << (index % 64);

	set->word[index / 64] = on ? set->word[index / 64] | mask : set->word[index / 64] & ~mask;
}

#endif
