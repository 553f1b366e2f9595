// SPDX-License-Identifier: MIT
/* The options of `quirklab run`. */
#include "lab/run_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "images/linux/job.h"

#define PACK_DEFAULT 32
#define PACK_MOST    200
#define JOBS_MOST    256
#define SHARDS_MOST  100000
#define SILENCE_MOST 3600

enum {
	OPT_IMAGE = OPTION_LONG,
	OPT_SUBJECT,
	OPT_LIBC,
	OPT_PMEM,
	OPT_SILENCE,
	OPT_PACK,
	OPT_SHARD,
	OPT_TIMEOUT_SCALE,
	OPT_KERNEL,
	OPT_FULL_BOOT,
	OPT_APPEND,
	OPT_EMULATOR,
	OPT_ACCEL,
	OPT_RESULTS,
	OPT_RESUME,
	OPT_STRICT,
	OPT_BISECT,
};

const struct option_row run_option_rows[] = {
	{ OPT_IMAGE, "image", "IMAGE",
	  "what boots: bare (our own small guest, the default), linux, or the\n"
	  "qcow2 or raw image of a distribution, which is never written" },
	{ OPT_FULL_BOOT, "full-boot", NULL,
	  "with --image FILE: under the image's own init, as a service, instead\n"
	  "of in place of it; with --subject linux: a boot with nothing left out" },
	{ OPT_SUBJECT, "subject", "SUBJECT",
	  "whose choices are judged: dispatch (the default); linux: what the\n"
	  "kernel that boots has patched itself; glibc; pmem: are copies into\n"
	  "emulated persistent memory durable; or a program's path, with its\n"
	  "arguments behind --. All but the first imply --image linux" },
	{ OPT_LIBC, "libc", "DIR|DEB",
	  "with --subject glibc, another glibc than this machine's: a build tree,\n"
	  "a folder of libraries, a root file system or a Debian package" },
	{ OPT_PMEM, "pmem", "memmap|nvdimm",
	  "with --subject pmem, what emulates the memory: a part of the guest's own\n"
	  "(the default), or an NVDIMM of QEMU's" },
	{ OPT_SILENCE, "silence", "SECONDS",
	  "how long a program may write nothing before it is hung (default 60)" },
	{ 'j', "jobs", "N", "guests at once on each connection (default: one a core)" },
	{ OPT_PACK, "pack", "N", "CPUs that share a guest, 1 to 200 (default 32)" },
	{ OPT_SHARD, "shard", "K/N",
	  "only the K-th of N parts of the run; without it, what Slurm, a\n"
	  "Kubernetes indexed job or GitLab's parallel say in the environment" },
	{ OPT_TIMEOUT_SCALE, "timeout-scale", "X", "all limits of the watchdog times X" },
	{ OPT_KERNEL, "kernel", "FILE",
	  "the kernel to boot (default: the newest that is installed);\n"
	  "with --image bare, another bare image" },
	{ OPT_APPEND, "append", "WORDS", "more words for the Linux kernel's command line" },
	{ OPT_EMULATOR, "emulator", "FILE", "the QEMU to use (default: libvirt's choice)" },
	{ OPT_ACCEL, "accel", ACCELERATORS, ACCELERATORS_HELP },
	{ OPT_RESULTS, "results", "DIR",
	  "where the results go (default: results/DATE-TIME, with\n"
	  "results/latest pointing there)" },
	{ OPT_RESUME, "resume", NULL, "go on with the run in --results DIR, or in results/latest" },
	{ OPT_STRICT, "strict", NULL, "a mismatch or a skip gives exit status 1 as well" },
	{ OPT_BISECT, "bisect", NULL,
	  "exit statuses for 'git bisect run': 0 pass, 1 fail, 125 else" },
	{ 'o', "output", "FORMAT[:FILE]",
	  "tap, junit, jsonl, html, markdown or table; repeatable; without FILE\n"
	  "on standard output (default: table on a terminal, else tap)" },
	{ 0 },
};

static int parse_shard(unsigned *shard, unsigned *shards, const char *text, struct error *err)
{
	const char *slash = strchr(text, '/');
	CLEANUP_FREE char *first = slash ? strndup(text, (size_t)(slash - text)) : NULL;

	if (!first)
		return error_set(err, ERROR_INPUT, "--shard: K/N was expected, not '%s'", text);
	if (parse_number(shards, slash + 1, 1, SHARDS_MOST, "--shard K/N, N", err) < 0)
		return -1;
	return parse_number(shard, first, 1, *shards, "--shard K/N, K", err);
}

