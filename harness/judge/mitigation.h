/* SPDX-License-Identifier: MIT */
/*
 * The kernel's defences that hang on family:model: what it says of them, what its code shows, and
 * what the rules (cpu-models/mitigations.tsv) make of the CPU.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_MITIGATION_H
#define QUIRKLAB_HARNESS_JUDGE_MITIGATION_H

#include "harness/guest/observation.h"
#include "harness/judge/rules.h"

/* Of spectre_v2, which can be read from the kernel's text as well. */
struct defence {
	bool entry_known; /* the system call's entry was reported: the next two are known */
	bool ibrs_built;  /* it can write SPEC_CTRL (MSR 0x48) */
	bool ibrs;	  /* and nothing jumps over that */
	bool thunk_built; /* there are retpolines */
	uint32_t thunk_calls;
	bool unret_built; /* there is the code that untrains returns, on AMD */
};
void defence_read(struct defence *out, const struct observed_kernel *kernel);

struct mitigation {
	const char *operation; /* static: the name of the vulnerability's file */
	char says[32];	       /* "ibrs"; "" where its line has none of the known words */
	char line[128];	       /* what it says, without details: "Mitigation: IBRS" */
	char does[192];
	char fault[160]; /* "" or how its words and its code disagree */
};

#define MITIGATIONS 2
/* False where the kernel says nothing of it: there is no such file. which: 0 to MITIGATIONS - 1. */
bool mitigation_read(struct mitigation *out, size_t which, const struct observed_kernel *kernel);

/* ERROR_INPUT, without a path, where the rules say nothing of what is judged by them. */
int mitigation_check(const struct rules *rules, struct error *err);

/* What the rules expect of that CPU in that guest's kernel; as rules_value has it. */
const char *mitigation_expected(const struct rules *rules, const char *operation,
				const struct cpu *cpu, const struct observation *observation);

#endif
