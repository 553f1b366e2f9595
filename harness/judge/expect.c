/* SPDX-License-Identifier: MIT */
/* The golden picks: cpu-models/expect/SUBJECT[-VERSION].tsv, and those of models.tsv. */
#include "harness/judge/judge.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness/cpu/tables.h"
#include "harness/judge/mitigation.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

#define DEPENDS_ROW "#depends"
/* Of a CPU whose picks are known to be wrong: "OP@CLASS OP@CLASS ...: why, with a reference". */
#define KNOWN_COLUMN "known"

struct expectations {
	struct table table;  /* row 0 is #depends */
	struct table models; /* libvirt models; no rows where the subject has none */
	int *picks;	     /* columns of table that are OP@CLASS */
	size_t pick_count;
	struct rules *rules; /* NULL: none */
};

static const char *const identity_columns[] = { "vendor", "family", "model", "stepping", "name" };

/* What beside a bit a column may depend on. */
static const char *const depend_fields[] = { "vendor", "family", "model",      "stepping",
					     "line",   "level",	 "misc_enable" };

/* Every word that a pick may be (CONTRACT, operations and paths). */
static const char *const path_words[] = {
	"mov",	     "rep-stosb", "rep-stosq",	 "movnti",	"clzero",      "clflushopt-copy",
	"rep-movsb", "rep-movsq", "movntdq-xmm", "movntdq-ymm", "movntdq-zmm", "mov-xmm",
	"mov-ymm",   "mov-zmm",	  "clwb-copy",
};

static bool word_in(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(word, words[i]))
			return true;
	return false;
}
#define WORD_IN(word, words) word_in(word, words, sizeof(words) / sizeof((words)[0]))

bool expectations_is_path(const char *word)
{
	return WORD_IN(word, path_words);
}

/* --- which file
 * ------------------------------------------------------------------------------------ */

/* 6.1 begins 6.1.0-57, and not 6.12. */
static bool begins_version(const char *prefix, size_t length, const char *version)
{
	return version && !strncmp(prefix, version, length) &&
	       !isalnum((unsigned char)version[length]);
}

/* How well a file fits: 0 not at all, 1 for SUBJECT.tsv, more the longer its version. */
static size_t fit(const char *file, const char *subject, const char *version)
{
	size_t subject_length = strlen(subject), length = strlen(file);
	const char *suffix = length > 4 ? file + length - 4 : "";

	if (strcmp(suffix, ".tsv") || strncmp(file, subject, subject_length))
		return 0;
	file += subject_length;
	length -= subject_length + 4;
	if (!length)
		return 1;
	if (*file != '-' || length < 2 || !begins_version(file + 1, length - 1, version))
		return 0;
	return length;
}

/* The best file's name, or NULL with no error where none fits. */
static int find_file(char **found, const char *folder, const char *subject, const char *version,
		     struct error *err)
{
	DIR *listing = opendir(folder);
	struct dirent *entry;
	size_t best = 0;

	*found = NULL;
	if (!listing)
		return error_set(err, ERROR_INPUT, "%s: %s", folder, strerror(errno));
	while ((entry = readdir(listing))) {
		size_t fits = fit(entry->d_name, subject, version);

		if (fits <= best)
			continue;
		best = fits;
		free(*found);
		*found = xasprintf("%s/%s", folder, entry->d_name);
	}
	closedir(listing);
	return 0;
}

/* --- reading
 * --------------------------------------------------------------------------------------- */

static int check_depends(const struct table *table, int column, struct error *err)
{
	CLEANUP_FREE char *cell = xstrdup(table_cell(table, 0, column));

	for (char *word = cell, *next; word && *word; word = next) {
		const char *near;

		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		if (WORD_IN(word, depend_fields) || feature_find(word) >= 0)
			continue;
		near = feature_near(word);
		return error_set(
			err, ERROR_INPUT,
			"%s:%u: %s depends on '%.40s', which is no CPUID bit and no field of the "
			"identity%s%s%s",
			table->path, table->lines[0], table->columns[column], word,
			near ? "; do you mean " : "", near ? near : "", near ? "?" : "");
	}
	return 0;
}

/* Another's dispatcher may have names of its own for what it picks: any word. */
static bool is_name(const char *cell)
{
	size_t length = strlen(cell);

	for (const char *c = cell; *c; c++)
		if (!isgraph((unsigned char)*c))
			return false;
	return length > 0 && length < sizeof(((struct pick *)0)->expected);
}

static bool is_own_subject(const char *subject)
{
	return !strcmp(subject, "dispatch") || !strcmp(subject, "linux");
}

static int check_paths(const struct table *table, int column, size_t first, const char *subject,
		       struct error *err)
{
	for (size_t row = first; row < table->row_count; row++) {
		const char *cell = table_cell(table, row, column);

		if (*cell && !WORD_IN(cell, path_words) &&
		    (is_own_subject(subject) || !is_name(cell)))
			return error_set(
				err, ERROR_INPUT,
				"%s:%u: %s is '%.40s', which is no path; expected mov, rep-stosb, "
				"movnti ...",
				table->path, table->lines[row], table->columns[column], cell);
	}
	return 0;
}

