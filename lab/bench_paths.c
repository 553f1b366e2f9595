// SPDX-License-Identifier: MIT
/* The paths that are measured: the dispatcher's own, and the ways to copy that it has not. */
#include <cpuid.h>
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

/* --- stores that become durable: whole lines, each flushed behind its stores, or past the cache
 * ------- */

/* One line a round (clzero names its line in rax); store(offset) is the instruction for the part of
 * the line at that offset. */
#define STORE_LINES(name, line)                                                   \
	static void name(void *to, const void *from, size_t bytes)                \
	{                                                                         \
		size_t lines = bytes / LINE;                                      \
		(void)from;                                                       \
		__asm__ volatile("1: " line "add $64, %0; dec %1; jnz 1b; sfence" \
				 : "+r"(to), "+r"(lines)                          \
				 : "r"(SOME_BYTES)                                \
				 : "rax", "memory", "cc");                        \
	}

/* Vectors hold whatever they hold: the flushes do not care, and an AVX state of ours would cost. */
#define WORDS(store)                                                                           \
	store " %2, (%0);" store " %2, 8(%0);" store " %2, 16(%0);" store " %2, 24(%0);" store \
	      " %2, 32(%0);" store " %2, 40(%0);" store " %2, 48(%0);" store " %2, 56(%0);"
#define XMMS(store)                                                                    \
	store " %%xmm0, (%0);" store " %%xmm0, 16(%0);" store " %%xmm0, 32(%0);" store \
	      " %%xmm0, 48(%0);"
#define YMMS(store) store " %%ymm0, (%0);" store " %%ymm0, 32(%0);"

STORE_LINES(store_movnti, WORDS("movnti"))
STORE_LINES(store_mov_clwb, WORDS("mov") "clwb (%0);")
STORE_LINES(store_mov_clflushopt, WORDS("mov") "clflushopt (%0);")
STORE_LINES(store_mov_clflush, WORDS("mov") "clflush (%0);")
STORE_LINES(store_movntdq_xmm, XMMS("movntdq"))
STORE_LINES(store_xmm_clwb, XMMS("movdqa") "clwb (%0);")
STORE_LINES(store_xmm_clflushopt, XMMS("movdqa") "clflushopt (%0);")
STORE_LINES(store_movntdq_ymm, YMMS("vmovntdq"))
STORE_LINES(store_ymm_clwb, YMMS("vmovdqa") "clwb (%0);")
STORE_LINES(store_zmm_nt, "vmovntdq %%zmm0, (%0);")
STORE_LINES(store_zmm_clwb, "vmovdqa64 %%zmm0, (%0); clwb (%0);")
STORE_LINES(store_clzero_clwb, "mov %0, %%rax; clzero; clwb (%0);")

/* movdir64b writes a line at once, from a line of memory. */
static void store_movdir64b(void *to, const void *from, size_t bytes)
{
	static const uint8_t line[LINE] __attribute__((aligned(LINE))) = { 0x5a };
	size_t lines = bytes / LINE;

	(void)from;
	__asm__ volatile("1: movdir64b (%2), %0; add $64, %0; dec %1; jnz 1b; sfence"
			 : "+r"(to), "+r"(lines)
			 : "r"(line)
			 : "memory", "cc");
}

/* --- what this CPU can execute
 * ---------------------------------------------------------------------- */

/* What a path may need of a CPU. */
enum ability {
	CLZERO = 1 << 0,
	CLWB = 1 << 1,
	CLFLUSHOPT = 1 << 2,
	AVX = 1 << 3, /* and a system that keeps its registers */
	AVX512F = 1 << 4,
	MOVDIR64B = 1 << 5,
};

/* What the runs have to know of a path. */
enum trait {
	READS = 1 << 0,	     /* it copies */
	PAST_CACHE = 1 << 1, /* its stores go past the caches, or are flushed out of them (clwb may
				leave them there) */
};

/* The paths of each operation. Where one path has several ways to flush, `unless` leaves the best
 * one that the CPU has. */
