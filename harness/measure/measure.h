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

/* A moment's measurement. */
struct measured_slice {
	double gb_per_s; /* of all threads together, 1e9 bytes a second */
	double pace;	 /* the slowest CPU's, see noise_pace */
	unsigned pass;
	bool lost; /* something else had a CPU */
};

/* What was measured of one path with one extent and number of threads: the caller sets the first
 * three, 0 the others. */
struct measured {
	const struct measured_path *path;
	size_t bytes; /* of each thread */
	unsigned threads;
	double gb_per_s[STATISTICS_SAMPLES_MAX]; /* of each run that counts */
	size_t runs;
	unsigned disturbed; /* passes in which something else had the CPU */
	bool noisy;	    /* so many were that there are not enough others for the runs */
	unsigned passes;
	size_t rounds, per_pass; /* rounds of a slice, slices of a pass; 0: not known yet */
	struct measured_slice *slices;
	size_t slice_count;
	double best_pace; /* of all cells that were summed up together */
};
void measured_free(struct measured *measured);

/* Whether a pass has to end early; asked between slices. NULL in its place: never. */
struct measure_stop {
	bool (*asked)(void *context);
	void *context;
};

/*
 * One pass: up to four slices of each of the cells, which share extent and number of threads, in an
 * order that changes, after rounds that are not counted. False: told to stop.
 */
bool measure_pass(struct measure *measure, struct measured *const cells[], size_t count,
		  const struct measure_stop *stop);

/*
 * The runs of the cells, 1..STATISTICS_SAMPLES_MAX of each, from all passes until now. A pass half
 * of whose slices were disturbed is thrown away; those that are left belong to the runs in turn, so
 * that each run, of several passes with other cells' between them, saw as much of what the machine
 * did meanwhile as any other. A run's figure is the upper quartile of its slices, since
 * interference makes a slice slower and hardly ever faster. Where too few are left, the cell is
 * noisy, and its runs are all passes.
 */
void measure_sum(struct measured *const cells[], size_t count, unsigned runs);

/* After measure_sum: the figure of each pass, at most STATISTICS_SAMPLES_MAX of them; quiet: of
 * those that make the runs; else of all, disturbed or not. What is noisy may be compared in the
 * latter alone, on both sides. */
size_t measure_passes(double *out, const struct measured *cell, bool quiet);

#endif
