// SPDX-License-Identifier: MIT
/* The life of one guest: started, watched, ended. */
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <libvirt/virterror.h>

#include "harness/guest/boot_plan.h"
#include "harness/guest/clock.h"
#include "harness/guest/connection_internal.h"
#include "harness/guest/console.h"
#include "harness/guest/domain.h"
#include "harness/guest/guest.h"
#include "harness/guest/qemu_log.h"
#include "harness/guest/rack.h"
#include "harness/guest/undertaker.h"
#include "harness/guest/watchdog.h"
#include "harness/util/cleanup.h"

/* How often a waiting boot looks at the clock and at the interrupt. */
#define TICK_SECONDS 0.05
/* How often pipes are read: a guest of 50 ms should not wait long for its end to be seen. */
#define PIPE_TICK_SECONDS 0.003
/* How long after QEMU's end the last bytes of its ports may take. */
#define DRAIN_SECONDS 1.0

enum port { PORT_CONSOLE, PORT_REPORT, PORTS };

struct boot {
	struct lifecycle_listener listener;
	struct connection *connection;
	const struct guest_request *request;
	struct guest_result *result;
	char name[64];
	virDomainPtr domain;
	char *pipes;	/* of the embedded driver, else NULL */
	double created; /* when libvirt had created the domain */
	struct console *consoles[PORTS];

	pthread_mutex_t lock; /* of all below, and of the result's texts and reader */
	pthread_cond_t changed;
	struct watchdog watchdog;
	double last_frame;
	bool closed[PORTS];
	bool panicked;
	bool stopped; /* the domain ended by itself, how: */
	int event, detail;
};

/* --- in libvirt's event thread, or, of a pipe, in that of the caller ---------------------------
 */

static void keep(struct text *text, const void *bytes, size_t length, size_t most)
{
	if (text->length >= most)
		return;
	if (length > most - text->length)
		length = most - text->length;
	text_add(text, bytes, length);
}

static void report_bytes(void *opaque, const void *bytes, size_t length)
{
	struct boot *boot = opaque;
	size_t frames;

	pthread_mutex_lock(&boot->lock);
	if (length) {
		keep(&boot->result->report, bytes, length, WATCHDOG_REPORT_MOST);
		frames = report_feed(boot->result->reader, bytes, length);
		watchdog_report(&boot->watchdog, length, frames, clock_seconds());
		if (frames)
			boot->last_frame = clock_seconds();
		if (report_ended(boot->result->reader) ||
		    boot->watchdog.report_bytes > WATCHDOG_REPORT_MOST)
			pthread_cond_signal(&boot->changed);
	} else {
		boot->closed[PORT_REPORT] = true;
		pthread_cond_signal(&boot->changed);
	}
	pthread_mutex_unlock(&boot->lock);
}

/* The line goes on after these words; it is complete with its newline. */
static bool shows_panic(const struct text *console, size_t from)
{
	static const char words[] = "Kernel panic - not syncing";
	const char *found;

	from = from > sizeof(words) ? from - sizeof(words) : 0;
	if (from >= console->length)
		return false;
	found = memmem(console->bytes + from, console->length - from, words, strlen(words));
	return found != NULL;
}

static void console_bytes(void *opaque, const void *bytes, size_t length)
{
	struct boot *boot = opaque;
	struct text *console = &boot->result->console;
	size_t before;

	pthread_mutex_lock(&boot->lock);
	if (length) {
		before = console->length;
		keep(console, bytes, length, WATCHDOG_CONSOLE_MOST);
		watchdog_console(&boot->watchdog, length, clock_seconds());
		if (boot->request->image == GUEST_LINUX && !boot->panicked &&
		    shows_panic(console, before)) {
			boot->panicked = true;
			pthread_cond_signal(&boot->changed);
		}
	} else {
		boot->closed[PORT_CONSOLE] = true;
		pthread_cond_signal(&boot->changed);
	}
	pthread_mutex_unlock(&boot->lock);
}

static void lifecycle_event(struct lifecycle_listener *listener, int event, int detail)
{
	struct boot *boot = (struct boot *)listener; /* its first member */
	bool ends = event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_SHUTDOWN ||
		    event == VIR_DOMAIN_EVENT_CRASHED;

	pthread_mutex_lock(&boot->lock);
	if (ends && !boot->stopped) {
		boot->stopped = true;
		boot->event = event;
		boot->detail = detail;
		pthread_cond_signal(&boot->changed);
	}
	pthread_mutex_unlock(&boot->lock);
}

/* --- in the thread of the caller ----------------------------------------------------------------
 */

