/* SPDX-License-Identifier: MIT */
/*
 * The dispatcher under test: which way to clear, set or copy memory on which CPU, and the ways
 * themselves. Freestanding: no libc, no allocation, no global state. The same files build for the
 * host (replay), the bare guest and the Linux guest.
 *
 *   identify   CPUID -> struct dispatch_cpu (feature bits, REP_GOOD, cache, the quirk row)
 *   choose     (CPU, operation, extent) -> path, what decided, a reason in words
 *   do         dispatch_clear_page() and friends choose and then call the path
 *
 * Sizes are in bytes everywhere.
 */
#ifndef QUIRKLAB_DISPATCH_H
#define QUIRKLAB_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dispatch_operation {
	DISPATCH_CLEAR_PAGE,
	DISPATCH_CLEAR_EXTENT,
	DISPATCH_MEMSET,
	DISPATCH_MEMCPY_FLUSHCACHE,
	DISPATCH_MEMCPY_FLUSHCACHE_SINGLE,
	DISPATCH_OPERATIONS
};

enum dispatch_path {
	DISPATCH_MOV,
	DISPATCH_REP_STOSB,
	DISPATCH_REP_STOSQ,
	DISPATCH_MOVNTI,
	DISPATCH_CLZERO,
	DISPATCH_CLFLUSHOPT_COPY,
	DISPATCH_PATHS
};

/* Quirks: what a feature bit does not say. Opt-out: a CPU that no row names has none. */
enum dispatch_quirk {
	DISPATCH_NT_BAD = 1 << 0, /* non-temporal stores lose to cached ones at every extent */
};
#define DISPATCH_QUIRKS_ALL DISPATCH_NT_BAD /* all of them, or-ed */

/* One row of the quirk table (quirks.c). The first row that matches decides. */
struct dispatch_quirk_row {
	const char *name;   /* how reports name it, such as "skylake-x" */
	const char *vendor; /* the 12 bytes of leaf 0 */
	uint16_t family;
	uint16_t models[8]; /* full model numbers; model_count of them */
	uint8_t model_count;
	uint8_t stepping_min, stepping_max; /* both included */
	uint32_t quirks;		    /* enum dispatch_quirk, or-ed */
	const char *reason;		    /* what was measured */
	const char *source;		    /* who measured it, and where it is published */
};

struct dispatch_quirk_table {
	const struct dispatch_quirk_row *rows;
	size_t count;
};

/* The table of this build. Tests put another in its place by linking another quirks.o. */
extern const struct dispatch_quirk_table dispatch_quirks;

struct dispatch_registers {
	uint32_t eax, ebx, ecx, edx;
};

/* How identify reads CPUID: the instruction in a guest, a table of leaves in replay. */
typedef void dispatch_cpuid_fn(void *context, uint32_t leaf, uint32_t subleaf,
			       struct dispatch_registers *out);

struct dispatch_cpu {
	char vendor[13];
	uint16_t family, model;
	uint8_t stepping;
	bool rep_good; /* derived from the signature and MISC_ENABLE, as current Linux does */
	bool erms, fsrm, clzero, clflushopt, clwb;
	bool fsrs; /* leaf 7.1 EAX bit 11, or AuthenticAMD with FSRM */
	uint16_t line_bytes;
	uint64_t llc_bytes;
	const struct dispatch_quirk_row *row; /* the quirk row that matches, or NULL */
};

/* fast_strings: IA32_MISC_ENABLE bit 0; looked at on Intel only. */
void dispatch_identify(struct dispatch_cpu *cpu, dispatch_cpuid_fn *cpuid, void *context,
		       bool fast_strings);

/* The dispatcher's own identity, read with the CPUID instruction. */
void dispatch_cpuid_instruction(void *context, uint32_t leaf, uint32_t subleaf,
				struct dispatch_registers *out);

/* Whether the row names this CPU, and the first row of a table that does, or NULL: for another
 * table than the build's, put into cpu->row. */
bool dispatch_row_matches(const struct dispatch_quirk_row *row, const struct dispatch_cpu *cpu);
const struct dispatch_quirk_row *dispatch_find_row(const struct dispatch_quirk_table *table,
						   const struct dispatch_cpu *cpu);

struct dispatch_choice {
	enum dispatch_path path;
	const struct dispatch_quirk_row *row; /* that decided, or NULL: a feature or the rule */
	const char *reason;		      /* in words; static storage */
};

struct dispatch_choice dispatch_choose(const struct dispatch_cpu *cpu,
				       enum dispatch_operation operation, uint64_t size);

/* The classes at which each operation is judged. size: of that class on a CPU with this LLC. */
struct dispatch_class {
	enum dispatch_operation operation;
	const char *name; /* "4k", "half", "llc", "2llc", "64", "767", "768" */
};
extern const struct dispatch_class dispatch_classes[];
extern const size_t dispatch_class_count; /* 14: see CONTRACT, operations and paths */
uint64_t dispatch_class_size(const struct dispatch_class *class, uint64_t llc_bytes);

const char *dispatch_operation_name(enum dispatch_operation operation); /* "clear_page" ... */
const char *dispatch_path_name(enum dispatch_path path);		/* "rep-stosb" ... */

/* The operations. page is 4096-aligned; destination and length are arbitrary elsewhere. */
void dispatch_clear_page(const struct dispatch_cpu *cpu, void *page);
void dispatch_clear_extent(const struct dispatch_cpu *cpu, void *to, size_t length);
void dispatch_memset(const struct dispatch_cpu *cpu, void *to, int byte, size_t length);
void dispatch_memcpy_flushcache(const struct dispatch_cpu *cpu, void *to, const void *from,
				size_t length);
void dispatch_memcpy_flushcache_single(const struct dispatch_cpu *cpu, void *to, const void *from,
				       size_t length);
/* Makes the flushes and non-temporal stores of earlier memcpy_flushcache calls durable: an sfence.
 */
void dispatch_commit(void);

#endif
