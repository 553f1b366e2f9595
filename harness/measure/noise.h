/* SPDX-License-Identifier: MIT */
/* Whether a thread had its CPU for itself while it was measured. */
#ifndef QUIRKLAB_HARNESS_MEASURE_NOISE_H
#define QUIRKLAB_HARNESS_MEASURE_NOISE_H

#include <stdbool.h>

/* What a thread's time is measured from; CPU is the one that it is bound to. */
struct noise_mark {
	double wall, thread; /* seconds */
	double stolen;	     /* seconds that the hypervisor took from the CPU; -1: unknown */
	int cpu;
};
void noise_begin(struct noise_mark *mark, int cpu);

/* What happened to the calling thread since. */
struct noise {
	double seconds; /* that passed */
	double lost;	/* the share of them in which it did not run: others did */
	double stolen;	/* the share that the hypervisor says it took (in hundredths of a second) */
};
void noise_end(struct noise *out, const struct noise_mark *mark);

/*
 * How fast the CPU is right now, in rounds of a chain of additions a second: its frequency, times
 * how much of the CPU a hypervisor grants. Takes a fifth of a millisecond.
 */
double noise_pace(void);

#endif
