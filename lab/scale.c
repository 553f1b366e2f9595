// SPDX-License-Identifier: MIT
/* quirklab scale: one workload on this machine, or on two kernels or command lines in turn. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/payload.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "lab/bench.h"
#include "lab/interrupt.h"
#include "lab/scale.h"
#include "tests/subjects/scale.h"

enum {
	OPT_SECONDS = 's',
	OPT_TASKS = 't',
	OPT_BASE = OPTION_LONG,
	OPT_HEAD,
	OPT_CPU,
	OPT_KERNEL,
	OPT_REPEATS,
	OPT_ACCEL,
	OPT_TIMEOUT_SCALE,
};

const struct option_row scale_option_rows[] = {
	{ OPT_SECONDS, "seconds", "S", "measured seconds (5; in emulated guests 2)" },
	{ OPT_TASKS, "tasks", "N", "tasks at once (1); a guest has as many CPUs" },
	{ OPT_BASE, "base", "WHAT", "a kernel, or words for its command line: one side of A/B" },
	{ OPT_HEAD, "head", "WHAT", "the other side" },
	{ OPT_CPU, "cpu", "SPEC", "the CPU of the guests: one, as for 'repro'" },
	{ OPT_KERNEL, "kernel", "FILE", "where a side is words only (the newest installed one)" },
	{ OPT_REPEATS, "repeats", "N", "boots of each side, 4 to 64 (7)" },
	{ OPT_ACCEL, "accel", ACCELERATORS, ACCELERATORS_HELP },
	{ OPT_TIMEOUT_SCALE, "timeout-scale", "X", "patience with guests that make no progress" },
	{ 0 },
};

#define TASKS_MAX 64

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	struct scale *scale = state;

	switch (key) {
	case OPT_SECONDS:
		scale->seconds_given = true;
		return parse_number(&scale->seconds, argument, 1, 86400, "--seconds", err);
	case OPT_TASKS:
		return parse_number(&scale->tasks, argument, 1, TASKS_MAX, "--tasks", err);
	case OPT_BASE:
		scale->sides[0].words = argument;
		return 0;
	case OPT_HEAD:
		scale->sides[1].words = argument;
		return 0;
	case OPT_CPU:
		scale->cpu = argument;
		return 0;
	case OPT_KERNEL:
		scale->kernel = argument;
		return 0;
	case OPT_REPEATS:
		return parse_number(&scale->repeats, argument, SCALE_REPEATS_LEAST,
				    SCALE_REPEATS_MAX, "--repeats", err);
	case OPT_TIMEOUT_SCALE:
		return parse_scale(&scale->timeout_scale, argument, err);
	default:
		return parse_accelerator(&scale->accelerator, argument, err);
	}
}

/* A side that is the name of a file is a kernel. What looks like a path and is none is a mistake,
 * not a word for the kernel. */
static int check_side(struct scale_side *side, struct error *err)
{
	struct stat st;

	if (stat(side->words, &st) == 0 && S_ISREG(st.st_mode))
		side->is_kernel = true;
	else if (side->words[0] == '/' || side->words[0] == '.')
		return error_set(err, ERROR_INPUT, "--%s: %s: %s", side->name, side->words,
				 errno ? strerror(errno) : "is no file");
	for (const char *c = side->words; *c && !side->is_kernel; c++)
		if (*c < ' ' || *c > '~')
			return error_set(err, ERROR_INPUT,
					 "--%s: words in printable ASCII were expected",
					 side->name);
	return 0;
}

#define BOTH_KINDS(name, text) #name "_threads", #name "_processes",

static bool is_workload(const char *word)
{
	static const char *const words[] = { SCALE_WORKLOADS(BOTH_KINDS) NULL };
	unsigned which;

	return parse_word(&which, word, words, "", NULL) == 0;
}

static int check(struct scale *scale, struct error *err)
{
	bool guests = scale->sides[0].words || scale->sides[1].words;

	if (!is_workload(scale->workload))
		return error_set(err, ERROR_INPUT,
				 "no workload '%s': one of " SCALE_WORDS
				 "with _threads or _processes, was expected",
				 scale->workload);
	if (guests && (!scale->sides[0].words || !scale->sides[1].words || !scale->cpu))
		return error_set(err, ERROR_INPUT, "--base, --head and --cpu belong together");
	if (!guests && (scale->cpu || scale->kernel))
		return error_set(err, ERROR_INPUT, "--%s needs guests: --base and --head",
				 scale->cpu ? "cpu" : "kernel");
	for (size_t i = 0; i < 2 && guests; i++)
		if (check_side(&scale->sides[i], err) < 0)
			return -1;
	return 0;
}

/* The workload's program says all that there is to say. Returns only where it did not start. */
static int run_here(const struct scale *scale, struct error *err)
{
	CLEANUP_FREE char *program = path_image("subjects/scale");
	struct bench_machine machine;
	char seconds[16], tasks[16];

	if (bench_machine_read(&machine, err) < 0)
		return -1;
	snprintf(seconds, sizeof(seconds), "%u", scale->seconds);
	snprintf(tasks, sizeof(tasks), "%u", scale->tasks);
	execl(program, "scale", scale->workload, "-s", seconds, "-t", tasks, NULL);
	return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", program,
			 strerror(errno));
}

static int run_guests(struct scale *scale)
{
	struct error err = { 0 };
	int status = STATUS_OK;

	interrupt_catch(&scale->connection, &scale->connection_count);
	if (scale_run_guests(scale, &err) < 0)
		status = lab_fail(&err);
	else
		scale_print(scale);
	interrupt_forget();
	if (interrupt_signal())
		status = 128 + interrupt_signal();
	for (size_t i = 0; i < 2; i++)
		images_free(&scale->sides[i].images);
	if (scale->connection)
		connection_close(scale->connection);
	realised_free(&scale->realised);
	payload_free(scale->payload);
	repro_target_free(&scale->target);
	cpu_tables_free(&scale->tables);
	return status;
}

int command_scale(struct lab *lab, const struct command *command, int argc, char **argv)
{
	CLEANUP_FREE struct scale *scale = xcalloc(1, sizeof(*scale));
	struct error err = { 0 };
	int first;

	scale->lab = lab;
	scale->seconds = 5;
	scale->tasks = 1;
	scale->warm_up = 5;
	scale->mebibytes = 128;
	scale->repeats = 7;
	scale->timeout_scale = 1;
	scale->sides[0].name = "base";
	scale->sides[1].name = "head";
	first = options_parse(command->options, true, argc, argv, each_option, scale, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 1)
		error_set(&err, ERROR_INPUT, "scale: one workload was expected");
	else {
		scale->workload = argv[first];
		check(scale, &err);
	}
	if (err.kind == ERROR_NONE && !scale->sides[0].words)
		run_here(scale, &err);
	return err.kind == ERROR_NONE ? run_guests(scale) : lab_fail(&err);
}
