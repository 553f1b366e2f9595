/* SPDX-License-Identifier: MIT */
/* quirklab scale: workloads of the kernel's scalability, here or on two kernels in turn. */
#ifndef QUIRKLAB_LAB_SCALE_H
#define QUIRKLAB_LAB_SCALE_H

#include "harness/measure/statistics.h"
#include "harness/plan/plan.h"
#include "lab/images.h"
#include "lab/lab.h"
#include "lab/repro.h"

#define SCALE_REPEATS_MAX   STATISTICS_SAMPLES_MAX
#define SCALE_REPEATS_LEAST 4 /* with fewer, chance alone parts them too often */

/* What is measured of each boot; those of time only where time means something. */
enum scale_metric {
	SCALE_PER_TASK_OPS,   /* operations a second of each task */
	SCALE_TLB_SHOOTDOWNS, /* the rest: for each operation */
	SCALE_FUNCTION_CALLS,
	SCALE_RESCHEDULES,
	SCALE_METRICS
};
const char *scale_metric_name(enum scale_metric metric);
bool scale_metric_is_time(enum scale_metric metric);

/* One of the two sides. */
struct scale_side {
	const char *name;  /* base, head */
	const char *words; /* as given: a kernel, or words for its command line */
	bool is_kernel;
	struct images images;
	char release[64], mitigation[256];
	double samples[SCALE_METRICS][SCALE_REPEATS_MAX];
	size_t count; /* boots that reported */
};

struct scale {
	struct lab *lab;
	const char *workload; /* WORKLOAD_threads or WORKLOAD_processes */
	unsigned seconds, tasks, warm_up, mebibytes, repeats;
	bool seconds_given;
	const char *cpu, *kernel;
	double timeout_scale;
	enum accelerator accelerator;
	struct scale_side sides[2];
	/* Filled while it runs. */
	struct cpu_tables tables;
	struct repro_target target;
	struct connection *connection;
	size_t connection_count; /* 0 until it is open: a signal may come before */
	struct payload *payload;
	struct realised realised;
};

/* Boots both sides in turn and fills them. -1: err says what went wrong. */
int scale_run_guests(struct scale *scale, struct error *err);

/* How the two sides of a metric compare. */
struct scale_change {
	struct statistics base, head;
	double percent; /* of the means; 0 where the base is 0 */
	bool changed;
};
/* Enough samples, no sample of one side among those of the other, and means that differ by more
 * than 5 %. */
void scale_compare(struct scale_change *change, const struct scale *scale,
		   enum scale_metric metric);
void scale_print(const struct scale *scale);

#endif
