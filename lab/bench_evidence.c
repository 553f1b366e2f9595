// SPDX-License-Identifier: MIT
/* Measurements as rows of evidence.tsv, put where the table's order wants them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "lab/bench.h"

#define EVIDENCE_BYTES_MAX (64UL << 20)

static const char *const columns[] = { "vendor",     "family",	"model",    "op",
				       "bytes",	     "threads", "path",	    "gb_per_s",
				       "stddev_pct", "against", "gain_pct", "source" };
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int check_columns(const struct table *table, struct error *err)
{
	for (size_t i = 0; i < COLUMNS; i++)
		if (table_column(table, columns[i]) != (int)i)
			return error_set(err, ERROR_INPUT, "%s:1: column %zu: '%s' was expected",
					 table->path, i + 1, columns[i]);
	return 0;
}

static void add_line(struct text *out, const struct bench_result *result,
		     const struct bench_line *line, const char *reference)
{
	const struct bench_machine *machine = &result->machine;
	const struct measured *measured = &line->measured;
	char day[16];
	time_t clock = time(NULL);
	struct tm tm;

	localtime_r(&clock, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	text_addf(out, "%s\t%u\t0x%02X\t%s\t%zu\t%u\t%s\t%.2f\t%.2f\t", machine->cpu.vendor,
		  machine->cpu.family, machine->cpu.model, measured->path->operation,
		  measured->bytes, measured->threads, measured->path->path, line->statistics.median,
		  100 * line->statistics.stddev / line->statistics.mean);
	if (line->compared)
		text_addf(out, "%s\t%+.2f", reference, 100 * (line->comparison.ratio - 1));
	else
		text_addf(out, "\t");
	text_addf(out,
		  "\tquirklab bench, %s, median of %zu runs: %s, %u:%u:%u, LLC %llu MiB, kernel %s",
		  day, measured->runs, machine->brand, machine->cpu.family, machine->cpu.model,
		  machine->cpu.stepping, (unsigned long long)(machine->cpu.llc_bytes >> 20),
		  machine->kernel);
	if (*machine->hypervisor)
		text_addf(out, ", hypervisor %s", machine->hypervisor);
	if (!line->reference)
		text_addf(out, "; %s", conclusion_name(line->conclusion));
	text_addf(out, "\n");
}

static void add_lines(struct text *out, const struct bench_result *result, size_t *added)
{
	const char *reference = "";

	*added = 0;
	for (size_t i = 0; i < result->line_count; i++) {
		const struct bench_line *line = &result->lines[i];

		if (line->reference)
			reference = line->measured.path->path;
		if (!line->statistics.count || line->conclusion == CONCLUSION_NOISY)
			continue;
		add_line(out, result, line, reference);
		(*added)++;
	}
}

/* Whether the row belongs behind those of this CPU: vendor as bytes, family and model as numbers.
 */
static bool is_behind(const struct table *table, size_t row, const struct dispatch_cpu *cpu)
{
	const unsigned own[] = { cpu->family, cpu->model };
	int order = strcmp(table_cell(table, row, 0), cpu->vendor);

	for (int i = 0; i < 2 && !order; i++) {
		unsigned long other = strtoul(table_cell(table, row, i + 1), NULL, 0);

		order = (other > own[i]) - (other < own[i]);
	}
	return order > 0;
}

/* Where line `number` of a text begins, counted from 1; its end where there are fewer. */
static size_t line_offset(const char *bytes, size_t length, unsigned number)
{
	size_t offset = 0;

	while (--number && offset < length) {
		const char *end = memchr(bytes + offset, '\n', length - offset);

		offset = end ? (size_t)(end - bytes) + 1 : length;
	}
	return offset;
}

int bench_write_evidence(const char *path, const struct bench_result *result, size_t *added,
			 struct error *err)
{
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_FREE char *bytes = NULL;
	struct table table = { 0 };
	size_t length, offset;
	int status;

	if (file_read(path, EVIDENCE_BYTES_MAX, &bytes, &length, err) < 0 ||
	    table_read(&table, path, err) < 0)
		return -1;
	status = check_columns(&table, err);
	offset = length;
	for (size_t row = 0; row < table.row_count; row++)
		if (is_behind(&table, row, &result->machine.cpu)) {
			offset = line_offset(bytes, length, table.lines[row]);
			break;
		}
	table_free(&table);
	if (status < 0)
		return -1;
	text_add(&out, bytes, offset);
	if (offset && bytes[offset - 1] != '\n')
		text_add(&out, "\n", 1);
	add_lines(&out, result, added);
	text_add(&out, bytes + offset, length - offset);
	return file_write(path, out.bytes, out.length, err);
}
