// SPDX-License-Identifier: MIT
/* Markdown (GitHub's and GitLab's dialect), as a comment of a CI job: the summary, then what is not
 * well. */
#include <string.h>

#include "harness/report/reporter.h"

/* A comment has to stay readable (and GitHub refuses more than 65536 bytes). */
#define ROWS_MAX 100

struct markdown_state {
	FILE *out;
	size_t rows, left_out;
};

void markdown_escape(struct text *out, const char *bytes)
{
	char inert[1024];

	text_printable(inert, sizeof(inert), bytes, strlen(bytes));
	for (const char *at = inert; *at; at++) {
		if (*at == '<')
			text_addf(out, "&lt;");
		else if (*at == '&')
			text_addf(out, "&amp;");
		else if (*at == '@')
			text_addf(out, "&#64;"); /* no mention of anybody */
		else
			text_addf(out, "%s%c", strchr("\\`*_{}[]()#|!~>", *at) ? "\\" : "", *at);
	}
}

void markdown_escaped(FILE *out, const char *bytes)
{
	CLEANUP_TEXT struct text text = { 0 };

	markdown_escape(&text, bytes);
	fputs(text_string(&text), out);
}

static void row(void *context, const struct cell_result *result)
{
	struct markdown_state *state = context;
	CLEANUP_TEXT struct text reason = { 0 };
	char signature[32];
	const char *bold;
	size_t shown = 0;

	if (result->verdict == VERDICT_PASS)
		return;
	if (state->rows == ROWS_MAX) {
		state->left_out++;
		return;
	}
	if (!state->rows++)
		fprintf(state->out, "\n| verdict | CPU | signature | why |\n|---|---|---|---|\n");
	result_signature(signature, result);
	bold = result->verdict == VERDICT_MISMATCH || result->verdict == VERDICT_SKIP ? "" : "**";
	fprintf(state->out, "| %s%s%s | ", bold, verdict_name(result->verdict), bold);
	markdown_escaped(state->out, result->name);
	fprintf(state->out, " | ");
	markdown_escaped(state->out, result->vendor);
	fprintf(state->out, " %s | ", signature);
	result_reason(&reason, result);
	markdown_escaped(state->out, text_string(&reason));
	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];

		if (pick->verdict != VERDICT_FAIL)
			continue;
		fprintf(state->out, "%s", shown++ || reason.length ? "<br>" : "");
		markdown_escaped(state->out, pick->operation);
		fprintf(state->out, "&#64;");
		markdown_escaped(state->out, pick->class);
		fprintf(state->out, ": expected ");
		markdown_escaped(state->out, *pick->expected ? pick->expected : "-");
		fprintf(state->out, ", says ");
		markdown_escaped(state->out, *pick->says ? pick->says : "-");
		fprintf(state->out, ", does ");
		markdown_escaped(state->out, *pick->does ? pick->does : "-");
	}
	fprintf(state->out, " |\n");
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	struct markdown_state state = { .out = reporter->out };
	CLEANUP_TEXT struct text line = { 0 };
	const size_t *count = summary->count;
	bool bad = count[VERDICT_FAIL] || count[VERDICT_HUNG] || count[VERDICT_CRASHED] ||
		   count[VERDICT_ERROR];

	summary_write(&line, summary);
	fprintf(reporter->out, "### quirklab: %s\n", bad ? "not well" : "well");
	reporter_sort(reporter);
	reporter_each(reporter, row, &state);
	if (state.left_out)
		fprintf(reporter->out, "\n%zu more are left out here.\n", state.left_out);
	fprintf(reporter->out, "\n%s\n", text_string(&line));
}

const struct report_writer markdown_writer = { .name = "markdown", .keeps = true, .end = end };
