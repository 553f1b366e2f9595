// SPDX-License-Identifier: MIT
/* Measures what was planned while there is time: everything, then more of what was noisy or
 * uncertain. */
#include <string.h>

#include "harness/util/clock.h"
#include "lab/bench.h"
#include "lab/interrupt.h"

#define FIRST_SHARE (1 / 3.)
#define PASSES_MORE 50 /* over what was noisy or uncertain */

/* The interval is that of the passes, of which there are more than of runs, so that a few which
 * noise met do not widen it. False: too few. */
static bool compare_passes(struct comparison *out, const struct measured *measured,
			   const struct measured *reference, bool quiet, double confidence)
{
	double samples[STATISTICS_SAMPLES_MAX], others[STATISTICS_SAMPLES_MAX];
	size_t count = measure_passes(samples, measured, quiet);
	size_t other_count = measure_passes(others, reference, quiet);

	return statistics_compare(out, samples, count, others, other_count, confidence);
}

/* Noise is the same for both in the long run, so that what differs in every single pass does
 * differ; nothing less may be said. */
static void compare_noisy(struct bench_line *line, const struct measured *reference)
{
	enum conclusion conclusion = CONCLUSION_NOISY;

	if (compare_passes(&line->comparison, &line->measured, reference, false,
			   BENCH_CONFIDENCE_NOISY))
		conclusion = statistics_conclude(&line->comparison, BENCH_MARGIN);
	line->compared = conclusion == CONCLUSION_GOOD || conclusion == CONCLUSION_BAD;
	line->conclusion = line->compared ? conclusion : CONCLUSION_NOISY;
}

static void compare_quiet(struct bench_line *line, const struct measured *reference)
{
	struct comparison runs;

	line->conclusion = CONCLUSION_UNCERTAIN;
	line->compared = compare_passes(&line->comparison, &line->measured, reference, true,
					BENCH_CONFIDENCE) &&
			 statistics_compare(&runs, line->measured.gb_per_s, line->measured.runs,
					    reference->gb_per_s, reference->runs, BENCH_CONFIDENCE);
	if (!line->compared)
		return;
	line->comparison.overlap = runs.overlap;
	line->conclusion = statistics_conclude(&line->comparison, BENCH_MARGIN);
}

void bench_compare(struct bench_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bench_line *line = &lines[i];
		const struct measured *reference = &lines->measured;

		line->reference = i == 0;
		line->conclusion = CONCLUSION_UNCERTAIN;
		if (line->measured.runs)
			statistics_of(&line->statistics, line->measured.gb_per_s,
				      line->measured.runs);
		if (i && (line->measured.noisy || reference->noisy))
			compare_noisy(line, reference);
		else if (i)
			compare_quiet(line, reference);
	}
}

/* What is under way. */
struct campaign {
	struct measure *measure;
	const struct bench_effort *effort;
	double end; /* of the pass at hand */
};

static bool time_is_over(void *context)
{
	const struct campaign *campaign = context;

	return interrupt_signal() || clock_seconds() > campaign->end;
}

/* Those of all lines, or of the reference and what is open; returns how many. */
static size_t cells_of(struct measured **cells, struct bench_group *group, bool open)
{
	size_t count = 0;

	for (size_t i = 0; i < group->operation->path_count; i++)
		if (!i || !open || group->lines[i].open)
			cells[count++] = &group->lines[i].measured;
	return count;
}

/* One pass over a group, or over what is open of it. False: there was no time for all of it. */
static bool pass(struct campaign *campaign, struct bench_group *group, bool open)
{
	const struct measure_stop stop = { .asked = time_is_over, .context = campaign };
	struct measured *cells[BENCH_PATHS_MAX];
	size_t count = cells_of(cells, group, open);

	return !time_is_over(campaign) && measure_pass(campaign->measure, cells, count, &stop);
}

static bool is_cut_short(const struct bench_group *group, unsigned runs)
{
	for (size_t i = 0; i < group->operation->path_count; i++)
		if (group->lines[i].measured.passes < runs)
			return true;
	return false;
}

