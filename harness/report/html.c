// SPDX-License-Identifier: MIT
/*
 * One HTML file that needs nothing else: counts, a matrix of vendor and family, and each cell with
 * its picks. No script; the policy in it forbids anything but its own style.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "harness/report/reporter.h"

static const struct {
	const char *symbol, *class;
} marks[VERDICTS] = {
	[VERDICT_PASS] = { "&#10003;", "pass" },
	[VERDICT_FAIL] = { "&#10007;", "fail" },
	[VERDICT_MISMATCH] = { "&#8800;", "mismatch" },
	[VERDICT_SKIP] = { "&#8722;", "skip" },
	[VERDICT_HUNG] = { "&#8734;", "broken" },
	[VERDICT_CRASHED] = { "&#8252;", "broken" },
	[VERDICT_ERROR] = { "?", "broken" },
};

static const char style[] =
	"body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;"
	"color:#1b1f24;background:#fff}\n"
	"table{border-collapse:collapse;margin:.5rem 0 1.5rem}\n"
	"th,td{padding:.2rem .6rem;border:1px solid #c9d1d9;text-align:left;vertical-align:top}\n"
	"th{background:#f3f5f7}\n"
	"code,summary{font-family:ui-monospace,monospace;font-size:.92em}\n"
	"details{margin:.15rem 0}\n"
	"details>div{margin:.3rem 0 .8rem 1.2rem}\n"
	"b{display:inline-block;min-width:6.2rem}\n"
	".pass{color:#116329}.fail{color:#b3191f}.mismatch{color:#7d4e00}.skip{color:#0a4fa3}\n"
	".broken{color:#7a2ba8}\n"
	"@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}\n"
	"th{background:#1c2128}th,td{border-color:#3d444d}.pass{color:#56d364}.fail{color:#ff7b72}"
	"\n"
	".mismatch{color:#e3b341}.skip{color:#79c0ff}.broken{color:#d2a8ff}}\n";

struct html_state {
	FILE *out;
	char vendor[13];
	struct group {
		char vendor[13];
		unsigned family;
		size_t cells, count[VERDICTS];
	} * groups;
	size_t group_count;
};

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

/* The records come sorted, so that a group's cells are neighbours. */
static void count(void *context, const struct cell_result *result)
{
	struct html_state *state = context;
	struct group *group = state->group_count ? &state->groups[state->group_count - 1] : NULL;

	if (!group || group->family != result->family || strcmp(group->vendor, result->vendor)) {
		state->groups =
			xrealloc(state->groups, (state->group_count + 1) * sizeof(*state->groups));
		group = &state->groups[state->group_count++];
		memset(group, 0, sizeof(*group));
		strcpy(group->vendor, result->vendor);
		group->family = result->family;
	}
	group->cells++;
	group->count[result->verdict]++;
}