static int check_names(const struct table *table, size_t first, struct error *err)
{
	int name = table_column(table, "name");

	for (size_t row = first; row < table->row_count; row++)
		for (size_t above = first; above < row; above++)
			if (!strcmp(table_cell(table, row, name), table_cell(table, above, name)))
				return error_set(err, ERROR_INPUT,
						 "%s:%u: '%s' has a row already, in line %u",
						 table->path, table->lines[row],
						 table_cell(table, row, name), table->lines[above]);
	return 0;
}

/* OP@CLASS, each short enough for struct pick. */
static bool is_pick_column(const char *column)
{
	const char *at = strchr(column, '@');

	return at && at > column && at - column < 32 && at[1] && strlen(at + 1) < 16;
}

static int check_table(struct expectations *out, const char *subject, struct error *err)
{
	const struct table *table = &out->table;

	for (size_t i = 0; i < sizeof(identity_columns) / sizeof(identity_columns[0]); i++)
		if (table_column(table, identity_columns[i]) != (int)i)
			return error_set(err, ERROR_INPUT, "%s:1: column %zu must be '%s'",
					 table->path, i + 1, identity_columns[i]);
	if (strcmp(table_cell(table, 0, 0), DEPENDS_ROW))
		return error_set(err, ERROR_INPUT,
				 "%s:2: the first row must begin with " DEPENDS_ROW, table->path);
	out->picks = xcalloc(table->column_count, sizeof(*out->picks));
	for (size_t i = sizeof(identity_columns) / sizeof(identity_columns[0]);
	     i < table->column_count; i++) {
		if (!strcmp(table->columns[i], KNOWN_COLUMN))
			continue;
		if (!is_pick_column(table->columns[i]))
			return error_set(err, ERROR_INPUT, "%s:1: column '%.64s' is not OP@CLASS",
					 table->path, table->columns[i]);
		if (check_depends(table, (int)i, err) ||
		    check_paths(table, (int)i, 1, subject, err))
			return -1;
		out->picks[out->pick_count++] = (int)i;
	}
	if (out->pick_count > CELL_PICKS_MAX)
		return error_set(err, ERROR_INPUT, "%s:1: more than %d picks", table->path,
				 CELL_PICKS_MAX);
	return check_names(table, 1, err);
}

static int check_models(const struct expectations *out, struct error *err)
{
	const struct table *models = &out->models;

	if (table_column(models, "name") < 0)
		return error_set(err, ERROR_INPUT, "%s:1: there is no column 'name'", models->path);
	for (size_t i = 0; i < models->column_count; i++) {
		if (!strchr(models->columns[i], '@'))
			continue;
		if (table_column(&out->table, models->columns[i]) < 0)
			return error_set(err, ERROR_INPUT, "%s:1: %s has no column '%.64s'",
					 models->path, out->table.path, models->columns[i]);
		if (check_paths(models, (int)i, 0, "dispatch", err))
			return -1;
	}
	return check_names(models, 0, err);
}

/* subject: of our own picks; "" for one whose dispatcher has its own names. */
static int read_file(struct expectations **out, const char *path, const char *subject,
		     struct error *err)
{
	CLEANUP_FREE char *models = path_models("models.tsv");
	CLEANUP_FREE char *rules = path_models("mitigations.tsv");
	struct expectations *read = xcalloc(1, sizeof(*read));

	if (table_read(&read->table, path, err) || check_table(read, subject, err))
		goto fail;
	if (!strcmp(subject, "dispatch") &&
	    (table_read(&read->models, models, err) || check_models(read, err)))
		goto fail;
	if (!strcmp(subject, "linux") && access(rules, F_OK) == 0) {
		if (rules_read(&read->rules, rules, err))
			goto fail;
		if (mitigation_check(read->rules, err)) {
			error_prefix(err, "%s", rules);
			goto fail;
		}
	}
	*out = read;
	return 0;
fail:
	expectations_free(read);
	return -1;
}

int expectations_file(char **path, const char *subject, const char *version, struct error *err)
{
	CLEANUP_FREE char *folder = path_models("expect");

	return find_file(path, folder, subject, version, err);
}

int expectations_read(struct expectations **out, const char *subject, const char *version,
		      struct error *err)
{
	CLEANUP_FREE char *path = NULL;

	*out = NULL;
	if (expectations_file(&path, subject, version, err))
		return -1;
	return path ? read_file(out, path, subject, err) : 0;
}

/* Whether a file of that name would be taken for a subject of ours. */
static bool is_ours(const char *subject)
{
	return is_own_subject(subject) || !strcmp(subject, "glibc");
}

/* The folder beside a program, if there is one. Caller frees. */
static char *folder_beside(const char *beside)
{
	char *folder = beside ? xasprintf("%s/expect", beside) : NULL;

	if (folder && access(folder, F_OK) == 0)
		return folder;
	free(folder);
	return NULL;
}

