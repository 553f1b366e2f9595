/* SPDX-License-Identifier: MIT */
/*
 * Rules as data: what a kernel should make of a CPU, where that hangs on more than a table of CPUs
 * can say. A rule file (cpu-models/mitigations.tsv) has one row for each case of a fact; the first
 * that holds gives its value.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_RULES_H
#define QUIRKLAB_HARNESS_JUDGE_RULES_H

#include "harness/cpu/cpu.h"
#include "harness/util/error.h"

/* A value that says: nobody has worked this case out. */
#define RULES_OPEN "?"

struct rules;
/* A condition or a number that cannot be read, a fact that refers to one below it, or to a value
 * that no row gives, is an error that names the line. */
int rules_read(struct rules **out, const char *path, struct error *err);
void rules_free(struct rules *rules);

/* What a rule is asked about. */
struct rules_case {
	const struct cpu *cpu;
	const char *version; /* of the kernel: "6.1.0-57-cloud-amd64" */
	const char *options; /* of its command line: words and blanks */
	const char *flags;   /* of /proc/cpuinfo: words and blanks */
	const char *built;   /* what the kernel was built with: words and blanks */
	const char *says;    /* of which vulnerabilities it says that the CPU is affected */
	uint32_t microcode;  /* revision */
};

/* The value of a fact, RULES_OPEN, or "" where no row holds; owned by the rules. A fact that is
 * open makes open what looks at it. */
const char *rules_value(const struct rules *rules, const char *fact, const struct rules_case *of);

/* Whether any row gives the fact. */
bool rules_have(const struct rules *rules, const char *fact);

/* Every bit that a condition names and the identity, separated by commas, as `#depends` has them.
 */
const char *rules_depends(const struct rules *rules);

#endif
