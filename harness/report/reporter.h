/* SPDX-License-Identifier: MIT */
/* What the formats share inside this folder: the state of a reporter and one row per format. */
#ifndef QUIRKLAB_HARNESS_REPORT_REPORTER_H
#define QUIRKLAB_HARNESS_REPORT_REPORTER_H

#include "harness/report/merge.h"

struct reporter {
	struct report_options options;
	FILE *out;
	size_t seen;	   /* cells so far */
	struct kept *kept; /* a record for each, where the format is written at the end */
	size_t room;
};

struct report_writer {
	const char *name;
	bool keeps; /* wants the records at the end; cell may be NULL then */
	void (*begin)(struct reporter *reporter);
	void (*cell)(struct reporter *reporter, const struct cell_result *result);
	void (*end)(struct reporter *reporter, const struct summary *summary);
};

extern const struct report_writer table_writer, tap_writer, junit_writer, jsonl_writer, html_writer,
	markdown_writer;

/* Calls each() for every kept record. */
void reporter_each(struct reporter *reporter,
		   void (*each)(void *context, const struct cell_result *result), void *context);

/* Sorts the kept records. */
void reporter_sort(struct reporter *reporter);

/* "fsrs" or "fsrs, clwb": the distinct names on which this cell's mismatches depend. */
void result_depends(struct text *out, const struct cell_result *result);

/* One line why the verdict is what it is; "" for a pass. */
void result_reason(struct text *out, const struct cell_result *result);

/* The command that runs this cell again, alone: one line for a shell. */
void result_command(struct text *out, const struct cell_result *result);

/* What is written by a guest, a file or a user, for Markdown: inert, and no markup. */
void markdown_escaped(FILE *out, const char *bytes);

/* "6:85:4" */
void result_signature(char out[32], const struct cell_result *result);

#endif
