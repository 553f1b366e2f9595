// SPDX-License-Identifier: MIT
/*
 * The results directory: the plan is there before the first boot, each record as soon as its cell
 * is judged. A run that was killed, at any byte, goes on where it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/plan/plan.h"
#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

#define FILE_MOST   (1UL << 30)
#define NAMES_TRIED 1000 /* runs that may begin within one second */

struct results {
	char *path;
	char *records; /* path of results.jsonl */
	char run[64];
	int fd; /* results.jsonl, locked as long as it is open */
	pthread_mutex_t lock;
};

/* --- the plan ------------------------------------------------------------------------------------
 */

static void add_words(json_t *line, const char *key, const char *words)
{
	char inert[1024];

	if (words)
		json_object_set_new(line, key,
				    json_string(text_printable(inert, sizeof(inert), words,
							       strlen(words))));
}

/* One line; it holds all that makes a cell what it is, so that a changed catalogue or another
 * option shows. */
static void plan_line(struct text *out, const struct plan *plan, const struct plan_cell *cell,
		      const char *run)
{
	const struct cpu *cpu = cell->cpu;
	json_t *line = json_object(), *bits = json_array(), *edits = json_array();
	char inert[1024], *bytes;

	for (size_t i = 0; i < cpu->edit_count; i++)
		json_array_append_new(edits, json_string(text_printable(inert, sizeof(inert),
									cpu->edits[i],
									strlen(cpu->edits[i]))));
	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(&cpu->on, (int)i))
			json_array_append_new(bits, json_string(features[i].name));
	json_object_set_new(line, "run", json_string(run));
	add_words(line, "cell", cell->name);
	add_words(line, "vendor", cpu->vendor);
	json_object_set_new(line, "family", json_integer(cpu->family));
	json_object_set_new(line, "model", json_integer(cpu->model));
	json_object_set_new(line, "stepping", json_integer(cpu->stepping));
	json_object_set_new(line, "edits", edits);
	json_object_set_new(line, "bits", bits);
	if (plan->full_boot)
		json_object_set_new(line, "full_boot", json_true());
	add_words(line, "words", plan->words);
	add_words(line, "append", plan->append);
	add_words(line, "kernel", plan->own_kernel);
	add_words(line, "libc", plan->own_libc);
	bytes = json_dumps(line, JSON_COMPACT);
	text_addf(out, "%s\n", bytes ? bytes : "{}");
	free(bytes);
	json_decref(line);
}

static void plan_text(struct text *out, const struct plan *plan, const char *run)
{
	for (size_t i = 0; i < plan->count; i++)
		plan_line(out, plan, &plan->cells[i], run);
}

static int write_plan(const struct results *results, const struct plan *plan, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/plan.jsonl", results->path);
	CLEANUP_TEXT struct text text = { 0 };
	CLEANUP_FD int folder = -1;

	plan_text(&text, plan, results->run);
	if (file_write(path, text.bytes, text.length, err) < 0)
		return -1;
	folder = open(results->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0 || fsync(folder) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", results->path, strerror(errno));
	return 0;
}

/* The run's name from the first line of a plan. */
static int read_run_name(struct results *results, const char *path, const char *bytes,
			 struct error *err)
{
	json_t *line = json_loadb(bytes, strcspn(bytes, "\n"), 0, NULL);
	const char *run = json_string_value(json_object_get(line, "run"));
	int result = 0;

	if (!*bytes) {
		json_decref(line);
		return 0; /* the plan of an empty shard */
	}
	if (!run || strlen(run) >= sizeof(results->run) ||
	    strspn(run, "0123456789-") != strlen(run))
		result = error_set(err, ERROR_INPUT, "%s:1: no plan of a run", path);
	else
		strcpy(results->run, run);
	json_decref(line);
	return result;
}

static int verify_plan(struct results *results, const struct plan *plan, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/plan.jsonl", results->path);
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_TEXT struct text text = { 0 };
	size_t length, line = 1, same = 0;

	if (file_read(path, FILE_MOST, &bytes, &length, err) < 0 ||
	    read_run_name(results, path, bytes, err) < 0)
		return -1;
	plan_text(&text, plan, results->run);
	if (length == text.length && !memcmp(bytes, text.bytes, length))
		return 0;
	for (; same < length && same < text.length && bytes[same] == text.bytes[same]; same++)
		line += bytes[same] == '\n';
	return error_set(
		err, ERROR_INPUT,
		"%s:%zu: the plan of another run: give the same CPUs and options, or another "
		"--results",
		path, line);
}

/* --- the records of a run that goes on -----------------------------------------------------------
 */

static struct plan_cell *find_cell(struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!strcmp(plan->cells[i].name, name))
			return &plan->cells[i];
	return NULL;
}

typedef int record_fn(void *context, const struct cell_result *result, struct error *err);

