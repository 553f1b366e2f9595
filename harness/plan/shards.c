// SPDX-License-Identifier: MIT
/* Shards that take about as long as each other: the greatest costs are dealt out first. */
#include "harness/plan/shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

#define ANY_CPU	  "*"
#define ANY_MODEL "model:*"
#define UNKNOWN	  1.0

static const char *const columns[] = { "image", "subject", "name", "seconds" };
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int check(const struct table *table, int *column, struct error *err)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		column[i] = table_column(table, columns[i]);
		if (column[i] < 0)
			return error_set(err, ERROR_INPUT, "%s: no column '%s'", table->path,
					 columns[i]);
	}
	for (size_t row = 0; row < table->row_count; row++) {
		const char *text = table_cell(table, row, column[3]);
		char *end;
		double seconds = strtod(text, &end);

		if (!*text || *end || !isfinite(seconds) || seconds <= 0)
			return error_set(err, ERROR_INPUT,
					 "%s:%u: seconds '%s': a number above 0 was expected",
					 table->path, table->lines[row], text);
	}
	return 0;
}

/* How well a row's name fits a CPU: 0 is not at all. */
static int fit(const char *name, const struct cpu *cpu)
{
	if (!strcmp(name, cpu->name))
		return 3;
	if (cpu->libvirt_model && !strcmp(name, ANY_MODEL))
		return 2;
	return !strcmp(name, ANY_CPU);
}

static double cost(const struct table *table, const int *column, const struct cpu *cpu,
		   const char *image, const char *subject)
{
	double seconds = UNKNOWN;
	int best = 0;

	for (size_t row = 0; row < table->row_count; row++) {
		int fits = fit(table_cell(table, row, column[2]), cpu);

		if (fits <= best || strcmp(table_cell(table, row, column[0]), image) ||
		    strcmp(table_cell(table, row, column[1]), subject))
			continue;
		best = fits;
		seconds = strtod(table_cell(table, row, column[3]), NULL);
	}
	return seconds;
}

int shards_costs(double *costs, const struct cpu_list *cpus, const char *image, const char *subject,
		 struct error *err)
{
	CLEANUP_FREE char *path = path_models("costs.tsv");
	struct table table = { 0 };
	int column[COLUMNS] = { 0 };
	int result = table_read(&table, path, err);

	if (result == 0)
		result = check(&table, column, err);
	for (size_t i = 0; i < cpus->count && result == 0; i++)
		costs[i] = cost(&table, column, &cpus->cpus[i], image, subject);
	table_free(&table);
	return result;
}

struct item {
	double cost;
	size_t place;
};

static int dearest_first(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	return a->place > b->place ? 1 : -1;
}

void shards_divide(unsigned *shard, const double *costs, size_t count, unsigned shards)
{
	struct item *items = xcalloc(count + 1, sizeof(*items));
	double *load = xcalloc(shards, sizeof(*load));

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){ costs[i], i };
	qsort(items, count, sizeof(*items), dearest_first);
	for (size_t i = 0; i < count; i++) {
		unsigned least = 0;

		for (unsigned s = 1; s < shards; s++)
			if (load[s] < load[least])
				least = s;
		load[least] += items[i].cost;
		shard[items[i].place] = least + 1;
	}
	free(items);
	free(load);
}
