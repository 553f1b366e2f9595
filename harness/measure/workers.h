/* SPDX-License-Identifier: MIT */
/* The threads and the memory behind measure.h; for measure.c alone. */
#ifndef QUIRKLAB_HARNESS_MEASURE_WORKERS_H
#define QUIRKLAB_HARNESS_MEASURE_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include "harness/measure/measure.h"
#include "harness/measure/noise.h"

/* What is run before a slice, and not counted. */
struct unseen {
	size_t rounds;
	size_t bytes; /* the last ones of the extent */
};

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
	size_t bytes, rounds;
	struct unseen unseen;
	unsigned threads;
	atomic_uint ready; /* threads that have come as far as the first round that counts */
	bool over;
	uint64_t random; /* for the order of the cells; not 0 */
	bool warm;	 /* the CPUs have left their sleep */
};

/* Seconds from the first thread's beginning to the last one's end. unseen: NULL for nothing. */
double workers_run(struct measure *measure, const struct measured *cell, size_t rounds,
		   const struct unseen *unseen);
/* Whether something else had a CPU in the last workers_run, of so many seconds. */
bool workers_were_disturbed(const struct measure *measure, double seconds);
/* The pace of the slowest CPU in the last workers_run, see noise_pace. */
double workers_pace(const struct measure *measure);

#endif
