// SPDX-License-Identifier: MIT
/* quirklab replay: the choices for each CPU, judged on the host, a line a CPU. Takes thousands of
 * dumps. */
#include <jansson.h>
#include <libxml/parser.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cpu/dump.h"
#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "lab/cpus.h"
#include "lab/host_chooser.h"
#include "lab/lab.h"
#include "lab/terminal.h"

#define NAME_WIDTH_MOST 72 /* of the column; longer names of files stand out of it */
#define THREADS_MAX	7  /* that read files, beside the first */
#define FILES_A_THREAD	64 /* fewer are not worth one */

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

/* A CPU to replay, and how its line calls it. */
struct entry {
	struct cpu cpu;
	char *file; /* the dump it is from, or NULL; owned */
};

struct entries {
	struct entry *list; /* owned */
	size_t count, room;
};

/* What a CPU whose source leaves bits open might get: for each pick the paths, bit by bit of
 * `paths`. */
struct open_bits {
	uint32_t paths[HOST_PICKS_MAX];
	struct feature_set matter; /* the open bits of which one alone changes a pick */
	bool any;
};

/* "rep-stosb", or "mov|rep-stosb" where an open bit decides. */
static void write_path(struct text *line, const struct host_choice *choice,
		       const struct open_bits *open, size_t pick)
{
	enum dispatch_path path = choice->picks[pick].choice.path;

	text_addf(line, "%s", dispatch_path_name(path));
	for (int other = 0; other < DISPATCH_PATHS; other++)
		if (other != (int)path && open->paths[pick] >> other & 1)
			text_addf(line, "|%s", dispatch_path_name((enum dispatch_path)other));
}

/* "clear_extent=rep-stosb,llc:movnti": the path at the smallest extent, then where it changes. */
static void write_picks(struct text *line, const struct host_choice *choice,
			const struct open_bits *open)
{
	const struct host_pick *last = NULL;
	uint32_t last_paths = 0;

	for (size_t i = 0; i < choice->pick_count; i++) {
		const struct host_pick *pick = &choice->picks[i];

		if (!last || last->class->operation != pick->class->operation) {
			text_addf(line, " %s=", dispatch_operation_name(pick->class->operation));
			write_path(line, choice, open, i);
		} else if (last->choice.path != pick->choice.path || last_paths != open->paths[i]) {
			text_addf(line, ",%s:", pick->class->name);
			write_path(line, choice, open, i);
		}
		last = pick;
		last_paths = open->paths[i];
	}
}

static void write_open_bits(struct text *line, const struct open_bits *open)
{
	const char *mark = " unknown=";

	for (int i = 0; i < (int)feature_count && open->any; i++) {
		if (!feature_in(&open->matter, i))
			continue;
		text_addf(line, "%s%s", mark, features[i].name);
		mark = ",";
	}
}