int parse_output(struct run_options *options, const char *text, struct error *err)
{
	size_t length = strcspn(text, ":");
	CLEANUP_FREE char *name = strndup(text, length);
	struct output_request *request = &options->outputs[options->output_count];
	const char *path = text[length] ? text + length + 1 : NULL;

	if (options->output_count == OUTPUTS_MAX)
		return error_set(err, ERROR_INPUT, "--output: at most %d of them", OUTPUTS_MAX);
	if (!name || !report_format_find(name, &request->format))
		return error_set(
			err, ERROR_INPUT,
			"--output '%s': tap, junit, jsonl, html, markdown or table was expected",
			text);
	if (path && !*path)
		return error_set(err, ERROR_INPUT, "--output '%s': a file was expected after ':'",
				 text);
	request->path = path && strcmp(path, "-") ? path : NULL;
	for (size_t i = 0; i < options->output_count; i++) {
		const char *other = options->outputs[i].path;

		if (request->path ? other && !strcmp(other, request->path) : !other)
			return error_set(err, ERROR_INPUT, "--output: two formats for %s",
					 other ? other : "standard output");
	}
	options->output_count++;
	return 0;
}

/* What is none of the words is a file; its name, as far as it can be one of a folder, goes into the
 * cells' names. */
static int take_disk(struct run_options *options, const char *path, struct error *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+.";
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (!strchr(path, '/') && access(path, F_OK) < 0)
		return error_set(err, ERROR_INPUT,
				 "--image '%s': bare, linux or a file was expected", path);
	options->plan.image = GUEST_DISK;
	options->image_file = path;
	snprintf(options->disk_name, sizeof(options->disk_name), "%s", name);
	for (char *at = options->disk_name; *at; at++)
		if (!strchr(plain, *at) || (at == options->disk_name && *at == '.'))
			*at = '_';
	return 0;
}

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const images[] = {
		[GUEST_BARE] = "bare", [GUEST_LINUX] = "linux", NULL
	};
	static const char *const memories[] = {
		[PMEM_MEMMAP] = "memmap", [PMEM_NVDIMM] = "nvdimm", NULL
	};
	struct run_options *options = state;
	struct plan_options *plan = &options->plan;
	unsigned word = 0;

	switch (key) {
	case OPT_IMAGE:
		options->image_given = true;
		if (parse_word(&word, argument, images, "image", err) == 0)
			plan->image = (enum guest_image)word;
		else
			return take_disk(options, argument, err);
		break;
	case OPT_FULL_BOOT:
		plan->full_boot = true;
		break;
	case OPT_SUBJECT:
		return subject_find(&options->subject, argument, err);
	case OPT_LIBC:
		options->libc = plan->own_libc = argument;
		break;
	case OPT_PMEM:
		if (parse_word(&word, argument, memories, "pmem", err) < 0)
			return -1;
		options->pmem = (enum pmem)word;
		options->pmem_given = true;
		break;
	case OPT_SILENCE:
		return parse_number(&options->silence, argument, 1, SILENCE_MOST, "--silence", err);
	case 'j':
		return parse_number(&plan->jobs, argument, 1, JOBS_MOST, "--jobs", err);
	case OPT_PACK:
		return parse_number(&plan->pack, argument, 1, PACK_MOST, "--pack", err);
	case OPT_SHARD:
		return parse_shard(&plan->shard, &plan->shards, argument, err);
	case OPT_TIMEOUT_SCALE:
		return parse_scale(&plan->timeout_scale, argument, err);
	case OPT_KERNEL:
		plan->kernel = plan->own_kernel = argument;
		break;
	case OPT_APPEND:
		plan->append = argument;
		break;
	case OPT_EMULATOR:
		options->emulator = argument;
		break;
	case OPT_ACCEL:
		return parse_accelerator(&options->accelerator, argument, err);
	case OPT_RESULTS:
		if (!*argument)
			return error_set(err, ERROR_INPUT, "--results: a folder was expected");
		options->results = argument;
		break;
	case OPT_RESUME:
		options->resume = true;
		break;
	case OPT_STRICT:
		options->strict = true;
		break;
	case OPT_BISECT:
		options->bisect = true;
		break;
	case 'o':
		return parse_output(options, argument, err);
	}
	return 0;
}

