// SPDX-License-Identifier: MIT
/* quirklab run: everything that can be wrong with the input is found first; then guests boot. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "lab/cpus.h"
#include "lab/images.h"
#include "lab/interrupt.h"
#include "lab/outputs.h"

struct run {
	struct lab *lab;
	struct run_options options;
	struct cpu_tables tables;
	struct cpu_list cpus;
	struct plan plan;
	struct connection *connections[LAB_URIS_MAX];
	size_t connection_count;
	struct images images;
	struct results *results;
	struct outputs *outputs;
	struct summary summary;
	double started;
};

/* --- before anything boots -----------------------------------------------------------------------
 */

static int check_file(const char *option, const char *path, int mode, struct error *err)
{
	struct stat st;

	if (!path)
		return 0;
	if (stat(path, &st) < 0 || access(path, mode) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s: %s", option, path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s: %s is no file", option, path);
	return 0;
}

static int check_expectations(const struct plan_options *plan, struct error *err)
{
	if (plan->kind == SUBJECT_PROGRAM)
		return expectations_check_program(plan->beside, plan->subject, err);
	return expectations_check(plan->subject, err);
}

static int check_input(struct run *run, struct error *err)
{
	const struct plan_options *plan = &run->options.plan;

	if (run->options.pmem == PMEM_NVDIMM && run->lab->uri_count)
		return error_set(err, ERROR_INPUT,
				 "--pmem nvdimm: its file is this run's own, not one of a "
				 "connection given with -c");
	if ((plan->image == GUEST_DISK && disk_check(run->options.image_file, err) < 0) ||
	    check_file("--kernel", plan->kernel, R_OK, err) < 0 ||
	    (plan->kernel && kernel_check(plan->kernel, plan->image, err) < 0) ||
	    check_file("--emulator", run->options.emulator, X_OK, err) < 0 ||
	    outputs_check(&run->options, err) < 0 || check_expectations(plan, err) < 0 ||
	    subject_pack(&run->options.subject, run->options.subject_arguments,
			 run->options.silence, err) < 0)
		return -1;
	run->options.plan.payload = run->options.subject.payload;
	run->options.plan.silence = run->options.silence;
	return cpu_tables_read(&run->tables, err);
}

static int make_plan(struct run *run, char *const *specs, size_t count, struct error *err)
{
	struct connection *first = run->connection_count ? run->connections[0] : NULL;

	if (cpus_collect(&run->cpus, &run->tables, specs, count, first, err) < 0)
		return -1;
	return plan_make(&run->plan, &run->cpus, &run->options.plan, err);
}

static int open_connections(struct run *run, struct error *err)
{
	size_t count = run->lab->uri_count ? run->lab->uri_count : 1;

	for (size_t i = 0; i < count; i++) {
		struct connection_options options = {
			.uri = run->lab->uri_count ? run->lab->uris[i] : NULL,
			.emulator = run->options.emulator,
			.accelerator = run->options.accelerator,
		};
		struct connection *connection = connection_open(&options, err);

		if (!connection)
			return -1;
		run->connections[run->connection_count++] = connection;
	}
	images_guard(&run->images);
	return 0;
}

static int find_images(struct run *run, struct error *err)
{
	struct plan_options *plan = &run->options.plan;

	if (plan->image == GUEST_DISK)
		return 0; /* its preparation is half a minute's work: at the end */
	run->images.payload = plan->payload;
	run->images.unpack = plan->kind == SUBJECT_KERNEL && !plan->full_boot;
	run->images.with_racks = plan->kind == SUBJECT_PROGRAM && plan->pack > 1;
	run->images.with_nvdimm = run->options.pmem == PMEM_NVDIMM;
	if (images_find(&run->images, plan->image, plan->kernel, err) < 0)
		return -1;
	plan->nvdimm = run->images.nvdimm;
	plan->kernel = run->images.kernel;
	plan->unpacked = run->images.unpacked;
	plan->initrd = run->images.initrd;
	plan->rack_initrd = run->images.rack_initrd;
	return 0;
}

/* A CPU that no guest can be (no long mode, a vendor that is not printable) is told before any
 * boots. */
static int check_cpus(struct run *run, struct error *err)
{
	const struct hypervisor *hypervisor = connection_hypervisor(run->connections[0]);
	const enum realise_guest guest =
		run->options.plan.image == GUEST_BARE ? REALISE_BARE : REALISE_LINUX;

	for (size_t i = 0; i < run->cpus.count; i++) {
		CLEANUP_FREE struct realised *realised = xcalloc(1, sizeof(*realised));
		int result = realise(realised, &run->cpus.cpus[i], guest, hypervisor, err);

		realised_free(realised);
		if (result < 0)
			return -1;
	}
	return 0;
}

/* Of all connections the first tells whether it can be used: the files are of this machine. */
static int prepare_disk(struct run *run, struct error *err)
{
	struct plan_options *plan = &run->options.plan;
	const struct disk *disk = &run->images.disk;

	if (plan->image != GUEST_DISK)
		return 0;
	if (images_find_disk(&run->images, run->options.image_file, plan, run->connections[0],
			     err) < 0)
		return -1;
	plan->disk = disk->image;
	plan->kernel = disk->kernel;
	plan->initrd = disk->initrd;
	plan->root = disk->words;
	if (run->lab->verbose)
		fprintf(stderr, "quirklab: %s: %s, kernel %s\n", run->options.image_file,
			disk->system, disk->release);
	return 0;
}

