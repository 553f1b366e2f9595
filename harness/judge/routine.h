/* SPDX-License-Identifier: MIT */
/* What a routine of a kernel does, read from its code: nothing is executed. */
#ifndef QUIRKLAB_HARNESS_JUDGE_ROUTINE_H
#define QUIRKLAB_HARNESS_JUDGE_ROUTINE_H

#include "harness/guest/observation.h"

struct routine {
	bool found;	 /* the kernel has the entry, and its bytes are there */
	char path[32];	 /* "rep-stosb"; "" where nothing is stored */
	char symbol[64]; /* the symbol whose code holds that store */
	char flush[16];	 /* clwb, clflushopt, clflush; "mixed"; "" for none */
};

/*
 * Follows the code from the first of the entries that is there (NULL ends the list): both sides of
 * each branch, the side that does not jump first; direct jumps; and direct calls of the routines
 * whose names are in `into` (NULL ends it; NULL for none). Only bytes that were reported are read.
 * The path is the first string instruction with a rep prefix or non-temporal store that is met,
 * else mov where anything is stored: what the routine does for long, aligned blocks.
 */
void routine_follow(struct routine *out, const struct observed_kernel *kernel,
		    const char *const *entries, const char *const *into);

#endif
