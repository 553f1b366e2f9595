/* SPDX-License-Identifier: MIT */
/*
 * (CPU, operation, extent) to path: one short list of rules for each operation, the first that
 * holds decides. A rule that a quirk vetoes is passed over, and the row is named as what decided.
 */
#include "tests/dispatch/dispatch.h"

/*
 * dm-writecache's crossover: from here on copy and flush beats movnti where one thread writes
 * ("dm writecache: improve performance on DDR persistent memory (Optane)").
 */
#define SINGLE_WRITER_FLUSH_MIN 768
#define SINGLE_WRITER_LINE	64 /* its loop copies and flushes lines of this size */

struct rule {
	uint8_t path;	  /* enum dispatch_path */
	bool from_llc;	  /* only for extents of at least the last-level cache */
	uint16_t from;	  /* only for extents of at least so many bytes */
	uint16_t feature; /* a bool of struct dispatch_cpu that must be set, or ALWAYS */
	uint16_t line;	  /* the cache line must have so many bytes; 0: any */
	uint32_t veto;	  /* passed over where the quirk row has one of these */
	const char *reason;
	const char *reason_vetoed; /* the same, where a row vetoed a rule before */
};

#define FEATURE(bit) offsetof(struct dispatch_cpu, bit)
#define ALWAYS	     UINT16_MAX

#define RULES_MAX 5

/* The last rule of each operation always holds. */
static const struct rule rules[DISPATCH_OPERATIONS][RULES_MAX] = {
	[DISPATCH_CLEAR_PAGE] = {
		{ .path = DISPATCH_REP_STOSB, .feature = FEATURE(erms),
		  .reason = "ERMS: rep stosb" },
		{ .path = DISPATCH_REP_STOSQ, .feature = FEATURE(rep_good),
		  .reason = "REP_GOOD without ERMS: rep stosq" },
		{ .path = DISPATCH_MOV, .feature = ALWAYS,
		  .reason = "neither ERMS nor REP_GOOD: mov" },
	},
	[DISPATCH_CLEAR_EXTENT] = {
		{ .path = DISPATCH_CLZERO, .from_llc = true, .feature = FEATURE(clzero),
		  .reason = "extent >= LLC and CLZERO: clzero" },
		{ .path = DISPATCH_MOVNTI, .from_llc = true, .feature = ALWAYS,
		  .veto = DISPATCH_NT_BAD,
		  .reason = "extent >= LLC and no NT_BAD row: movnti" },
		{ .path = DISPATCH_REP_STOSB, .feature = FEATURE(erms),
		  .reason = "ERMS: rep stosb",
		  .reason_vetoed = "NT_BAD row, falls back to ERMS: rep stosb" },
		{ .path = DISPATCH_REP_STOSQ, .feature = FEATURE(rep_good),
		  .reason = "REP_GOOD without ERMS: rep stosq",
		  .reason_vetoed = "NT_BAD row, falls back to REP_GOOD: rep stosq" },
		{ .path = DISPATCH_MOV, .feature = ALWAYS,
		  .reason = "neither ERMS nor REP_GOOD: mov",
		  .reason_vetoed = "NT_BAD row, neither ERMS nor REP_GOOD: mov" },
	},
	[DISPATCH_MEMSET] = {
		{ .path = DISPATCH_MOVNTI, .from_llc = true, .feature = ALWAYS,
		  .veto = DISPATCH_NT_BAD,
		  .reason = "extent >= LLC and no NT_BAD row: movnti" },
		{ .path = DISPATCH_REP_STOSB, .feature = FEATURE(fsrs),
		  .reason = "FSRS: rep stosb",
		  .reason_vetoed = "NT_BAD row, falls back to FSRS: rep stosb" },
		{ .path = DISPATCH_MOV, .feature = ALWAYS,
		  .reason = "no FSRS: mov",
		  .reason_vetoed = "NT_BAD row, no FSRS: mov" },
	},
	[DISPATCH_MEMCPY_FLUSHCACHE] = {
		{ .path = DISPATCH_MOVNTI, .feature = ALWAYS,
		  .reason = "any number of writers: movnti" },
	},
	[DISPATCH_MEMCPY_FLUSHCACHE_SINGLE] = {
		{ .path = DISPATCH_CLFLUSHOPT_COPY, .feature = FEATURE(clflushopt),
		  .from = SINGLE_WRITER_FLUSH_MIN, .line = SINGLE_WRITER_LINE,
		  .reason = "from 768 bytes, CLFLUSHOPT, 64-byte lines: clflushopt-copy" },
		{ .path = DISPATCH_MOVNTI, .feature = ALWAYS,
		  .reason = "below 768 bytes or no CLFLUSHOPT of 64-byte lines: movnti" },
	},
};

