// SPDX-License-Identifier: MIT
/* quirklab report: reports of results that are there; shards merged, two runs compared. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/merge.h"
#include "harness/util/cleanup.h"
#include "lab/outputs.h"
#include "lab/terminal.h"

const struct option_row report_option_rows[] = {
	{ 'o', "output", "FORMAT[:FILE]",
	  "html, tap, junit, jsonl, markdown or table; repeatable; without FILE on\n"
	  "standard output (default: table on a terminal, else tap; of two runs\n"
	  "table)" },
	{ 0 },
};

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	(void)key; /* there is but one */
	return parse_output(state, argument, err);
}

/* --- one run -------------------------------------------------------------------------------------
 */

static int write_run(const struct run_options *options, const struct merged_run *run, bool verbose,
		     struct error *err)
{
	const struct report_options about = {
		.planned = run->summary.cells,
		.verbose = verbose,
		.label = text_string(&run->label),
		.unfinished = run->unfinished,
		.unfinished_count = run->unfinished_count,
	};
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	struct summary summary = { .seconds = run->summary.seconds };
	struct outputs *outputs = outputs_open(options, &about, err);

	if (!outputs)
		return -1;
	for (size_t i = 0; i < run->count; i++) {
		if (kept_read(result, &run->cells[i]) < 0)
			continue; /* it has been read before */
		outputs_cell(outputs, result);
		cell_result_free(result);
	}
	return outputs_close(outputs, &summary, err);
}

/* --- two runs ------------------------------------------------------------------------------------
 */

static int write_comparison(const struct output_request *request, const struct merge *merge,
			    const struct change *changes, size_t count, struct error *err)
{
	FILE *file = output_open(request->path, err);

	if (!file)
		return -1;
	return output_close(file, request->path,
			    compare_write(request->format, file, merge, changes, count, err), err);
}

static int compare(struct run_options *options, const struct merge *merge, struct error *err)
{
	struct change *changes;
	size_t count;
	int result = 0;

	for (size_t i = 0; i < options->output_count; i++)
		if (!compare_format(options->outputs[i].format))
			return error_set(err, ERROR_INPUT,
					 "--output %s: the sources are two runs of the same cells; "
					 "html, markdown or table compare them",
					 report_format_name(options->outputs[i].format));
	if (!options->output_count)
		options->outputs[options->output_count++].format = FORMAT_TABLE;
	changes = changes_find(&count, &merge->runs[0], &merge->runs[1]);
	for (size_t i = 0; i < options->output_count && result == 0; i++)
		result = write_comparison(&options->outputs[i], merge, changes, count, err);
	changes_free(changes, count);
	return result;
}

int command_report(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct run_options options = { 0 };
	struct merge merge = { 0 };
	struct error err = { 0 };
	int first, result;

	first = options_parse(report_option_rows, true, argc, argv, each_option, &options, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (first == argc) {
		error_set(&err, ERROR_INPUT,
			  "report: a results folder or a file of records was expected");
		return lab_fail(&err);
	}
	options.quiet = options.output_count > 0;
	result = outputs_check(&options, &err);
	if (result == 0)
		result = merge_read(&merge, argv + first, (size_t)(argc - first), &err);
	for (size_t i = 0; result == 0 && i < merge.warning_count; i++)
		fprintf(stderr, "quirklab: %s\n", merge.warnings[i]);
	if (result == 0)
		result = merge.run_count > 1
				 ? compare(&options, &merge, &err)
				 : write_run(&options, &merge.runs[0], lab->verbose, &err);
	merge_free(&merge);
	return result == 0 ? STATUS_OK : lab_fail(&err);
}
