// SPDX-License-Identifier: MIT
/* Passes over several paths in turn, and runs made of the slices of many passes, so that a moment's
 * noise spoils none. */
#include "harness/measure/measure.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/workers.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

/* Slices of a pass: as many as fit into so many of the shortest. */
#define SLICES_MOST 4
#define TRIES_MOST  3 /* times as many, where something disturbs them */
#define QUARTILE    0.75

/*
 * Where a CPU was slower by more than this than at its best while these cells were measured,
 * something disturbed it. A guest's CPU is up to 15 % slower than at its best in every tenth slice
 * on a quiet machine (a Xeon under KVM): that is no reason.
 */
#define PACE_MOST 0.25

/*
 * Rounds that are not counted, since the path before may have left the caches in a state that this
 * one would not: stores past them have emptied them. On a Xeon with 2 MiB of L2 and 260 MiB of L3
 * rep stosb over 32 MiB ran at 9 GB/s after movnti and at 22 from the third round on. Of an extent
 * larger than the cache only the end is still in it.
 */
#define UNSEEN	      1
#define UNSEEN_CACHED 4

static void choose_unseen(struct unseen *out, const struct measure *measure,
			  const struct measured *cell)
{
	size_t share = measure->options.cache / cell->threads / 4096 * 4096;
	bool cached = cell->bytes <= share / 2 && !cell->path->past_cache;

	*out = (struct unseen){ .rounds = cached ? UNSEEN_CACHED : UNSEEN, .bytes = cell->bytes };
	if (share && share < cell->bytes)
		out->bytes = share;
}

static bool is_told_to_stop(const struct measure_stop *stop)
{
	return stop && stop->asked(stop->context);
}

/* How many rounds make a slice, and slices a pass, found while the path warms up. False: told to
 * stop. */
static bool warm_up(struct measure *measure, struct measured *cell, const struct measure_stop *stop)
{
	double shortest = measure->options.sample_seconds, begin = clock_seconds();
	size_t rounds = 1;
	struct unseen unseen;
	double seconds;

	choose_unseen(&unseen, measure, cell);
	while (!measure->warm && clock_seconds() - begin < measure->options.warm_seconds) {
		if (is_told_to_stop(stop))
			return false;
		workers_run(measure, cell, 1, NULL);
	}
	measure->warm = true;
	if (is_told_to_stop(stop))
		return false;
	seconds = workers_run(measure, cell, 1, &unseen);
	while (seconds < shortest / 2) {
		double more = shortest / seconds;

		if (is_told_to_stop(stop))
			return false;
		rounds = (size_t)((double)rounds * (more > 64 ? 64 : more)) + 1;
		seconds = workers_run(measure, cell, rounds, NULL);
	}
	cell->rounds = rounds;
	cell->per_pass = (size_t)fmax(1, fmin(SLICES_MOST, SLICES_MOST * shortest / seconds));
	return true;
}

static void run_slice(struct measure *measure, struct measured *cell, const struct unseen *unseen)
{
	double bytes = (double)cell->bytes * (double)cell->threads * (double)cell->rounds;
	double seconds = workers_run(measure, cell, cell->rounds, unseen);

	cell->slices = xrealloc(cell->slices, (cell->slice_count + 1) * sizeof(*cell->slices));
	cell->slices[cell->slice_count++] = (struct measured_slice){
		.gb_per_s = bytes / seconds * 1e-9,
		.pace = workers_pace(measure),
		.lost = workers_were_disturbed(measure, seconds),
		.pass = cell->passes,
	};
}

/*
 * The order of the cells, another one in each pass: always behind the same path, one would always
 * find the caches as that path leaves them. Marsaglia's xorshift64, from a seed of no meaning, so
 * that two runs do the same.
 */
static void shuffle(size_t *order, size_t count, uint64_t *random)
{
	for (size_t i = count; i-- > 1;) {
		size_t other, swap = order[i];

		*random ^= *random << 13;
		*random ^= *random >> 7;
		*random ^= *random << 17;
		other = *random % (i + 1);
		order[i] = order[other];
		order[other] = swap;
	}
}

static bool is_good(const struct measured_slice *slice, double best_pace)
{
	return !slice->lost && slice->pace >= (1 - PACE_MOST) * best_pace;
}

/* Up to three times as many as are wanted, until so many were not disturbed: most noise comes in
 * bursts of some milliseconds. False: told to stop. */
