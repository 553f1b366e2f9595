/* SPDX-License-Identifier: MIT */
/*
 * The paths themselves (paths.S). Each works for every alignment and length. No alignment is needed
 * for speed but that of the caller's pages.
 */
#ifndef QUIRKLAB_DISPATCH_PATHS_H
#define QUIRKLAB_DISPATCH_PATHS_H

#include "tests/dispatch/dispatch.h"

/* pattern: one byte, repeated eight times; 0 to clear. path_clear_clzero needs 0. movnti and clzero
 * end with an sfence. */
typedef void path_set_fn(void *to, uint64_t pattern, size_t length);
path_set_fn path_set_mov, path_set_rep_stosb, path_set_rep_stosq, path_set_movnti;
path_set_fn path_clear_clzero;

/* Whole words past the cache or lines flushed behind it; the suffix says what flushes the unaligned
 * head and tail. No fence: path_commit. */
typedef void path_copy_fn(void *to, const void *from, size_t length);
path_copy_fn path_copy_movnti_clwb, path_copy_movnti_clflushopt, path_copy_movnti_clflush;
path_copy_fn path_copy_clflushopt_clwb, path_copy_clflushopt_clflushopt;

void path_commit(void);

/* How head and tail are flushed: the best that the CPU has. */
enum path_flush { PATH_CLWB, PATH_CLFLUSHOPT, PATH_CLFLUSH, PATH_FLUSHES };
enum path_flush path_flush_of(const struct dispatch_cpu *cpu);

/* By path; NULL where the path cannot set or copy (operations.c). */
extern path_set_fn *const path_set[DISPATCH_PATHS];
extern path_copy_fn *const path_copy[DISPATCH_PATHS][PATH_FLUSHES];

#endif
