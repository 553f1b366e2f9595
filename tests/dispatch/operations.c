/* SPDX-License-Identifier: MIT */
/*
 * The operations: choose, then call the path.
 */
#include "tests/dispatch/paths.h"

#define PAGE_BYTES  4096
#define REPEAT_BYTE 0x0101010101010101ULL

path_set_fn *const path_set[DISPATCH_PATHS] = {
	[DISPATCH_MOV] = path_set_mov,
	[DISPATCH_REP_STOSB] = path_set_rep_stosb,
	[DISPATCH_REP_STOSQ] = path_set_rep_stosq,
	[DISPATCH_MOVNTI] = path_set_movnti,
	[DISPATCH_CLZERO] = path_clear_clzero,
};

path_copy_fn *const path_copy[DISPATCH_PATHS][PATH_FLUSHES] = {
	[DISPATCH_MOVNTI] = {
		[PATH_CLWB] = path_copy_movnti_clwb,
		[PATH_CLFLUSHOPT] = path_copy_movnti_clflushopt,
		[PATH_CLFLUSH] = path_copy_movnti_clflush,
	},
	/* Chosen only where there is CLFLUSHOPT; the selftest tries it on every CPU. */
	[DISPATCH_CLFLUSHOPT_COPY] = {
		[PATH_CLWB] = path_copy_clflushopt_clwb,
		[PATH_CLFLUSHOPT] = path_copy_clflushopt_clflushopt,
		[PATH_CLFLUSH] = path_copy_clflushopt_clflushopt,
	},
};

/* clwb keeps the line in the cache, clflushopt is not ordered, clflush is in every x86-64 CPU:
 * the order of clwb() in the kernel's special_insns.h. */
enum path_flush path_flush_of(const struct dispatch_cpu *cpu)
{
	return cpu->clwb ? PATH_CLWB : cpu->clflushopt ? PATH_CLFLUSHOPT : PATH_CLFLUSH;
}

static inline void set(const struct dispatch_cpu *cpu, enum dispatch_operation operation, void *to,
		       uint64_t pattern, size_t length)
{
	path_set[dispatch_choose(cpu, operation, length).path](to, pattern, length);
}

static inline void copy(const struct dispatch_cpu *cpu, enum dispatch_operation operation, void *to,
			const void *from, size_t length)
{
	enum dispatch_path path = dispatch_choose(cpu, operation, length).path;

	path_copy[path][path_flush_of(cpu)](to, from, length);
}

void dispatch_clear_page(const struct dispatch_cpu *cpu, void *page)
{
	set(cpu, DISPATCH_CLEAR_PAGE, page, 0, PAGE_BYTES);
}

void dispatch_clear_extent(const struct dispatch_cpu *cpu, void *to, size_t length)
{
	set(cpu, DISPATCH_CLEAR_EXTENT, to, 0, length);
}

void dispatch_memset(const struct dispatch_cpu *cpu, void *to, int byte, size_t length)
{
	set(cpu, DISPATCH_MEMSET, to, (uint8_t)byte * REPEAT_BYTE, length);
}

void dispatch_memcpy_flushcache(const struct dispatch_cpu *cpu, void *to, const void *from,
				size_t length)
{
	copy(cpu, DISPATCH_MEMCPY_FLUSHCACHE, to, from, length);
}

void dispatch_memcpy_flushcache_single(const struct dispatch_cpu *cpu, void *to, const void *from,
				       size_t length)
{
	copy(cpu, DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, to, from, length);
}

void dispatch_commit(void)
{
	path_commit();
}
