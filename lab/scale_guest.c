// SPDX-License-Identifier: MIT
/* Boots the two sides of an A/B in turn: A B A B. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/payload.h"
#include "harness/judge/program.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "images/linux/cmdline.h"
#include "images/linux/job.h"
#include "lab/interrupt.h"
#include "lab/scale.h"

/* A task's region is touched whole, and the kernel has page tables for it. */
#define MEMORY_OF_TASK(mebibytes) ((mebibytes) + (mebibytes) / 64 + 4)

static int make_payload(struct scale *scale, struct error *err)
{
	CLEANUP_FREE char *program = path_image("subjects/scale");
	char seconds[16], tasks[16], warm_up[16], mebibytes[16];
	const char *arguments[] = { scale->workload, "-r", "-s",      seconds, "-t", tasks, "-w",
				    warm_up,	     "-b", mebibytes, NULL };

	snprintf(seconds, sizeof(seconds), "%u", scale->seconds);
	snprintf(tasks, sizeof(tasks), "%u", scale->tasks);
	snprintf(warm_up, sizeof(warm_up), "%u", scale->warm_up);
	snprintf(mebibytes, sizeof(mebibytes), "%u", scale->mebibytes);
	if (access(program, R_OK) < 0)
		return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", program,
				 strerror(errno));
	scale->payload = payload_new();
	payload_set_seconds(scale->payload, JOB_SECONDS_DEFAULT);
	return payload_add_program(scale->payload, program, arguments, err);
}

static int open_side(struct scale *scale, struct scale_side *side, struct error *err)
{
	const char *kernel = side->is_kernel ? side->words : scale->kernel;

	if (kernel && kernel_check(kernel, GUEST_LINUX, err) < 0)
		return -1;
	side->images.payload = scale->payload;
	if (images_find(&side->images, GUEST_LINUX, kernel, err) < 0)
		return -1;
	images_guard(&side->images);
	return 0;
}

static double value_of(const struct cell_program *program, const char *name)
{
	for (size_t i = 0; i < program->value_count; i++)
		if (!strcmp(program->values[i].name, name))
			return strtod(program->values[i].text, NULL);
	return -1;
}

static void keep_mitigation(struct scale_side *side, const struct cell_program *program)
{
	for (size_t i = 0; i < program->value_count; i++)
		if (!strcmp(program->values[i].name, "spectre_v2"))
			snprintf(side->mitigation, sizeof(side->mitigation), "%s",
				 program->values[i].text);
	/* A value is one word: the program wrote its blanks so. */
	for (char *blank = side->mitigation; (blank = strchr(blank, '_'));)
		*blank = ' ';
}

static int keep_sample(struct scale *scale, struct scale_side *side,
		       const struct cell_program *program, struct error *err)
{
	static const char *const names[SCALE_METRICS] = {
		[SCALE_PER_TASK_OPS] = "operations",
		[SCALE_TLB_SHOOTDOWNS] = "tlb_shootdowns",
		[SCALE_FUNCTION_CALLS] = "function_calls",
		[SCALE_RESCHEDULES] = "reschedules",
	};
	double operations = value_of(program, "operations");

	if (operations <= 0)
		return error_set(err, ERROR_LAB, "%s: the workload made no operation", side->name);
	for (unsigned metric = 0; metric < SCALE_METRICS; metric++) {
		double value = value_of(program, names[metric]);

		if (value < 0)
			return error_set(err, ERROR_LAB, "%s: the workload said nothing of %s",
					 side->name, names[metric]);
		side->samples[metric][side->count] = scale_metric_is_time(metric)
							     ? value / scale->seconds / scale->tasks
							     : value / operations;
	}
	keep_mitigation(side, program);
	side->count++;
	return 0;
}

static int read_guest(struct scale *scale, struct scale_side *side,
		      const struct guest_result *guest, struct error *err)
{
	const struct observation *observation = guest->reader ? report_cpu(guest->reader, 0) : NULL;
	struct program_lines *lines;
	char reason[256] = "";
	int status;

	if (guest->end != GUEST_FINISHED || !observation || !observation->done ||
	    !observation->program)
		return error_set(err, ERROR_LAB, "%s: the guest did not report: %s", side->name,
				 *guest->reason ? guest->reason : "it ended before");
	snprintf(side->release, sizeof(side->release), "%s", observation->version);
	lines = program_read(observation->program);
	if (program_verdict(reason, sizeof(reason), lines->facts, observation->program) !=
	    VERDICT_PASS)
		status = error_set(err, ERROR_LAB, "%s: the workload: %s", side->name, reason);
	else
		status = keep_sample(scale, side, lines->facts, err);
	program_free(lines);
	return status;
}

static int boot(struct scale *scale, struct scale_side *side, struct error *err)
{
	const struct realised *cpu = &scale->realised;
	CLEANUP_FREE char *cmdline =
		xasprintf("%s%s%s", LINUX_CMDLINE_KERNEL, side->is_kernel ? "" : " ",
			  side->is_kernel ? "" : side->words);
	const struct guest_request request = {
		.image = GUEST_LINUX,
		.kernel = side->images.kernel,
		.initrd = side->images.initrd,
		.cmdline = cmdline,
		.cpus = &cpu,
		.cpu_count = 1,
		.vcpus = scale->tasks,
		.memory_mib =
			LINUX_PROGRAM_MEMORY_MIB + scale->tasks * MEMORY_OF_TASK(scale->mebibytes),
		.program_seconds = JOB_SECONDS_DEFAULT * JOB_TOTAL_FACTOR,
		.timeout_scale = scale->timeout_scale,
	};
	struct guest_result guest = { 0 };
	int result;

	guest_boot(scale->connection, &request, &guest);
	result = guest.end == GUEST_INTERRUPTED ? error_set(err, ERROR_LAB, "interrupted")
						: read_guest(scale, side, &guest, err);
	guest_result_free(&guest);
	return result;
}

static int open_all(struct scale *scale, struct error *err)
{
	const struct connection_options options = {
		.uri = scale->lab->uri_count ? scale->lab->uris[0] : NULL,
		.accelerator = scale->accelerator,
	};

	if (cpu_tables_read(&scale->tables, err) < 0 ||
	    repro_target_read(&scale->target, scale->cpu, &scale->tables, err) < 0)
		return -1;
	scale->connection = connection_open(&options, err);
	if (!scale->connection)
		return -1;
	scale->connection_count = 1;
	if (!connection_hypervisor(scale->connection)->kvm) {
		/* Counts need no warm caches, and not many seconds. */
		scale->warm_up = 1;
		scale->seconds = scale->seconds_given ? scale->seconds : 2;
	}
	if (make_payload(scale, err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (open_side(scale, &scale->sides[i], err) < 0)
			return -1;
	return realise(&scale->realised, &scale->target.cpu, REALISE_LINUX,
		       connection_hypervisor(scale->connection), err);
}

int scale_run_guests(struct scale *scale, struct error *err)
{
	if (open_all(scale, err) < 0)
		return -1;
	for (unsigned turn = 0; turn < 2 * scale->repeats; turn++) {
		struct scale_side *side = &scale->sides[turn % 2];

		if (interrupt_signal())
			return error_set(err, ERROR_LAB, "interrupted after %u boots", turn);
		if (scale->lab->verbose)
			fprintf(stderr, "quirklab: boot %u of %u: %s\n", turn + 1,
				2 * scale->repeats, side->name);
		if (boot(scale, side, err) < 0)
			return -1;
	}
	return 0;
}