static void matrix(const struct html_state *state, const struct summary *summary)
{
	FILE *out = state->out;

	fprintf(out, "<table>\n<tr><th>vendor<th>family<th>cells");
	for (size_t v = 0; v < VERDICTS; v++)
		if (summary->count[v])
			fprintf(out, "<th class=\"%s\">%s %s", marks[v].class, marks[v].symbol,
				verdict_name((enum verdict)v));
	fputs("</tr>\n", out);
	for (size_t i = 0; i < state->group_count; i++) {
		const struct group *group = &state->groups[i];

		fputs("<tr><td>", out);
		escaped(out, group->vendor);
		fprintf(out, "<td>%u (0x%x)<td>%zu", group->family, group->family, group->cells);
		for (size_t v = 0; v < VERDICTS; v++) {
			if (!summary->count[v])
				continue;
			if (group->count[v])
				fprintf(out, "<td class=\"%s\">%s %zu", marks[v].class,
					marks[v].symbol, group->count[v]);
			else
				fputs("<td>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void names(FILE *out, const char *what, const char *const *list, size_t length)
{
	if (!length)
		return;
	fprintf(out, "<p>%s: <code>", what);
	for (size_t i = 0; i < length; i++) {
		fputs(i ? " " : "", out);
		escaped(out, list[i]);
	}
	fputs("</code></p>\n", out);
}

static void column(FILE *out, const char *value)
{
	fputs("<td><code>", out);
	escaped(out, *value ? value : "-");
	fputs("</code>", out);
}

static void picks(FILE *out, const struct cell_result *result)
{
	if (!result->pick_count)
		return;
	fputs("<table>\n<tr><th>pick<th>verdict<th>expected<th>says<th>does<th>quirk row</tr>\n",
	      out);
	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];

		fputs("<tr><td><code>", out);
		escaped(out, pick->operation);
		fputs("@", out);
		escaped(out, pick->class);
		fprintf(out, "</code><td class=\"%s\">%s %s", marks[pick->verdict].class,
			marks[pick->verdict].symbol, verdict_name(pick->verdict));
		column(out, pick->expected);
		column(out, pick->says);
		column(out, pick->does);
		column(out, pick->row);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void cell(void *context, const struct cell_result *result)
{
	struct html_state *state = context;
	FILE *out = state->out;
	CLEANUP_TEXT struct text reason = { 0 };
	char signature[32];

	if (strcmp(state->vendor, result->vendor)) {
		fputs("<h2>", out);
		escaped(out, result->vendor);
		fputs("</h2>\n", out);
		strcpy(state->vendor, result->vendor);
	}
	result_signature(signature, result);
	result_reason(&reason, result);
	fprintf(out, "<details%s>\n<summary><b class=\"%s\">%s %s</b> ",
		result->verdict == VERDICT_FAIL ? " open" : "", marks[result->verdict].class,
		marks[result->verdict].symbol, verdict_name(result->verdict));
	escaped(out, result->cell);
	fprintf(out, " (%s)", signature);
	if (reason.length) {
		fputs(": ", out);
		escaped(out, text_string(&reason));
	}
	fprintf(out, "</summary>\n<div>\n<p>%s, rack of %u, %u %s, %.3f s; QEMU ", result->accel,
		result->pack, result->tries, result->tries == 1 ? "try" : "tries",
		result->seconds.total);
	escaped(out, *result->qemu ? result->qemu : "-");
	fputs(", libvirt ", out);
	escaped(out, *result->libvirt ? result->libvirt : "-");
	if (*result->kernel) {
		fputs(", kernel ", out);
		escaped(out, result->kernel);
	}
	fputs("</p>\n", out);
	names(out, "asked for, not seen", result->difference.missing,
	      result->difference.missing_count);
	names(out, "seen, not asked for", result->difference.extra, result->difference.extra_count);
	names(out, "identity that differs", result->difference.identity,
	      result->difference.identity_count);
	picks(out, result);
	fputs("</div>\n</details>\n", out);
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	struct html_state state = { .out = reporter->out };
	CLEANUP_TEXT struct text line = { 0 };
	unsigned char random[12] = { 0 };
	char nonce[2 * sizeof(random) + 1];

	/* The style is named by a number that no text in here can know beforehand. */
	if (getrandom(random, sizeof(random), 0) < 0)
		memset(random, 0, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(nonce + 2 * i, 3, "%02x", random[i]);
	summary_write(&line, summary);
	fprintf(reporter->out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'nonce-%s'; base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width\">\n"
		"<title>quirklab</title>\n<style nonce=\"%s\">\n%s</style>\n</head>\n<body>\n"
		"<h1>quirklab</h1>\n<p>%s</p>\n",
		nonce, nonce, style, text_string(&line));
	reporter_sort(reporter);
	reporter_each(reporter, count, &state);
	matrix(&state, summary);
	reporter_each(reporter, cell, &state);
	fputs("</body>\n</html>\n", reporter->out);
	free(state.groups);
}

const struct report_writer html_writer = { .name = "html", .keeps = true, .end = end };
