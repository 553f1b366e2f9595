// SPDX-License-Identifier: MIT
/* TAP 13 (testanything.org): a test a cell, a YAML block with the record where one is not ok. */
#include <string.h>

#include "harness/report/reporter.h"

static void begin(struct reporter *reporter)
{
	fprintf(reporter->out, "TAP version 13\n1..%zu%s\n", reporter->options.planned,
		reporter->options.planned ? "" : " # SKIP no cells in this shard");
	fflush(reporter->out);
}

/* A description's '#' would begin a directive. */
static void escaped(FILE *out, const char *bytes)
{
	char inert[1024];

	text_printable(inert, sizeof(inert), bytes, strlen(bytes));
	for (const char *at = inert; *at; at++)
		fprintf(out, "%s%c", *at == '#' || *at == '\\' ? "\\" : "", *at);
}

/* YAML's single quotes, in which only the quote means something. */
static void quoted(FILE *out, const char *printable)
{
	fputc('\'', out);
	for (const char *at = printable; *at; at++)
		fprintf(out, "%s%c", *at == '\'' ? "'" : "", *at);
	fputc('\'', out);
}

static void cell(struct reporter *reporter, const struct cell_result *result)
{
	CLEANUP_TEXT struct text record = { 0 }, reason = { 0 };
	FILE *out = reporter->out;
	bool skipped = result->verdict == VERDICT_MISMATCH || result->verdict == VERDICT_SKIP;
	bool ok = skipped || result->verdict == VERDICT_PASS;

	fprintf(out, "%s %zu - ", ok ? "ok" : "not ok", reporter->seen);
	escaped(out, result->cell);
	result_reason(&reason, result);
	if (skipped) {
		fprintf(out, " # SKIP %s: ", verdict_name(result->verdict));
		escaped(out, text_string(&reason));
	}
	fputc('\n', out);
	if (!ok) {
		record_write(&record, result);
		fprintf(out, "  ---\n  verdict: %s\n  reason: ", verdict_name(result->verdict));
		quoted(out, text_string(&reason));
		/* JSON is YAML. */
		fprintf(out, "\n  record: %s  ...\n", text_string(&record));
	}
	fflush(out);
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	CLEANUP_TEXT struct text line = { 0 };

	if (reporter->seen < reporter->options.planned)
		fprintf(reporter->out, "Bail out! %zu of %zu cells have no result\n",
			reporter->options.planned - reporter->seen, reporter->options.planned);
	summary_write(&line, summary);
	fprintf(reporter->out, "# %s\n", text_string(&line));
}

const struct report_writer tap_writer = { .name = "tap", .begin = begin, .cell = cell, .end = end };
