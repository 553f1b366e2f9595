// SPDX-License-Identifier: MIT
/* Runs of several paths in turn, each run made of slices, so that a moment's noise spoils none. */
#include "harness/measure/measure.h"

#include <stdlib.h>

#include "harness/measure/workers.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

/*
 * Slices of a run: as many as fit into so many of the shortest, an odd number, since the run's
 * figure is the median of them.
 */
#define SLICES_MOST 5
#define SLICES_FIT  7.5
#define EFFORT_MOST 5

/*
 * Rounds that are not counted, since the path before may have left the caches in a state that this
 * one would not: stores past them have emptied them. On a Xeon with 2 MiB of L2 and 260 MiB of L3
 * rep stosb over 32 MiB ran at 9 GB/s after movnti and at 22 from the third round on. What does not
 * fit into the cache, or goes past it, finds and leaves it the same.
 */
#define UNSEEN	      1
#define UNSEEN_CACHED 4

/* How a cell's runs are made. */
struct plan {
	size_t rounds; /* of a slice */
	size_t unseen;
	size_t slices; /* of a run */
	double rates[SLICES_MOST * EFFORT_MOST];
	size_t good; /* slices of the run at hand that were not disturbed */
	bool wanted; /* another run is needed */
};

static size_t unseen_rounds(const struct measure *measure, const struct measured *cell)
{
	size_t cached = measure->options.cache / 2 / cell->threads;

	return cell->bytes <= cached && !cell->path->past_cache ? UNSEEN_CACHED : UNSEEN;
}

static size_t slices_of(double shortest, double seconds)
{
	double fit = SLICES_FIT * shortest / seconds;
	size_t slices = fit > SLICES_MOST ? SLICES_MOST : (size_t)fit;

	return slices % 2 ? slices : slices + 1;
}

static bool is_told_to_stop(const struct measure_effort *effort)
{
	return effort->stop && effort->stop(effort->context);
}

/* How many rounds make a slice, and slices a run, found while the path warms up. False: told to
 * stop. */
static bool warm_up(struct measure *measure, const struct measured *cell,
		    const struct measure_effort *effort, struct plan *plan)
{
	double shortest = measure->options.sample_seconds, begin = clock_seconds();
	double seconds;

	plan->unseen = unseen_rounds(measure, cell);
	while (!measure->warm && clock_seconds() - begin < measure->options.warm_seconds) {
		if (is_told_to_stop(effort))
			return false;
		workers_run(measure, cell, 1, 0);
	}
	measure->warm = true;
	if (is_told_to_stop(effort))
		return false;
	plan->rounds = 1;
	seconds = workers_run(measure, cell, 1, plan->unseen);
	while (seconds < shortest / 2) {
		double more = shortest / seconds;

		if (is_told_to_stop(effort))
			return false;
		plan->rounds = (size_t)((double)plan->rounds * (more > 64 ? 64 : more)) + 1;
		seconds = workers_run(measure, cell, plan->rounds, plan->unseen);
	}
	plan->slices = effort->slices * slices_of(shortest, seconds);
	return true;
}

static void run_slice(struct measure *measure, const struct measured *cell, struct plan *plan)
{
	double seconds = workers_run(measure, cell, plan->rounds, plan->unseen);
	double bytes = (double)cell->bytes * (double)cell->threads * (double)plan->rounds;

	if (!workers_were_disturbed(measure, seconds))
		plan->rates[plan->good++] = bytes / seconds * 1e-9;
}

/* A run counts where most of its slices do. */
static void end_run(struct measured *cell, const struct plan *plan, unsigned runs)
{
	struct statistics statistics;

	if (2 * plan->good <= plan->slices) {
		cell->disturbed++;
		cell->noisy = cell->disturbed > runs;
		return;
	}
	statistics_of(&statistics, plan->rates, plan->good);
	cell->gb_per_s[cell->runs++] = statistics.median;
}

/*
 * The order of the cells, another one in each slice: always behind the same path, one would always
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

/* One run of each cell that needs another, slice by slice in turn. False: told to stop. */
static bool run_turn(struct measure *measure, struct measured *cells, struct plan *plans,
		     size_t *order, size_t count, const struct measure_effort *effort)
{
	for (size_t slice = 0; slice < SLICES_MOST * EFFORT_MOST; slice++) {
		shuffle(order, count, &measure->random);
		for (size_t i = 0; i < count; i++) {
			struct plan *plan = &plans[order[i]];

			if (!plan->wanted || slice >= plan->slices)
				continue;
			if (is_told_to_stop(effort))
				return false;
			run_slice(measure, &cells[order[i]], plan);
		}
	}
	return true;
}

int measure_cells(struct measure *measure, struct measured *cells, size_t count,
		  const struct measure_effort *effort, struct error *err)
{
	CLEANUP_FREE struct plan *plans = xcalloc(count + 1, sizeof(*plans));
	CLEANUP_FREE size_t *order = xcalloc(count + 1, sizeof(*order));

	if (effort->runs > STATISTICS_SAMPLES_MAX || effort->slices > EFFORT_MOST)
		return error_set(err, ERROR_LAB, "%u runs of %u times the slices: at most %d of %d",
				 effort->runs, effort->slices, STATISTICS_SAMPLES_MAX, EFFORT_MOST);
	workers_forget_pace(measure);
	for (size_t i = 0; i < count; i++) {
		order[i] = i;
		if (!warm_up(measure, &cells[i], effort, &plans[i]))
			return 0;
	}
	for (;;) {
		bool wanting = false;

		for (size_t i = 0; i < count; i++) {
			plans[i].wanted = cells[i].runs < effort->runs && !cells[i].noisy;
			plans[i].good = 0;
			wanting |= plans[i].wanted;
		}
		if (!wanting || !run_turn(measure, cells, plans, order, count, effort))
			return 0;
		for (size_t i = 0; i < count; i++)
			if (plans[i].wanted)
				end_run(&cells[i], &plans[i], effort->runs);
	}
}
