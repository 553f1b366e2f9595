/* SPDX-License-Identifier: MIT */
/* What the HTML page consists of: the files of page/, built into the program, and its data. */
#ifndef QUIRKLAB_HARNESS_REPORT_PAGE_H
#define QUIRKLAB_HARNESS_REPORT_PAGE_H

#include "harness/report/merge.h"

struct page_part {
	const char *bytes; /* no NUL behind them */
	size_t length;
	const char *hash; /* "sha256-..." in base64, as a Content-Security-Policy writes it */
};
extern const struct page_part page_style, page_script;

/* One run, or two that are compared. */
struct page {
	const struct merged_run *runs;
	size_t run_count;
	const struct change *changes; /* of two runs */
	size_t change_count;
};
void page_write(FILE *out, const struct page *page);

/* The data that the page's script shows, as one JSON object. Every string in it is printable
 * ASCII, and no character of it means anything to HTML. */
void page_data(struct text *out, const struct page *page);

#endif
