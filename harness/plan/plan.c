// SPDX-License-Identifier: MIT
/* The plan of a run: one cell for each CPU, all names different. */
#include "harness/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/shards.h"
#include "harness/util/cleanup.h"

static int compare_names(const void *left, const void *right)
{
	const struct plan_cell *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static int refuse_twins(const struct plan *plan, struct error *err)
{
	const struct plan_cell **sorted = xcalloc(plan->count + 1, sizeof(*sorted));
	int result = 0;

	for (size_t i = 0; i < plan->count; i++)
		sorted[i] = &plan->cells[i];
	qsort(sorted, plan->count, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < plan->count && result == 0; i++)
		if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
			result = error_set(err, ERROR_INPUT,
					   "two different CPUs of this run are named '%s'",
					   sorted[i]->cpu->name);
	free(sorted);
	return result;
}

static int divide(unsigned *shard, const struct cpu_list *cpus, const char *image,
		  const struct plan_options *options, struct error *err)
{
	CLEANUP_FREE double *costs = xcalloc(cpus->count + 1, sizeof(*costs));

	if (shards_costs(costs, cpus, image, options->subject, err) < 0)
		return -1;
	shards_divide(shard, costs, cpus->count, options->shards);
	return 0;
}

const char *plan_image(const struct plan_options *options)
{
	static const char *const tiers[] = { [GUEST_BARE] = "bare", [GUEST_LINUX] = "linux" };

	return options->image == GUEST_DISK ? options->disk_name : tiers[options->image];
}

int plan_make(struct plan *plan, const struct cpu_list *cpus, const struct plan_options *options,
	      struct error *err)
{
	const char *image = plan_image(options);
	CLEANUP_FREE unsigned *shard = xcalloc(cpus->count + 1, sizeof(*shard));

	if (options->shards && divide(shard, cpus, image, options, err) < 0)
		return -1;
	*plan = (struct plan){ .cells = xcalloc(cpus->count + 1, sizeof(*plan->cells)),
			       .full_boot = options->full_boot,
			       .words = options->words,
			       .append = options->append,
			       .own_kernel = options->own_kernel,
			       .own_libc = options->own_libc };
	for (size_t i = 0; i < cpus->count; i++) {
		struct plan_cell *cell;

		if (options->shards && shard[i] != options->shard)
			continue;
		if (cpus->cpus[i].name[0] == '.' || strchr(cpus->cpus[i].name, '/')) {
			error_set(err, ERROR_INPUT,
				  "'%s': a CPU of that name has no folder for its logs",
				  cpus->cpus[i].name);
			plan_free(plan);
			return -1;
		}
		cell = &plan->cells[plan->count++];
		cell->cpu = &cpus->cpus[i];
		snprintf(cell->name, sizeof(cell->name), "%s/%s/%s", cell->cpu->name, image,
			 options->subject);
	}
	if (refuse_twins(plan, err) == 0)
		return 0;
	plan_free(plan);
	return -1;
}

void plan_free(struct plan *plan)
{
	free(plan->cells);
	*plan = (struct plan){ 0 };
}
