// SPDX-License-Identifier: MIT
/* Results folders and files of records, put together to one run or to two. */
#include "harness/report/merge.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"

#define FILE_MOST (1UL << 30)
#define CELL_ROOM sizeof(((struct cell_result *)0)->cell)

struct name_list {
	char **names; /* owned */
	size_t count, room;
};

/* One results folder or file. */
struct source {
	struct kept *cells;
	struct name_list names; /* of the cells, as they came */
	struct name_list planned;
	size_t *lines; /* where each cell stands */
	size_t room;
};

static void __attribute__((format(printf, 2, 3))) warn(struct merge *merge, const char *format, ...)
{
	struct error line = { 0 };
	va_list args;
	char text[sizeof(line.text)];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(&line, ERROR_INPUT, "%s", text);
	merge->warnings =
		xrealloc(merge->warnings, (merge->warning_count + 1) * sizeof(*merge->warnings));
	merge->warnings[merge->warning_count++] = xstrdup(line.text);
}

/* --- names ---------------------------------------------------------------------------------------
 */

static void names_add(struct name_list *list, const char *name)
{
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->names = xrealloc(list->names, list->room * sizeof(*list->names));
	}
	list->names[list->count++] = xstrdup(name);
}

static void names_free(struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct name_list){ 0 };
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* For bsearch: pointers to the names, sorted. The caller frees. */
static char **names_sorted(const struct name_list *list)
{
	char **sorted = xcalloc(list->count + 1, sizeof(*sorted));

	if (list->count)
		memcpy(sorted, list->names, list->count * sizeof(*sorted));
	qsort(sorted, list->count, sizeof(*sorted), compare_names);
	return sorted;
}

static bool among(char *const *sorted, size_t count, const char *name)
{
	return bsearch(&name, sorted, count, sizeof(*sorted), compare_names) != NULL;
}

/* --- one source ----------------------------------------------------------------------------------
 */

static void source_free(struct source *source)
{
	for (size_t i = 0; i < source->names.count; i++)
		free(source->cells[i].record);
	free(source->cells);
	free(source->lines);
	names_free(&source->names);
	names_free(&source->planned);
}

static void source_add(struct source *source, const struct cell_result *result, const char *line,
		       size_t length, const char *folder, size_t number)
{
	size_t count = source->names.count;
	struct kept *cell;

	if (count == source->room) {
		source->room = source->room ? 2 * source->room : 64;
		source->cells = xrealloc(source->cells, source->room * sizeof(*source->cells));
		source->lines = xrealloc(source->lines, source->room * sizeof(*source->lines));
	}
	cell = &source->cells[count];
	cell->record = xmalloc(length + 1);
	memcpy(cell->record, line, length);
	cell->record[length] = '\0';
	cell->folder = folder;
	source->lines[count] = number;
	names_add(&source->names, result->cell);
}

struct numbered {
	const char *name;
	size_t index;
};

static int compare_numbered(const void *left, const void *right)
{
	const struct numbered *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Of several records of one cell the last one counts: it was run again. */
static void drop_replaced(struct merge *merge, struct source *source, const char *path)
{
	size_t count = source->names.count, kept = 0;
	struct numbered *order = xcalloc(count + 1, sizeof(*order));
	bool *dropped = xcalloc(count + 1, sizeof(*dropped));

	for (size_t i = 0; i < count; i++)
		order[i] = (struct numbered){ source->names.names[i], i };
	qsort(order, count, sizeof(*order), compare_numbered);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(order[i - 1].name, order[i].name))
			continue;
		dropped[order[i - 1].index] = true;
		warn(merge, "%s:%zu: '%s' again, first in line %zu: the last one counts", path,
		     source->lines[order[i].index], order[i].name,
		     source->lines[order[i - 1].index]);
	}
	for (size_t i = 0; i < count; i++) {
		if (dropped[i]) {
			free(source->cells[i].record);
			free(source->names.names[i]);
			continue;
		}
		source->cells[kept] = source->cells[i];
		source->names.names[kept++] = source->names.names[i];
	}
	source->names.count = kept;
	free(order);
	free(dropped);
}