static const struct row {
	const char *operation, *path;
	void (*work)(void *to, const void *from, size_t bytes);
	size_t unit;
	unsigned traits;	/* enum trait */
	unsigned needs, unless; /* enum ability */
} rows[] = {
	{ "memset", "rep-stosb", set_rep_stosb, 0, 0, 0, 0 },
	{ "memset", "rep-stosq", set_rep_stosq, 0, 0, 0, 0 },
	{ "memset", "mov", set_mov, 0, 0, 0, 0 },
	{ "memset", "movnti", set_movnti, 0, PAST_CACHE, 0, 0 },
	{ "clear_page", "rep-stosb", clear_rep_stosb, PAGE, 0, 0, 0 },
	{ "clear_page", "rep-stosq", clear_rep_stosq, PAGE, 0, 0, 0 },
	{ "clear_page", "mov", clear_mov, PAGE, 0, 0, 0 },
	{ "clear_page", "movnti", clear_movnti, PAGE, PAST_CACHE, 0, 0 },
	{ "clear_page", "clzero", clear_clzero, PAGE, 0, CLZERO, 0 },
	{ "clear_extent", "rep-stosb", clear_rep_stosb, 0, 0, 0, 0 },
	{ "clear_extent", "rep-stosq", clear_rep_stosq, 0, 0, 0, 0 },
	{ "clear_extent", "mov", clear_mov, 0, 0, 0, 0 },
	{ "clear_extent", "movnti", clear_movnti, 0, PAST_CACHE, 0, 0 },
	{ "clear_extent", "clzero", clear_clzero, 0, 0, CLZERO, 0 },
	{ "copy", "rep-movsb", copy_rep_movsb, 0, READS, 0, 0 },
	{ "copy", "mov", copy_mov, 0, READS, 0, 0 },
	{ "copy", "movnti", copy_movnti, 0, READS | PAST_CACHE, 0, 0 },
	{ "memcpy_flushcache", "movnti", flush_movnti_clwb, 0, READS | PAST_CACHE, CLWB, 0 },
	{ "memcpy_flushcache", "movnti", flush_movnti_clflushopt, 0, READS | PAST_CACHE, CLFLUSHOPT,
	  CLWB },
	{ "memcpy_flushcache", "movnti", flush_movnti_clflush, 0, READS | PAST_CACHE, 0,
	  CLFLUSHOPT | CLWB },
	{ "memcpy_flushcache", "clflushopt-copy", flush_clflushopt_clwb, 0, READS,
	  CLFLUSHOPT | CLWB, 0 },
	{ "memcpy_flushcache", "clflushopt-copy", flush_clflushopt_clflushopt, 0,
	  READS | PAST_CACHE, CLFLUSHOPT, CLWB },
	{ "flush", "movnti-8", store_movnti, 0, PAST_CACHE, 0, 0 },
	{ "flush", "mov-8+clwb", store_mov_clwb, 0, 0, CLWB, 0 },
	{ "flush", "mov-8+clflushopt", store_mov_clflushopt, 0, PAST_CACHE, CLFLUSHOPT, 0 },
	{ "flush", "mov-8+clflush", store_mov_clflush, 0, PAST_CACHE, 0, CLFLUSHOPT | CLWB },
	{ "flush", "movntdq-16", store_movntdq_xmm, 0, PAST_CACHE, 0, 0 },
	{ "flush", "mov-16+clwb", store_xmm_clwb, 0, 0, CLWB, 0 },
	{ "flush", "mov-16+clflushopt", store_xmm_clflushopt, 0, PAST_CACHE, CLFLUSHOPT, 0 },
	{ "flush", "movntdq-32", store_movntdq_ymm, 0, PAST_CACHE, AVX, 0 },
	{ "flush", "mov-32+clwb", store_ymm_clwb, 0, 0, AVX | CLWB, 0 },
	{ "flush", "movntdq-64", store_zmm_nt, 0, PAST_CACHE, AVX512F, 0 },
	{ "flush", "mov-64+clwb", store_zmm_clwb, 0, 0, AVX512F | CLWB, 0 },
	{ "flush", "movdir64b", store_movdir64b, 0, PAST_CACHE, MOVDIR64B, 0 },
	{ "flush", "clzero+clwb", store_clzero_clwb, 0, 0, CLZERO | CLWB, 0 },
};

static unsigned abilities(const struct dispatch_cpu *cpu)
{
	uint32_t eax, ebx, ecx, edx;
	unsigned have = 0;

	__builtin_cpu_init();
	have |= cpu->clzero ? CLZERO : 0;
	have |= cpu->clwb ? CLWB : 0;
	have |= cpu->clflushopt ? CLFLUSHOPT : 0;
	have |= __builtin_cpu_supports("avx") ? AVX : 0;
	have |= __builtin_cpu_supports("avx512f") ? AVX512F : 0;
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ecx & bit_MOVDIR64B)
		have |= MOVDIR64B;
	return have;
}

/* What the dispatcher takes at a small extent; copies go by ERMS, as rep-stosb does. */
static const char *reference_of(const char *operation, const struct dispatch_cpu *cpu)
{
	if (!strcmp(operation, "memcpy_flushcache"))
		return "movnti";
	if (!strcmp(operation, "flush"))
		return "movnti-8";
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
	unsigned have = abilities(cpu);
	size_t count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if ((rows[i].needs & ~have) || (rows[i].unless & have))
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
			.reads = rows[i].traits & READS,
			.past_cache = rows[i].traits & PAST_CACHE,
		};
	}
	for (size_t i = 0; i < count; i++)
		put_reference_first(&out[i], cpu);
	return count;
}
