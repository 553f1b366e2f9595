/* SPDX-License-Identifier: MIT */
/*
 * The witness' instructions as the record keeps them: one line of text a trace, which needs neither
 * the report's log nor symbols to be read again.
 *
 *   TRACE := END (" " WORD)*         END: returned, abandoned, faulted, limit (report_trace_end)
 *   WORD  := "@" HEX                 where the next instruction lies, if not behind the one before
 *          | "*" ROUNDS              how often those that follow were executed; 7: 7 and more; at
 *                                    first 1
 *          | BYTES ["~" | "!"]       an instruction in hex, or "?" where its bytes are unknown;
 *                                    "~": it raised #UD and was emulated, "!": it ended the trace
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_TRACE_H
#define QUIRKLAB_HARNESS_JUDGE_TRACE_H

#include "harness/guest/observation.h"
#include "harness/judge/cell.h"
#include "harness/util/text.h"

/* Keeps the observed pick's traces in the result, each distinct one once, and names them in the
 * pick. */
void trace_keep(struct cell_result *result, struct pick *pick,
		const struct observation *observation, const struct observed_pick *observed);

/* Whether a line reads as a trace, of at most REPORT_TRACE_STEPS_MAX instructions. */
bool trace_valid(const char *line);

struct trace_step {
	uint32_t offset;   /* of its first byte, from the first of the code that was reported */
	uint8_t bytes[15]; /* an instruction has no more */
	unsigned length;   /* 0: unknown */
	unsigned rounds;
	bool emulated, faulted;
	char text[96];	/* in Intel's syntax; jumps show their target's offset */
	char class[16]; /* what it does to memory: "movnti", "clwb", "sfence"; "" nothing */
};

/* Reads a line, disassembles it, and calls each() for every instruction. end: "returned" ... */
void trace_each(const char *line, char end[16],
		void (*each)(void *context, const struct trace_step *step), void *context);

#endif
