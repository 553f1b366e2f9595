// SPDX-License-Identifier: MIT
/* The life of one guest: created, resumed, watched, destroyed. */
#include <stddef.h>
#include <string.h>
#include <libvirt/virterror.h>

#include "harness/guest/boot_plan.h"
#include "harness/guest/connection_internal.h"
#include "harness/guest/deadline.h"
#include "harness/guest/disk.h"
#include "harness/guest/domain.h"
#include "harness/guest/guest.h"
#include "harness/guest/qemu_log.h"
#include "harness/guest/rack.h"
#include "harness/guest/watch.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"

#define SETTLE_TICK_US 20000
/* Of the work of others at most so much per core stretches the limits. */
#define LOAD_MOST 3

struct boot {
	struct connection *connection;
	const struct guest_request *request;
	struct guest_result *result;
	char name[64];
	char *pipes; /* of the embedded driver, else NULL */
	virDomainPtr domain;
	double created; /* when libvirt had created the domain */
	size_t plugged; /* CPUs of a Linux rack that are in it */
	struct watch watch;
};

static int open_port(struct boot *boot, enum watch_port port, struct error *err)
{
	static const char *const devices[WATCH_PORTS] = {
		[WATCH_CONSOLE] = "serial0",
		[WATCH_REPORT] = "serial1",
	};
	struct connection *connection = boot->connection;
	struct console *console;

	if (boot->pipes) {
		CLEANUP_FREE char *path = xasprintf("%s.%d", boot->pipes, (int)port);

		console = console_pipe_open(path, watch_sinks[port], &boot->watch, err);
	} else {
		console = console_stream_open(connection->libvirt, boot->domain, devices[port],
					      watch_sinks[port], &boot->watch,
					      &connection->consoles, err);
	}
	boot->watch.ports[port] = console;
	return console ? 0 : -1;
}

static int open_ports(struct boot *boot, struct error *err)
{
	for (int i = 0; i < WATCH_PORTS; i++)
		if (open_port(boot, i, err) < 0)
			return -1;
	return 0;
}

static int create_domain(struct boot *boot, struct error *err)
{
	struct connection *connection = boot->connection;
	const struct guest_request *request = boot->request;
	CLEANUP_FREE char *xml = NULL;
	unsigned flags = VIR_DOMAIN_START_PAUSED;

	if (request->disk) {
		boot->result->overlay = disk_overlay(request->disk, boot->name, err);
		if (!boot->result->overlay)
			return -1;
	}
	xml = boot_plan_xml(connection, request, boot->name, boot->pipes, boot->result->overlay,
			    err);
	if (!xml)
		return -1;
	if (boot->pipes && open_ports(boot, err) < 0)
		return -1;
	/* The embedded driver refuses it: it has no client that could go away. */
	if (!connection->root.path)
		flags |= VIR_DOMAIN_START_AUTODESTROY;
	boot->domain = virDomainCreateXML(connection->libvirt, xml, flags);
	if (!boot->domain)
		return error_set(err, ERROR_LAB, "libvirt does not start the guest: %s",
				 virGetLastErrorMessage());
	boot->created = clock_seconds();
	if (!boot->pipes && open_ports(boot, err) < 0)
		return -1;
	return 0;
}

/* A pty is not safe at first, see console.h. */
static void settle(const struct boot *boot)
{
	const double until = boot->created + CONSOLE_STREAM_SETTLES;

	while (!boot->pipes && clock_seconds() < until &&
	       !atomic_load(&boot->connection->interrupted))
		usleep(SETTLE_TICK_US);
}

static int resume(struct boot *boot, struct error *err)
{
	pthread_mutex_lock(&boot->watch.lock);
	watchdog_resume(&boot->watch.watchdog, clock_seconds());
	pthread_mutex_unlock(&boot->watch.lock);
	if (virDomainResume(boot->domain) < 0)
		return error_set(err, ERROR_LAB, "libvirt does not resume the guest: %s",
				 virGetLastErrorMessage());
	return 0;
}

/* From nothing to a running guest. */
static int create(struct boot *boot, struct error *err)
{
	const struct guest_request *request = boot->request;
	const double begin = clock_seconds();
	int result = create_domain(boot, err);

	if (!result && domain_is_rack(request) && request->image == GUEST_BARE)
		result = rack_plug(boot->domain, request->cpus, 0, request->cpu_count, err);
	if (!result)
		settle(boot);
	boot->result->create = clock_seconds() - begin;
	return result < 0 ? -1 : resume(boot, err);
}

