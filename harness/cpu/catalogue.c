/* SPDX-License-Identifier: MIT */
/* The rows of catalogue.tsv, unknown.tsv and models.tsv as CPUs. */
#include "harness/cpu/tables.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "harness/cpu/number.h"
#include "harness/util/text.h"

#define LINE_BYTES_MAX 2040u	    /* leaf 1 EBX counts it in 255 units of 8 */
#define LLC_BYTES_MAX  (4ULL << 30) /* as leaves.c */

/* One row, while it is being read. */
struct row {
	const struct table *table;
	size_t index;
	struct cpu *cpu;
	struct error *err;
};

static int bad_cell(const struct row *row, const char *column, const char *expected)
{
	char cell[64];
	const char *text = table_cell(row->table, row->index, table_column(row->table, column));

	return error_set(row->err, ERROR_INPUT, "%s:%u: %s is '%s'; expected %s", row->table->path,
			 row->table->lines[row->index], column,
			 text_printable(cell, sizeof(cell), text, strlen(text)), expected);
}

static const char *cell_of(const struct row *row, const char *column)
{
	return table_cell(row->table, row->index, table_column(row->table, column));
}

static int read_number(const struct row *row, const char *column, unsigned most, unsigned *out)
{
	char expected[64];
	uint64_t value;

	snprintf(expected, sizeof(expected), "a number of at most %u", most);
	if (!number_read(cell_of(row, column), most, &value))
		return bad_cell(row, column, expected);
	*out = (unsigned)value;
	return 0;
}

static int read_vendor(const struct row *row)
{
	const char *vendor = cell_of(row, "vendor");

	if (strlen(vendor) != 12)
		return bad_cell(row, "vendor", "the 12 bytes of leaf 0");
	memcpy(row->cpu->vendor, vendor, sizeof(row->cpu->vendor));
	return 0;
}

/* A name is a file name, part of a cell's name, and a word of the command line. */
static bool name_is_good(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c))
			return false;
	return isalnum((unsigned char)*name) && strlen(name) < CPU_NAME_MAX - 8;
}

static int read_name(const struct row *row, const struct cpu_list *list)
{
	const char *prefix = row->cpu->origin == CPU_MODEL ? "model:" : "";
	const char *name = cell_of(row, "name");

	if (!name_is_good(name))
		return bad_cell(row, "name", "letters, digits and -_.+, a letter or digit first");
	snprintf(row->cpu->name, sizeof(row->cpu->name), "%s%s", prefix, name);
	if (row->cpu->origin == CPU_MODEL)
		row->cpu->libvirt_model = xstrdup(name);
	for (const struct cpu *other = list->cpus; other < row->cpu; other++)
		if (!strcasecmp(other->name, row->cpu->name))
			return bad_cell(row, "name", "a name that no row above has");
	return 0;
}

static int read_bit(const struct row *row, const char *column, int index)
{
	const char *cell = cell_of(row, column);

	if (!*cell)
		return 0;
	if (strcmp(cell, "0") && strcmp(cell, "1"))
		return bad_cell(row, column, "1, 0 or nothing");
	feature_put(&row->cpu->known, index, true);
	feature_put(&row->cpu->on, index, *cell == '1');
	return 0;
}

/* Further flags that are set, separated by commas. */
static int read_extra(const struct row *row)
{
	const char *cell = cell_of(row, "extra");
	char word[64];

	while (*cell) {
		size_t length = strcspn(cell, ",");
		int index = -1;

		if (length < sizeof(word)) {
			memcpy(word, cell, length);
			word[length] = '\0';
			index = feature_find(word);
		}
		if (index < 0)
			return bad_cell(row, "extra", "flags of the kernel separated by commas");
		feature_put(&row->cpu->known, index, true);
		feature_put(&row->cpu->on, index, true);
		cell += length + (cell[length] == ',');
	}
	return 0;
}

static int read_sizes(const struct row *row)
{
	uint64_t value;

	if (*cell_of(row, "line")) {
		if (!number_read(cell_of(row, "line"), LINE_BYTES_MAX, &value) || value % 8)
			return bad_cell(row, "line", "bytes of a cache line, in steps of 8");
		row->cpu->line_bytes = (unsigned)value;
	}
	if (*cell_of(row, "llc") &&
	    !number_read(cell_of(row, "llc"), LLC_BYTES_MAX, &row->cpu->llc_bytes))
		return bad_cell(row, "llc", "bytes of the last-level cache, at most 4 GiB");
	return 0;
}

