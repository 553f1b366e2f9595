// SPDX-License-Identifier: MIT
/*
 * quirklab diff: the CPUs that take another path. Two trees are built and asked on this host about
 * every CPU and every signature; then guests of HEAD confirm it. Kernels and C libraries are run as
 * subjects, and the results compared.
 */
#include "lab/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/file.h"
#include "lab/cpus.h"
#include "lab/interrupt.h"

enum { OPT_FORMAT = OPTION_LONG, OPT_FULL, OPT_NO_BOOT };

const struct option_row diff_option_rows[] = {
	{ OPT_FORMAT, "format", "text|markdown|json",
	  "text (the default), Markdown for a comment on a merge request, or JSON" },
	{ OPT_FULL, "full", NULL,
	  "boot every CPU, not only those that change, their neighbours and a\n"
	  "sample; of kernels and C libraries run all CPUs, not one of each set\n"
	  "of bits" },
	{ OPT_NO_BOOT, "no-boot", NULL, "of revisions: do not boot any guest" },
	{ 0 },
};

struct diff_options {
	enum diff_format format;
	bool full, no_boot;
};

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const formats[] = {
		[DIFF_TEXT] = "text", [DIFF_MARKDOWN] = "markdown", [DIFF_JSON] = "json", NULL
	};
	struct diff_options *options = state;
	unsigned word;

	if (key == OPT_FULL)
		options->full = true;
	else if (key == OPT_NO_BOOT)
		options->no_boot = true;
	else if (parse_word(&word, argument, formats, "format", err) < 0)
		return -1;
	else
		options->format = (enum diff_format)word;
	return 0;
}

/* --- which CPUs --- */

/* The tables of a tree are read as this program's own are. */
static void use_tables(const struct diff_side *side)
{
	CLEANUP_FREE char *models = xasprintf("%s/cpu-models", side->tree);

	setenv("QUIRKLAB_MODELS", models, 1);
}

static bool has_name(const struct cpu_list *cpus, const char *name)
{
	for (size_t i = 0; i < cpus->count; i++)
		if (!strcmp(cpus->cpus[i].name, name))
			return true;
	return false;
}

/* A CPU that HEAD's tables lost is asked about all the same. Tables of another form are left alone.
 */
static void add_lost(struct cpu_list *cpus, const struct diff_side *base)
{
	struct cpu_tables tables = { 0 };
	const struct cpu_list *known = &tables.known;

	use_tables(base);
	if (cpu_tables_read(&tables, NULL) == 0)
		for (size_t i = 0; i < known->count; i++)
			if (!has_name(cpus, known->cpus[i].name))
				cpu_copy(cpu_list_add(cpus), &known->cpus[i]);
	cpu_tables_free(&tables);
}

/* The catalogue and the unknown CPUs of both sides, then what the SPECs mean. */
struct asked {
	struct cpu_tables tables; /* HEAD's */
	struct cpu_list cpus;
	size_t known;  /* of HEAD's tables */
	size_t agreed; /* of either side's tables */
};

static int collect(struct asked *asked, const struct diff *diff, char *const *specs, size_t count,
		   struct error *err)
{
	struct cpu_list extra = { 0 };
	int result = 0;

	if (diff->head.kind == SIDE_TREE)
		use_tables(&diff->head);
	if (cpu_tables_read(&asked->tables, err) < 0 ||
	    cpus_collect(&asked->cpus, &asked->tables, NULL, 0, NULL, err) < 0)
		return -1;
	asked->known = asked->cpus.count;
	if (diff->base.kind == SIDE_TREE && diff->head.kind == SIDE_TREE) {
		add_lost(&asked->cpus, &diff->base);
		use_tables(&diff->head);
	}
	asked->agreed = asked->cpus.count;
	if (count)
		result = cpus_collect(&extra, &asked->tables, specs, count, NULL, err);
	for (size_t i = 0; i < extra.count && result == 0; i++) {
		if (has_name(&asked->cpus, extra.cpus[i].name))
			continue;
		if (!extra.cpus[i].identity_known)
			result = error_set(err, ERROR_INPUT, "%s: nothing says which CPU it is",
					   extra.cpus[i].name);
		else
			cpu_copy(cpu_list_add(&asked->cpus), &extra.cpus[i]);
	}
	cpu_list_free(&extra);
	return result;
}

/* --- a kernel, a C library --- */

