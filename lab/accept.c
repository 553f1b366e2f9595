// SPDX-License-Identifier: MIT
/*
 * quirklab accept: what a run picked becomes what is agreed on. Only cells that changed are
 * written; what the run is no witness for (a mismatch, a guest that died, a dispatcher that does
 * not do what it says) stays as it is, and is named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/number.h"
#include "harness/cpu/spec.h"
#include "harness/cpu/tables.h"
#include "harness/judge/judge.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "lab/cpus.h"
#include "lab/lab.h"
#include "lab/records.h"

#define TABLES_MAX 16 /* versions of a subject in one run */
#define IDENTITY   5  /* columns before the picks */

const struct option_row accept_option_rows[] = {
	{ 0 },
};

/* One golden table, and what is to become of it. */
struct golden {
	struct table table;
	char **cells;		 /* new values by row and column, or NULL: unchanged; owned */
	const struct cpu **rows; /* CPUs that get a row, with their cells in `added`; owned */
	char ***added;		 /* of each, by column; owned */
	size_t added_count;
	size_t changed; /* cells */
};

struct accept {
	struct cpu_tables tables;
	struct golden golden[TABLES_MAX];
	size_t golden_count;
	struct text refused[VERDICTS]; /* names, by the verdict that refuses them */
	struct text untrue, rowless, tableless;
	struct text changes; /* a line each */
	size_t records;
	bool bad; /* something was refused that is no mere mismatch or skip */
};

/* --- where a pick is to be written --- */

static struct golden *golden_of(struct accept *accept, const struct cell_result *result,
				struct error *err)
{
	const char *version = *result->kernel && !strcmp(result->subject, "linux") ? result->kernel
			      : strcmp(result->subject, "dispatch")		   ? result->libc
										   : NULL;
	CLEANUP_FREE char *path = NULL;
	struct golden *golden;

	if (expectations_file(&path, result->subject, version, err) < 0 || !path)
		return NULL;
	for (size_t i = 0; i < accept->golden_count; i++)
		if (!strcmp(accept->golden[i].table.path, path))
			return &accept->golden[i];
	if (accept->golden_count == TABLES_MAX) {
		error_set(err, ERROR_INPUT, "the results are of more than %d tables", TABLES_MAX);
		return NULL;
	}
	golden = &accept->golden[accept->golden_count];
	*golden = (struct golden){ 0 };
	if (table_read(&golden->table, path, err) < 0)
		return NULL;
	golden->cells = xcalloc(golden->table.row_count * golden->table.column_count,
				sizeof(*golden->cells));
	accept->golden_count++;
	return golden;
}

static int row_of(const struct table *table, const char *name)
{
	int names = table_column(table, "name");

	for (size_t i = 1; i < table->row_count; i++)
		if (!strcmp(table_cell(table, i, names), name))
			return (int)i;
	return -1;
}

/* The cells of a CPU that the table has no row of yet: it becomes one, if the lab knows the CPU. */
static char **added_cells(struct accept *accept, struct golden *golden, const char *name)
{
	const struct cpu_list *known = &accept->tables.known;

	for (size_t i = 0; i < golden->added_count; i++)
		if (!strcmp(golden->rows[i]->name, name))
			return golden->added[i];
	for (size_t i = 0; i < known->count; i++) {
		const size_t at = golden->added_count;

		if (strcmp(known->cpus[i].name, name))
			continue;
		golden->rows = xrealloc(golden->rows, (at + 1) * sizeof(*golden->rows));
		golden->added = xrealloc(golden->added, (at + 1) * sizeof(*golden->added));
		golden->rows[at] = &known->cpus[i];
		golden->added[at] = xcalloc(golden->table.column_count, sizeof(**golden->added));
		golden->added_count++;
		return golden->added[at];
	}
	return NULL;
}

/* --- the records --- */

static void name_it(struct text *list, const char *name)
{
	text_addf(list, "%s%s", list->length ? ", " : "", name);
}

/* A word of a table: what a record holds else, no table can. */
static bool is_word(const char *path)
{
	return strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
	       strlen(path);
}

/* Sets a cell; two records that contradict each other are bad input. */
static int put(struct accept *accept, struct golden *golden, char **cell, const char *before,
	       const char *name, const char *column, const char *path, struct error *err)
{
	if (!is_word(path))
		return error_set(err, ERROR_INPUT, "%s: %s is '%s', which is no path", name, column,
				 path);
	if (*cell && strcmp(*cell, path))
		return error_set(err, ERROR_INPUT, "%s: %s is %s here and %s in an earlier record",
				 name, column, path, *cell);
	if (*cell || !strcmp(before, path))
		return 0;
	*cell = xstrdup(path);
	golden->changed++;
	text_addf(&accept->changes, "    %s %s: %s -> %s\n", name, column, *before ? before : "-",
		  path);
	return 0;
}

