/* SPDX-License-Identifier: MIT */
/* The options of `quirklab run`, read and checked before anything else happens. */
#ifndef QUIRKLAB_LAB_RUN_OPTIONS_H
#define QUIRKLAB_LAB_RUN_OPTIONS_H

#include "harness/guest/connection.h"
#include "harness/plan/plan.h"
#include "harness/report/report.h"
#include "lab/lab.h"
#include "lab/subject.h"

#define OUTPUTS_MAX 16

struct output_request {
	enum report_format format;
	const char *path; /* NULL: standard output */
};

struct run_options {
	struct plan_options plan; /* kernel: as given; NULL: the built or the newest one */
	bool image_given;
	const char *image_file; /* GUEST_DISK: as given */
	char disk_name[49];	/* its name, as the cells have it */
	struct subject subject; /* plan.kind, subject and beside are of it; owned */
	const char *libc;	/* --libc, or NULL */
	enum pmem { PMEM_MEMMAP, PMEM_NVDIMM } pmem; /* of --subject pmem */
	bool pmem_given;
	const char *const *subject_arguments; /* behind --, ends with NULL; of argv */
	unsigned silence;		      /* seconds that a program may write nothing */
	size_t operand_count;		      /* from the index on that run_options_parse returns */
	const char *emulator;
	enum accelerator accelerator;
	const char *results; /* NULL: a new folder, or latest */
	bool resume, strict, bisect;
	struct output_request outputs[OUTPUTS_MAX];
	size_t output_count;
	bool quiet; /* nothing on standard output but what was asked for */
};

/* Adds one --output FORMAT[:FILE]. */
int parse_output(struct run_options *options, const char *text, struct error *err);

/* environment: getenv, or a test's. Returns as options_parse does. *options points into itself: it
 * must not be moved. */
int run_options_parse(struct run_options *options, int argc, char **argv,
		      char *(*environment)(const char *name), struct error *err);
void run_options_free(struct run_options *options);

/*
 * The shard that the engine which runs the shards says in the environment: Slurm arrays
 * (SLURM_ARRAY_TASK_ID, _MIN, _STEP, and _COUNT or _MAX), Kubernetes indexed jobs
 * (JOB_COMPLETION_INDEX, from 0, with JOB_COMPLETIONS, which the job has to set), GitLab's parallel
 * (CI_NODE_INDEX, from 1, CI_NODE_TOTAL). *shards stays 0 where none does.
 */
int shard_from_environment(unsigned *shard, unsigned *shards,
			   char *(*environment)(const char *name), struct error *err);

#endif