/* Reads each whole line of results.jsonl; *whole: where the last one ends. */
static int read_records(const struct results *results, size_t *whole, record_fn *each,
			void *context, struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	size_t length, line = 0;

	*whole = 0;
	if (file_read(results->records, FILE_MOST, &bytes, &length, err) < 0)
		return -1;
	for (char *at = bytes, *end; (end = memchr(at, '\n', length - *whole)); at = end + 1) {
		int failed;

		line++;
		if (record_read(result, at, (size_t)(end - at), err) < 0)
			return error_prefix(err, "%s:%zu", results->records, line);
		failed = each(context, result, err);
		cell_result_free(result);
		if (failed)
			return error_prefix(err, "%s:%zu", results->records, line);
		*whole = (size_t)(end + 1 - bytes);
	}
	return 0;
}

struct resumed {
	const struct results *results;
	struct plan *plan;
};

/* What no cell of this run left there would be counted, and reported, as one. */
static int mark_finished(void *context, const struct cell_result *result, struct error *err)
{
	const struct resumed *resumed = context;
	struct plan_cell *cell = find_cell(resumed->plan, result->cell);
	char name[sizeof(result->cell)];

	text_printable(name, sizeof(name), result->cell, strlen(result->cell));
	if (strcmp(result->run, resumed->results->run))
		return error_set(err, ERROR_INPUT, "the record of another run than %s",
				 resumed->results->run);
	if (!cell)
		return error_set(err, ERROR_INPUT, "the plan has no cell '%s'", name);
	if (cell->finished)
		return error_set(err, ERROR_INPUT, "a second record of '%s'", name);
	cell->finished = true;
	return 0;
}

