/* SPDX-License-Identifier: MIT */
/* The state of one selftest run: what selftest.c hands to its parts and to the exception handlers.
 */
#ifndef QUIRKLAB_DISPATCH_STATE_H
#define QUIRKLAB_DISPATCH_STATE_H

#include "tests/dispatch/witness.h"

#define SELFTEST_PICKS_MAX 14

/* One operation at one class. */
struct selftest_pick {
	const struct dispatch_class *class;
	struct dispatch_choice choice;
	uint64_t size;
	uint8_t executable; /* enum report_executable */
	uint8_t trace_count;
	uint8_t traces[2]; /* indices into witness.traces */
};

struct selftest {
	const struct selftest_platform *platform;
	struct dispatch_cpu cpu;
	struct report report;
	struct witness witness;
	struct selftest_pick picks[SELFTEST_PICKS_MAX];
	unsigned pick_count;
	bool guarded;  /* a guarded call is under way: exceptions are ours */
	bool emulated; /* an instruction of it was */
};

/* The arena: destinations from the second page on, sources from the middle on. Checks need 3 pages,
 * 63 bytes and their guards of each. */
#define SELFTEST_DESTINATION 4096
#define SELFTEST_SOURCE	     (SELFTEST_ARENA_MIN / 2)

#define SELFTEST_POISON 0x5A /* what a destination holds before; none of the bytes below */
#define SELFTEST_BYTE	0xA5 /* what memset sets */

/* Calls function(argument), exceptions caught. Returns whether it returned. */
bool selftest_guarded(struct selftest *test, void (*function)(void *), void *argument,
		      bool single_step);

/* All picks of test->cpu: chosen, traced, reported. */
void selftest_picks(struct selftest *test);

/* The functional checks of all paths; reports them and returns how many cases failed. */
unsigned selftest_checks(struct selftest *test);

#endif
