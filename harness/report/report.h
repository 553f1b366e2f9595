/* SPDX-License-Identifier: MIT */
/* Results in every format. One record per cell is the source of all of them. */
#ifndef QUIRKLAB_HARNESS_REPORT_REPORT_H
#define QUIRKLAB_HARNESS_REPORT_REPORT_H

#include <stdio.h>
#include "harness/judge/cell.h"
#include "harness/util/text.h"

/* One line of JSON and a newline. Every string in it is printable ASCII. */
void record_write(struct text *out, const struct cell_result *result);
/* Reads one line into *result (cell_result_free it); ERROR_INPUT with what was expected. */
int record_read(struct cell_result *result, const char *line, size_t length, struct error *err);

struct summary {
	size_t cells; /* planned; more than the sum of the counts where some never ran */
	size_t count[VERDICTS];
	double seconds;		     /* wall clock of the run */
	char because[VERDICTS][128]; /* what the mismatches and skips name: "fsrs" */
};
/* Counts the result; `cells` stays the caller's. */
void summary_add(struct summary *summary, const struct cell_result *result);
/* "252 cells: 230 pass, 22 mismatch (fsrs), 0 fail, 4.1 s": the last line of every run, no newline.
 */
void summary_write(struct text *out, const struct summary *summary);

enum report_format {
	FORMAT_TABLE,
	FORMAT_TAP,
	FORMAT_JUNIT,
	FORMAT_JSONL,
	FORMAT_HTML,
	FORMAT_MARKDOWN,
	FORMATS
};
const char *report_format_name(enum report_format format); /* "tap" */
bool report_format_find(const char *name, enum report_format *format);

struct report_options {
	enum report_format format;
	size_t planned;	    /* cells, for TAP's plan */
	bool colour;	    /* table: escape sequences are wanted */
	bool utf8;	    /* table: symbols beyond ASCII are understood */
	bool verbose;	    /* table: a line for each cell that passed, however many there are */
	unsigned width;	    /* table: columns of the terminal, at least 20 */
	const char *label;  /* html: what the results are called; NULL: their folder. Borrowed. */
	const char *folder; /* html: of results, with the cells' logs; NULL: none. Borrowed. */
	char **unfinished;  /* html: the planned cells that have no result. Borrowed. */
	size_t unfinished_count;
};

/* A writer of one format to one stream (borrowed). open -> cell... -> close. TAP and JSON Lines
 * print as cells come; the table, JUnit, HTML and Markdown are written at the end. */
struct reporter;
struct reporter *reporter_open(const struct report_options *options, FILE *out);
void reporter_cell(struct reporter *reporter, const struct cell_result *result);
/* Writes the rest, flushes, frees the reporter. ERROR_LAB where anything could not be written. */
int reporter_close(struct reporter *reporter, const struct summary *summary, struct error *err);

/* Adds what somebody sent so that Markdown shows it as it is: no markup, no mention, no HTML. */
void markdown_escape(struct text *out, const char *bytes);

/* --- the progress line ---------------------------------------------------------------------------
 */

/* One line at the bottom of a terminal: done of planned, verdicts, time left by the rate so far. */
struct progress;
/* out: a terminal, borrowed. done: cells that were finished before (a resumed run). */
struct progress *progress_open(FILE *out, size_t planned, size_t done, bool colour,
			       unsigned (*width)(void));
void progress_cell(struct progress *progress, enum verdict verdict);
/* Clears the line, so that something else can be printed; the next cell draws it again. */
void progress_hide(struct progress *progress);
void progress_close(struct progress *progress); /* clears the line; NULL is allowed */

#endif
