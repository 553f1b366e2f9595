// SPDX-License-Identifier: MIT
/*
 * One HTML file that needs nothing else. The page's script (page/) draws it from the data that is
 * in the file; without scripts a plain table of the verdicts is shown. The policy in it lets
 * nothing run but that script, and nothing be fetched.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/report/page.h"
#include "harness/report/reporter.h"

static void escaped(FILE *out, const char *bytes)
{
	char inert[1024];

	text_printable(inert, sizeof(inert), bytes, strlen(bytes));
	for (const char *at = inert; *at; at++) {
		switch (*at) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*at, out);
		}
	}
}

/* By hash: a style or script that anything smuggled in is none of these. */
static void head(FILE *out)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'; "
		"require-trusted-types-for 'script'; trusted-types 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<title>quirklab</title>\n<style>",
		page_style.hash, page_script.hash);
	fwrite(page_style.bytes, 1, page_style.length, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

static void row(FILE *out, const struct kept *kept, struct cell_result *result)
{
	CLEANUP_TEXT struct text reason = { 0 };
	char signature[32];

	if (kept_read(result, kept) < 0)
		return;
	result_signature(signature, result);
	result_reason(&reason, result);
	fprintf(out, "<tr><td>%s<td>", verdict_name(result->verdict));
	escaped(out, result->cell);
	fprintf(out, "<td>");
	escaped(out, result->vendor);
	fprintf(out, " %s<td>", signature);
	escaped(out, text_string(&reason));
	fputc('\n', out);
	cell_result_free(result);
}

static void plain_changes(FILE *out, const struct page *page)
{
	fprintf(out, "<h2>%zu cells changed</h2>\n", page->change_count);
	for (size_t i = 0; i < page->change_count; i++) {
		const struct change *change = &page->changes[i];
		struct cell_result *result = xmalloc(sizeof(*result));
		bool gone = change->after == NO_CELL;

		if (kept_read(result, &page->runs[gone ? 0 : 1].cells[gone ? change->before
									   : change->after]) == 0) {
			fputs("<h3>", out);
			escaped(out, result->cell);
			fputs("</h3>\n<pre>", out);
			for (const char *at = change->what; *at;) {
				CLEANUP_TEXT struct text line = { 0 };
				size_t length = strcspn(at, "\n");

				text_add(&line, at, length);
				escaped(out, text_string(&line));
				fputc('\n', out);
				at += length + 1;
			}
			fputs("</pre>\n", out);
			cell_result_free(result);
		}
		free(result);
	}
}

/* For readers without scripts; a browser that runs them does not even parse it. */
static void plain(FILE *out, const struct page *page)
{
	struct cell_result *result = xmalloc(sizeof(*result));

	fputs("<noscript>\n", out);
	if (page->run_count > 1)
		plain_changes(out, page);
	for (size_t i = 0; i < page->run_count; i++) {
		const struct merged_run *run = &page->runs[i];
		CLEANUP_TEXT struct text line = { 0 };

		summary_write(&line, &run->summary);
		fputs("<h2>", out);
		escaped(out, text_string(&run->label));
		fputs("</h2>\n<p>", out);
		escaped(out, text_string(&line));
		fputs("</p>\n<table>\n<tr><th>verdict<th>cell<th>CPU<th>reason\n", out);
		for (size_t j = 0; j < run->count; j++)
			row(out, &run->cells[j], result);
		for (size_t j = 0; j < run->unfinished_count; j++) {
			fputs("<tr><td>not run<td>", out);
			escaped(out, run->unfinished[j]);
			fputs("<td><td>\n", out);
		}
		fputs("</table>\n", out);
	}
	fputs("</noscript>\n", out);
	free(result);
}

void page_write(FILE *out, const struct page *page)
{
	CLEANUP_TEXT struct text data = { 0 };

	head(out);
	fputs("<main id=\"report\"></main>\n", out);
	plain(out, page);
	page_data(&data, page);
	fputs("<script type=\"application/json\" id=\"data\">", out);
	fwrite(data.bytes, 1, data.length, out);
	fputs("</script>\n<script>", out);
	fwrite(page_script.bytes, 1, page_script.length, out);
	fputs("</script>\n</body>\n</html>\n", out);
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	const struct report_options *options = &reporter->options;
	const char *name = options->label ? options->label : options->folder;
	CLEANUP_TEXT struct text label = { 0 };
	char inert[1024];

	if (name)
		text_addf(&label, "%s", text_printable(inert, sizeof(inert), name, strlen(name)));
	reporter_sort(reporter);
	page_write(reporter->out,
		   &(struct page){
			   .runs =
				   &(struct merged_run){
					   .label = label,
					   .cells = reporter->kept,
					   .count = reporter->seen,
					   .unfinished = options->unfinished,
					   .unfinished_count = options->unfinished_count,
					   .summary = *summary,
				   },
			   .run_count = 1,
		   });
}

const struct report_writer html_writer = { .name = "html", .keeps = true, .end = end };
