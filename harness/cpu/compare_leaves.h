/* SPDX-License-Identifier: MIT */
/*
 * Asked and seen leaf by leaf: what a dump says and a guest does not see, beyond the named bits, by
 * what it is about and what reads it.
 */
#ifndef QUIRKLAB_HARNESS_CPU_COMPARE_LEAVES_H
#define QUIRKLAB_HARNESS_CPU_COMPARE_LEAVES_H

#include "harness/cpu/dump.h"

/* A part of CPUID that no QEMU property sets, or not wholly. */
struct leaf_subject {
	uint32_t first, last; /* leaves */
	uint8_t registers;    /* bit i: register i */
	bool bits; /* single features: named ones are cpu_compare's, the others count here */
	const char *what;
	const char *reader; /* what depends on it; NULL: nothing that picks a path */
};
extern const struct leaf_subject leaf_subjects[];
extern const size_t leaf_subject_count;

struct leaf_gap {
	const struct leaf_subject *subject; /* NULL: a leaf of no subject */
	uint32_t leaf, subleaf;
	enum cpuid_register reg;
	uint32_t asked, seen;
	uint32_t differs; /* bits that are known of both, differ, and have no name of their own */
};

#define LEAF_GAPS_MAX 1024

/*
 * The registers in which they differ, in the dump's order. A leaf that the guest has not is read as
 * zero; what the dump does not say differs from nothing. Returns how many there are, at most
 * `room`.
 */
size_t leaves_compare(struct leaf_gap *gaps, size_t room, const struct dump_cpu *asked,
		      const struct cpuid_dump *seen);

#endif
