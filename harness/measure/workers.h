/* SPDX-License-Identifier: MIT */
/* The threads and the memory behind measure.h; for measure.c alone. */
#ifndef QUIRKLAB_HARNESS_MEASURE_WORKERS_H
#define QUIRKLAB_HARNESS_MEASURE_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "harness/measure/measure.h"
#include "harness/measure/noise.h"

struct worker {
	pthread_t thread;
	struct measure *measure;
	int cpu;
	uint8_t *to, *from;
	double begin, end; /* of the last slice; seconds */
	struct noise noise;
	double pace;
};

struct measure {
	struct measure_options options;
	uint8_t *memory;
	size_t memory_bytes, stride; /* of one buffer */
	struct worker *workers;
	unsigned started;
	pthread_barrier_t gate; /* all workers and the caller */
	bool gates;
	/* The order of the day, written while all workers wait at the gate. */
	const struct measured_path *path;
	size_t bytes, rounds, unseen; /* unseen: rounds that are not counted, before the others */
	unsigned threads;
	atomic_uint ready; /* threads that have come as far as the first round that counts */
	bool over;
	double best_pace;
	uint64_t random; /* for the order of the cells; not 0 */
	bool warm;	 /* the CPUs have left their sleep */
};

/* Seconds from the first thread's beginning to the last one's end. */
double workers_run(struct measure *measure, const struct measured *cell, size_t rounds,
		   size_t unseen);
/* Whether something else had a CPU, or slowed it, in the last workers_run, of so many seconds. */
bool workers_were_disturbed(const struct measure *measure, double seconds);
/* What comes may run at another frequency: more threads, another extent. */
void workers_forget_pace(struct measure *measure);

#endif