int expectations_read_program(struct expectations **out, const char *beside, const char *subject,
			      const char *version, struct error *err)
{
	CLEANUP_FREE char *folder = folder_beside(beside);
	CLEANUP_FREE char *path = NULL;

	*out = NULL;
	if (folder && find_file(&path, folder, subject, version, err))
		return -1;
	if (path)
		return read_file(out, path, "", err);
	return beside && is_ours(subject) ? 0 : expectations_read(out, subject, version, err);
}

/* SUBJECT.tsv, or SUBJECT-VERSION.tsv of whatever version. */
static bool is_of_subject(const char *file, const char *subject)
{
	size_t subject_length = strlen(subject), length = strlen(file);

	return length >= subject_length + 4 && !strncmp(file, subject, subject_length) &&
	       !strcmp(file + length - 4, ".tsv") &&
	       (file[subject_length] == '-' || length == subject_length + 4);
}

/* kind: as read_file has its subject. */
static int check_folder(const char *folder, const char *subject, const char *kind,
			struct error *err)
{
	DIR *listing = opendir(folder);
	struct dirent *entry;
	int result = 0;

	if (!listing)
		return error_set(err, ERROR_INPUT, "%s: %s", folder, strerror(errno));
	while (result == 0 && (entry = readdir(listing))) {
		CLEANUP_FREE char *path = xasprintf("%s/%s", folder, entry->d_name);
		struct expectations *read = NULL;

		if (is_of_subject(entry->d_name, subject))
			result = read_file(&read, path, kind, err);
		expectations_free(read);
	}
	closedir(listing);
	return result;
}

int expectations_check(const char *subject, struct error *err)
{
	CLEANUP_FREE char *folder = path_models("expect");

	return check_folder(folder, subject, subject, err);
}

int expectations_check_program(const char *beside, const char *subject, struct error *err)
{
	CLEANUP_FREE char *folder = folder_beside(beside);

	if (folder && check_folder(folder, subject, "", err) < 0)
		return -1;
	return beside && is_ours(subject) ? 0 : expectations_check(subject, err);
}

void expectations_free(struct expectations *expectations)
{
	if (!expectations)
		return;
	table_free(&expectations->table);
	table_free(&expectations->models);
	rules_free(expectations->rules);
	free(expectations->picks);
	free(expectations);
}

/* --- asking
 * ---------------------------------------------------------------------------------------- */

size_t expectations_columns(const struct expectations *expectations)
{
	return expectations->pick_count;
}

const char *expectations_column(const struct expectations *expectations, size_t column)
{
	return expectations->table.columns[expectations->picks[column]];
}

const char *expectations_depends(const struct expectations *expectations, size_t column)
{
	return table_cell(&expectations->table, 0, expectations->picks[column]);
}

/* The first `length` bytes of name are a row's name. */
static const char *cell_by_name(const struct table *table, size_t first, const char *name,
				size_t length, const char *column)
{
	int names = table_column(table, "name");

	for (size_t row = first; row < table->row_count; row++) {
		const char *candidate = table_cell(table, row, names);

		if (strlen(candidate) == length && !memcmp(candidate, name, length))
			return table_cell(table, row, table_column(table, column));
	}
	return "";
}

/* The CPU's cell of a column; "" where there is none. */
static const char *cell_of(const struct expectations *expectations, const struct cpu *cpu,
			   const char *column)
{
	if (cpu->edit_count || table_column(&expectations->table, column) < 0)
		return "";
	if (cpu->origin == CPU_MODEL && expectations->models.row_count)
		return cell_by_name(&expectations->models, 0, cpu->libvirt_model,
				    strlen(cpu->libvirt_model), column);
	if (cpu->origin == CPU_MODEL)
		return cell_by_name(&expectations->table, 1, cpu->name, strlen(cpu->name), column);
	if (cpu->origin == CPU_CATALOGUE || cpu->origin == CPU_UNKNOWN)
		/* A row shown with another of its steppings is called NAME:STEPPING. */
		return cell_by_name(&expectations->table, 1, cpu->name, strcspn(cpu->name, ":"),
				    column);
	return "";
}

const char *expectations_pick(const struct expectations *expectations, const struct cpu *cpu,
			      const char *operation, const char *class)
{
	char column[64];
	const char *cell;

	snprintf(column, sizeof(column), "%s@%s", operation, class);
	cell = cell_of(expectations, cpu, column);
	return *cell ? cell : NULL;
}

const struct rules *expectations_rules(const struct expectations *expectations)
{
	return expectations ? expectations->rules : NULL;
}

const char *expectations_known(const struct expectations *expectations, const struct cpu *cpu,
			       const char *operation, const char *class)
{
	const char *cell = cell_of(expectations, cpu, KNOWN_COLUMN);
	const char *colon = strstr(cell, ": ");
	char column[64];
	size_t length;

	length = (size_t)snprintf(column, sizeof(column), "%s@%s", operation, class);
	while (colon && cell < colon) {
		size_t word = strcspn(cell, " :");

		if (word == length && !memcmp(cell, column, length))
			return colon + 2;
		cell += word + 1;
	}
	return NULL;
}
