// SPDX-License-Identifier: MIT
/* quirklab repro: a guest that presents the CPU of a report, and what its dispatcher picks there.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "lab/cpus.h"
#include "lab/interrupt.h"
#include "lab/repro.h"

/* Everything that one call of the command holds. */
struct repro {
	const struct lab *lab;
	struct repro_options options;
	struct cpu_tables tables;
	struct expectations *expectations;
	struct repro_target target, other; /* other: of --against */
	struct repro_expected expected;
	struct repro_guest guest;
	size_t connections; /* 0 or 1: what a signal has to interrupt */
	struct realised realised;
	struct text notes;
	char *name;  /* of a domain for people, and of its files */
	char *place; /* of a printed guest's initramfs */
};

/* CONTRACT, Verdicts. */
static int exit_status(const struct repro_options *options, enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_PASS:
		return STATUS_OK;
	case VERDICT_MISMATCH:
	case VERDICT_SKIP:
		return options->strict ? STATUS_FAIL : STATUS_OK;
	case VERDICT_ERROR:
		return STATUS_LAB;
	default:
		return STATUS_FAIL;
	}
}

/* --- what needs no hypervisor goes first
 * ---------------------------------------------------------- */

static int read_input(struct repro *repro, const char *word, struct error *err)
{
	if (cpu_tables_read(&repro->tables, err) < 0 ||
	    expectations_read(&repro->expectations, "dispatch", NULL, err) < 0 ||
	    repro_target_read(&repro->target, word, &repro->tables, err) < 0)
		return -1;
	if (repro->options.against &&
	    repro_target_read(&repro->other, repro->options.against, &repro->tables, err) < 0)
		return -1;
	repro->name = repro_name(&repro->target.cpu);
	repro->place = xasprintf("%s.initramfs", repro->name);
	repro_expect(&repro->expected, &repro->target, repro->expectations);
	return 0;
}

static int open_guest(struct repro *repro, struct error *err)
{
	struct repro_guest *guest = &repro->guest;
	const struct cpu_list target = { .cpus = &repro->target.cpu, .count = 1 };
	const struct connection_options where = {
		.uri = repro->lab->uri_count ? repro->lab->uris[0] : NULL,
		.emulator = repro->options.emulator,
		.accelerator = repro->options.accelerator,
	};

	if (repro->options.action == REPRO_PRINT_XML || repro->options.action == REPRO_PRINT_QEMU)
		guest->images.place = repro->place;
	if (repro->options.action == REPRO_SHELL || repro->options.action == REPRO_KEEP)
		guest->images.write = repro_shell_initramfs;
	guest->image = repro->options.image;
	guest->timeout_scale = repro->options.timeout_scale;
	if (images_find(&guest->images, guest->image, repro->options.kernel, err) < 0)
		return -1;
	guest->connection = connection_open(&where, err);
	if (!guest->connection)
		return -1;
	repro->connections = 1;
	images_guard(&guest->images);
	if (cpus_check_models(&target, guest->connection, err) < 0 ||
	    guest_ask_cpu(guest->connection, &guest->hypervisor, err) < 0)
		return -1;
	return realise_dump(&repro->realised, &repro->target.cpu, &repro->target.dump.cpus[0],
			    guest->image == GUEST_LINUX ? REALISE_LINUX : REALISE_BARE,
			    &guest->hypervisor, &repro->notes, err);
}

/* --- the guest -----------------------------------------------------------------------------------
 */

static int boot(struct repro *repro, double started)
{
	CLEANUP_FREE struct cell_result *result = xcalloc(1, sizeof(*result));
	CLEANUP_TEXT struct text out = { 0 };
	struct summary summary = { .cells = 1 };
	struct cpuid_dump seen = { 0 };
	const struct repro_story story = {
		.target = &repro->target,
		.expected = &repro->expected,
		.guest = &repro->guest,
		.realised = &repro->realised,
		.notes = &repro->notes,
		.result = result,
		.seen = &seen,
		.expectations = repro->expectations,
		.verbose = repro->lab->verbose,
	};
	int status;

	repro_boot(result, &seen, &repro->guest, &repro->target.cpu, &repro->realised,
		   repro->expectations, &repro->expected);
	repro_write(&out, &story);
	summary_add(&summary, result);
	summary.seconds = clock_seconds() - started;
	summary_write(&out, &summary);
	text_addf(&out, "\n");
	fwrite(out.bytes, 1, out.length, stdout);
	status = exit_status(&repro->options, result->verdict);
	cell_result_free(result);
	cpuid_free(&seen);
	return status;
}

static int compare(struct repro *repro, struct error *err)
{
	const struct repro_against against = {
		.a = &repro->target,
		.b = &repro->other,
		.operation = repro->options.operation,
		.guest = repro->options.no_boot ? NULL : &repro->guest,
		.expectations = repro->expectations,
	};
	enum verdict worst;

	if (repro_against(&against, &worst, err) < 0)
		return lab_fail(err);
	return exit_status(&repro->options, worst);
}

static int act(struct repro *repro, double started, struct error *err)
{
	if (repro->options.against)
		return compare(repro, err);
	switch (repro->options.action) {
	case REPRO_PRINT_XML:
	case REPRO_PRINT_QEMU:
		if (repro_print(&repro->options, &repro->guest, &repro->target.cpu,
				&repro->realised, err) < 0)
			return lab_fail(err);
		repro_print_notes(&repro->notes);
		return STATUS_OK;
	case REPRO_SHELL:
		repro_print_notes(&repro->notes);
		return repro_shell(&repro->guest, &repro->realised, err) < 0 ? lab_fail(err)
									     : STATUS_OK;
	case REPRO_KEEP:
		repro_print_notes(&repro->notes);
		return repro_keep(&repro->guest, &repro->target.cpu, &repro->realised, err) < 0
			       ? lab_fail(err)
			       : STATUS_OK;
	case REPRO_GDB:
		repro_print_notes(&repro->notes);
		return repro_gdb(&repro->guest, &repro->realised, err) < 0 ? lab_fail(err)
									   : STATUS_OK;
	default:
		return boot(repro, started);
	}
}

static void release(struct repro *repro)
{
	images_free(&repro->guest.images);
	connection_close(repro->guest.connection);
	realised_free(&repro->realised);
	text_free(&repro->notes);
	free(repro->name);
	free(repro->place);
	repro_target_free(&repro->target);
	repro_target_free(&repro->other);
	expectations_free(repro->expectations);
	cpu_tables_free(&repro->tables);
	free(repro);
}

int command_repro(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct repro *repro = xcalloc(1, sizeof(*repro));
	double started = clock_seconds();
	struct error err = { 0 };
	int first, status;

	repro->lab = lab;
	first = repro_options_parse(&repro->options, argc, argv, &err);
	if (first < 0) {
		free(repro);
		return lab_stop(command, first, &err);
	}
	signal(SIGPIPE, SIG_IGN); /* a reader that goes away must not leave a guest behind */
	interrupt_catch(&repro->guest.connection, &repro->connections);
	if (read_input(repro, argv[first], &err) < 0 ||
	    (!repro->options.no_boot && open_guest(repro, &err) < 0))
		status = lab_fail(&err);
	else
		status = act(repro, started, &err);
	interrupt_forget();
	if (interrupt_signal())
		status = 128 + interrupt_signal();
	release(repro);
	return status;
}
