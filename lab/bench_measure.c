// SPDX-License-Identifier: MIT
/* Measures what was planned while there is time: everything once, then what was noisy or uncertain.
 */
#include <math.h>
#include <string.h>

#include "harness/util/clock.h"
#include "lab/bench.h"
#include "lab/interrupt.h"

#define TRIES_MOST 4 /* of a group that was noisy, while there is time */

void bench_compare(struct bench_line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bench_line *line = &lines[i];
		const struct measured *measured = &line->measured, *reference = &lines->measured;

		line->reference = i == 0;
		line->conclusion = CONCLUSION_UNCERTAIN;
		if (measured->runs)
			statistics_of(&line->statistics, measured->gb_per_s, measured->runs);
		if (measured->noisy || reference->noisy) {
			line->conclusion = CONCLUSION_NOISY;
			continue;
		}
		line->compared = i && statistics_compare(&line->comparison, measured->gb_per_s,
							 measured->runs, reference->gb_per_s,
							 reference->runs, BENCH_CONFIDENCE);
		if (line->compared)
			line->conclusion = statistics_conclude(&line->comparison, BENCH_MARGIN);
	}
}

/* What is under way. */
struct campaign {
	struct measure *measure;
	const struct bench_effort *effort;
	double end; /* of the group at hand */
};

static bool time_is_over(void *context)
{
	const struct campaign *campaign = context;

	return interrupt_signal() || clock_seconds() > campaign->end;
}

static size_t count_lines(const struct bench_line *lines, size_t count, enum conclusion conclusion)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += !lines[i].reference && lines[i].conclusion == conclusion;
	return found;
}

static bool has(const struct bench_group *group, enum conclusion conclusion)
{
	return count_lines(group->lines, group->operation->path_count, conclusion);
}

static int measure_group(struct campaign *campaign, const struct bench_group *group,
			 unsigned slices, struct bench_line *lines, struct error *err)
{
	struct measured cells[BENCH_PATHS_MAX] = { 0 };
	const struct measure_effort effort = {
		.runs = campaign->effort->runs,
		.slices = slices,
		.stop = time_is_over,
		.context = campaign,
	};
	size_t count = group->operation->path_count;

	for (size_t i = 0; i < count; i++)
		cells[i] = (struct measured){ .path = &group->operation->paths[i],
					      .bytes = group->bytes,
					      .threads = group->threads };
	if (measure_cells(campaign->measure, cells, count, &effort, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		lines[i].measured = cells[i];
	bench_compare(lines, count);
	return 0;
}

static bool is_cut_short(const struct bench_group *group, unsigned runs)
{
	for (size_t i = 0; i < group->operation->path_count; i++) {
		const struct measured *measured = &group->lines[i].measured;

		if (measured->runs < runs && !measured->noisy)
			return true;
	}
	return false;
}

/* Every group once; each may use what earlier ones left of the time, up to eight shares. */
static int measure_all(struct campaign *campaign, struct bench_result *result,
		       struct bench_group *groups, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct bench_group *group = &groups[i];
		double left = campaign->effort->end - clock_seconds();
		double share = 8 * left / (double)(count - i);

		if (interrupt_signal() || left <= 0) {
			result->late = true;
			return 0;
		}
		campaign->end = clock_seconds() + fmin(share, left);
		group->lines = &result->lines[result->line_count];
		group->tries = 1;
		if (measure_group(campaign, group, 1, group->lines, err) < 0)
			return -1;
		result->late |= is_cut_short(group, campaign->effort->runs);
		result->line_count += group->operation->path_count;
	}
	return 0;
}

/* Once more: what is quieter stands. */
static int measure_again(struct campaign *campaign, struct bench_group *group, unsigned slices,
			 struct error *err)
{
	size_t count = group->operation->path_count;
	struct bench_line lines[BENCH_PATHS_MAX] = { 0 };

	if (time_is_over(campaign))
		return 0;
	group->tries++;
	if (measure_group(campaign, group, slices, lines, err) < 0)
		return -1;
	if (!time_is_over(campaign) && count_lines(lines, count, CONCLUSION_NOISY) <=
					       count_lines(group->lines, count, CONCLUSION_NOISY))
		memcpy(group->lines, lines, count * sizeof(*lines));
	return 0;
}

/*
 * What the time that is left is for: groups that were noisy, in turn, since noise comes and goes;
 * then those that were uncertain, once, with runs that are three times as long. That one's verdict
 * stands, whatever it is: to measure until something is certain would find what is not there.
 */
static int measure_rest(struct campaign *campaign, struct bench_group *groups, size_t count,
			struct error *err)
{
	campaign->end = campaign->effort->end;
	for (unsigned tries = 1; tries < TRIES_MOST; tries++)
		for (size_t i = 0; i < count; i++)
			if (groups[i].tries == tries && has(&groups[i], CONCLUSION_NOISY) &&
			    measure_again(campaign, &groups[i], 1, err) < 0)
				return -1;
	for (size_t i = 0; i < count; i++)
		if (groups[i].tries && has(&groups[i], CONCLUSION_UNCERTAIN) &&
		    measure_again(campaign, &groups[i], 3, err) < 0)
			return -1;
	return 0;
}

int bench_measure(struct bench_result *result, struct measure *measure, struct bench_group *groups,
		  size_t count, const struct bench_effort *effort, struct error *err)
{
	struct campaign campaign = { .measure = measure, .effort = effort };

	if (measure_all(&campaign, result, groups, count, err) < 0)
		return -1;
	return measure_rest(&campaign, groups, count, err);
}
