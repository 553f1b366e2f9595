/* SPDX-License-Identifier: MIT */
/* Runs paths over memory, on pinned threads, and says how many bytes a second each does. */
#ifndef QUIRKLAB_HARNESS_MEASURE_MEASURE_H
#define QUIRKLAB_HARNESS_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include "harness/measure/statistics.h"
#include "harness/util/error.h"

#define MEASURE_THREADS_MAX 256

/* One way to do one thing to memory; the caller's table. */
struct measured_path {
	const char *operation, *path; /* names, for the caller */
	/* Works on `bytes` bytes at `to`, which is page-aligned; from: as many readable bytes
	 * elsewhere. */
	void (*work)(void *to, const void *from, size_t bytes);
	size_t unit;	 /* work() is called for so many bytes at a time; 0: for the whole extent */
	bool reads;	 /* `from` is used */
	bool past_cache; /* leaves nothing of `to` in the caches, and finds nothing there */
};

enum measure_pages {
	MEASURE_PAGES_HUGE,  /* as far as the kernel grants them */
	MEASURE_PAGES_SMALL, /* 4 KiB */
};

struct measure_options {
	unsigned threads; /* the most that any cell uses: 1..MEASURE_THREADS_MAX */
	size_t bytes;	  /* the largest extent of a thread */
	enum measure_pages pages;
	bool reads;   /* some path copies: a source as large as the extent is needed */
	void *memory; /* written instead of ordinary memory (a DAX mapping): `bytes` for each
		       * thread, one behind the other; NULL: ordinary memory */
	size_t cache; /* of the last level, in bytes: what fits is warmed longer */
	double sample_seconds; /* how long a slice lasts at least, by repeating what is shorter */
	double warm_seconds;   /* what the first cell is run for before anything counts */
	/* Asked while memory is taken, which may last for seconds: ends that where it says so; or
	 * NULL. */
	bool (*stop)(void *context);
	void *context;
};

/* The memory and the threads. ERROR_LAB where there is not enough of either, or told to stop. */
struct measure;
struct measure *measure_open(const struct measure_options *options, struct error *err);
void measure_close(struct measure *measure);
/* The share of the memory that is in huge pages, 0..1. */
double measure_huge(const struct measure *measure);

/* What was measured of one path with one extent and number of threads. */
struct measured {
	const struct measured_path *path;
	size_t bytes; /* of each thread */
	unsigned threads;
	double gb_per_s[STATISTICS_SAMPLES_MAX]; /* of all threads together, 1e9 bytes a second */
	size_t runs;
	unsigned disturbed; /* runs that were thrown away, since something else had the CPU */
	bool noisy;	    /* so many were that the rest says little */
};

/* How thoroughly, and how long. */
struct measure_effort {
	unsigned runs;		     /* 1..STATISTICS_SAMPLES_MAX */
	unsigned slices;	     /* so many times the usual slices make a run: 1, 3 or 5 */
	bool (*stop)(void *context); /* ends early, with fewer runs, where this says so; or NULL */
	void *context;
};

/*
 * Runs of each of the cells; the cells share extent and number of threads. A run is one, three or
 * five slices (the fewer, the longer they are), of all cells in turn, each after rounds that are
 * not counted, and its figure is the median of those slices that nothing disturbed. A run most of
 * whose slices were disturbed is repeated, at most as often as there are runs.
 */
int measure_cells(struct measure *measure, struct measured *cells, size_t count,
		  const struct measure_effort *effort, struct error *err);

#endif
