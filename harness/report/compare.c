// SPDX-License-Identifier: MIT
/* What changed between two runs, and the formats that people read it in. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/page.h"
#include "harness/report/reporter.h"
#include "harness/util/cleanup.h"

/* As a comment of a review; GitHub refuses more than 65536 bytes. */
#define ROWS_MAX 100

/* --- finding it ----------------------------------------------------------------------------------
 */

struct place {
	char cell[sizeof(((struct cell_result *)0)->cell)];
	size_t index;
};

static int compare_places(const void *left, const void *right)
{
	return strcmp(((const struct place *)left)->cell, ((const struct place *)right)->cell);
}

/* Where each cell of the run is, by name. The caller frees. */
static struct place *places_of(const struct merged_run *run)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	struct place *places = xcalloc(run->count + 1, sizeof(*places));

	for (size_t i = 0; i < run->count; i++) {
		places[i].index = i;
		if (kept_read(result, &run->cells[i]) < 0)
			continue;
		strcpy(places[i].cell, result->cell);
		cell_result_free(result);
	}
	qsort(places, run->count, sizeof(*places), compare_places);
	return places;
}

static const struct pick *find_pick(const struct cell_result *result, const struct pick *like)
{
	for (size_t i = 0; i < result->pick_count; i++)
		if (!strcmp(result->picks[i].operation, like->operation) &&
		    !strcmp(result->picks[i].class, like->class))
			return &result->picks[i];
	return NULL;
}

static const char *or_none(const char *word)
{
	return *word ? word : "none";
}

static void pick_changes(struct text *out, const struct pick *before, const struct pick *after)
{
	const struct {
		const char *what, *before, *after;
	} fields[] = {
		{ "", verdict_name(before->verdict), verdict_name(after->verdict) },
		{ "says ", before->says, after->says },
		{ "does ", before->does, after->does },
		{ "expected ", before->expected, after->expected },
		{ "row ", before->row, after->row },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!strcmp(fields[i].before, fields[i].after))
			continue;
		if (any)
			text_addf(out, ", ");
		else
			text_addf(out, "%s@%s: ", after->operation, after->class);
		text_addf(out, "%s%s -> %s", fields[i].what, or_none(fields[i].before),
			  or_none(fields[i].after));
		any = true;
	}
	if (any)
		text_addf(out, "\n");
}

static void cell_changes(struct text *out, const struct cell_result *before,
			 const struct cell_result *after)
{
	if (before->verdict != after->verdict)
		text_addf(out, "%s -> %s\n", verdict_name(before->verdict),
			  verdict_name(after->verdict));
	for (size_t i = 0; i < after->pick_count; i++) {
		const struct pick *pick = &after->picks[i];
		const struct pick *old = find_pick(before, pick);

		if (old)
			pick_changes(out, old, pick);
		else
			text_addf(out, "%s@%s: only after\n", pick->operation, pick->class);
	}
	for (size_t i = 0; i < before->pick_count; i++)
		if (!find_pick(after, &before->picks[i]))
			text_addf(out, "%s@%s: only before\n", before->picks[i].operation,
				  before->picks[i].class);
}

struct change_list {
	struct change *changes;
	size_t count;
};

static void add_change(struct change_list *list, size_t before, size_t after, char *what)
{
	list->changes = xrealloc(list->changes, (list->count + 1) * sizeof(*list->changes));
	list->changes[list->count++] = (struct change){ before, after, what };
}

struct change *changes_find(size_t *count, const struct merged_run *before,
			    const struct merged_run *after)
{
	CLEANUP_FREE struct cell_result *old = xmalloc(sizeof(*old)), *new = xmalloc(sizeof(*new));
	CLEANUP_FREE struct place *places = places_of(before);
	CLEANUP_FREE bool *met = xcalloc(before->count + 1, sizeof(*met));
	struct change_list list = { 0 }, only_after = { 0 };

	for (size_t i = 0; i < after->count; i++) {
		struct place key = { .index = 0 }, *place;
		struct text what = { 0 };

		if (kept_read(new, &after->cells[i]) < 0)
			continue;
		strcpy(key.cell, new->cell);
		place = bsearch(&key, places, before->count, sizeof(key), compare_places);
		if (!place) {
			add_change(&only_after, NO_CELL, i, xstrdup("only after\n"));
		} else if (kept_read(old, &before->cells[place->index]) == 0) {
			met[place->index] = true;
			cell_changes(&what, old, new);
			if (what.length)
				add_change(&list, place->index, i, what.bytes);
			cell_result_free(old);
		}
		cell_result_free(new);
	}
	for (size_t i = 0; i < before->count; i++)
		if (!met[i])
			add_change(&list, i, NO_CELL, xstrdup("only before\n"));
	for (size_t i = 0; i < only_after.count; i++)
		add_change(&list, NO_CELL, only_after.changes[i].after, only_after.changes[i].what);
	free(only_after.changes);
	*count = list.count;
	return list.changes;
}

