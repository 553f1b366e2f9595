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

static bool is_told_to_stop(const struct measure_effort *effort)
{
	return effort->stop && effort->stop(effort->context);
}

/* How many rounds make a slice, and slices a pass, found while the path warms up. False: told to
 * stop. */
static bool warm_up(struct measure *measure, struct measured *cell,
		    const struct measure_effort *effort)
{
	double shortest = measure->options.sample_seconds, begin = clock_seconds();
	size_t rounds = 1;
	struct unseen unseen;
	double seconds;

	choose_unseen(&unseen, measure, cell);
	while (!measure->warm && clock_seconds() - begin < measure->options.warm_seconds) {
		if (is_told_to_stop(effort))
			return false;
		workers_run(measure, cell, 1, NULL);
	}
	measure->warm = true;
	if (is_told_to_stop(effort))
		return false;
	seconds = workers_run(measure, cell, 1, &unseen);
	while (seconds < shortest / 2) {
		double more = shortest / seconds;

		if (is_told_to_stop(effort))
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
		       const struct measure_effort *effort)
{
	size_t tries_most = cell->per_pass > 1 ? TRIES_MOST * cell->per_pass : 1, good = 0;
	struct unseen unseen;

	choose_unseen(&unseen, measure, cell);
	for (size_t tries = 0; tries < tries_most && good < cell->per_pass; tries++) {
		const struct measured_slice *slice;

		if (is_told_to_stop(effort))
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
static double find_best_pace(const struct measured *cells, size_t count)
{
	double best = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < cells[i].slice_count; k++)
			best = fmax(best, cells[i].slices[k].pace);
	return best;
}

bool measure_pass(struct measure *measure, struct measured *cells, size_t count,
		  const struct measure_effort *effort)
{
	CLEANUP_FREE size_t *order = xcalloc(count + 1, sizeof(*order));
	double best_pace = find_best_pace(cells, count);

	for (size_t i = 0; i < count; i++)
		order[i] = i;
	shuffle(order, count, &measure->random);
	for (size_t i = 0; i < count; i++) {
		struct measured *cell = &cells[order[i]];

		if ((!cell->rounds && !warm_up(measure, cell, effort)) ||
		    !run_slices(measure, cell, &best_pace, effort))
			return false;
	}
	return true;
}

/* The passes with at least half of the slices that were wanted and nothing disturbed, in turn, make
 * the runs: run_of says which of them, or -1. Returns how many count. */
static size_t share_out(long *run_of, struct measured *cell, unsigned runs, double best_pace)
{
	CLEANUP_FREE size_t *good = xcalloc(cell->passes + 1, sizeof(*good));
	size_t counted = 0;

	for (size_t i = 0; i < cell->slice_count; i++)
		good[cell->slices[i].pass] += is_good(&cell->slices[i], best_pace);
	for (unsigned pass = 0; pass < cell->passes; pass++) {
		bool counts = good[pass] && 2 * good[pass] >= cell->per_pass;

		run_of[pass] = counts ? (long)(counted++ % runs) : -1;
	}
	return counted;
}

size_t measure_passes(double *out, const struct measured *cell)
{
	CLEANUP_FREE double *rates = xcalloc(cell->slice_count + 1, sizeof(*rates));
	size_t count = 0, slice = 0;

	for (unsigned pass = 0; pass < cell->passes && count < STATISTICS_SAMPLES_MAX; pass++) {
		size_t taken = 0;

		for (; slice < cell->slice_count && cell->slices[slice].pass == pass; slice++)
			rates[taken++] = cell->slices[slice].gb_per_s;
		out[count++] = statistics_quantile(rates, taken, QUARTILE);
	}
	return count;
}

static void sum_cell(struct measured *cell, unsigned runs, double best_pace)
{
	CLEANUP_FREE double *rates = xcalloc(cell->slice_count + 1, sizeof(*rates));
	CLEANUP_FREE long *run_of = xcalloc(cell->passes + 1, sizeof(*run_of));
	size_t counted = share_out(run_of, cell, runs, best_pace);

	cell->disturbed = cell->passes - (unsigned)counted;
	cell->runs = runs;
	cell->noisy = counted < runs;
	if (cell->noisy) {
		cell->runs = measure_passes(cell->gb_per_s, cell);
		return;
	}
	for (size_t run = 0; run < runs; run++) {
		size_t good = 0;

		for (size_t i = 0; i < cell->slice_count; i++) {
			const struct measured_slice *slice = &cell->slices[i];

			if (slice->pass < cell->passes && run_of[slice->pass] == (long)run &&
			    is_good(slice, best_pace))
				rates[good++] = slice->gb_per_s;
		}
		cell->gb_per_s[run] = statistics_quantile(rates, good, QUARTILE);
	}
}

void measure_sum(struct measured *cells, size_t count, unsigned runs)
{
	double best_pace = find_best_pace(cells, count);

	for (size_t i = 0; i < count; i++)
		sum_cell(&cells[i], runs, best_pace);
}

void measured_free(struct measured *measured)
{
	free(measured->slices);
	measured->slices = NULL;
	measured->slice_count = 0;
}