/* Open bits are taken as off; what each would change if it were on is found by trying. */
static void try_open_bits(struct open_bits *open, const struct cpu *cpu,
			  const struct host_choice *choice, struct host_choice *other)
{
	*open = (struct open_bits){ 0 };
	for (int i = 0; i < (int)feature_count && cpu->origin == CPU_DUMP; i++) {
		struct cpu changed = *cpu; /* borrows what it points to */
		bool differs = false;

		if (!features[i].dispatch || feature_in(&cpu->known, i))
			continue;
		feature_put(&changed.known, i, true);
		feature_put(&changed.on, i, true);
		host_choose(other, &changed, NULL);
		for (size_t j = 0; j < choice->pick_count; j++) {
			if (other->picks[j].choice.path == choice->picks[j].choice.path)
				continue;
			open->paths[j] |= 1u << other->picks[j].choice.path;
			differs = true;
		}
		if (differs)
			feature_put(&open->matter, i, true);
		open->any |= differs;
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
		      const struct terminal *terminal, size_t number, const struct entry *entry,
		      const struct host_choice *choice, const struct open_bits *open,
		      int name_width)
{
	const struct cpu *cpu = &entry->cpu;
	static const char *const colours[VERDICTS] = { [VERDICT_PASS] = "\033[32m",
						       [VERDICT_FAIL] = "\033[31;1m",
						       [VERDICT_SKIP] = "\033[34m" };
	bool colour = terminal->colour && !options->tap;
	const char *called = entry->file ? entry->file : cpu->name;
	char name[1024], vendor[64], signature[40];

	snprintf(signature, sizeof(signature), "%u:%u:%u", cpu->family, cpu->model, cpu->stepping);
	text_printable(name, sizeof(name), called, strlen(called));
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
	write_picks(out, choice, open);
	text_addf(out, " row=%s", deciding_row(choice));
	write_open_bits(out, open);
	text_addf(out, "\n");
	write_failures(out, choice);
}

/* The width of the column of names: of all but the longest, which stand out. */
static int name_width_of(const struct entries *entries)
{
	int width = 0;

	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];
		size_t length = strlen(entry->file ? entry->file : entry->cpu.name);

		if (length <= NAME_WIDTH_MOST && (int)length > width)
			width = (int)length;
	}
	return width;
}

static int replay(const struct replay_options *options, const struct entries *entries,
		  const struct expectations *expectations, double started)
{
	struct terminal terminal = terminal_of(stdout);
	struct summary summary = { .cells = entries->count };
	CLEANUP_FREE struct host_choice *choice = xcalloc(2, sizeof(*choice));
	CLEANUP_TEXT struct text out = { 0 };
	struct open_bits open;
	int name_width = name_width_of(entries);

	if (options->tap)
		text_addf(&out, "TAP version 13\n1..%zu\n", entries->count);
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];

		host_choose(choice, &entry->cpu, expectations);
		try_open_bits(&open, &entry->cpu, choice, choice + 1);
		write_cpu(&out, options, &terminal, i + 1, entry, choice, &open, name_width);
		summary.count[choice->verdict]++;
	}
	if (summary.count[VERDICT_SKIP])
		strcpy(summary.because[VERDICT_SKIP], "no expected pick");
	summary.seconds = clock_seconds() - started;
	text_addf(&out, "%s", options->tap ? "# " : "");
	summary_write(&out, &summary);
	text_addf(&out, "\n");
	fwrite(out.bytes, 1, out.length, stdout);
	if (summary.count[VERDICT_FAIL] || (options->strict && summary.count[VERDICT_SKIP]))
		return STATUS_FAIL;
	return STATUS_OK;
}

/* --- what to replay --- */

static struct entry *add_entry(struct entries *entries, const char *file)
{
	struct entry *entry;

	if (entries->count == entries->room) {
		entries->room = entries->room ? 2 * entries->room : 64;
		entries->list = xrealloc(entries->list, entries->room * sizeof(*entries->list));
	}
	entry = &entries->list[entries->count++];
	cpu_init(&entry->cpu);
	entry->file = file ? xstrdup(file) : NULL;
	return entry;
}

static void entries_free(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		cpu_free(&entries->list[i].cpu);
		free(entries->list[i].file);
	}
	free(entries->list);
	*entries = (struct entries){ 0 };
}

/* A file that is read by one of several threads, and what came of it. */
struct file_job {
	const char *file;
	struct cpu cpu;
	struct error err; /* kind ERROR_NONE: the CPU is good */
};

struct file_jobs {
	struct file_job *list;
	size_t count;
	_Atomic size_t next; /* the first that no thread has taken */
	const struct cpu_tables *tables;
};

static void read_job(struct file_job *job, const struct cpu_tables *tables)
{
	if (dump_read_cpu(&job->cpu, job->file, &job->err) < 0)
		return;
	dump_lay_over_model(&job->cpu, &tables->models);
	if (!job->cpu.identity_known)
		error_set(&job->err, ERROR_INPUT,
			  "%s: libvirt model %s, of which models.tsv has no identity", job->file,
			  job->cpu.libvirt_model);
}

