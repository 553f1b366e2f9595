/* SPDX-License-Identifier: MIT */
/* Results in every format. One record per cell is the source of all of them. */
#ifndef QUIRKLAB_HARNESS_REPORT_REPORT_H
#define QUIRKLAB_HARNESS_REPORT_REPORT_H

#include <stdio.h>
#include "harness/judge/cell.h"
#include "harness/util/text.h"

/* One line of JSON and a newline. */
void record_write(struct text *out, const struct cell_result *result);
/* Reads one line; ERROR_INPUT with what was expected. */
int record_read(struct cell_result *result, const char *line, size_t length, struct error *err);

struct summary {
	size_t cells, count[VERDICTS];
	double seconds; /* wall clock of the run */
	char because[VERDICTS][128]; /* what the mismatches and skips name: "fsrs" */
};
void summary_add(struct summary *summary, const struct cell_result *result);
/* "252 cells: 230 pass, 22 mismatch (fsrs), 0 fail, 4.1 s": the last line of every run, no newline. */
void summary_write(struct text *out, const struct summary *summary);

enum report_format { FORMAT_TABLE, FORMAT_TAP, FORMAT_JUNIT, FORMAT_JSONL, FORMAT_HTML, FORMAT_MARKDOWN };

/* A writer of one format to one stream. begin -> cell... -> end. TAP, JSON Lines and the table print
 * as cells come; JUnit, HTML and Markdown are written at the end. */
struct reporter;
struct reporter *reporter_open(enum report_format format, FILE *out, bool colour, size_t planned);
void reporter_cell(struct reporter *reporter, const struct cell_result *result);
int reporter_close(struct reporter *reporter, const struct summary *summary, struct error *err);

#endif
