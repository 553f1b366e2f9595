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
 *   QL trace OP[@CLASS] SIZE same OP[@CLASS]
 *                                      its instructions are those of that one, told above
 *   QL persist OP[@CLASS] END TO LENGTH MEMORY BYTES STEP...
 *                                      every step of a call that stores in persistent memory, with
 *                                      the registers: persist.h. Judged for being durable
 *   QL value NAME WORD                 a figure that goes into the record: a threshold, a tunable
 *   QL skip OP[@CLASS] WHY             this CPU or build does not have it
 *   QL note TEXT
 *
 * tests/subjects/quirklab.h writes them. PATH may be a path of CONTRACT's list (movnti, rep-stosb):
 * then it is a claim that a trace must bear out. Any other word is the name of an implementation. A
 * pick without a trace is judged by what it says, a trace without a pick by what it does. Up to two
 * traces of one OP@CLASS: the call itself, and one scaled down that runs to its end.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_PROGRAM_H
#define QUIRKLAB_HARNESS_JUDGE_PROGRAM_H

#include "harness/judge/judge.h"
#include "harness/judge/persist.h"

/* The version that the program says it tests, printable; "" for none. */
void program_version(char *out, size_t room, const struct observed_program *program);

/* What it says of one OP@CLASS. */
struct program_pick {
	struct observed_pick pick; /* but for what it says: */
	char says[48];		   /* "" where only traces came */
	bool skipped;		   /* pick.reason says why */
	/* The traces, as a guest of our own would have reported them; NULL: none. */
	struct observation *witness;
	/* What its persist lines make of it: the first that is not durable; NULL: none came. */
	struct persist_verdict *persist;
};

/* Everything that its QL lines say. One pick of a cell is the program's own verdict. */
#define PROGRAM_PICKS_MAX (CELL_PICKS_MAX - 1)
struct program_lines {
	struct program_pick picks[PROGRAM_PICKS_MAX];
	size_t pick_count;
	struct cell_program *facts; /* version, values and notes; moved to the record by judge() */
	char fault[256];	    /* "" or the first line that is none of the above; printable */
};
/* Never fails; the caller frees. */
struct program_lines *program_read(const struct observed_program *program);
void program_free(struct program_lines *lines);

/* What its TAP or its exit make of it: pass, fail, skip, hung or error. The reason is one printable
 * line, "" for pass. Fills the tests and the end in *facts. */
enum verdict program_verdict(char *reason, size_t room, struct cell_program *facts,
			     const struct observed_program *program);

#endif