static int accept_pick(struct accept *accept, struct golden *golden,
		       const struct cell_result *result, const struct pick *pick, struct error *err)
{
	CLEANUP_FREE char *column = xasprintf("%s@%s", pick->operation, pick->class);
	int at = table_column(&golden->table, column), row;
	char path[sizeof(pick->does)];
	char **cells;

	if (at < IDENTITY || pick->verdict == VERDICT_MISMATCH ||
	    !*record_path(path, sizeof(path), pick))
		return 0;
	row = row_of(&golden->table, result->name);
	if (row >= 0)
		return put(accept, golden,
			   &golden->cells[(size_t)row * golden->table.column_count + (size_t)at],
			   table_cell(&golden->table, (size_t)row, at), result->name, column, path,
			   err);
	cells = added_cells(accept, golden, result->name);
	return cells ? put(accept, golden, &cells[at], "", result->name, column, path, err) : 0;
}

static bool is_true(const struct cell_result *result)
{
	for (size_t i = 0; i < result->pick_count; i++)
		if (result->picks[i].verdict != VERDICT_MISMATCH &&
		    !record_is_true(&result->picks[i]))
			return false;
	return true;
}

static bool has_row(struct accept *accept, struct golden *golden, const struct cell_result *result)
{
	return !result->edit_count && (row_of(&golden->table, result->name) >= 0 ||
				       added_cells(accept, golden, result->name));
}

static int each_record(void *context, const struct cell_result *result, struct error *err)
{
	struct accept *accept = context;
	struct golden *golden;

	accept->records++;
	switch (result->verdict) {
	case VERDICT_HUNG:
	case VERDICT_CRASHED:
	case VERDICT_ERROR:
		accept->bad = true;
		/* fall through */
	case VERDICT_MISMATCH:
		name_it(&accept->refused[result->verdict], result->name);
		return 0;
	default:
		break;
	}
	if (!is_true(result)) {
		accept->bad = true;
		name_it(&accept->untrue, result->name);
		return 0;
	}
	*err = (struct error){ 0 };
	golden = golden_of(accept, result, err);
	if (!golden && err->kind != ERROR_NONE)
		return -1;
	if (!golden)
		name_it(&accept->tableless, result->cell);
	else if (!has_row(accept, golden, result))
		name_it(&accept->rowless, result->name);
	else
		for (size_t i = 0; i < result->pick_count; i++)
			if (accept_pick(accept, golden, result, &result->picks[i], err) < 0)
				return -1;
	return 0;
}

/* --- writing --- */

static void write_added(struct text *out, const struct golden *golden, size_t index)
{
	const struct cpu *cpu = golden->rows[index];

	text_addf(out, "%.12s\t%u\t0x%02X\t%u\t%s", cpu->vendor, cpu->family, cpu->model,
		  cpu->stepping, cpu->name);
	for (size_t c = IDENTITY; c < golden->table.column_count; c++)
		text_addf(out, "\t%s", golden->added[index][c] ? golden->added[index][c] : "");
	text_addf(out, "\n");
}

/* Whether the CPU's row goes before that row of the table. */
static bool goes_before(const struct cpu *cpu, const struct table *table, size_t row)
{
	struct cpu other = { 0 };
	uint64_t family = 0, model = 0, stepping = 0;

	snprintf(other.vendor, sizeof(other.vendor), "%s", table_cell(table, row, 0));
	number_read(table_cell(table, row, 1), FAMILY_MAX, &family);
	number_read(table_cell(table, row, 2), MODEL_MAX, &model);
	number_read(table_cell(table, row, 3), STEPPING_MAX, &stepping);
	other.family = (unsigned)family;
	other.model = (unsigned)model;
	other.stepping = (unsigned)stepping;
	snprintf(other.name, sizeof(other.name), "%s", table_cell(table, row, 4));
	return cpus_compare(cpu, &other) < 0;
}

static void write_row(struct text *out, const struct golden *golden, size_t row)
{
	const struct table *table = &golden->table;

	for (size_t c = 0; c < table->column_count; c++) {
		const char *changed = golden->cells[row * table->column_count + c];

		text_addf(out, "%s%s", c ? "\t" : "",
			  changed ? changed : table_cell(table, row, (int)c));
	}
	text_addf(out, "\n");
}