static int resume_records(struct results *results, struct plan *plan, struct error *err)
{
	struct resumed resumed = { results, plan };
	size_t whole;

	for (size_t i = 0; i < plan->count; i++)
		plan->cells[i].finished = false;
	if (read_records(results, &whole, mark_finished, &resumed, err) < 0)
		return -1;
	if (ftruncate(results->fd, (off_t)whole) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", results->records, strerror(errno));
	return 0;
}

struct listener {
	void (*each)(void *context, const struct cell_result *result);
	void *context;
};

static int tell_listener(void *context, const struct cell_result *result, struct error *err)
{
	const struct listener *listener = context;

	(void)err;
	listener->each(listener->context, result);
	return 0;
}

int results_each(struct results *results, void (*each)(void *, const struct cell_result *),
		 void *context, struct error *err)
{
	struct listener listener = { each, context };
	size_t whole;

	return read_records(results, &whole, tell_listener, &listener, err);
}

/* --- the directory -------------------------------------------------------------------------------
 */

/* ./results/latest -> NAME, replaced in one step. */
static int point_latest(const char *name, struct error *err)
{
	CLEANUP_FREE char *fresh = xasprintf("results/.latest-%ld", (long)getpid());

	unlink(fresh);
	if (symlink(name, fresh) < 0 || rename(fresh, "results/latest") < 0) {
		int saved = errno;

		unlink(fresh);
		return error_set(err, ERROR_LAB, "results/latest: %s", strerror(saved));
	}
	return 0;
}

static char *make_dated(const char *stamp, struct error *err)
{
	if (folder_make("results", err) < 0)
		return NULL;
	for (unsigned i = 1; i < NAMES_TRIED; i++) {
		CLEANUP_FREE char *name = i == 1 ? xstrdup(stamp) : xasprintf("%s-%u", stamp, i);
		char *path = xasprintf("results/%s", name);

		if (mkdir(path, 0777) == 0) {
			if (point_latest(name, err) == 0)
				return path;
			free(path);
			return NULL;
		}
		free(path);
		if (errno != EEXIST)
			break;
	}
	error_set(err, ERROR_LAB, "results/%s: %s", stamp, strerror(errno));
	return NULL;
}

static int open_records(struct results *results, bool resume, struct error *err)
{
	CLEANUP_FREE char *plan = xasprintf("%s/plan.jsonl", results->path);

	if (resume && access(plan, R_OK) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s: there is no run to resume", plan,
				 strerror(errno));
	results->fd = open(results->records, O_RDWR | O_APPEND | O_CLOEXEC | (resume ? 0 : O_CREAT),
			   0666);
	if (results->fd < 0)
		return error_set(err, resume ? ERROR_INPUT : ERROR_LAB, "%s: %s", results->records,
				 strerror(errno));
	if (flock(results->fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERROR_INPUT, "%s: another run is writing there",
				 results->path);
	if (!resume && access(plan, F_OK) == 0)
		return error_set(
			err, ERROR_INPUT,
			"%s has a run already: go on with --resume, or give another --results",
			results->path);
	return 0;
}

struct results *results_open(const char *path, bool resume, struct plan *plan, struct error *err)
{
	struct results *results = xcalloc(1, sizeof(*results));
	time_t now = time(NULL);
	struct tm local;
	struct stat st;
	int result;

	if (path && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		error_set(err, ERROR_INPUT, "%s is no folder", path);
		free(results);
		return NULL;
	}
	pthread_mutex_init(&results->lock, NULL);
	results->fd = -1;
	localtime_r(&now, &local);
	strftime(results->run, sizeof(results->run), "%Y%m%d-%H%M%S", &local);
	if (path || resume)
		results->path = xstrdup(path ? path : "results/latest");
	else
		results->path = make_dated(results->run, err);
	if (!results->path || (!resume && folder_make(results->path, err) < 0)) {
		results_close(results);
		return NULL;
	}
	results->records = xasprintf("%s/results.jsonl", results->path);
	result = open_records(results, resume, err);
	if (result == 0 && resume)
		result = verify_plan(results, plan, err);
	if (result == 0)
		result = resume ? resume_records(results, plan, err)
				: write_plan(results, plan, err);
	if (result == 0)
		return results;
	results_close(results);
	return NULL;
}

const char *results_path(const struct results *results)
{
	return results->path;
}

const char *results_run(const struct results *results)
{
	return results->run;
}

int results_add(struct results *results, const struct cell_result *result, struct error *err)
{
	CLEANUP_TEXT struct text record = { 0 };
	int failed;

	record_write(&record, result);
	pthread_mutex_lock(&results->lock);
	failed =
		file_append_synced(results->fd, results->records, record.bytes, record.length, err);
	pthread_mutex_unlock(&results->lock);
	return failed;
}

void results_close(struct results *results)
{
	if (!results)
		return;
	if (results->fd >= 0)
		close(results->fd);
	pthread_mutex_destroy(&results->lock);
	free(results->records);
	free(results->path);
	free(results);
}

/* --- logs ----------------------------------------------------------------------------------------
 */

/* Logs are not worth a sync each. The old file is removed, not overwritten: it may be linked. */
static int write_log(const char *path, const struct text *bytes, struct error *err)
{
	FILE *file;

	if (unlink(path) < 0 && errno != ENOENT)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	file = fopen(path, "we");
	if (!file)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	if (bytes->length)
		fwrite(bytes->bytes, 1, bytes->length, file);
	if (ferror(file) | fclose(file))
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	return 0;
}

static int link_log(const char *from, const char *path, const struct text *bytes, struct error *err)
{
	unlink(path);
	if (link(from, path) == 0)
		return 0;
	return write_log(path, bytes, err); /* a file system without links */
}

int results_program(struct results *results, const char *cell, const char *part,
		    const struct observed_program *program, struct error *err)
{
	CLEANUP_FREE char *folder = xasprintf("%s/cells/%s%s%s", results->path, cell,
					      part ? "/" : "", part ? part : "");
	CLEANUP_FREE char *output = xasprintf("%s/output.log", folder);
	CLEANUP_FREE char *errors = xasprintf("%s/errors.log", folder);

	if (folder_make(folder, err) < 0 || write_log(output, &program->output, err) < 0)
		return -1;
	return write_log(errors, &program->errors, err);
}

int results_logs(struct results *results, const char *const *cells, size_t count, const char *part,
		 const struct guest_result *guest, struct error *err)
{
	CLEANUP_TEXT struct text end = { 0 };
	const struct {
		const char *name;
		const struct text *bytes;
		bool optional; /* no file where it is empty */
	} logs[] = {
		{ "console", &guest->console, false },
		{ "report", &guest->report, false },
		{ "qemu", &guest->qemu, false },
		{ "disk", &guest->logs, true },
		{ "end", &end, true },
	};
	CLEANUP_FREE char *first = NULL;

	/* Of a guest that is tried again, or in parts, no record has its reason. */
	if (part && *guest->reason)
		text_addf(&end, "%s\n", guest->reason);

	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *folder = xasprintf("%s/cells/%s%s%s", results->path, cells[i],
						      part ? "/" : "", part ? part : "");

		if (folder_make(folder, err) < 0)
			return -1;
		for (size_t j = 0; j < sizeof(logs) / sizeof(*logs); j++) {
			CLEANUP_FREE char *path = xasprintf("%s/%s.log", folder, logs[j].name);
			CLEANUP_FREE char *from =
				first ? xasprintf("%s/%s.log", first, logs[j].name) : NULL;

			if (logs[j].optional && !logs[j].bytes->length)
				continue;
			if ((first ? link_log(from, path, logs[j].bytes, err)
				   : write_log(path, logs[j].bytes, err)) < 0)
				return -1;
		}
		if (!first)
			first = xstrdup(folder);
	}
	return 0;
}
