/* SPDX-License-Identifier: MIT */
/* What the commands cpuid and cpuid-diff share: where CPUs come from, and how they are written. */
#ifndef QUIRKLAB_LAB_CPUID_H
#define QUIRKLAB_LAB_CPUID_H

#include "harness/cpu/dump.h"
#include "harness/cpu/spec.h"
#include "harness/util/text.h"

struct dump_list {
	struct dump *dumps; /* owned */
	size_t count;
};

/* What a word means: a file, "-", "host", or a SPEC, which may mean several CPUs. */
int cpuid_source(struct dump_list *list, const char *word, const struct cpu_tables *tables,
		 struct error *err);
void dump_list_free(struct dump_list *list);

/* The row of the catalogue that is this CPU, as far as its bits are known; NULL where there is
 * none. */
const struct cpu *catalogue_row(const struct cpu_tables *tables, const struct cpu *cpu);

/* A level of cache as the CPU describes it. */
struct cache {
	unsigned level;
	const char *type; /* "data", "instruction", "unified" */
	uint64_t bytes;
	unsigned line, ways;
};
#define CACHES_MAX 16
size_t cpuid_caches(const struct dump_cpu *cpu, struct cache caches[CACHES_MAX]);

/* The bit's state in words: "on", "off", "unknown". */
const char *bit_state(const struct cpu *cpu, int feature);

/* One format of --to. Adds what it writes of the dumps to out, and to `warnings` (a line each) what
 * the format cannot say. */
struct cpuid_format {
	const char *name;
	int (*write)(struct text *out, struct text *warnings, const struct dump_list *list,
		     const struct cpu_tables *tables, struct error *err);
	bool says_warnings; /* those of the dumps are in the output itself */
};
extern const struct cpuid_format cpuid_formats[];
extern const size_t cpuid_format_count;

/* For a person; the default. */
void cpuid_describe(struct text *out, const struct dump_list *list,
		    const struct cpu_tables *tables);

#endif