static bool rule_holds(const struct rule *rule, const struct dispatch_cpu *cpu, uint64_t size)
{
	return size >= (rule->from_llc ? cpu->llc_bytes : rule->from) &&
	       (rule->feature == ALWAYS || *((const bool *)cpu + rule->feature)) &&
	       (!rule->line || rule->line == cpu->line_bytes);
}

struct dispatch_choice dispatch_choose(const struct dispatch_cpu *cpu,
				       enum dispatch_operation operation, uint64_t size)
{
	const struct dispatch_quirk_row *vetoed_by = NULL;
	const struct rule *rule = rules[operation];

	for (;; rule++) {
		if (!rule_holds(rule, cpu, size))
			continue;
		if (!rule->veto || !cpu->row || !(rule->veto & cpu->row->quirks))
			break;
		vetoed_by = cpu->row;
	}
	return (struct dispatch_choice){
		.path = rule->path,
		.row = vetoed_by,
		.reason = vetoed_by ? rule->reason_vetoed : rule->reason,
	};
}

/* --- names and classes ----------------------------------------------------------------------- */

static const char *const operation_names[DISPATCH_OPERATIONS] = {
	[DISPATCH_CLEAR_PAGE] = "clear_page",
	[DISPATCH_CLEAR_EXTENT] = "clear_extent",
	[DISPATCH_MEMSET] = "memset",
	[DISPATCH_MEMCPY_FLUSHCACHE] = "memcpy_flushcache",
	[DISPATCH_MEMCPY_FLUSHCACHE_SINGLE] = "memcpy_flushcache_single",
};

static const char *const path_names[DISPATCH_PATHS] = {
	[DISPATCH_MOV] = "mov",
	[DISPATCH_REP_STOSB] = "rep-stosb",
	[DISPATCH_REP_STOSQ] = "rep-stosq",
	[DISPATCH_MOVNTI] = "movnti",
	[DISPATCH_CLZERO] = "clzero",
	[DISPATCH_CLFLUSHOPT_COPY] = "clflushopt-copy",
};

const char *dispatch_operation_name(enum dispatch_operation operation)
{
	return operation < DISPATCH_OPERATIONS ? operation_names[operation] : "unknown";
}

const char *dispatch_path_name(enum dispatch_path path)
{
	return path < DISPATCH_PATHS ? path_names[path] : "unknown";
}

const struct dispatch_class dispatch_classes[] = {
	{ DISPATCH_CLEAR_PAGE, "4k" },
	{ DISPATCH_CLEAR_EXTENT, "4k" },
	{ DISPATCH_CLEAR_EXTENT, "half" },
	{ DISPATCH_CLEAR_EXTENT, "llc" },
	{ DISPATCH_CLEAR_EXTENT, "2llc" },
	{ DISPATCH_MEMSET, "4k" },
	{ DISPATCH_MEMSET, "half" },
	{ DISPATCH_MEMSET, "llc" },
	{ DISPATCH_MEMSET, "2llc" },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "64" },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "4k" },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "767" },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "768" },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "4k" },
};
const size_t dispatch_class_count = sizeof(dispatch_classes) / sizeof(dispatch_classes[0]);

static bool same_text(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (!*a)
			return true;
	return false;
}

uint64_t dispatch_class_size(const struct dispatch_class *class, uint64_t llc_bytes)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} sizes[] = {
		{ "4k", 4096 },	      { "half", llc_bytes / 2 },
		{ "llc", llc_bytes }, { "2llc", llc_bytes * 2 },
		{ "64", 64 },	      { "767", 767 },
		{ "768", 768 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (same_text(sizes[i].name, class->name))
			return sizes[i].bytes;
	return 0;
}