static void end_as(struct boot *boot, enum guest_end end, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void end_as(struct boot *boot, enum guest_end end, const char *format, ...)
{
	char raw[sizeof(boot->result->reason)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(raw, sizeof(raw), format, arguments);
	va_end(arguments);
	boot->result->end = end;
	text_printable(boot->result->reason, sizeof(boot->result->reason), raw, strlen(raw));
}

/* Waits until something changed, or for a tick. The lock is held. */
static void wait_change(struct boot *boot)
{
	const bool pipes = boot->connection->root.path;
	double at = clock_seconds() + (pipes ? PIPE_TICK_SECONDS : TICK_SECONDS);
	struct timespec until;

	until.tv_sec = (time_t)at;
	until.tv_nsec = (long)((at - (double)until.tv_sec) * 1e9);
	pthread_cond_timedwait(&boot->changed, &boot->lock, &until);
	if (!pipes)
		return;
	pthread_mutex_unlock(&boot->lock);
	for (int i = 0; i < PORTS; i++)
		boot->consoles[i]->read(boot->consoles[i]);
	pthread_mutex_lock(&boot->lock);
}

static int open_port(struct boot *boot, enum port port, struct error *err)
{
	static const struct {
		const char *device;
		console_sink *sink;
	} ports[PORTS] = {
		[PORT_CONSOLE] = { "serial0", console_bytes },
		[PORT_REPORT] = { "serial1", report_bytes },
	};
	struct connection *connection = boot->connection;
	struct console *console;

	if (boot->pipes) {
		CLEANUP_FREE char *path = xasprintf("%s.%d", boot->pipes, (int)port);

		console = console_pipe_open(path, ports[port].sink, boot, err);
	} else {
		console = console_stream_open(connection->libvirt, boot->domain, ports[port].device,
					      ports[port].sink, boot, &connection->consoles, err);
	}
	boot->consoles[port] = console;
	return console ? 0 : -1;
}

static int open_ports(struct boot *boot, struct error *err)
{
	for (int i = 0; i < PORTS; i++)
		if (open_port(boot, i, err) < 0)
			return -1;
	return 0;
}

static int create(struct boot *boot, struct error *err)
{
	struct connection *connection = boot->connection;
	const struct guest_request *request = boot->request;
	CLEANUP_FREE char *xml = boot_plan_xml(connection, request, boot->name, boot->pipes, err);
	unsigned flags = VIR_DOMAIN_START_PAUSED;

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
	if (domain_is_rack(request))
		return rack_plug(boot->domain, request->cpus, request->cpu_count, err);
	return 0;
}

/* A pty is not safe at first, see console.h. */
static void settle(struct boot *boot)
{
	const double until = boot->created + CONSOLE_STREAM_SETTLES;

	while (!boot->pipes && clock_seconds() < until &&
	       !atomic_load(&boot->connection->interrupted))
		usleep((useconds_t)(TICK_SECONDS * 1e6));
}

static void start_watchdog(struct boot *boot)
{
	const struct watchdog_load load = {
		.timeout_scale = boot->request->timeout_scale,
		.kvm = boot->connection->hypervisor.kvm,
		.guests = atomic_load(&boot->connection->running),
		.cores = (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
	};

	pthread_mutex_lock(&boot->lock);
	watchdog_start(&boot->watchdog, boot->request, &load, clock_seconds());
	pthread_mutex_unlock(&boot->lock);
}

/* The line of the console that tells of the panic. The lock is held. */
static void panic_line(const struct boot *boot, char *out, size_t room)
{
	const struct text *console = &boot->result->console;
	const char *line = strstr(text_string(console), "Kernel panic");

	snprintf(out, room, "kernel panic");
	if (line)
		text_printable(out, room, line, strcspn(line, "\r\n"));
}

/* The lock is held. True where the guest is at its end, of whatever kind. */
static bool judge_end(struct boot *boot)
{
	char words[256];

	if (report_ended(boot->result->reader)) {
		boot->result->end = GUEST_FINISHED;
		return true;
	}
	if (atomic_load(&boot->connection->interrupted)) {
		end_as(boot, GUEST_INTERRUPTED, "interrupted");
		return true;
	}
	if (atomic_load(&boot->connection->lifecycle.lost)) {
		end_as(boot, GUEST_ERROR, "the connection to %s was lost", boot->connection->uri);
		return true;
	}
	if (boot->panicked) {
		panic_line(boot, words, sizeof(words));
		end_as(boot, GUEST_CRASHED, "%s", words);
		return true;
	}
	if (boot->stopped) {
		boot->result->end = GUEST_CRASHED; /* the reason comes with QEMU's log */
		return true;
	}
	if (watchdog_bites(&boot->watchdog, clock_seconds(), words, sizeof(words))) {
		end_as(boot, GUEST_HUNG, "%s", words);
		return true;
	}
	return false;
}

static bool drained(const struct boot *boot)
{
	return boot->closed[PORT_CONSOLE] && boot->closed[PORT_REPORT];
}

static void watch(struct boot *boot)
{
	double stopped;

	pthread_mutex_lock(&boot->lock);
	while (!judge_end(boot))
		wait_change(boot);
	/* It may have sent its last words, even its REPORT_END, just before. */
	stopped = clock_seconds();
	while (boot->stopped && !drained(boot) && !report_ended(boot->result->reader) &&
	       clock_seconds() - stopped < DRAIN_SECONDS)
		wait_change(boot);
	if (boot->result->end == GUEST_CRASHED && report_ended(boot->result->reader)) {
		boot->result->end = GUEST_FINISHED;
		boot->result->reason[0] = '\0';
	}
	pthread_mutex_unlock(&boot->lock);
}

static void run(struct boot *boot)
{
	double begin = clock_seconds();

	start_watchdog(boot);
	if (virDomainResume(boot->domain) < 0) {
		end_as(boot, GUEST_ERROR, "libvirt does not resume the guest: %s",
		       virGetLastErrorMessage());
		return;
	}
	watch(boot);
	boot->result->guest =
		(boot->last_frame > begin ? boot->last_frame : clock_seconds()) - begin;
}

static void crash_reason(struct boot *boot)
{
	char words[256];

	if (boot->event == VIR_DOMAIN_EVENT_SHUTDOWN ||
	    (boot->event == VIR_DOMAIN_EVENT_STOPPED &&
	     boot->detail == VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN)) {
		end_as(boot, GUEST_CRASHED,
		       "triple fault or reset: the guest ended before its report did");
		return;
	}
	if (boot->event == VIR_DOMAIN_EVENT_STOPPED &&
	    boot->detail == VIR_DOMAIN_EVENT_STOPPED_DESTROYED) {
		end_as(boot, GUEST_ERROR, "somebody else destroyed the domain %s", boot->name);
		return;
	}
	qemu_log_last_words(&boot->result->qemu, words, sizeof(words));
	end_as(boot, GUEST_CRASHED, "QEMU died%s%s", words[0] ? ": " : "", words);
}

/* Of a guest that finished, QEMU has said what it had to say; of another, its last words count. */
static void destroy(struct boot *boot)
{
	struct connection *connection = boot->connection;
	char *log = qemu_log_path(connection, boot->name);

	lifecycle_unlisten(&connection->lifecycle, &boot->listener);
	for (int i = 0; i < PORTS; i++) {
		if (boot->consoles[i])
			boot->consoles[i]->close(boot->consoles[i]);
	}
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

static void prepare(struct boot *boot)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&boot->lock, NULL);
	pthread_cond_init(&boot->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	snprintf(boot->name, sizeof(boot->name), "%s%u", boot->connection->prefix,
		 atomic_fetch_add(&boot->connection->next, 1) + 1);
	if (boot->connection->root.path)
		boot->pipes = xasprintf("%s/%s", boot->connection->root.path, boot->name);
	boot->listener.name = boot->name;
	boot->listener.event = lifecycle_event;
	/* The CPU numbers of a report: 0 alone, 1 to N in a rack. */
	boot->result->reader = report_reader_new(boot->request->cpu_count + 1);
	lifecycle_listen(&boot->connection->lifecycle, &boot->listener);
}

void guest_boot(struct connection *connection, const struct guest_request *request,
		struct guest_result *result)
{
	struct boot boot = {
		.connection = connection,
		.request = request,
		.result = result,
	};
	struct error err = { 0 };
	double begin = clock_seconds(), ending;
	bool created;

	*result = (struct guest_result){ 0 };
	atomic_fetch_add(&connection->running, 1);
	prepare(&boot);
	created = !atomic_load(&connection->interrupted) && create(&boot, &err) == 0;
	if (created)
		settle(&boot);
	result->create = clock_seconds() - begin;
	if (created)
		run(&boot);
	else if (atomic_load(&connection->interrupted))
		end_as(&boot, GUEST_INTERRUPTED, "interrupted");
	else if (boot.stopped)
		result->end = GUEST_CRASHED;
	else
		end_as(&boot, GUEST_ERROR, "%s", err.text);
	ending = clock_seconds();
	destroy(&boot);
	if (result->end == GUEST_CRASHED && !result->reason[0])
		crash_reason(&boot);
	result->destroy = clock_seconds() - ending;
	free(boot.pipes);
	pthread_cond_destroy(&boot.changed);
	pthread_mutex_destroy(&boot.lock);
	atomic_fetch_sub(&connection->running, 1);
}

void guest_result_free(struct guest_result *result)
{
	report_reader_free(result->reader);
	text_free(&result->report);
	text_free(&result->console);
	text_free(&result->qemu);
	*result = (struct guest_result){ 0 };
}
