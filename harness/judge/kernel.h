/* SPDX-License-Identifier: MIT */
/*
 * What a kernel picked, read from its patched code (subject `linux`).
 *
 * `does` is the decoded code: the main store that a long, aligned block reaches. `says` is what the
 * name of the routine that holds it claims (clear_page_erms: rep-stosb); where a name claims
 * nothing (memset itself, code inline in its callers) the code speaks for itself, and says = does.
 * `row` is that symbol. Where callers were patched, all of them must have been patched alike.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_KERNEL_H
#define QUIRKLAB_HARNESS_JUDGE_KERNEL_H

#include "harness/judge/judge.h"

struct kernel_pick {
	const char *operation, *class; /* static */
	uint64_t size;		       /* 0: any */
	char says[32], row[64];
	struct deed deed;
	char fault[160]; /* "" or why it is a fail whatever is expected */
};

/* The operations that the kernel has; returns how many, at most `room`. */
size_t kernel_picks(struct kernel_pick *out, size_t room, const struct observed_kernel *kernel);

/* The instruction that its clwb() was patched to: clwb, clflushopt, clflush, "mixed"; "": unknown.
 */
void kernel_flush(char *out, size_t room, const struct observed_kernel *kernel);

/* What the record keeps of it; the caller frees. */
struct cell_kernel *kernel_facts(const struct observed_kernel *kernel);

#endif
