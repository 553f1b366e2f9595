/* SPDX-License-Identifier: MIT */
/*
 * The witness: which instructions a dispatched call really executed, by single-stepping it.
 */
#ifndef QUIRKLAB_DISPATCH_WITNESS_H
#define QUIRKLAB_DISPATCH_WITNESS_H

#include "tests/dispatch/report.h"

#define WITNESS_TRACES	     28	  /* two for each of the 14 picks */
#define WITNESS_INSTRUCTIONS 1024 /* distinct ones of all traces; ours have about 350 */
#define WITNESS_SLOTS	     2048 /* of the hash of RIPs, twice as many: short searches */

struct witness_step {
	uint16_t instruction; /* index into struct witness' instructions */
	uint8_t rounds;	      /* at most 255; the report tells up to 7 */
	uint8_t flags;	      /* REPORT_STEP_* */
};

struct witness_trace {
	uint8_t end; /* enum report_trace_end, never SAME */
	uint8_t step_count;
	struct witness_step steps[REPORT_TRACE_STEPS_MAX];
};

struct witness_instruction {
	uint64_t rip;
	uint16_t offset; /* in the code image, once witness_report_code has run */
	uint16_t trace;	 /* the last trace with it, from 1 on: its serial, and its step there */
	uint8_t step;
	bool unreadable; /* fetching it faulted */
	bool in_trace;	 /* some trace that is kept names it */
};

enum witness_state {
	WITNESS_IDLE,	/* no trace, or the call has returned */
	WITNESS_BEFORE, /* stepping towards the call */
	WITNESS_INSIDE,
};

struct witness {
	struct witness_instruction instructions[WITNESS_INSTRUCTIONS];
	uint16_t instruction_count;
	uint16_t slots[WITNESS_SLOTS];			 /* index + 1 of an instruction; 0: free */
	struct witness_trace traces[WITNESS_TRACES + 1]; /* the last is for the one under way */
	unsigned trace_count;
	uint16_t serial; /* of the trace under way */

	/* the trace under way */
	enum witness_state state;
	uint64_t entry, return_rip, return_rsp;
	uint64_t last_rip;
	unsigned steps;		       /* all of them, loops too */
	unsigned repeats;	       /* how often last_rip came in a row */
	bool abandon;		       /* leave the main loop after some rounds */
	bool storing;		       /* one of these two bytes has changed: */
	const volatile uint8_t *first; /* the destination's first and last */
	const volatile uint8_t *last;
	uint8_t poison; /* what both held before */
};

void witness_begin(struct witness *witness);

/* The trace under way, until witness_end_trace. */
static inline struct witness_trace *witness_current(struct witness *witness)
{
	return &witness->traces[witness->trace_count];
}

/* What is to be traced: the call of the function at entry. */
struct witness_call {
	uint64_t entry;
	bool abandon;
	/* Of the destination; the call changes both. last is first where not all of it is there. */
	const uint8_t *first, *last;
	uint8_t poison; /* what both hold */
};

/* Around one guarded call; returned: it did, no handler ended it. The end returns the index of the
 * trace among witness->traces, or that of an earlier trace that was the same. */
void witness_start_trace(struct witness *witness, const struct witness_call *call);
unsigned witness_end_trace(struct witness *witness, bool returned);

enum selftest_action witness_step(struct witness *witness, struct selftest_registers *registers);
/* An exception inside the call that nothing repairs; address: the page fault's. */
void witness_fault(struct witness *witness, uint64_t rip, bool page_fault, uint64_t address);
/* The instruction at rip was emulated. */
void witness_emulated(struct witness *witness, uint64_t rip);

/* Lays out the code image and sends it. */
void witness_report_code(struct witness *witness, struct report *report);
void witness_report_trace(const struct witness *witness, struct report *report,
			  const struct witness_trace *trace);
size_t witness_trace_bytes_max(const struct witness_trace *trace);

#endif
