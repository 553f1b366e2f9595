/* SPDX-License-Identifier: MIT */
/* How a run is divided into shards that take about as long as each other. */
#ifndef QUIRKLAB_HARNESS_PLAN_SHARDS_H
#define QUIRKLAB_HARNESS_PLAN_SHARDS_H

#include "harness/cpu/cpu.h"

/*
 * What each cell costs, in seconds of one core, from cpu-models/costs.tsv: the row with the CPU's
 * name, else that of libvirt's models (`model:*`), else `*`, of that image and subject; 1 where
 * nothing fits. ERROR_INPUT where the file is broken.
 */
int shards_costs(double *costs, const struct cpu_list *cpus, const char *image, const char *subject,
		 struct error *err);

/* The shard of each cell, 1..shards: the dearest cells first, each to the shard that has the least
 * so far. Equal costs are dealt round. The same on every machine. */
void shards_divide(unsigned *shard, const double *costs, size_t count, unsigned shards);

#endif
