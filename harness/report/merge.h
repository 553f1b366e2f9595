/* SPDX-License-Identifier: MIT */
/*
 * Results read again: shards of one run put together, or two runs beside each other.
 *
 * Each source, a results folder or a file of records, joins the first run that holds none of its
 * cells; a third run is refused. So sources without common cells are shards of one run, and of
 * sources with common cells the first is the run before, the next the run after.
 */
#ifndef QUIRKLAB_HARNESS_REPORT_MERGE_H
#define QUIRKLAB_HARNESS_REPORT_MERGE_H

#include "harness/report/report.h"

/* A record as it was written, and the results folder that has its cell's logs (NULL: none). */
struct kept {
	char *record;	    /* owned by whoever keeps it */
	const char *folder; /* borrowed */
};
/* By vendor, family, model, stepping, cell. */
void kept_sort(struct kept *cells, size_t count);
/* Reads a kept record and fills in its folder; cell_result_free it. */
int kept_read(struct cell_result *result, const struct kept *cell);

struct merged_run {
	struct text label;  /* its sources, printable */
	struct kept *cells; /* sorted */
	size_t count;
	char **unfinished; /* cells of the sources' plans that have no record */
	size_t unfinished_count;
	struct summary summary; /* seconds: of all guests, added up */
};

#define MERGE_RUNS 2

struct merge {
	struct merged_run runs[MERGE_RUNS];
	size_t run_count;
	char **folders; /* what kept.folder points to */
	size_t folder_count;
	char **warnings; /* a line each: torn lines, records that a later one replaces */
	size_t warning_count;
};

/* Reads the sources. ERROR_INPUT with FILE:LINE where a line is no record; a last line without its
 * end is torn: a warning. merge_free() in any case. */
int merge_read(struct merge *merge, char *const *paths, size_t count, struct error *err);
void merge_free(struct merge *merge);

/* --- two runs ------------------------------------------------------------------------------------
 */

#define NO_CELL SIZE_MAX

struct change {
	size_t before, after; /* indices into the runs' cells; NO_CELL: it is not there */
	char *what;	      /* a line for each thing that changed, printable; owned */
};

/* The cells that differ in verdict, or in what a pick says, does or is expected to be. In the order
 * of the cells; those of only one run come last. The caller frees with changes_free. */
struct change *changes_find(size_t *count, const struct merged_run *before,
			    const struct merged_run *after);
void changes_free(struct change *changes, size_t count);

/* Which formats can show two runs: html, markdown and table. */
bool compare_format(enum report_format format);
/* Writes them. ERROR_LAB where it could not be written. */
int compare_write(enum report_format format, FILE *out, const struct merge *merge,
		  const struct change *changes, size_t count, struct error *err);

#endif