static int create_in_time(struct boot *boot, struct error *err)
{
	const char *root = boot->connection->root.path;
	int deadline = -1;
	int result;

	if (root)
		deadline = deadline_set(root, boot->name, boot->watch.watchdog.create);
	result = create(boot, err);
	deadline_cancel(deadline);
	return result;
}

static void limit(struct boot *boot)
{
	double system = 0;
	unsigned guests = atomic_load(&boot->connection->running);
	struct watchdog_load load = {
		.timeout_scale = boot->request->timeout_scale,
		.kvm = boot->connection->hypervisor.kvm,
		.cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
	};

	/* Others may be at work on this machine too; within reason, or a hung guest would take for
	 * ever. */
	if (boot->connection->local && getloadavg(&system, 1) == 1) {
		if (system > LOAD_MOST * load.cores)
			system = LOAD_MOST * load.cores;
		if (system > guests)
			guests = (unsigned)system;
	}
	load.guests = guests;
	watchdog_start(&boot->watch.watchdog, boot->request, &load);
}

/* Of a guest that finished, QEMU has said what it had to say; of another, its last words count. */
static void destroy(struct boot *boot)
{
	struct connection *connection = boot->connection;
	char *log = qemu_log_path(connection, boot->name);

	watch_stop(&boot->watch);
	if (boot->domain && boot->result->end == GUEST_FINISHED) {
		qemu_log_read(log, &boot->result->qemu);
		undertaker_take(connection->undertaker, boot->domain, log);
		return;
	}
	if (boot->domain) {
		if (virDomainDestroy(boot->domain) < 0)
			virResetLastError(); /* it was gone already */
		virDomainFree(boot->domain);
	}
	qemu_log_read(log, &boot->result->qemu);
	if (log)
		unlink(log);
	free(log);
}

/* The CPUs that a Linux rack waits for. */
static int plug_wanted(struct watch *watch, struct error *err)
{
	struct boot *boot = (struct boot *)((char *)watch - offsetof(struct boot, watch));
	size_t upto;

	pthread_mutex_lock(&watch->lock);
	upto = report_wanted(watch->result->reader);
	pthread_mutex_unlock(&watch->lock);
	if (upto)
		upto += RACK_AHEAD;
	if (upto > boot->request->cpu_count)
		upto = boot->request->cpu_count;
	if (upto <= boot->plugged)
		return 0;
	if (rack_plug(boot->domain, boot->request->cpus, boot->plugged, upto, err) < 0)
		return -1;
	boot->plugged = upto;
	return 0;
}

static void run(struct boot *boot)
{
	struct error err = { 0 };
	bool stopped;
	double ending;

	if (atomic_load(&boot->connection->interrupted)) {
		watch_end_as(&boot->watch, GUEST_INTERRUPTED, "interrupted");
		return;
	}
	limit(boot);
	if (domain_is_rack(boot->request) && boot->request->image == GUEST_LINUX)
		boot->watch.attend = plug_wanted;
	if (create_in_time(boot, &err) == 0)
		watch_until_end(&boot->watch);
	else
		watch_end_as(&boot->watch, GUEST_ERROR, "%s", err.text);
	ending = clock_seconds();
	stopped = watch_stopped(&boot->watch);
	destroy(boot);
	if (boot->result->end == GUEST_CRASHED && stopped && !boot->result->reason[0])
		watch_explain_crash(&boot->watch);
	boot->result->destroy = clock_seconds() - ending;
}

void guest_boot(struct connection *connection, const struct guest_request *request,
		struct guest_result *result)
{
	struct boot boot = { .connection = connection, .request = request, .result = result };

	*result = (struct guest_result){ 0 };
	/* The CPU numbers of a report: 0 alone, 1 to N in a rack. */
	result->reader = report_reader_new(request->cpu_count + 1);
	snprintf(boot.name, sizeof(boot.name), "%s%u", connection->prefix,
		 atomic_fetch_add(&connection->next, 1) + 1);
	if (connection->root.path)
		boot.pipes = xasprintf("%s/%s", connection->root.path, boot.name);
	atomic_fetch_add(&connection->running, 1);
	watch_start(&boot.watch, connection, request, boot.name, result);
	run(&boot);
	watch_free(&boot.watch);
	atomic_fetch_sub(&connection->running, 1);
	free(boot.pipes);
}

void guest_result_free(struct guest_result *result)
{
	report_reader_free(result->reader);
	text_free(&result->report);
	text_free(&result->console);
	text_free(&result->qemu);
	text_free(&result->logs);
	if (result->overlay)
		unlink(result->overlay);
	free(result->overlay);
	*result = (struct guest_result){ 0 };
}