/* Rows stay where they are; a new one goes before the first that is behind it. */
static int write_table(const struct golden *golden, struct error *err)
{
	const struct table *table = &golden->table;
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_FREE bool *written = xcalloc(golden->added_count, sizeof(*written));
	CLEANUP_FREE char *real = realpath(table->path, NULL);

	for (size_t c = 0; c < table->column_count; c++)
		text_addf(&out, "%s%s", c ? "\t" : "", table->columns[c]);
	text_addf(&out, "\n");
	for (size_t row = 0; row <= table->row_count; row++) {
		for (size_t i = 0; row && i < golden->added_count; i++) {
			if (written[i] ||
			    (row < table->row_count && !goes_before(golden->rows[i], table, row)))
				continue;
			write_added(&out, golden, i);
			written[i] = true;
		}
		if (row < table->row_count)
			write_row(&out, golden, row);
	}
	return file_write(real ? real : table->path, out.bytes, out.length, err);
}

static int compare_added(const void *left, const void *right)
{
	const struct cpu *const *a = left, *const *b = right;

	return cpus_compare(*a, *b);
}

/* New rows in the table's order; their cells go with them. */
static void sort_added(struct golden *golden)
{
	for (size_t i = 0; i < golden->added_count; i++)
		for (size_t j = i + 1; j < golden->added_count; j++) {
			const struct cpu *cpu = golden->rows[i];
			char **cells = golden->added[i];

			if (compare_added(&golden->rows[i], &golden->rows[j]) <= 0)
				continue;
			golden->rows[i] = golden->rows[j];
			golden->added[i] = golden->added[j];
			golden->rows[j] = cpu;
			golden->added[j] = cells;
		}
}

static int write_all(struct accept *accept, struct error *err)
{
	for (size_t i = 0; i < accept->golden_count; i++) {
		struct golden *golden = &accept->golden[i];

		if (!golden->changed)
			continue;
		sort_added(golden);
		if (write_table(golden, err) < 0)
			return -1;
		printf("%s: %zu cells changed\n", golden->table.path, golden->changed);
	}
	return 0;
}

/* --- saying it --- */

static void say_refused(const char *why, const struct text *names)
{
	if (names->length)
		fprintf(stderr, "quirklab: not accepted, %s: %s\n", why, text_string(names));
}

static int conclude(struct accept *accept, struct error *err)
{
	size_t changed = 0;

	for (size_t i = 0; i < accept->golden_count; i++)
		changed += accept->golden[i].changed;
	printf("%s", text_string(&accept->changes));
	if (write_all(accept, err) < 0)
		return lab_fail(err);
	if (!changed)
		printf("nothing changed\n");
	fflush(stdout);
	for (size_t v = 0; v < VERDICTS; v++)
		say_refused(verdict_name((enum verdict)v), &accept->refused[v]);
	say_refused("the dispatcher does not do what it says, or not all of it", &accept->untrue);
	say_refused("the table has no row for it and the lab does not know it", &accept->rowless);
	say_refused("there is no table of expected picks for it", &accept->tableless);
	return accept->bad ? STATUS_FAIL : STATUS_OK;
}

static int refuse_empty(const char *path, struct error *err)
{
	error_set(err, ERROR_INPUT,
		  "%s: no records: a results folder or a file of records was expected", path);
	return lab_fail(err);
}

static void accept_free(struct accept *accept)
{
	for (size_t i = 0; i < accept->golden_count; i++) {
		struct golden *golden = &accept->golden[i];

		for (size_t c = 0; c < golden->table.row_count * golden->table.column_count; c++)
			free(golden->cells[c]);
		for (size_t a = 0; a < golden->added_count; a++) {
			for (size_t c = 0; c < golden->table.column_count; c++)
				free(golden->added[a][c]);
			free(golden->added[a]);
		}
		free(golden->cells);
		free(golden->rows);
		free(golden->added);
		table_free(&golden->table);
	}
	for (size_t v = 0; v < VERDICTS; v++)
		text_free(&accept->refused[v]);
	text_free(&accept->untrue);
	text_free(&accept->rowless);
	text_free(&accept->tableless);
	text_free(&accept->changes);
	cpu_tables_free(&accept->tables);
	free(accept);
}

int command_accept(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct accept *accept;
	struct error err = { 0 };
	int first, status;

	(void)lab;
	first = options_parse(command->options, true, argc, argv, NULL, NULL, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 1) {
		error_set(&err, ERROR_INPUT,
			  "accept: one results folder, or one file of records, "
			  "was expected");
		return lab_fail(&err);
	}
	accept = xcalloc(1, sizeof(*accept));
	if (cpu_tables_read(&accept->tables, &err) < 0 ||
	    records_read(argv[first], each_record, accept, &err) < 0)
		status = lab_fail(&err);
	else if (!accept->records)
		status = refuse_empty(argv[first], &err);
	else
		status = conclude(accept, &err);
	accept_free(accept);
	return status;
}