/* --- the environment
 * ------------------------------------------------------------------------------- */

static int variable(unsigned *out, const char *name, unsigned from,
		    char *(*environment)(const char *name), struct error *err)
{
	const char *value = environment(name);

	return parse_number(out, value ? value : "", from, INT32_MAX, name, err);
}

static bool is_set(const char *name, char *(*environment)(const char *name))
{
	const char *value = environment(name);

	return value && *value;
}

static int shard_of_slurm(unsigned *shard, unsigned *shards, char *(*environment)(const char *name),
			  struct error *err)
{
	unsigned id, first = 0, last, step = 1;

	if (variable(&id, "SLURM_ARRAY_TASK_ID", 0, environment, err) < 0 ||
	    variable(&first, "SLURM_ARRAY_TASK_MIN", 0, environment, err) < 0)
		return -1;
	if (is_set("SLURM_ARRAY_TASK_STEP", environment) &&
	    variable(&step, "SLURM_ARRAY_TASK_STEP", 1, environment, err) < 0)
		return -1;
	if (is_set("SLURM_ARRAY_TASK_COUNT", environment)) {
		if (variable(shards, "SLURM_ARRAY_TASK_COUNT", 1, environment, err) < 0)
			return -1;
	} else {
		if (variable(&last, "SLURM_ARRAY_TASK_MAX", first, environment, err) < 0)
			return -1;
		*shards = (last - first) / step + 1;
	}
	if (id < first || (id - first) / step >= *shards)
		return error_set(
			err, ERROR_INPUT,
			"SLURM_ARRAY_TASK_ID: %u is not in an array of %u from %u on: give "
			"--shard",
			id, *shards, first);
	*shard = (id - first) / step + 1;
	return 0;
}

int shard_from_environment(unsigned *shard, unsigned *shards,
			   char *(*environment)(const char *name), struct error *err)
{
	*shard = *shards = 0;
	if (is_set("SLURM_ARRAY_TASK_ID", environment))
		return shard_of_slurm(shard, shards, environment, err);
	if (is_set("JOB_COMPLETION_INDEX", environment)) {
		if (!is_set("JOB_COMPLETIONS", environment))
			return error_set(
				err, ERROR_INPUT,
				"JOB_COMPLETION_INDEX is set, but not JOB_COMPLETIONS: set it to "
				"the job's completions, or give --shard");
		if (variable(shards, "JOB_COMPLETIONS", 1, environment, err) < 0 ||
		    variable(shard, "JOB_COMPLETION_INDEX", 0, environment, err) < 0)
			return -1;
		if (*shard >= *shards)
			return error_set(
				err, ERROR_INPUT,
				"JOB_COMPLETION_INDEX: %u is not below JOB_COMPLETIONS, %u", *shard,
				*shards);
		++*shard;
		return 0;
	}
	if (is_set("CI_NODE_INDEX", environment)) {
		if (variable(shards, "CI_NODE_TOTAL", 1, environment, err) < 0 ||
		    variable(shard, "CI_NODE_INDEX", 1, environment, err) < 0)
			return -1;
		if (*shard > *shards)
			return error_set(err, ERROR_INPUT,
					 "CI_NODE_INDEX: %u is above CI_NODE_TOTAL, %u", *shard,
					 *shards);
	}
	return 0;
}

/* The C library is the probe's. Other programs have the libraries of this machine. */
static int settle_libc(struct run_options *options, struct error *err)
{
	const bool ours = options->subject.kind == SUBJECT_PROGRAM && !options->subject.path;
	const bool glibc = ours && !strcmp(options->subject.name, "glibc");

	options->subject.libc = options->libc;
	if (options->libc && !glibc)
		return error_set(err, ERROR_INPUT,
				 "--libc: only --subject glibc takes another library");
	if (options->libc && options->plan.image == GUEST_DISK)
		return error_set(err, ERROR_INPUT,
				 "--libc: the image has a library of its own, which is judged");
	if (ours && options->subject_arguments && *options->subject_arguments)
		return error_set(err, ERROR_INPUT, "--subject %s: takes no arguments ('%.40s')",
				 options->subject.name, *options->subject_arguments);
	return 0;
}

