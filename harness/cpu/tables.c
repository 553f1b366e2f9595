/* SPDX-License-Identifier: MIT */
/* A tab-separated table with a header row, as text. */
#include "harness/cpu/tables.h"

#include <stdlib.h>
#include <string.h>
#include "harness/util/file.h"
#include "harness/util/text.h"

#define TABLE_BYTES_MAX	  (16u << 20)
#define TABLE_COLUMNS_MAX 256u

/* Cuts the line at its tabs; returns how many fields it has, of which at most `most` are stored. */
static size_t split_fields(char *line, char **fields, size_t most)
{
	size_t count = 0;

	for (char *field = line; field; count++) {
		char *tab = strchr(field, '\t');

		if (tab)
			*tab = '\0';
		if (count < most)
			fields[count] = field;
		field = tab ? tab + 1 : NULL;
	}
	return count;
}

static int read_header(struct table *table, char *line, struct error *err)
{
	char *fields[TABLE_COLUMNS_MAX];
	size_t count = split_fields(line, fields, TABLE_COLUMNS_MAX);

	if (count > TABLE_COLUMNS_MAX)
		return error_set(err, ERROR_INPUT, "%s:1: %zu columns; at most %u are expected",
				 table->path, count, TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (!*fields[i])
			return error_set(err, ERROR_INPUT, "%s:1: column %zu has no name",
					 table->path, i + 1);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(fields[i], fields[j]))
				return error_set(err, ERROR_INPUT,
						 "%s:1: two columns are named '%s'", table->path,
						 fields[i]);
	}
	table->columns = xcalloc(count, sizeof(*table->columns));
	memcpy(table->columns, fields, count * sizeof(*fields));
	table->column_count = count;
	return 0;
}

static int read_row(struct table *table, char *line, unsigned number, struct error *err)
{
	size_t columns = table->column_count;
	char **row;
	size_t count;

	table->cells =
		xrealloc(table->cells, (table->row_count + 1) * columns * sizeof(*table->cells));
	table->lines = xrealloc(table->lines, (table->row_count + 1) * sizeof(*table->lines));
	row = &table->cells[table->row_count * columns];
	count = split_fields(line, row, columns);
	if (count != columns)
		return error_set(
			err, ERROR_INPUT,
			"%s:%u: %zu fields separated by tabs; the header names %zu columns",
			table->path, number, count, columns);
	table->lines[table->row_count++] = number;
	return 0;
}

/* The line, from 1, in which a byte of the text stands. */
static unsigned line_of(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

int table_read(struct table *table, const char *path, struct error *err)
{
	unsigned number = 0;
	const char *nul;
	size_t length;

	*table = (struct table){ .path = xstrdup(path) };
	if (file_read(path, TABLE_BYTES_MAX, &table->bytes, &length, err))
		goto fail;
	nul = memchr(table->bytes, '\0', length);
	if (nul) {
		error_set(err, ERROR_INPUT, "%s:%u: holds a NUL byte; a table is plain text", path,
			  line_of(table->bytes, nul));
		goto fail;
	}
	for (char *line = table->bytes; line && *line;) {
		char *end = strchr(line, '\n');
		size_t bytes = end ? (size_t)(end - line) : strlen(line);

		number++;
		line[bytes] = '\0';
		if (bytes && line[bytes - 1] == '\r')
			line[bytes - 1] = '\0';
		if (number == 1 ? read_header(table, line, err)
				: read_row(table, line, number, err))
			goto fail;
		line = end ? end + 1 : NULL;
	}
	if (number)
		return 0;
	error_set(err, ERROR_INPUT, "%s: is empty; a header row was expected", path);
fail:
	table_free(table);
	return -1;
}

int table_column(const struct table *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (!strcmp(table->columns[i], name))
			return (int)i;
	return -1;
}

const char *table_cell(const struct table *table, size_t row, int column)
{
	if (column < 0 || (size_t)column >= table->column_count || row >= table->row_count)
		return "";
	return table->cells[row * table->column_count + (size_t)column];
}

void table_free(struct table *table)
{
	free(table->path);
	free(table->bytes);
	free(table->columns);
	free(table->cells);
	free(table->lines);
	*table = (struct table){ 0 };
}
