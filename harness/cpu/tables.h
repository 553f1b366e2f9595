/* SPDX-License-Identifier: MIT */
/* Readers of cpu-models/: tab-separated tables with a header row. Errors name file, line, column.
 */
#ifndef QUIRKLAB_HARNESS_CPU_TABLES_H
#define QUIRKLAB_HARNESS_CPU_TABLES_H

#include "harness/cpu/cpu.h"

/* A table as text: cell(row, column) is "" where it is empty. Owned strings. */
struct table {
	char *path;
	char *bytes; /* the file; columns and cells point into it */
	char **columns;
	size_t column_count;
	char **cells;	 /* row_count x column_count */
	unsigned *lines; /* line number of each row in the file */
	size_t row_count;
};

int table_read(struct table *table, const char *path, struct error *err);
int table_column(const struct table *table, const char *name); /* -1: none */
const char *table_cell(const struct table *table, size_t row, int column);
void table_free(struct table *table);

/* catalogue.tsv and unknown.tsv have the same columns; models.tsv is read by models_read. Rows are
 * appended. */
int catalogue_read(struct cpu_list *list, const char *path, enum cpu_origin origin,
		   struct error *err);
int models_read(struct cpu_list *list, const char *path, struct error *err);

#endif
