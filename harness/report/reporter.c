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
			reporter->kept =
				xrealloc(reporter->kept, reporter->room * sizeof(*reporter->kept));
		}
		record_write(&record, result);
		reporter->kept[reporter->seen].record = record.bytes;
		reporter->kept[reporter->seen].folder =
			result->folder ? result->folder : reporter->options.folder;
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
		free(reporter->kept[i].record);
	free(reporter->kept);
	free(reporter);
	return result;
}

void reporter_each(struct reporter *reporter,
		   void (*each)(void *context, const struct cell_result *result), void *context)
{
	struct cell_result *result = xmalloc(sizeof(*result));

	for (size_t i = 0; i < reporter->seen; i++) {
		if (kept_read(result, &reporter->kept[i]) < 0)
			continue; /* record_write made it */
		each(context, result);
		cell_result_free(result);
	}
	free(result);
}

void reporter_sort(struct reporter *reporter)
{
	kept_sort(reporter->kept, reporter->seen);
}