static int prepare(struct run *run, char *const *specs, size_t count, struct error *err)
{
	bool models = cpus_want_models(specs, count);

	/* Whatever needs no hypervisor goes first: a wrong name is told at once. */
	if (check_input(run, err) < 0 || (!models && make_plan(run, specs, count, err) < 0) ||
	    find_images(run, err) < 0 || open_connections(run, err) < 0 ||
	    (models && make_plan(run, specs, count, err) < 0) ||
	    cpus_check_models(&run->cpus, run->connections[0], err) < 0 ||
	    check_cpus(run, err) < 0 || prepare_disk(run, err) < 0)
		return -1;
	run->results = results_open(run->options.results, run->options.resume, &run->plan, err);
	if (!run->results)
		return -1;
	run->outputs = outputs_open(&run->options,
				    &(struct report_options){
					    .planned = run->plan.count,
					    .verbose = run->lab->verbose,
					    .folder = results_path(run->results),
				    },
				    err);
	return run->outputs ? 0 : -1;
}

/* --- the run -------------------------------------------------------------------------------------
 */

static void earlier_cell(void *context, const struct cell_result *result)
{
	struct run *run = context;

	outputs_earlier(run->outputs, result);
}

static void each_cell(void *context, const struct cell_result *result)
{
	struct run *run = context;

	outputs_cell(run->outputs, result);
}

static bool stopped(void *context)
{
	(void)context;
	return interrupt_signal() != 0;
}

static int work(struct run *run, struct error *err)
{
	const struct schedule_events events = { .context = run,
						.cell = each_cell,
						.stop = stopped };
	struct error end = { 0 };
	int result = 0;

	if (run->lab->verbose)
		fprintf(stderr, "quirklab: %zu cells, results in %s; QEMU %s, libvirt %s, %s\n",
			run->plan.count, results_path(run->results),
			connection_qemu_text(run->connections[0]),
			connection_libvirt_text(run->connections[0]),
			connection_hypervisor(run->connections[0])->kvm ? "kvm" : "tcg");
	if (run->options.resume)
		result = results_each(run->results, earlier_cell, run, err);
	if (result == 0) {
		outputs_start(run->outputs);
		result = schedule_run(&run->plan, &run->options.plan, run->connections,
				      run->connection_count, run->results, &events, err);
	}
	run->summary.seconds = clock_seconds() - run->started;
	if (outputs_close(run->outputs, &run->summary, &end) < 0 && result == 0) {
		result = -1;
		*err = end;
	}
	run->outputs = NULL;
	return result;
}

/* CONTRACT, Verdicts. failed: the lab could not work. */
static int exit_status(const struct run_options *options, const struct summary *summary,
		       bool failed)
{
	const size_t *count = summary->count;

	if (options->bisect) {
		if (count[VERDICT_FAIL])
			return STATUS_FAIL;
		return !failed && count[VERDICT_PASS] == summary->cells ? STATUS_OK
									: STATUS_BISECT_SKIP;
	}
	if (count[VERDICT_FAIL] || count[VERDICT_HUNG] || count[VERDICT_CRASHED])
		return STATUS_FAIL;
	if (options->strict && (count[VERDICT_MISMATCH] || count[VERDICT_SKIP]))
		return STATUS_FAIL;
	return failed || count[VERDICT_ERROR] ? STATUS_LAB : STATUS_OK;
}

static void release(struct run *run)
{
	images_free(&run->images);
	for (size_t i = 0; i < run->connection_count; i++)
		connection_close(run->connections[i]);
	results_close(run->results);
	plan_free(&run->plan);
	cpu_list_free(&run->cpus);
	cpu_tables_free(&run->tables);
	run_options_free(&run->options);
	free(run);
}

/* Bad input has its own status; git bisect would take 2 for a bad commit. */
static int refused(const struct run_options *options, const struct error *err)
{
	int status = lab_fail(err);

	return options->bisect ? STATUS_BISECT_SKIP : status;
}

int command_run(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct run *run = xcalloc(1, sizeof(*run));
	struct error err = { 0 };
	bool failed;
	int first, status;

	run->lab = lab;
	run->started = clock_seconds();
	first = run_options_parse(&run->options, argc, argv, getenv, &err);
	if (first < 0) {
		status = first == OPTIONS_BAD ? refused(&run->options, &err)
					      : lab_stop(command, first, &err);
		release(run);
		return status;
	}
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away must not leave guests behind */
	interrupt_catch(run->connections, &run->connection_count);
	if (prepare(run, argv + first, run->options.operand_count, &err) < 0) {
		status = refused(&run->options, &err);
	} else {
		failed = work(run, &err) < 0;
		if (failed)
			lab_fail(&err);
		if (failed && interrupt_signal())
			fprintf(stderr, "quirklab: go on with --resume --results %s\n",
				results_path(run->results));
		status = exit_status(&run->options, &run->summary, failed);
	}
	interrupt_forget();
	if (interrupt_signal())
		status = 128 + interrupt_signal();
	release(run);
	return status;
}
