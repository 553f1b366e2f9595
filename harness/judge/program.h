/* SPDX-License-Identifier: MIT */
/*
 * A program as the subject: its verdict is its TAP, its KTAP or its exit status, and lines of its
 * standard output make it a dispatcher to be judged against expect/NAME.tsv:
 *
 *   QL version TEXT                    of what it tests: chooses expect/NAME-VERSION.tsv
 *   QL pick OP[@CLASS] PATH [ROW]      what its dispatcher says that it takes; CLASS: any
 *   QL trace OP[@CLASS] SIZE END STEP...
 *                                      what one call of SIZE bytes executed. END: returned,
 *                                      abandoned, faulted or limit. STEP: ADDRESS:ROUNDS:BYTES in
 *                                      hex, for each distinct instruction in the order of its first
 *                                      execution; ROUNDS: how often, at most 7
 *   QL value NAME WORD                 a figure that goes into the record: a threshold, a tunable
 *   QL skip OP[@CLASS] WHY             this CPU or build does not have it
 *   QL note TEXT
 *
 * tests/subjects/quirklab.h writes them. A pick without a trace is judged by what it says, a trace
 * without a pick by what it does; with both, says and does must agree as well. Up to two traces of
 * one OP@CLASS: the call itself, and one scaled down that runs to its end.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_PROGRAM_H
#define QUIRKLAB_HARNESS_JUDGE_PROGRAM_H

#include "harness/judge/judge.h"

/* The version that the program says it tests; "" for none. */
void program_version(char *out, size_t room, const struct observed_program *program);

/* Judges one CPU's observation of a program; as judge() does for a dispatcher. */
void judge_program(struct cell_result *result, const struct cpu *asked,
		   const struct observation *observation, const struct expectations *expectations);

#endif