/* Its memory and its modules are those of a kernel that we boot ourselves. */
static int settle_pmem(struct run_options *options, struct error *err)
{
	const struct subject_row *row = options->subject.row;

	options->subject.kernel = options->plan.kernel;
	options->plan.words = row ? row->words : NULL;
	if (options->pmem_given && !options->plan.words)
		return error_set(err, ERROR_INPUT, "--pmem: it needs --subject pmem");
	if (options->plan.words && options->plan.image == GUEST_DISK)
		return error_set(err, ERROR_INPUT, "--subject %s: not in a disk image",
				 options->subject.name);
	if (options->pmem == PMEM_NVDIMM)
		options->plan.words = NULL;
	return 0;
}

/* A kernel that is the subject has to boot, and a program wants one; a bare guest has no command
 * line of this kind. */
static int settle_image(struct run_options *options, struct error *err)
{
	struct plan_options *plan = &options->plan;

	plan->kind = options->subject.kind;
	plan->subject = options->subject.name;
	plan->beside = options->subject.beside;
	if (plan->kind != SUBJECT_DISPATCH && !options->image_given)
		plan->image = GUEST_LINUX;
	if (plan->kind != SUBJECT_DISPATCH && plan->image == GUEST_BARE)
		return error_set(err, ERROR_INPUT, "--subject %s: it needs --image linux or FILE",
				 options->subject.path ? options->subject.path : plan->subject);
	if (settle_libc(options, err) < 0 || settle_pmem(options, err) < 0)
		return -1;
	if (plan->image == GUEST_DISK)
		plan->disk_name = options->disk_name;
	if (plan->full_boot && plan->image != GUEST_DISK && plan->kind != SUBJECT_KERNEL)
		return error_set(err, ERROR_INPUT,
				 "--full-boot: it needs --image FILE or --subject linux");
	if (plan->append && plan->image == GUEST_BARE)
		return error_set(err, ERROR_INPUT, "--append: only Linux guests have such words");
	return 0;
}

/* Where the words behind "--" begin; argc where there are none. */
static int find_separator(int argc, char **argv)
{
	int at = 1;

	while (at < argc && strcmp(argv[at], "--"))
		at++;
	return at;
}

/* What is behind "--" are a program's arguments; without a program, operands like those before. */
static void settle_rest(struct run_options *options, int first, int separator, int argc,
			char **argv)
{
	options->operand_count = (size_t)(separator - first);
	if (separator == argc)
		return;
	if (options->subject.kind == SUBJECT_PROGRAM) {
		options->subject_arguments = (const char *const *)argv + separator + 1;
		return;
	}
	for (int i = separator; i + 1 < argc; i++)
		argv[i] = argv[i + 1];
	options->operand_count += (size_t)(argc - separator - 1);
}

/* How long a program may be silent, with all other limits. */
static unsigned scaled(unsigned seconds, double scale)
{
	const double limit = ceil(seconds * scale);

	return limit > JOB_SECONDS_MOST ? JOB_SECONDS_MOST : (unsigned)limit;
}

void run_options_free(struct run_options *options)
{
	subject_free(&options->subject);
}

int run_options_parse(struct run_options *options, int argc, char **argv,
		      char *(*environment)(const char *name), struct error *err)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const int separator = find_separator(argc, argv);
	int first;

	*options = (struct run_options){
		.plan = {
			.image = GUEST_BARE,
			.jobs = cores < 1 ? 1 : cores > JOBS_MOST ? JOBS_MOST : (unsigned)cores,
			.pack = PACK_DEFAULT,
			.timeout_scale = 1,
		},
		.subject = { .kind = SUBJECT_DISPATCH, .name = "dispatch" },
		.silence = JOB_SECONDS_DEFAULT,
	};
	first = options_parse(run_option_rows, true, separator, argv, each_option, options, err);
	if (first < 0)
		return first;
	settle_rest(options, first, separator, argc, argv);
	options->silence = scaled(options->silence, options->plan.timeout_scale);
	if (settle_image(options, err) < 0)
		return OPTIONS_BAD;
	if (!options->plan.shards &&
	    shard_from_environment(&options->plan.shard, &options->plan.shards, environment, err) <
		    0)
		return OPTIONS_BAD;
	return first;
}