void changes_free(struct change *changes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(changes[i].what);
	free(changes);
}

/* --- telling it ----------------------------------------------------------------------------------
 */

bool compare_format(enum report_format format)
{
	return format == FORMAT_HTML || format == FORMAT_MARKDOWN || format == FORMAT_TABLE;
}

/* The cell after, or before where it is there only. */
static int read_changed(struct cell_result *result, const struct merge *merge,
			const struct change *change)
{
	bool gone = change->after == NO_CELL;

	return kept_read(result,
			 &merge->runs[gone ? 0 : 1].cells[gone ? change->before : change->after]);
}

static void summary_line(struct text *out, const struct merge *merge, size_t count)
{
	text_addf(out, "%zu cell%s changed, of %zu before and %zu after", count,
		  count == 1 ? "" : "s", merge->runs[0].count, merge->runs[1].count);
}

static void write_table(FILE *out, const struct merge *merge, const struct change *changes,
			size_t count)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_TEXT struct text line = { 0 };
	char signature[32];

	for (size_t i = 0; i < count; i++) {
		if (read_changed(result, merge, &changes[i]) < 0)
			continue;
		result_signature(signature, result);
		fprintf(out, "%s  %s %s\n", result->cell, result->vendor, signature);
		for (const char *at = changes[i].what; *at;) {
			size_t length = strcspn(at, "\n");

			fprintf(out, "    %.*s\n", (int)length, at);
			at += length + 1;
		}
		cell_result_free(result);
	}
	summary_line(&line, merge, count);
	fprintf(out, "%s%s\n", count ? "\n" : "", text_string(&line));
}

static void write_markdown(FILE *out, const struct merge *merge, const struct change *changes,
			   size_t count)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_TEXT struct text line = { 0 };
	char signature[32];

	summary_line(&line, merge, count);
	fprintf(out, "### quirklab: %s\n\n%s\n", count ? "changes" : "no change",
		text_string(&line));
	if (count)
		fprintf(out, "\n| cell | CPU | what changed |\n|---|---|---|\n");
	for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
		CLEANUP_FREE char *what = xstrdup(changes[i].what);

		if (read_changed(result, merge, &changes[i]) < 0)
			continue;
		result_signature(signature, result);
		fprintf(out, "| ");
		markdown_escaped(out, result->cell);
		fprintf(out, " | ");
		markdown_escaped(out, result->vendor);
		fprintf(out, " %s | ", signature);
		for (char *save = NULL, *at = strtok_r(what, "\n", &save), *first = at; at;
		     at = strtok_r(NULL, "\n", &save)) {
			fprintf(out, "%s", at == first ? "" : "<br>");
			markdown_escaped(out, at);
		}
		fprintf(out, " |\n");
		cell_result_free(result);
	}
	if (count > ROWS_MAX)
		fprintf(out, "\nand %zu more\n", count - ROWS_MAX);
}

int compare_write(enum report_format format, FILE *out, const struct merge *merge,
		  const struct change *changes, size_t count, struct error *err)
{
	const struct page page = { merge->runs, merge->run_count, changes, count };

	switch (format) {
	case FORMAT_HTML:
		page_write(out, &page);
		break;
	case FORMAT_MARKDOWN:
		write_markdown(out, merge, changes, count);
		break;
	default:
		write_table(out, merge, changes, count);
	}
	errno = 0;
	if (fflush(out) || ferror(out))
		return error_set(err, ERROR_LAB, "the %s report could not be written: %s",
				 report_format_name(format),
				 errno ? strerror(errno) : "output error");
	return 0;
}