/* The SPECs as they are given, else every CPU, or one of each set of bits. */
static int run_subject(struct diff *diff, struct diff_side *side, const struct lab *lab,
		       const struct asked *asked, char *const *specs, size_t count, bool full,
		       const char *folder, struct error *err)
{
	const char *const kernel[] = { "--subject", "linux", "--kernel", side->word, NULL };
	const char *const libc[] = { "--subject", "glibc", "--libc", side->word, NULL };
	struct cpu_list known = { .cpus = asked->cpus.cpus, .count = asked->known };
	CLEANUP_FREE const char **names = xcalloc(asked->known + count, sizeof(*names));
	CLEANUP_FREE char *results = xasprintf("%s/results", folder);
	size_t chosen = 0;

	if (count)
		for (size_t i = 0; i < count; i++)
			names[chosen++] = specs[i];
	else if (full)
		for (size_t i = 0; i < known.count; i++)
			names[chosen++] = known.cpus[i].name;
	else
		chosen = diff_sample(&known, names);
	if (folder_make(folder, err) < 0 ||
	    diff_run(lab, folder, side->kind == SIDE_KERNEL ? kernel : libc, names, chosen, err) <
		    0)
		return error_prefix(err, "%s", side->title);
	return side_read_records(diff, side, results, err);
}

/* --- all of it --- */

static int fill_side(struct diff *diff, struct diff_side *side, const struct lab *lab,
		     const struct asked *asked, char *const *specs, size_t count, bool full,
		     const char *folder, struct error *err)
{
	CLEANUP_FREE char *own = xasprintf("%s/%s", folder, side == &diff->base ? "base" : "head");

	switch (side->kind) {
	case SIDE_RECORDS:
		return side_read_records(diff, side, side->word, err);
	case SIDE_KERNEL:
	case SIDE_LIBC:
		return run_subject(diff, side, lab, asked, specs, count, full, own, err);
	case SIDE_TREE:
		break;
	}
	return 0;
}

static int make_folder(char **folder, struct error *err)
{
	const char *base = getenv("TMPDIR");

	*folder = xasprintf("%s/quirklab-diff.XXXXXX", base && *base ? base : "/tmp");
	/* QEMU's own user looks for kernels below it. */
	if (mkdtemp(*folder) && chmod(*folder, 0755) == 0)
		return 0;
	error_set(err, ERROR_LAB, "%s: %s", *folder, strerror(errno));
	free(*folder);
	*folder = NULL;
	return -1;
}

static int work(struct diff *diff, const struct lab *lab, const struct diff_options *options,
		char *const *specs, size_t count, struct error *err)
{
	struct asked asked = { 0 };
	struct cpu_list known;
	char *folder = NULL;
	int result = -1;

	diff->boots = diff->head.kind == SIDE_TREE && !options->no_boot;
	if (diff_build(diff, diff->boots, err) < 0 ||
	    collect(&asked, diff, specs, count, err) < 0 || make_folder(&folder, err) < 0)
		goto out;
	if (fill_side(diff, &diff->base, lab, &asked, specs, count, options->full, folder, err) <
		    0 ||
	    fill_side(diff, &diff->head, lab, &asked, specs, count, options->full, folder, err) <
		    0 ||
	    diff_ask(diff, &asked.cpus, asked.agreed, err) < 0)
		goto out;
	diff_compare(diff);
	known = (struct cpu_list){ .cpus = asked.cpus.cpus, .count = asked.known };
	result = diff->boots ? diff_boot(diff, lab, folder, &known, options->full, err) : 0;
out:
	if (folder)
		folder_remove(folder, NULL);
	free(folder);
	cpu_list_free(&asked.cpus);
	cpu_tables_free(&asked.tables);
	return result;
}

/* BASE alone is compared with the work tree. */
static int resolve(struct diff *diff, char *const *words, size_t count, struct error *err)
{
	if (!count)
		return error_set(err, ERROR_INPUT,
				 "diff: BASE was expected, and HEAD unless it is the work tree");
	if (side_resolve(&diff->base, words[0], err) < 0 ||
	    side_resolve(&diff->head, count > 1 ? words[1] : NULL, err) < 0)
		return -1;
	return 0;
}

int command_diff(struct lab *lab, const struct command *command, int argc, char **argv)
{
	static const size_t no_connections;
	CLEANUP_TEXT struct text out = { 0 };
	struct diff_options options = { 0 };
	struct diff diff = { 0 };
	struct error err = { 0 };
	double started = clock_seconds();
	int first, status;
	size_t count;

	first = options_parse(command->options, true, argc, argv, each_option, &options, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	count = (size_t)(argc - first);
	/* The programs that run for us get the signal as well; what is ours is removed. */
	interrupt_catch(NULL, &no_connections);
	if (resolve(&diff, argv + first, count, &err) < 0 ||
	    work(&diff, lab, &options, argv + first + (count > 2 ? 2 : count),
		 count > 2 ? count - 2 : 0, &err) < 0) {
		status = interrupt_signal() ? STATUS_LAB : lab_fail(&err);
	} else {
		diff.seconds = clock_seconds() - started;
		diff_write(&out, &diff, options.format);
		fwrite(out.bytes, 1, out.length, stdout);
		status = diff_failed(&diff) ? STATUS_FAIL : STATUS_OK;
	}
	if (interrupt_signal())
		status = 128 + interrupt_signal();
	diff_free(&diff);
	return status;
}