/* Nothing but blanks; a file that was put together by hand may have such lines. */
static bool is_blank(const char *line, size_t length)
{
	return strspn(line, " \t\r") >= length;
}

static int read_records(struct merge *merge, struct source *source, const char *path,
			const char *folder, struct error *err)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_FREE char *bytes = NULL;
	size_t length, number = 0;

	if (file_read(path, FILE_MOST, &bytes, &length, err) < 0)
		return -1;
	for (const char *at = bytes, *all = bytes + length; at < all;) {
		const char *end = memchr(at, '\n', (size_t)(all - at));
		size_t size = (size_t)((end ? end : all) - at);
		struct error why = { 0 };

		number++;
		if (is_blank(at, size)) {
			;
		} else if (record_read(result, at, size, &why) == 0) {
			source_add(source, result, at, size, folder, number);
			cell_result_free(result);
		} else if (end) {
			*err = why;
			return error_prefix(err, "%s:%zu", path, number);
		} else {
			warn(merge, "%s:%zu: the last line is torn and left out: its run was ended",
			     path, number);
		}
		at += size + 1;
	}
	drop_replaced(merge, source, path);
	return 0;
}

/* The cells of a plan; a file of records alone has none. */
static int read_plan(struct source *source, const char *path, struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t length, number = 0;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (file_read(path, FILE_MOST, &bytes, &length, err) < 0)
		return -1;
	for (char *at = bytes, *end; (end = memchr(at, '\n', length - (size_t)(at - bytes)));
	     at = end + 1) {
		json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
		const char *cell = json_string_value(json_object_get(line, "cell"));
		const bool good = cell && strlen(cell) < CELL_ROOM;

		number++;
		if (good)
			names_add(&source->planned, cell);
		json_decref(line); /* and the cell's name with it */
		if (!good)
			return error_set(err, ERROR_INPUT, "%s:%zu: no cell of a plan", path,
					 number);
	}
	return 0;
}

static const char *keep_folder(struct merge *merge, const char *folder)
{
	char *copy = xstrdup(folder);

	merge->folders =
		xrealloc(merge->folders, (merge->folder_count + 1) * sizeof(*merge->folders));
	merge->folders[merge->folder_count++] = copy;
	return copy;
}

/* A folder is a results folder; so is the one of a file results.jsonl that has cells/ beside it. */
static int read_source(struct merge *merge, struct source *source, const char *path,
		       struct error *err)
{
	CLEANUP_FREE char *copy = xstrdup(path), *again = xstrdup(path);
	CLEANUP_FREE char *folder = NULL, *records = NULL, *plan = NULL, *cells = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		folder = xstrdup(path);
		records = xasprintf("%s/results.jsonl", path);
	} else {
		folder = xstrdup(dirname(copy));
		records = xstrdup(path);
		cells = xasprintf("%s/cells", folder);
		if (strcmp(basename(again), "results.jsonl") || access(cells, F_OK) < 0)
			return read_records(merge, source, records, NULL, err);
	}
	plan = xasprintf("%s/plan.jsonl", folder);
	if (read_plan(source, plan, err) < 0)
		return -1;
	return read_records(merge, source, records, keep_folder(merge, folder), err);
}

/* --- runs ----------------------------------------------------------------------------------------
 */

/* A run while its sources are put together. */
struct gathering {
	struct name_list names, planned;
	size_t room;
};

static const char *common_cell(const struct gathering *run, const struct source *source)
{
	CLEANUP_FREE char **sorted = names_sorted(&run->names);

	for (size_t i = 0; i < source->names.count; i++)
		if (among(sorted, run->names.count, source->names.names[i]))
			return source->names.names[i];
	return NULL;
}

