// SPDX-License-Identifier: MIT
/* Records that are kept until a report is written: their order, and how they are read again. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/merge.h"

int kept_read(struct cell_result *result, const struct kept *cell)
{
	if (record_read(result, cell->record, strlen(cell->record), NULL) < 0)
		return -1;
	result->folder = cell->folder;
	return 0;
}

struct sort_key {
	char vendor[sizeof(((struct cell_result *)0)->vendor)];
	unsigned family, model, stepping;
	char cell[sizeof(((struct cell_result *)0)->cell)];
	struct kept kept;
};

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;
	const struct cpu_order one = { a->vendor, a->family, a->model, a->stepping, a->cell };
	const struct cpu_order other = { b->vendor, b->family, b->model, b->stepping, b->cell };

	return cpu_order_compare(&one, &other);
}

void kept_sort(struct kept *cells, size_t count)
{
	struct cell_result *result = xmalloc(sizeof(*result));
	struct sort_key *keys = xcalloc(count + 1, sizeof(*keys));

	for (size_t i = 0; i < count; i++) {
		keys[i].kept = cells[i];
		if (kept_read(result, &cells[i]) < 0)
			continue;
		keys[i].family = result->family;
		keys[i].model = result->model;
		keys[i].stepping = result->stepping;
		strcpy(keys[i].vendor, result->vendor);
		strcpy(keys[i].cell, result->cell);
		cell_result_free(result);
	}
	qsort(keys, count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < count; i++)
		cells[i] = keys[i].kept;
	free(keys);
	free(result);
}
