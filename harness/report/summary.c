// SPDX-License-Identifier: MIT
/* The summary line that ends every run, and one cell's reason in a line. */
#include <string.h>

#include "harness/report/reporter.h"

/* Adds a name to "a, b, c" unless it is there; a full list ends with "...". */
static void add_name(char *list, size_t room, const char *name)
{
	size_t length = strlen(list), name_length = strlen(name);
	static const char more[] = ", ...";

	for (const char *at = list; *at;) {
		size_t item = strcspn(at, ",");

		if (item == name_length && !strncmp(at, name, item))
			return;
		at += item;
		at += strspn(at, ", ");
	}
	if (length >= sizeof(more) && !strcmp(list + length - sizeof(more) + 1, more))
		return;
	if (length + name_length + sizeof(more) + 2 < room)
		snprintf(list + length, room - length, "%s%s", length ? ", " : "", name);
	else if (length + sizeof(more) <= room)
		memcpy(list + length, more, sizeof(more));
}

void summary_add(struct summary *summary, const struct cell_result *result)
{
	char *because = summary->because[result->verdict];
	size_t room = sizeof(summary->because[0]);

	summary->count[result->verdict]++;
	if (result->verdict == VERDICT_MISMATCH) {
		for (size_t i = 0; i < result->pick_count; i++)
			for (size_t j = 0; j < result->picks[i].depends_count; j++)
				add_name(because, room, result->picks[i].depends[j]);
	} else if (result->verdict == VERDICT_SKIP) {
		char reason[sizeof(result->reason)];

		/* A reason may go into details after a colon, and a comma would split it in two. */
		snprintf(reason, sizeof(reason), "%s", result->reason);
		reason[strcspn(reason, ":;,")] = '\0';
		add_name(because, room, reason);
	}
}

void summary_write(struct text *out, const struct summary *summary)
{
	static const struct {
		enum verdict verdict;
		bool always;
	} order[] = {
		{ VERDICT_PASS, true },	  { VERDICT_MISMATCH, false }, { VERDICT_SKIP, false },
		{ VERDICT_FAIL, true },	  { VERDICT_HUNG, false },     { VERDICT_CRASHED, false },
		{ VERDICT_ERROR, false },
	};
	size_t seen = 0;

	text_addf(out, "%zu cell%s:", summary->cells, summary->cells == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		enum verdict verdict = order[i].verdict;

		seen += summary->count[verdict];
		if (!order[i].always && !summary->count[verdict])
			continue;
		text_addf(out, " %zu %s", summary->count[verdict], verdict_name(verdict));
		if (*summary->because[verdict])
			text_addf(out, " (%s)", summary->because[verdict]);
		text_addf(out, ",");
	}
	if (seen < summary->cells)
		text_addf(out, " %zu not run,", summary->cells - seen);
	text_addf(out, summary->seconds < 0.1 ? " %.3f s" : " %.1f s", summary->seconds);
}

void result_depends(struct text *out, const struct cell_result *result)
{
	char list[128] = "";

	for (size_t i = 0; i < result->pick_count; i++)
		for (size_t j = 0; j < result->picks[i].depends_count; j++)
			add_name(list, sizeof(list), result->picks[i].depends[j]);
	text_addf(out, "%s", list);
}

void result_reason(struct text *out, const struct cell_result *result)
{
	char inert[sizeof(result->reason)];

	if (result->verdict == VERDICT_PASS)
		return;
	if (result->verdict == VERDICT_MISMATCH) {
		size_t before = out->length;

		result_depends(out, result);
		if (out->length > before)
			return;
	}
	text_addf(out, "%s",
		  text_printable(inert, sizeof(inert), result->reason, strlen(result->reason)));
}

void result_signature(char out[32], const struct cell_result *result)
{
	snprintf(out, 32, "%u:%u:%u", result->family, result->model, result->stepping);
}
