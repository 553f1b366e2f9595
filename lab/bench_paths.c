// SPDX-License-Identifier: MIT
/* The paths that are measured: the dispatcher's own, and the ways to copy that it has not. */
#include <string.h>

#include "lab/bench.h"
#include "tests/dispatch/paths.h"

#define PAGE	   4096
#define SOME_BYTES 0x5a5a5a5a5a5a5a5aUL /* memset takes any byte; zeroes may be a special case */
#define LINE	   64

/* --- memset and clear: the paths of paths.S with a pattern
 * ---------------------------------------- */

#define SET_WITH(name, path, pattern)                              \
	static void name(void *to, const void *from, size_t bytes) \
	{                                                          \
		(void)from;                                        \
		path(to, pattern, bytes);                          \
	}

SET_WITH(set_rep_stosb, path_set_rep_stosb, SOME_BYTES)
SET_WITH(set_rep_stosq, path_set_rep_stosq, SOME_BYTES)
SET_WITH(set_mov, path_set_mov, SOME_BYTES)
SET_WITH(set_movnti, path_set_movnti, SOME_BYTES)
SET_WITH(clear_rep_stosb, path_set_rep_stosb, 0)
SET_WITH(clear_rep_stosq, path_set_rep_stosq, 0)
SET_WITH(clear_mov, path_set_mov, 0)
SET_WITH(clear_movnti, path_set_movnti, 0)
SET_WITH(clear_clzero, path_clear_clzero, 0)

/* --- copies
 * ----------------------------------------------------------------------------------------- */