static void join(struct merged_run *run, struct gathering *gathering, struct source *source,
		 const char *path)
{
	char inert[1024];

	text_addf(&run->label, "%s%s", run->label.length ? " " : "",
		  text_printable(inert, sizeof(inert), path, strlen(path)));
	run->cells =
		xrealloc(run->cells, (run->count + source->names.count + 1) * sizeof(*run->cells));
	for (size_t i = 0; i < source->names.count; i++) {
		run->cells[run->count++] = source->cells[i];
		source->cells[i].record = NULL;
		names_add(&gathering->names, source->names.names[i]);
	}
	for (size_t i = 0; i < source->planned.count; i++)
		names_add(&gathering->planned, source->planned.names[i]);
}

static int place(struct merge *merge, struct gathering *gatherings, struct source *source,
		 const char *path, struct error *err)
{
	const char *common = NULL;

	for (size_t i = 0; i < MERGE_RUNS; i++) {
		common = i < merge->run_count ? common_cell(&gatherings[i], source) : NULL;
		if (common)
			continue;
		if (i == merge->run_count)
			merge->run_count++;
		join(&merge->runs[i], &gatherings[i], source, path);
		return 0;
	}
	return error_set(err, ERROR_INPUT,
			 "%s: '%s' is in two of the sources before it: at most %d runs can be "
			 "compared",
			 path, common, MERGE_RUNS);
}

static void find_unfinished(struct merged_run *run, const struct gathering *gathering)
{
	CLEANUP_FREE char **planned = names_sorted(&gathering->planned);
	CLEANUP_FREE char **done = names_sorted(&gathering->names);
	const char *last = NULL;

	run->unfinished = xcalloc(gathering->planned.count + 1, sizeof(*run->unfinished));
	for (size_t i = 0; i < gathering->planned.count; i++) {
		if (!among(done, gathering->names.count, planned[i]) &&
		    (!last || strcmp(last, planned[i])))
			run->unfinished[run->unfinished_count++] = xstrdup(planned[i]);
		last = planned[i];
	}
}

static void sum_up(struct merged_run *run)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));

	kept_sort(run->cells, run->count);
	run->summary.cells = run->count + run->unfinished_count;
	for (size_t i = 0; i < run->count; i++) {
		if (kept_read(result, &run->cells[i]) < 0)
			continue;
		summary_add(&run->summary, result);
		run->summary.seconds += result->seconds.total;
		cell_result_free(result);
	}
}

int merge_read(struct merge *merge, char *const *paths, size_t count, struct error *err)
{
	struct gathering gatherings[MERGE_RUNS] = { 0 };
	int result = 0;

	*merge = (struct merge){ 0 };
	for (size_t i = 0; i < count && result == 0; i++) {
		struct source source = { 0 };

		result = read_source(merge, &source, paths[i], err);
		if (result == 0)
			result = place(merge, gatherings, &source, paths[i], err);
		source_free(&source);
	}
	for (size_t i = 0; i < MERGE_RUNS; i++) {
		if (result == 0 && i < merge->run_count) {
			find_unfinished(&merge->runs[i], &gatherings[i]);
			sum_up(&merge->runs[i]);
		}
		names_free(&gatherings[i].names);
		names_free(&gatherings[i].planned);
	}
	if (result == 0 && !merge->runs[0].summary.cells)
		result = error_set(err, ERROR_INPUT,
				   "%s: no records: a results folder or a file of "
				   "records was expected",
				   paths[0]);
	return result;
}

void merge_free(struct merge *merge)
{
	for (size_t i = 0; i < MERGE_RUNS; i++) {
		struct merged_run *run = &merge->runs[i];

		for (size_t j = 0; j < run->count; j++)
			free(run->cells[j].record);
		for (size_t j = 0; j < run->unfinished_count; j++)
			free(run->unfinished[j]);
		free(run->cells);
		free(run->unfinished);
		text_free(&run->label);
	}
	for (size_t i = 0; i < merge->folder_count; i++)
		free(merge->folders[i]);
	for (size_t i = 0; i < merge->warning_count; i++)
		free(merge->warnings[i]);
	free(merge->folders);
	free(merge->warnings);
	*merge = (struct merge){ 0 };
}
