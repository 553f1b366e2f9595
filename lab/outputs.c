// SPDX-License-Identifier: MIT
/* Where the results of a run are told: the reports that were asked for, and the progress line. */
#include "lab/outputs.h"

#include <errno.h>
#include <libgen.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "lab/terminal.h"

struct outputs {
	struct {
		struct reporter *reporter;
		FILE *file;
		const char *path; /* NULL: standard output */
	} reports[OUTPUTS_MAX + 1];
	size_t count;
	enum report_format on_stdout;
	bool streams_to_terminal; /* what is printed would mix with the progress line */
	struct progress *progress;
	struct summary summary;
	size_t earlier;
};

int output_check(const char *option, const char *path, struct error *err)
{
	CLEANUP_FREE char *copy = path ? xstrdup(path) : NULL;
	const char *test = path;
	struct stat st;

	if (!path)
		return 0;
	if (stat(path, &st) < 0 && errno == ENOENT)
		test = dirname(copy);
	else if (S_ISDIR(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s: %s is a folder", option, path);
	if (access(test, W_OK) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s: %s", option, path, strerror(errno));
	return 0;
}

FILE *output_open(const char *path, struct error *err)
{
	FILE *file;
	int fd;

	if (!path)
		return stdout;
	fd = file_create(path, err);
	if (fd < 0) {
		error_prefix(err, "--output: %s", path);
		return NULL;
	}
	file = fdopen(fd, "w");
	if (!file) {
		error_set(err, ERROR_LAB, "--output: %s: %s", path, strerror(errno));
		close(fd);
	}
	return file;
}

int output_close(FILE *file, const char *path, int written, struct error *err)
{
	if (file != stdout && fclose(file) && written == 0)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	if (file == stdout && written < 0) {
		/* It is told once; what is left would fail, and be told, again. */
		__fpurge(stdout);
		clearerr(stdout);
	}
	return written;
}

int outputs_check(const struct run_options *options, struct error *err)
{
	for (size_t i = 0; i < options->output_count; i++)
		if (output_check("--output", options->outputs[i].path, err) < 0)
			return -1;
	return 0;
}

static void add(struct outputs *outputs, const struct report_options *options, FILE *file,
		const char *path)
{
	outputs->reports[outputs->count].file = file;
	outputs->reports[outputs->count].path = path;
	outputs->reports[outputs->count++].reporter = reporter_open(options, file);
}

struct outputs *outputs_open(const struct run_options *options, const struct report_options *about,
			     struct error *err)
{
	struct outputs *outputs = xcalloc(1, sizeof(*outputs));
	struct terminal terminal = terminal_of(stdout);
	struct report_options report = *about;
	bool has_stdout = false;

	outputs->summary.cells = about->planned;
	for (size_t i = 0; i <= options->output_count; i++) {
		bool extra = i == options->output_count;
		const char *path = extra ? NULL : options->outputs[i].path;
		FILE *file;

		if (extra && (has_stdout || options->quiet))
			break;
		file = output_open(path, err);
		if (!file) {
			outputs_close(outputs, &outputs->summary, NULL);
			return NULL;
		}
		report.format = !extra		       ? options->outputs[i].format
				: terminal.interactive ? FORMAT_TABLE
						       : FORMAT_TAP;
		report.colour = !path && terminal.colour;
		report.utf8 = terminal.utf8;
		report.width = path ? 100 : terminal_width();
		if (!path) {
			has_stdout = true;
			outputs->on_stdout = report.format;
			outputs->streams_to_terminal =
				isatty(STDOUT_FILENO) &&
				(report.format == FORMAT_TAP || report.format == FORMAT_JSONL);
		}
		add(outputs, &report, file, path);
	}
	return outputs;
}

void outputs_start(struct outputs *outputs)
{
	struct terminal terminal = terminal_of(stderr);

	if (terminal.interactive)
		outputs->progress = progress_open(stderr, outputs->summary.cells, outputs->earlier,
						  terminal.colour, terminal_width);
}

void outputs_earlier(struct outputs *outputs, const struct cell_result *result)
{
	outputs->earlier++;
	outputs_cell(outputs, result);
}

void outputs_cell(struct outputs *outputs, const struct cell_result *result)
{
	if (outputs->progress && outputs->streams_to_terminal)
		progress_hide(outputs->progress);
	summary_add(&outputs->summary, result);
	for (size_t i = 0; i < outputs->count; i++)
		reporter_cell(outputs->reports[i].reporter, result);
	if (outputs->progress)
		progress_cell(outputs->progress, result->verdict);
}

/* Formats that no line may follow: the summary goes to stderr. */
static bool is_closed_format(enum report_format format)
{
	return format == FORMAT_JSONL || format == FORMAT_JUNIT || format == FORMAT_HTML;
}

int outputs_close(struct outputs *outputs, struct summary *summary, struct error *err)
{
	struct error first = { 0 };
	bool told = false;

	progress_close(outputs->progress);
	outputs->summary.seconds = summary->seconds;
	for (size_t i = 0; i < outputs->count; i++) {
		struct error one = { 0 };
		const char *path = outputs->reports[i].path;
		int result = reporter_close(outputs->reports[i].reporter, &outputs->summary, &one);

		told = told || (!path && !is_closed_format(outputs->on_stdout));
		if (output_close(outputs->reports[i].file, path, result, &one) < 0 &&
		    first.kind == ERROR_NONE)
			first = one;
	}
	*summary = outputs->summary;
	if (!told && outputs->count) {
		CLEANUP_TEXT struct text line = { 0 };

		fflush(stdout);
		summary_write(&line, summary);
		fprintf(stderr, "%s\n", text_string(&line));
	}
	free(outputs);
	if (first.kind == ERROR_NONE)
		return 0;
	if (err)
		*err = first;
	return -1;
}