static void copy_rep_movsb(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

/* A line a round, as the flushing copies have it. */
#define COPY_LINES(name, store, fence)                                                       \
	static void name(void *to, const void *from, size_t bytes)                           \
	{                                                                                    \
		size_t lines = bytes / LINE;                                                 \
		__asm__ volatile("1: mov (%1), %%rax; mov 8(%1), %%r8; mov 16(%1), %%r9\n\t" \
				 "mov 24(%1), %%r10\n\t" store " %%rax, (%0)\n\t" store      \
				 " %%r8, 8(%0)\n\t" store " %%r9, 16(%0)\n\t" store          \
				 " %%r10, 24(%0)\n\t"                                        \
				 "mov 32(%1), %%rax; mov 40(%1), %%r8; mov 48(%1), %%r9\n\t" \
				 "mov 56(%1), %%r10\n\t" store " %%rax, 32(%0)\n\t" store    \
				 " %%r8, 40(%0)\n\t" store " %%r9, 48(%0)\n\t" store         \
				 " %%r10, 56(%0)\n\t"                                        \
				 "add $64, %0; add $64, %1; dec %2; jnz 1b\n\t" fence        \
				 : "+r"(to), "+r"(from), "+r"(lines)                         \
				 :                                                           \
				 : "rax", "r8", "r9", "r10", "memory", "cc");                \
	}

COPY_LINES(copy_mov, "mov", "")
COPY_LINES(copy_movnti, "movnti", "sfence")

/* --- flushing copies: with the flush of the CPU, and the fence that their caller owes
 * -------------- */

#define FLUSH_WITH(name, path)                                     \
	static void name(void *to, const void *from, size_t bytes) \
	{                                                          \
		path(to, from, bytes);                             \
		path_commit();                                     \
	}

FLUSH_WITH(flush_movnti_clwb, path_copy_movnti_clwb)
FLUSH_WITH(flush_movnti_clflushopt, path_copy_movnti_clflushopt)
FLUSH_WITH(flush_movnti_clflush, path_copy_movnti_clflush)
FLUSH_WITH(flush_clflushopt_clwb, path_copy_clflushopt_clwb)
FLUSH_WITH(flush_clflushopt_clflushopt, path_copy_clflushopt_clflushopt)

/* --- what this CPU can execute
 * ---------------------------------------------------------------------- */

enum needs {
	NEEDS_NOTHING,
	NEEDS_CLZERO,
	NEEDS_CLWB,
	NEEDS_CLFLUSHOPT,      /* clwb as well would be the row before */
	NEEDS_CLFLUSHOPT_ONLY, /* and no clwb */
	NEEDS_CLFLUSH_ONLY,    /* neither */
};

/* The paths of an operation, in the order of the table. The reference is the first of those whose
 * `common` is set that the CPU is made for. */
static const struct row {
	const char *operation, *path;
	void (*work)(void *to, const void *from, size_t bytes);
	size_t unit;
	bool reads;
	enum needs needs;
} rows[] = {
	{ "memset", "rep-stosb", set_rep_stosb, 0, false, NEEDS_NOTHING },
	{ "memset", "rep-stosq", set_rep_stosq, 0, false, NEEDS_NOTHING },
	{ "memset", "mov", set_mov, 0, false, NEEDS_NOTHING },
	{ "memset", "movnti", set_movnti, 0, false, NEEDS_NOTHING },
	{ "clear_page", "rep-stosb", clear_rep_stosb, PAGE, false, NEEDS_NOTHING },
	{ "clear_page", "rep-stosq", clear_rep_stosq, PAGE, false, NEEDS_NOTHING },
	{ "clear_page", "mov", clear_mov, PAGE, false, NEEDS_NOTHING },
	{ "clear_page", "movnti", clear_movnti, PAGE, false, NEEDS_NOTHING },
	{ "clear_page", "clzero", clear_clzero, PAGE, false, NEEDS_CLZERO },
	{ "clear_extent", "rep-stosb", clear_rep_stosb, 0, false, NEEDS_NOTHING },
	{ "clear_extent", "rep-stosq", clear_rep_stosq, 0, false, NEEDS_NOTHING },
	{ "clear_extent", "mov", clear_mov, 0, false, NEEDS_NOTHING },
	{ "clear_extent", "movnti", clear_movnti, 0, false, NEEDS_NOTHING },
	{ "clear_extent", "clzero", clear_clzero, 0, false, NEEDS_CLZERO },
	{ "copy", "rep-movsb", copy_rep_movsb, 0, true, NEEDS_NOTHING },
	{ "copy", "mov", copy_mov, 0, true, NEEDS_NOTHING },
	{ "copy", "movnti", copy_movnti, 0, true, NEEDS_NOTHING },
	{ "memcpy_flushcache", "movnti", flush_movnti_clwb, 0, true, NEEDS_CLWB },
	{ "memcpy_flushcache", "movnti", flush_movnti_clflushopt, 0, true, NEEDS_CLFLUSHOPT_ONLY },
	{ "memcpy_flushcache", "movnti", flush_movnti_clflush, 0, true, NEEDS_CLFLUSH_ONLY },
	{ "memcpy_flushcache", "clflushopt-copy", flush_clflushopt_clwb, 0, true,
	  NEEDS_CLFLUSHOPT },
	{ "memcpy_flushcache", "clflushopt-copy", flush_clflushopt_clflushopt, 0, true,
	  NEEDS_CLFLUSHOPT_ONLY },
};

static bool can(const struct dispatch_cpu *cpu, enum needs needs)
{
	switch (needs) {
	case NEEDS_NOTHING:
		return true;
	case NEEDS_CLZERO:
		return cpu->clzero;
	case NEEDS_CLWB:
		return cpu->clwb;
	case NEEDS_CLFLUSHOPT:
		return cpu->clwb && cpu->clflushopt;
	case NEEDS_CLFLUSHOPT_ONLY:
		return cpu->clflushopt && !cpu->clwb;
	case NEEDS_CLFLUSH_ONLY:
		return !cpu->clflushopt && !cpu->clwb;
	}
	return false;
}

/* What the dispatcher takes at a small extent; copies go by ERMS, as rep-stosb does. */
static const char *reference_of(const char *operation, const struct dispatch_cpu *cpu)
{
	if (!strcmp(operation, "memcpy_flushcache"))
		return "movnti";
	if (!strcmp(operation, "copy"))
		return cpu->erms ? "rep-movsb" : "mov";
	return cpu->erms ? "rep-stosb" : cpu->rep_good ? "rep-stosq" : "mov";
}

static void put_reference_first(struct bench_operation *operation, const struct dispatch_cpu *cpu)
{
	const char *reference = reference_of(operation->name, cpu);

	for (size_t i = 1; i < operation->path_count; i++) {
		struct measured_path path = operation->paths[i];

		if (strcmp(path.path, reference))
			continue;
		memmove(operation->paths + 1, operation->paths, i * sizeof(path));
		operation->paths[0] = path;
		return;
	}
}

size_t bench_operations(struct bench_operation *out, const struct dispatch_cpu *cpu)
{
	struct bench_operation *operation = NULL;
	size_t count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!can(cpu, rows[i].needs))
			continue;
		if (!operation || strcmp(operation->name, rows[i].operation)) {
			operation = &out[count++];
			*operation = (struct bench_operation){ .name = rows[i].operation };
		}
		operation->paths[operation->path_count++] = (struct measured_path){
			.operation = rows[i].operation,
			.path = rows[i].path,
			.work = rows[i].work,
			.unit = rows[i].unit,
			.reads = rows[i].reads,
		};
	}
	for (size_t i = 0; i < count; i++)
		put_reference_first(&out[i], cpu);
	return count;
}
