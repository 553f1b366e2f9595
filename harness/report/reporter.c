// SPDX-License-Identifier: MIT
/* A reporter: hands the cells to its format's writer, or keeps their records for the end. */
#include "harness/report/reporter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct report_writer *const writers[FORMATS] = {
	[FORMAT_TABLE] = &table_writer, [FORMAT_TAP] = &tap_writer,
	[FORMAT_JUNIT] = &junit_writer, [FORMAT_JSONL] = &jsonl_writer,
	[FORMAT_HTML] = &html_writer,	[FORMAT_MARKDOWN] = &markdown_writer,
};

const char *report_format_name(enum report_format format)
{
	return writers[format]->name;
}

bool report_format_find(const char *name, enum report_format *format)
{
	for (size_t i = 0; i < FORMATS; i++) {
		if (!strcmp(writers[i]->name, name)) {
			*format = (enum report_format)i;
			return true;
		}
	}
	return false;
}

struct reporter *reporter_open(const struct report_options *options, FILE *out)
{
	struct reporter *reporter = xcalloc(1, sizeof(*reporter));

	reporter->options = *options;
	reporter->out = out;
	if (writers[options->format]->begin)
		writers[options->format]->begin(reporter);
	return reporter;
}

void reporter_cell(struct reporter *reporter, const struct cell_result *result)
{
	const struct report_writer *writer = writers[reporter->options.format];

	if (writer->keeps) {
		struct text record = { 0 };

		if (reporter->seen == reporter->room) {
			reporter->room = reporter->room ? 2 * reporter->room : 64;
			reporter->records = xrealloc(reporter->records,
						     reporter->room * sizeof(*reporter->records));
		}
		record_write(&record, result);
		reporter->records[reporter->seen] = record.bytes;
	}
	reporter->seen++;
	if (writer->cell)
		writer->cell(reporter, result);
}

int reporter_close(struct reporter *reporter, const struct summary *summary, struct error *err)
{
	const struct report_writer *writer = writers[reporter->options.format];
	int result = 0;

	if (writer->end)
		writer->end(reporter, summary);
	errno = 0;
	if (fflush(reporter->out) || ferror(reporter->out))
		result = error_set(err, ERROR_LAB, "the %s report could not be written: %s",
				   writer->name, errno ? strerror(errno) : "output error");
	for (size_t i = 0; writer->keeps && i < reporter->seen; i++)
		free(reporter->records[i]);
	free(reporter->records);
	free(reporter);
	return result;
}

void reporter_each(struct reporter *reporter,
		   void (*each)(void *context, const struct cell_result *result), void *context)
{
	struct cell_result *result = xmalloc(sizeof(*result));

	for (size_t i = 0; i < reporter->seen; i++) {
		const char *record = reporter->records[i];

		if (record_read(result, record, strlen(record), NULL) < 0)
			continue; /* record_write made it */
		each(context, result);
		cell_result_free(result);
	}
	free(result);
}

/* --- order -------------------------------------------------------------------------------------
 */

struct sort_key {
	char vendor[sizeof(((struct cell_result *)0)->vendor)];
	unsigned family, model, stepping;
	char cell[sizeof(((struct cell_result *)0)->cell)];
	char *record;
};

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;
	int vendor = strcmp(a->vendor, b->vendor);

	if (vendor)
		return vendor;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->model != b->model)
		return a->model < b->model ? -1 : 1;
	if (a->stepping != b->stepping)
		return a->stepping < b->stepping ? -1 : 1;
	return strcmp(a->cell, b->cell);
}

struct key_list {
	struct sort_key *keys;
	size_t count;
};

static void add_key(void *context, const struct cell_result *result)
{
	struct key_list *list = context;
	struct sort_key *key = &list->keys[list->count++];

	key->family = result->family;
	key->model = result->model;
	key->stepping = result->stepping;
	strcpy(key->vendor, result->vendor);
	strcpy(key->cell, result->cell);
}

void reporter_sort(struct reporter *reporter)
{
	struct key_list list = { .keys = xcalloc(reporter->seen + 1, sizeof(*list.keys)) };

	reporter_each(reporter, add_key, &list);
	for (size_t i = 0; i < list.count; i++)
		list.keys[i].record = reporter->records[i];
	qsort(list.keys, list.count, sizeof(*list.keys), compare_keys);
	for (size_t i = 0; i < list.count; i++)
		reporter->records[i] = list.keys[i].record;
	free(list.keys);
}