static void sum(struct bench_group *group, unsigned runs)
{
	struct measured *cells[BENCH_PATHS_MAX];
	size_t count = cells_of(cells, group, false);

	measure_sum(cells, count, runs);
	bench_compare(group->lines, count);
}

static bool has_open(const struct bench_group *group)
{
	for (size_t i = 0; i < group->operation->path_count; i++)
		if (group->lines[i].open)
			return true;
	return false;
}

static void find_open(struct bench_group *group)
{
	for (size_t i = 1; i < group->operation->path_count; i++)
		group->lines[i].open = group->lines[i].conclusion == CONCLUSION_NOISY ||
				       group->lines[i].conclusion == CONCLUSION_UNCERTAIN;
}

/* The others stand: the reference's further passes saw what theirs did not. */
static void sum_open_lines(struct bench_group *group, unsigned runs)
{
	struct bench_line before[BENCH_PATHS_MAX];
	size_t count = group->operation->path_count;

	memcpy(before, group->lines, count * sizeof(*before));
	sum(group, runs);
	for (size_t i = 1; i < count; i++)
		if (!before[i].open)
			group->lines[i] = before[i];
}

/* The first pass, which takes longest, over as many groups as there is time for all their runs; the
 * others are left out. Returns how many. */
static size_t measure_first(struct campaign *campaign, struct bench_result *result,
			    struct bench_group *groups, size_t count)
{
	double begin = clock_seconds(), all = campaign->effort->end - begin;

	campaign->end = begin + all * FIRST_SHARE;
	for (size_t i = 0; i < count; i++) {
		struct bench_group *group = &groups[i];
		size_t paths = group->operation->path_count;

		group->lines = &result->lines[result->line_count];
		for (size_t k = 0; k < paths; k++)
			group->lines[k].measured = (struct measured){
				.path = &group->operation->paths[k],
				.bytes = group->bytes,
				.threads = group->threads,
			};
		result->line_count += paths;
		if (!pass(campaign, group, false)) {
			for (size_t k = 0; k < paths; k++)
				measured_free(&group->lines[k].measured);
			result->line_count -= paths;
			return i;
		}
	}
	return count;
}

static void measure_groups(struct campaign *campaign, struct bench_group *groups, size_t count,
			   unsigned passes)
{
	for (unsigned i = 0; i < passes; i++)
		for (size_t k = 0; k < count; k++)
			if (!pass(campaign, &groups[k], false))
				return;
}

/* As much time for each group, whatever a pass of it takes. */
static void measure_open_lines(struct campaign *campaign, struct bench_group *groups, size_t count)
{
	for (;;) {
		struct bench_group *next = NULL;
		double begin = clock_seconds();

		for (size_t i = 0; i < count; i++)
			if (has_open(&groups[i]) && groups[i].more < PASSES_MORE &&
			    (!next || groups[i].spent < next->spent))
				next = &groups[i];
		if (!next || !pass(campaign, next, true))
			return;
		next->spent += clock_seconds() - begin;
		next->more++;
	}
}

/*
 * Every group in turn, so that all of a group's passes together have seen what the machine did in
 * all that time. Those that were noisy or uncertain then get what is left of it. That verdict
 * stands, whatever it is: to measure until something is certain would find what is not there.
 */
void bench_measure(struct bench_result *result, struct measure *measure, struct bench_group *groups,
		   size_t count, const struct bench_effort *effort)
{
	struct campaign campaign = { .measure = measure, .effort = effort };
	size_t fit = measure_first(&campaign, result, groups, count);

	campaign.end = effort->end;
	measure_groups(&campaign, groups, fit, effort->runs - 1);
	for (size_t i = 0; i < fit; i++) {
		sum(&groups[i], effort->runs);
		find_open(&groups[i]);
	}
	measure_open_lines(&campaign, groups, fit);
	for (size_t i = 0; i < fit; i++)
		sum_open_lines(&groups[i], effort->runs);
	for (size_t i = 0; i < count; i++)
		result->late |= i >= fit || is_cut_short(&groups[i], effort->runs);
}