static bool run_slices(struct measure *measure, struct measured *cell, double *best_pace,
		       const struct measure_stop *stop)
{
	size_t tries_most = cell->per_pass > 1 ? TRIES_MOST * cell->per_pass : 1, good = 0;
	struct unseen unseen;

	choose_unseen(&unseen, measure, cell);
	for (size_t tries = 0; tries < tries_most && good < cell->per_pass; tries++) {
		const struct measured_slice *slice;

		if (is_told_to_stop(stop))
			return false;
		run_slice(measure, cell, tries ? NULL : &unseen);
		slice = &cell->slices[cell->slice_count - 1];
		*best_pace = fmax(*best_pace, slice->pace);
		good += is_good(slice, *best_pace);
	}
	cell->passes++;
	return true;
}

/* Over all slices of all cells. */
static double find_best_pace(struct measured *const cells[], size_t count)
{
	double best = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < cells[i]->slice_count; k++)
			best = fmax(best, cells[i]->slices[k].pace);
	return best;
}

bool measure_pass(struct measure *measure, struct measured *const cells[], size_t count,
		  const struct measure_stop *stop)
{
	CLEANUP_FREE size_t *order = xcalloc(count + 1, sizeof(*order));
	double best_pace = find_best_pace(cells, count);

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	shuffle(order, count, &measure->random);
	for (size_t i = 0; i < count; i++) {
		struct measured *cell = cells[order[i]];

		if ((!cell->rounds && !warm_up(measure, cell, stop)) ||
		    !run_slices(measure, cell, &best_pace, stop))
			return false;
	}
	return true;
}

static bool counts(const struct measured *cell, const struct measured_slice *slice, bool quiet)
{
	return slice->pass < cell->passes && (!quiet || is_good(slice, cell->best_pace));
}

/* The passes with at least half of the slices that were wanted and nothing disturbed, in turn, make
 * so many sets: set_of says which of them, or -1. Returns how many passes count. */
static size_t share_out(long *set_of, const struct measured *cell, size_t sets, bool quiet)
{
	CLEANUP_FREE size_t *good = xcalloc(cell->passes + 1, sizeof(*good));
	size_t counted = 0;

	for (size_t i = 0; i < cell->slice_count; i++)
		if (counts(cell, &cell->slices[i], quiet))
			good[cell->slices[i].pass]++;
	for (unsigned pass = 0; pass < cell->passes; pass++) {
		bool enough = good[pass] && 2 * good[pass] >= cell->per_pass;

		set_of[pass] = enough ? (long)(counted++ % sets) : -1;
	}
	return counted;
}

/* The upper quartiles of so many sets of slices, or of fewer; returns how many passes count. */
static size_t find_figures(double *out, const struct measured *cell, size_t sets, bool quiet)
{
	CLEANUP_FREE double *rates = xcalloc(cell->slice_count + 1, sizeof(*rates));
	CLEANUP_FREE long *set_of = xcalloc(cell->passes + 1, sizeof(*set_of));
	size_t counted = share_out(set_of, cell, sets, quiet);

	for (size_t set = 0; set < sets && set < counted; set++) {
		size_t good = 0;

		for (size_t i = 0; i < cell->slice_count; i++)
			if (counts(cell, &cell->slices[i], quiet) &&
			    set_of[cell->slices[i].pass] == (long)set)
				rates[good++] = cell->slices[i].gb_per_s;
		out[set] = statistics_quantile(rates, good, QUARTILE);
	}
	return counted;
}

size_t measure_passes(double *out, const struct measured *cell, bool quiet)
{
	size_t sets = cell->passes < STATISTICS_SAMPLES_MAX ? cell->passes : STATISTICS_SAMPLES_MAX;
	size_t counted = find_figures(out, cell, sets, quiet);

	return counted < sets ? counted : sets;
}

static void sum_cell(struct measured *cell, unsigned runs)
{
	size_t counted = find_figures(cell->gb_per_s, cell, runs, true);

	cell->disturbed = cell->passes - (unsigned)counted;
	cell->noisy = counted < runs && cell->passes >= runs;
	cell->runs = counted < runs ? counted : runs;
	if (cell->noisy)
		cell->runs = measure_passes(cell->gb_per_s, cell, false);
}

void measure_sum(struct measured *const cells[], size_t count, unsigned runs)
{
	double best_pace = find_best_pace(cells, count);

	for (size_t i = 0; i < count; i++) {
		cells[i]->best_pace = best_pace;
		sum_cell(cells[i], runs);
	}
}

void measured_free(struct measured *measured)
{
	free(measured->slices);
	measured->slices = NULL;
	measured->slice_count = 0;
}