/* The columns of a kind of table; every other one is a bit. */
struct layout {
	const char *required[8], *optional[8]; /* NULL-terminated */
	bool picks;			       /* columns OP@CLASS are allowed: others read them */
};

static const struct layout catalogue_layout = {
	.required = { "vendor", "family", "model", "stepping_min", "stepping_max", "name" },
	.optional = { "uarch", "line", "llc", "extra", "source", "note" },
};

static const struct layout models_layout = {
	.required = { "name", "vendor", "family", "model", "stepping" },
	.optional = { "note" },
	.picks = true,
};

static bool is_bit_column(const struct layout *layout, const char *column)
{
	for (size_t i = 0; layout->required[i]; i++)
		if (!strcmp(layout->required[i], column))
			return false;
	for (size_t i = 0; layout->optional[i]; i++)
		if (!strcmp(layout->optional[i], column))
			return false;
	return !layout->picks || !strchr(column, '@');
}

static int check_columns(const struct table *table, const struct layout *layout, struct error *err)
{
	for (size_t i = 0; layout->required[i]; i++)
		if (table_column(table, layout->required[i]) < 0)
			return error_set(err, ERROR_INPUT, "%s:1: there is no column '%s'",
					 table->path, layout->required[i]);
	for (size_t i = 0; i < table->column_count; i++) {
		const char *column = table->columns[i], *near;

		if (!is_bit_column(layout, column) || feature_find(column) >= 0)
			continue;
		near = feature_near(column);
		return error_set(err, ERROR_INPUT,
				 "%s:1: column '%.64s' is neither a field nor a CPUID bit%s%s%s",
				 table->path, column, near ? "; do you mean " : "",
				 near ? near : "", near ? "?" : "");
	}
	return 0;
}

static int read_steppings(const struct row *row)
{
	struct cpu *cpu = row->cpu;

	if (cpu->origin == CPU_MODEL) {
		if (read_number(row, "stepping", STEPPING_MAX, &cpu->stepping))
			return -1;
		cpu->stepping_max = cpu->stepping;
		return 0;
	}
	if (read_number(row, "stepping_min", STEPPING_MAX, &cpu->stepping) ||
	    read_number(row, "stepping_max", STEPPING_MAX, &cpu->stepping_max))
		return -1;
	if (cpu->stepping_max < cpu->stepping)
		return bad_cell(row, "stepping_max", "a stepping not below stepping_min");
	return 0;
}

static int read_cpu(const struct row *row, const struct layout *layout, const struct cpu_list *list)
{
	struct cpu *cpu = row->cpu;

	if (read_name(row, list) || read_vendor(row) ||
	    read_number(row, "family", FAMILY_MAX, &cpu->family) ||
	    read_number(row, "model", MODEL_MAX, &cpu->model) || read_steppings(row) ||
	    read_sizes(row) || read_extra(row))
		return -1;
	for (size_t i = 0; i < row->table->column_count; i++) {
		const char *column = row->table->columns[i];

		if (is_bit_column(layout, column) && read_bit(row, column, feature_find(column)))
			return -1;
	}
	cpu->identity_known = true;
	snprintf(cpu->uarch, sizeof(cpu->uarch), "%s", cell_of(row, "uarch"));
	snprintf(cpu->note, sizeof(cpu->note), "%s", cell_of(row, "note"));
	return 0;
}

static int read_table(struct cpu_list *list, const char *path, enum cpu_origin origin,
		      const struct layout *layout, struct error *err)
{
	struct table table;
	int result = 0;

	if (table_read(&table, path, err))
		return -1;
	result = check_columns(&table, layout, err);
	for (size_t i = 0; !result && i < table.row_count; i++) {
		struct row row = { &table, i, cpu_list_add(list), err };

		row.cpu->origin = origin;
		result = read_cpu(&row, layout, list);
	}
	table_free(&table);
	return result;
}

int catalogue_read(struct cpu_list *list, const char *path, enum cpu_origin origin,
		   struct error *err)
{
	return read_table(list, path, origin, &catalogue_layout, err);
}

int models_read(struct cpu_list *list, const char *path, struct error *err)
{
	return read_table(list, path, CPU_MODEL, &models_layout, err);
}