static void *read_jobs(void *argument)
{
	struct file_jobs *jobs = argument;
	size_t i;

	while ((i = atomic_fetch_add(&jobs->next, 1)) < jobs->count)
		read_job(&jobs->list[i], jobs->tables);
	return NULL;
}

/* One thread a core, this one included; they end before this returns. */
static void read_files(struct file_jobs *jobs)
{
	pthread_t threads[THREADS_MAX];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t started = 0;

	/* These are set up on first use, which several threads must not do at once. */
	xmlInitParser();
	json_object_seed(0);
	while (started + 1 < (size_t)cores && started < THREADS_MAX &&
	       (started + 1) * FILES_A_THREAD < jobs->count) {
		if (pthread_create(&threads[started], NULL, read_jobs, jobs))
			break;
		pthread_setname_np(threads[started++], "replay-reader");
	}
	read_jobs(jobs);
	while (started)
		pthread_join(threads[--started], NULL);
}

/* A bad file is a line on stderr, and the others are replayed all the same. */
static void add_files(struct entries *entries, struct file_jobs *jobs, int *status)
{
	for (size_t i = 0; i < jobs->count; i++) {
		struct file_job *job = &jobs->list[i];

		if (job->err.kind != ERROR_NONE) {
			*status = lab_fail(&job->err);
			cpu_free(&job->cpu);
		} else {
			add_entry(entries, job->file)->cpu = job->cpu;
		}
	}
}

/* SPECs are all good or none. */
static int collect(struct entries *entries, const struct cpu_tables *tables, char *const *words,
		   size_t count, int *status, struct error *err)
{
	CLEANUP_FREE char **specs = xcalloc(count, sizeof(*specs));
	CLEANUP_FREE struct file_job *list = xcalloc(count, sizeof(*list));
	struct file_jobs jobs = { .list = list, .tables = tables };
	struct cpu_list cpus = { 0 };
	size_t spec_count = 0;
	int result = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(words[i], "-") && !spec_is_path(words[i], tables))
			specs[spec_count++] = words[i];
		else
			list[jobs.count++].file = words[i];
	if (spec_count || !count)
		result = cpus_collect(&cpus, tables, specs, spec_count, NULL, err);
	for (size_t i = 0; i < cpus.count && result == 0; i++)
		cpu_copy(&add_entry(entries, NULL)->cpu, &cpus.cpus[i]);
	cpu_list_free(&cpus);
	if (result == 0) {
		read_files(&jobs);
		add_files(entries, &jobs, status);
	}
	return result;
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = cpus_compare(&a->cpu, &b->cpu);

	if (order || !a->file || !b->file)
		return order;
	return strcmp(a->file, b->file);
}

int command_replay(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct replay_options options = { 0 };
	struct expectations *expectations = NULL;
	struct cpu_tables tables = { 0 };
	struct entries entries = { 0 };
	struct error err = { 0 };
	double started = clock_seconds();
	int first, status, bad_files = STATUS_OK;

	(void)lab;
	first = options_parse(command->options, true, argc, argv, each_option, &options, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (cpu_tables_read(&tables, &err) < 0 ||
	    collect(&entries, &tables, argv + first, (size_t)(argc - first), &bad_files, &err) <
		    0 ||
	    expectations_read(&expectations, "dispatch", NULL, &err) < 0) {
		status = lab_fail(&err);
	} else if (!entries.count) {
		status = bad_files;
	} else {
		qsort(entries.list, entries.count, sizeof(*entries.list), compare_entries);
		status = replay(&options, &entries, expectations, started);
		status = bad_files ? bad_files : status;
	}
	expectations_free(expectations);
	entries_free(&entries);
	cpu_tables_free(&tables);
	return status;
}
