/* SPDX-License-Identifier: MIT */
/*
 * Which of the differences between two CPUs make a dispatcher pick another path: the smallest sets
 * of bits and identity fields that, taken over from one CPU to the other, take the pick over as
 * well.
 */
#ifndef QUIRKLAB_LAB_BISECT_H
#define QUIRKLAB_LAB_BISECT_H

#include "harness/cpu/cpu.h"
#include "harness/util/text.h"

enum flip_kind {
	FLIP_VENDOR,
	FLIP_FAMILY,
	FLIP_MODEL,
	FLIP_STEPPING,
	FLIP_LEVEL,
	FLIP_LINE,
	FLIP_BIT,
};

struct flip {
	enum flip_kind kind;
	int bit; /* of FLIP_BIT: the feature */
};

#define FLIPS_MAX     24
#define FLIP_SETS_MAX 16

/* The fields and bits of those a dispatcher looks at in which the two differ. A bit that a source
 * leaves open counts as off, as in replay. Returns how many. */
size_t flips_between(struct flip flips[FLIPS_MAX], const struct cpu *a, const struct cpu *b);
/* Takes over what the flips of the set (bit i: flips[i]) say. */
void flips_apply(struct cpu *to, const struct cpu *from, const struct flip *flips, uint32_t set);
/* "clzero off -> on, model 85 -> 1" */
void flips_write(struct text *out, const struct cpu *a, const struct cpu *b,
		 const struct flip *flips, uint32_t set);

/*
 * All sets of the smallest size for which `holds` is true, tried in order of size; at most
 * FLIP_SETS_MAX of them. Returns how many; 0: not even all of them together do.
 */
size_t flips_search(uint32_t sets[FLIP_SETS_MAX], size_t count,
		    bool (*holds)(void *context, uint32_t set), void *context);

#endif
