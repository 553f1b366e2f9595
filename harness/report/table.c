// SPDX-License-Identifier: MIT
/*
 * The table for people: CPUs grouped by vendor, a symbol and a colour for each verdict, and, below
 * each cell that did not pass, the picks that are to blame.
 */
#include <string.h>

#include "harness/report/reporter.h"

/* Up to this many cells each has its line; in a longer run those that passed are only counted. */
#define SHOW_ALL 40

static const struct {
	const char *utf8, *ascii, *colour;
} marks[VERDICTS] = {
	[VERDICT_PASS] = { "\xe2\x9c\x93", "+", "32" },	     /* check mark */
	[VERDICT_FAIL] = { "\xe2\x9c\x97", "X", "31;1" },    /* ballot X */
	[VERDICT_MISMATCH] = { "\xe2\x89\xa0", "~", "33" },  /* not equal */
	[VERDICT_SKIP] = { "\xe2\x88\x92", "-", "34" },	     /* minus */
	[VERDICT_HUNG] = { "\xe2\x88\x9e", "@", "35;1" },    /* infinity */
	[VERDICT_CRASHED] = { "\xe2\x80\xbc", "!", "35;1" }, /* double exclamation mark */
	[VERDICT_ERROR] = { "?", "?", "35;1" },
};

struct table_state {
	struct reporter *reporter;
	FILE *out;
	bool all;
	char vendor[13]; /* of the group that is being printed */
	bool started;
	unsigned name_width, signature_width;
	struct group {
		char vendor[13];
		size_t cells, count[VERDICTS];
	} groups[64];
	size_t group_count;
};

static const char *on(const struct table_state *state, const char *colour, char room[16])
{
	if (!state->reporter->options.colour)
		return "";
	snprintf(room, 16, "\033[%sm", colour);
	return room;
}

static const char *off(const struct table_state *state)
{
	return state->reporter->options.colour ? "\033[0m" : "";
}

/* First round: what each group holds, and how wide the names are. */
static void measure(void *context, const struct cell_result *result)
{
	struct table_state *state = context;
	struct group *group = NULL;
	unsigned length = (unsigned)strlen(result->name);
	char signature[32];

	for (size_t i = 0; i < state->group_count; i++)
		if (!strcmp(state->groups[i].vendor, result->vendor))
			group = &state->groups[i];
	if (!group) {
		if (state->group_count == sizeof(state->groups) / sizeof(*state->groups))
			return;
		group = &state->groups[state->group_count++];
		strcpy(group->vendor, result->vendor);
	}
	group->cells++;
	group->count[result->verdict]++;
	if (result->verdict == VERDICT_PASS && !state->all)
		return;
	if (length > state->name_width)
		state->name_width = length;
	result_signature(signature, result);
	length = (unsigned)strlen(signature);
	if (length > state->signature_width)
		state->signature_width = length;
}

static void heading(struct table_state *state, const char *vendor)
{
	const struct group *group = NULL;
	char inert[64], colour[16];

	for (size_t i = 0; i < state->group_count; i++)
		if (!strcmp(state->groups[i].vendor, vendor))
			group = &state->groups[i];
	fprintf(state->out, "%s%s%-12s%s", state->started ? "\n" : "", on(state, "1", colour),
		text_printable(inert, sizeof(inert), vendor, strlen(vendor)), off(state));
	for (size_t i = 0; group && i < VERDICTS; i++)
		if (group->count[i])
			fprintf(state->out, "  %s%zu %s%s", on(state, marks[i].colour, colour),
				group->count[i], verdict_name((enum verdict)i), off(state));
	fputc('\n', state->out);
	state->started = true;
	strcpy(state->vendor, vendor);
}

static void field(const struct table_state *state, const char *label, const char *value)
{
	char inert[256];

	fprintf(state->out, "        %-9s%s\n", label,
		*value ? text_printable(inert, sizeof(inert), value, strlen(value)) : "-");
}

static void blamed_pick(const struct table_state *state, const struct pick *pick)
{
	char colour[16];

	fprintf(state->out, "      %s%s@%s%s\n", on(state, marks[pick->verdict].colour, colour),
		pick->operation, pick->class, off(state));
	field(state, "expected", pick->expected);
	field(state, "says", pick->says);
	field(state, "does", pick->does);
	if (*pick->row)
		field(state, "row", pick->row);
}

/* A mismatch is not the dispatcher's fault: its picks are named in one line, wrapped. */
static void mismatched_picks(const struct table_state *state, const struct cell_result *result)
{
	unsigned column = 0;

	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];
		char name[64];
		unsigned length;

		if (pick->verdict != VERDICT_MISMATCH)
			continue;
		length = (unsigned)snprintf(name, sizeof(name), "%s@%s", pick->operation,
					    pick->class);
		if (!column || column + 1 + length > state->reporter->options.width) {
			fprintf(state->out, "%s     ", column ? "\n" : "");
			column = 5;
		}
		fprintf(state->out, " %s", name);
		column += 1 + length;
	}
	if (column)
		fputc('\n', state->out);
}

static void row(void *context, const struct cell_result *result)
{
	struct table_state *state = context;
	const struct report_options *options = &state->reporter->options;
	CLEANUP_TEXT struct text reason = { 0 };
	char signature[32], colour[16];
	unsigned used;

	if (!state->started || strcmp(state->vendor, result->vendor))
		heading(state, result->vendor);
	if (result->verdict == VERDICT_PASS && !state->all)
		return;
	result_signature(signature, result);
	fprintf(state->out, "  %s%s %-8s%s  %-*s  %s",
		on(state, marks[result->verdict].colour, colour),
		options->utf8 ? marks[result->verdict].utf8 : marks[result->verdict].ascii,
		verdict_name(result->verdict), off(state), (int)state->name_width, result->name,
		signature);
	used = 2 + 2 + 8 + 2 + state->name_width + 2 + state->signature_width;
	result_reason(&reason, result);
	if (reason.length && used + 2 + reason.length > options->width)
		fprintf(state->out, "\n      %s", text_string(&reason));
	else if (reason.length)
		fprintf(state->out, "%*s  %s", (int)(state->signature_width - strlen(signature)),
			"", text_string(&reason));
	if (result->tries > 1)
		fprintf(state->out, "  (%u tries)", result->tries);
	fputc('\n', state->out);
	if (state->all)
		mismatched_picks(state, result);
	for (size_t i = 0; i < result->pick_count; i++)
		if (result->picks[i].verdict == VERDICT_FAIL)
			blamed_pick(state, &result->picks[i]);
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	CLEANUP_TEXT struct text line = { 0 };
	struct table_state state = {
		.reporter = reporter,
		.out = reporter->out,
		.all = reporter->options.verbose || reporter->seen <= SHOW_ALL,
	};

	reporter_sort(reporter);
	reporter_each(reporter, measure, &state);
	reporter_each(reporter, row, &state);
	summary_write(&line, summary);
	fprintf(reporter->out, "%s%s\n", reporter->seen ? "\n" : "", text_string(&line));
}

const struct report_writer table_writer = { .name = "table", .keeps = true, .end = end };
