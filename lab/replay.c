// SPDX-License-Identifier: MIT
/* quirklab replay: the choices for each CPU, judged on the host, a line a CPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "lab/cpus.h"
#include "lab/host_chooser.h"
#include "lab/lab.h"
#include "lab/terminal.h"

enum { OPT_OUTPUT = 'o', OPT_STRICT = OPTION_LONG };

const struct option_row replay_option_rows[] = {
	{ OPT_OUTPUT, "output", "FORMAT", "text (the default) or tap" },
	{ OPT_STRICT, "strict", NULL, "a CPU without an expected pick is a failure as well" },
	{ 0 },
};

struct replay_options {
	bool tap, strict;
};

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	struct replay_options *options = state;

	if (key == OPT_STRICT)
		options->strict = true;
	else if (!strcmp(argument, "tap"))
		options->tap = true;
	else if (strcmp(argument, "text"))
		return error_set(
			err, ERROR_INPUT,
			"--output '%s': text or tap was expected (records need a guest: see "
			"'quirklab run')",
			argument);
	return 0;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* "clear_extent=rep-stosb,llc:movnti": the path at the smallest extent, then where it changes. */
static void write_picks(struct text *line, const struct host_choice *choice)
{
	const struct host_pick *last = NULL;

	for (size_t i = 0; i < choice->pick_count; i++) {
		const struct host_pick *pick = &choice->picks[i];
		const char *path = dispatch_path_name(pick->choice.path);

		if (!last || last->class->operation != pick->class->operation)
			text_addf(line, " %s=%s", dispatch_operation_name(pick->class->operation),
				  path);
		else if (last->choice.path != pick->choice.path)
			text_addf(line, ",%s:%s", pick->class->name, path);
		last = pick;
	}
}

/* The quirk row that decided any pick. */
static const char *deciding_row(const struct host_choice *choice)
{
	for (size_t i = 0; i < choice->pick_count; i++)
		if (choice->picks[i].choice.row)
			return choice->picks[i].choice.row->name;
	return "-";
}

static void write_failures(struct text *out, const struct host_choice *choice)
{
	for (size_t i = 0; i < choice->pick_count; i++) {
		const struct host_pick *pick = &choice->picks[i];

		if (pick->verdict != VERDICT_FAIL)
			continue;
		text_addf(out, "    %s@%s (%llu bytes): expected %s, says %s: %s\n",
			  dispatch_operation_name(pick->class->operation), pick->class->name,
			  (unsigned long long)pick->size, pick->expected,
			  dispatch_path_name(pick->choice.path), pick->choice.reason);
	}
}

static void write_cpu(struct text *out, const struct replay_options *options,
		      const struct terminal *terminal, size_t number, const struct cpu *cpu,
		      const struct host_choice *choice, int name_width)
{
	static const char *const colours[VERDICTS] = { [VERDICT_PASS] = "\033[32m",
						       [VERDICT_FAIL] = "\033[31;1m",
						       [VERDICT_SKIP] = "\033[34m" };
	bool colour = terminal->colour && !options->tap;
	char name[4 * CPU_NAME_MAX], vendor[64];
	CLEANUP_FREE char *signature =
		xasprintf("%u:%u:%u", cpu->family, cpu->model, cpu->stepping);

	text_printable(name, sizeof(name), cpu->name, strlen(cpu->name));
	text_printable(vendor, sizeof(vendor), cpu->vendor, strlen(cpu->vendor));
	if (options->tap) {
		text_addf(out, "%s %zu - %s/replay/dispatch",
			  choice->verdict == VERDICT_FAIL ? "not ok" : "ok", number, name);
		if (choice->verdict == VERDICT_SKIP)
			text_addf(out, " # SKIP no expected pick");
		text_addf(out, "\n");
		if (choice->verdict == VERDICT_FAIL) {
			text_addf(out, "  ---\n  failures: |\n");
			write_failures(out, choice);
			text_addf(out, "  ...\n");
		}
		return;
	}
	text_addf(out, "%s%s%s %-12s %-10s %-*s", colour ? colours[choice->verdict] : "",
		  verdict_name(choice->verdict), colour ? "\033[0m" : "", vendor, signature,
		  name_width, name);
	write_picks(out, choice);
	text_addf(out, " row=%s\n", deciding_row(choice));
	write_failures(out, choice);
}

static int replay(const struct replay_options *options, const struct cpu_list *list,
		  const struct expectations *expectations, double started)
{
	struct terminal terminal = terminal_of(stdout);
	struct summary summary = { .cells = list->count };
	CLEANUP_FREE struct host_choice *choice = xcalloc(1, sizeof(*choice));
	CLEANUP_TEXT struct text out = { 0 };
	int name_width = 0;

	for (size_t i = 0; i < list->count; i++) {
		int length = (int)strlen(list->cpus[i].name);

		name_width = length > name_width ? length : name_width;
	}
	if (options->tap)
		text_addf(&out, "TAP version 13\n1..%zu\n", list->count);
	for (size_t i = 0; i < list->count; i++) {
		host_choose(choice, &list->cpus[i], expectations);
		write_cpu(&out, options, &terminal, i + 1, &list->cpus[i], choice, name_width);
		summary.count[choice->verdict]++;
	}
	if (summary.count[VERDICT_SKIP])
		strcpy(summary.because[VERDICT_SKIP], "no expected pick");
	summary.seconds = now() - started;
	text_addf(&out, "%s", options->tap ? "# " : "");
	summary_write(&out, &summary);
	text_addf(&out, "\n");
	fwrite(out.bytes, 1, out.length, stdout);
	if (summary.count[VERDICT_FAIL] || (options->strict && summary.count[VERDICT_SKIP]))
		return STATUS_FAIL;
	return STATUS_OK;
}

int command_replay(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct replay_options options = { 0 };
	struct expectations *expectations = NULL;
	struct cpu_tables tables = { 0 };
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	double started = now();
	int first, status;

	(void)lab;
	first = options_parse(command->options, true, argc, argv, each_option, &options, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (cpu_tables_read(&tables, &err) < 0 ||
	    cpus_collect(&list, &tables, argv + first, (size_t)(argc - first), NULL, &err) < 0 ||
	    expectations_read(&expectations, "dispatch", NULL, &err) < 0) {
		status = lab_fail(&err);
	} else {
		cpus_sort(&list);
		status = replay(&options, &list, expectations, started);
	}
	expectations_free(expectations);
	cpu_list_free(&list);
	cpu_tables_free(&tables);
	return status;
}
