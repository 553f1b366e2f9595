// SPDX-License-Identifier: MIT
/* Two sides of an A/B, as the kernel test robot prints them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/scale.h"

#define RATIO_LEAST	     1.05 /* the robot's, for what is no figure of perf's */
#define SAMPLES_LEAST	     3	  /* the robot's */
#define CONFIDENCE	     0.95
#define STDDEV_SHOWN_PERCENT 2 /* smaller ones are left out, as the robot does */

static const struct {
	const char *name;
	bool time;
} metrics[SCALE_METRICS] = {
	[SCALE_PER_TASK_OPS] = { "per_task_ops", true },
	[SCALE_TLB_SHOOTDOWNS] = { "tlb_shootdowns_per_op", false },
	[SCALE_FUNCTION_CALLS] = { "function_call_ipis_per_op", false },
	[SCALE_RESCHEDULES] = { "reschedule_ipis_per_op", false },
};

const char *scale_metric_name(enum scale_metric metric)
{
	return metrics[metric].name;
}

bool scale_metric_is_time(enum scale_metric metric)
{
	return metrics[metric].time;
}

/* Means that differ by chance are common where samples are few: no sample may lie among the
 * others', and that must be unlikely if nothing differs. */
static bool is_change(const struct scale *scale, enum scale_metric metric,
		      const struct scale_change *change)
{
	double base[SCALE_REPEATS_MAX], head[SCALE_REPEATS_MAX];
	const struct scale_side *sides = scale->sides;
	double least = fmin(change->base.mean, change->head.mean);
	double most = fmax(change->base.mean, change->head.mean);
	struct comparison comparison;

	if (most <= RATIO_LEAST * least)
		return false;
	/* Counts may be 0, ratios may not. */
	for (size_t i = 0; i < sides[0].count; i++)
		base[i] = sides[0].samples[metric][i] + most * 1e-9;
	for (size_t i = 0; i < sides[1].count; i++)
		head[i] = sides[1].samples[metric][i] + most * 1e-9;
	return statistics_compare(&comparison, head, sides[1].count, base, sides[0].count,
				  CONFIDENCE) &&
	       !comparison.overlap;
}

void scale_compare(struct scale_change *change, const struct scale *scale, enum scale_metric metric)
{
	*change = (struct scale_change){ 0 };
	if (!scale->sides[0].count || !scale->sides[1].count)
		return;
	statistics_of(&change->base, scale->sides[0].samples[metric], scale->sides[0].count);
	statistics_of(&change->head, scale->sides[1].samples[metric], scale->sides[1].count);
	if (change->base.mean > 0)
		change->percent = (change->head.mean / change->base.mean - 1) * 100;
	change->changed = is_change(scale, metric, change);
}

static void print_mean(const struct statistics *statistics)
{
	double percent = statistics->mean > 0 ? 100 * statistics->stddev / statistics->mean : 0;
	char stddev[16] = "";

	if (percent >= STDDEV_SHOWN_PERCENT)
		snprintf(stddev, sizeof(stddev), "±%3.0f%%", percent);
	/* ± is two bytes and one column. */
	printf("%12.*f %*s", statistics->mean < 100 ? 4 : 0, statistics->mean, *stddev ? 7 : 6,
	       stddev);
}

static void print_side(const struct scale_side *side)
{
	printf("%s: %s\n      kernel %s, spectre_v2: %s; %zu boots\n", side->name, side->words,
	       *side->release ? side->release : "unknown",
	       *side->mitigation ? side->mitigation : "unknown", side->count);
}

void scale_print(const struct scale *scale)
{
	const struct hypervisor *hypervisor = connection_hypervisor(scale->connection);

	printf("%s, %u tasks on as many CPUs of %s, %u s\n", scale->workload, scale->tasks,
	       scale->target.cpu.name, scale->seconds);
	print_side(&scale->sides[0]);
	print_side(&scale->sides[1]);
	printf("\n%12s %6s %9s %14s\n", "base", "", "change", "head");
	for (unsigned metric = 0; metric < SCALE_METRICS; metric++) {
		struct scale_change change;

		if (metrics[metric].time && !hypervisor->kvm)
			continue;
		scale_compare(&change, scale, metric);
		print_mean(&change.base);
		printf(" %+8.1f%% ", change.percent);
		print_mean(&change.head);
		printf("  %s%s\n", metrics[metric].name, change.changed ? "" : "  (no change)");
	}
	if (!hypervisor->kvm)
		printf("\nTCG: counts alone are reported; times mean nothing there.\n");
}
