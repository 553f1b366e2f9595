// SPDX-License-Identifier: MIT
/* A running guest as it is seen from here, and when that makes an end. */
#include "harness/guest/watch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/guest/qemu_log.h"
#include "harness/util/clock.h"

/* How often a waiting thread looks at the clock and at the interrupt. */
#define TICK_SECONDS 0.05
/* How often pipes are read: a guest of 20 ms should not wait long for its end to be seen. */
#define PIPE_TICK_SECONDS 0.003
/* How long after QEMU's end the last bytes of its ports may take. */
#define DRAIN_SECONDS 1.0

/* --- what is seen: in libvirt's event thread, or, of a pipe, in the booting one
 * --------------------- */

static void keep(struct text *text, const void *bytes, size_t length, size_t most)
{
	if (text->length >= most)
		return;
	if (length > most - text->length)
		length = most - text->length;
	text_add(text, bytes, length);
}

static void closed(struct watch *watch, enum watch_port port)
{
	watch->closed[port] = true;
	pthread_cond_signal(&watch->changed);
}

static void report_bytes(void *opaque, const void *bytes, size_t length)
{
	struct watch *watch = opaque;
	size_t frames;

	pthread_mutex_lock(&watch->lock);
	if (length) {
		keep(&watch->result->report, bytes, length, WATCHDOG_REPORT_MOST);
		frames = report_feed(watch->result->reader, bytes, length);
		watchdog_report(&watch->watchdog, length, frames, clock_seconds());
		if (frames)
			watch->last_frame = clock_seconds();
		if (report_ended(watch->result->reader) ||
		    watch->watchdog.report_bytes > WATCHDOG_REPORT_MOST)
			pthread_cond_signal(&watch->changed);
	} else {
		closed(watch, WATCH_REPORT);
	}
	pthread_mutex_unlock(&watch->lock);
}

static const char panic_words[] = "Kernel panic - not syncing";

/* Whether the words came with the bytes from `from` on, or ended in them. */
static bool shows_panic(const struct text *console, size_t from)
{
	from = from > sizeof(panic_words) ? from - sizeof(panic_words) : 0;
	return from < console->length && memmem(console->bytes + from, console->length - from,
						panic_words, strlen(panic_words));
}

static void console_bytes(void *opaque, const void *bytes, size_t length)
{
	struct watch *watch = opaque;
	struct text *console = &watch->result->console;
	size_t before;

	pthread_mutex_lock(&watch->lock);
	if (length) {
		before = console->length;
		keep(console, bytes, length, WATCHDOG_CONSOLE_MOST);
		watchdog_console(&watch->watchdog, length, clock_seconds());
		if (watch->request->image != GUEST_BARE && shows_panic(console, before)) {
			watch->panicked = true;
			pthread_cond_signal(&watch->changed);
		}
	} else {
		closed(watch, WATCH_CONSOLE);
	}
	pthread_mutex_unlock(&watch->lock);
}

console_sink *const watch_sinks[WATCH_PORTS] = {
	[WATCH_CONSOLE] = console_bytes,
	[WATCH_REPORT] = report_bytes,
};

static void lifecycle_event(struct lifecycle_listener *listener, int event, int detail)
{
	struct watch *watch = (struct watch *)listener;
	bool ends = event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_SHUTDOWN ||
		    event == VIR_DOMAIN_EVENT_CRASHED;

	pthread_mutex_lock(&watch->lock);
	if (ends && !watch->stopped) {
		watch->stopped = true;
		watch->event = event;
		watch->detail = detail;
		pthread_cond_signal(&watch->changed);
	}
	pthread_mutex_unlock(&watch->lock);
}

/* --- in the thread that boots
 * ----------------------------------------------------------------------- */

void watch_start(struct watch *watch, struct connection *connection,
		 const struct guest_request *request, const char *name, struct guest_result *result)
{
	pthread_condattr_t monotonic;

	*watch = (struct watch){
		.listener = { .name = name, .event = lifecycle_event },
		.connection = connection,
		.request = request,
		.name = name,
		.result = result,
	};
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&watch->lock, NULL);
	pthread_cond_init(&watch->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	lifecycle_listen(&connection->lifecycle, &watch->listener);
}

void watch_stop(struct watch *watch)
{
	for (int i = 0; i < WATCH_PORTS; i++) {
		if (watch->ports[i])
			watch->ports[i]->close(watch->ports[i]);
		watch->ports[i] = NULL;
	}
}

void watch_free(struct watch *watch)
{
	struct connection *connection = (struct connection *)watch->connection;

	lifecycle_unlisten(&connection->lifecycle, &watch->listener);
	watch_stop(watch);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->lock);
}

void watch_end_as(struct watch *watch, enum guest_end end, const char *format, ...)
{
	char raw[sizeof(watch->result->reason)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(raw, sizeof(raw), format, arguments);
	va_end(arguments);
	watch->result->end = end;
	text_printable(watch->result->reason, sizeof(watch->result->reason), raw, strlen(raw));
}

/* Waits until something changed, or for a tick. The lock is held. */
static void wait_change(struct watch *watch)
{
	const bool pipes = watch->connection->root.path;
	double at = clock_seconds() + (pipes ? PIPE_TICK_SECONDS : TICK_SECONDS);
	struct timespec until;

	until.tv_sec = (time_t)at;
	until.tv_nsec = (long)((at - (double)until.tv_sec) * 1e9);
	pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
	if (!pipes)
		return;
	pthread_mutex_unlock(&watch->lock);
	for (int i = 0; i < WATCH_PORTS; i++)
		watch->ports[i]->read(watch->ports[i]);
	pthread_mutex_lock(&watch->lock);
}

/* The line of the console that tells of the panic. The lock is held. */
static void panic_line(const struct watch *watch, char *out, size_t room)
{
	const struct text *console = &watch->result->console;
	const char *line =
		memmem(console->bytes, console->length, panic_words, strlen(panic_words));

	/* NUL-terminated, so the line ends inside. */
	text_printable(out, room, line, strcspn(line, "\r\n"));
}

/* The lock is held. True where the guest is at its end, of whatever kind. */
static bool judge(struct watch *watch)
{
	char words[256];

	if (report_ended(watch->result->reader)) {
		watch->result->end = GUEST_FINISHED;
		return true;
	}
	if (atomic_load(&watch->connection->interrupted)) {
		watch_end_as(watch, GUEST_INTERRUPTED, "interrupted");
		return true;
	}
	if (atomic_load(&watch->connection->lifecycle.lost)) {
		watch_end_as(watch, GUEST_ERROR, "the connection to %s was lost",
			     watch->connection->uri);
		return true;
	}
	if (watch->panicked) {
		panic_line(watch, words, sizeof(words));
		watch_end_as(watch, GUEST_CRASHED, "%s", words);
		return true;
	}
	if (watch->stopped) {
		watch->result->end = GUEST_CRASHED;
		return true;
	}
	if (watchdog_bites(&watch->watchdog, clock_seconds(), words, sizeof(words))) {
		watch_end_as(watch, GUEST_HUNG, "%s", words);
		return true;
	}
	return false;
}

/* What the guest needs from outside. False where it did not get it. The lock is held. */
static bool attend(struct watch *watch)
{
	struct error err = { 0 };
	int result;

	if (!watch->attend || watch->stopped || watch->panicked)
		return true;
	pthread_mutex_unlock(&watch->lock);
	result = watch->attend(watch, &err);
	pthread_mutex_lock(&watch->lock);
	if (result == 0)
		return true;
	/* A domain that ended takes no command: its end, told a little later, is the reason. */
	for (double begin = clock_seconds();
	     !watch->stopped && clock_seconds() - begin < DRAIN_SECONDS;)
		wait_change(watch);
	if (watch->stopped)
		return true;
	watch_end_as(watch, GUEST_ERROR, "%s", err.text);
	return false;
}

/* A guest that ended may have sent its last words, even its REPORT_END, just before. */
static void drain(struct watch *watch)
{
	const double begin = clock_seconds();

	while (!(watch->closed[WATCH_CONSOLE] && watch->closed[WATCH_REPORT]) &&
	       !report_ended(watch->result->reader) && clock_seconds() - begin < DRAIN_SECONDS)
		wait_change(watch);
	if (report_ended(watch->result->reader)) {
		watch->result->end = GUEST_FINISHED;
		watch->result->reason[0] = '\0';
	}
}

void watch_until_end(struct watch *watch)
{
	double last;

	pthread_mutex_lock(&watch->lock);
	while (!judge(watch)) {
		wait_change(watch);
		if (!attend(watch))
			break;
	}
	if (watch->stopped || watch->panicked)
		drain(watch);
	/* The last bytes were read: a frame that claims to be longer must not hide those behind it.
	 */
	report_finish(watch->result->reader);
	last = watch->last_frame > watch->watchdog.begin ? watch->last_frame : clock_seconds();
	watch->result->guest = last - watch->watchdog.begin;
	pthread_mutex_unlock(&watch->lock);
}

bool watch_stopped(struct watch *watch)
{
	bool stopped;

	pthread_mutex_lock(&watch->lock);
	stopped = watch->stopped;
	pthread_mutex_unlock(&watch->lock);
	return stopped;
}

void watch_explain_crash(struct watch *watch)
{
	char words[256];

	if (watch->event == VIR_DOMAIN_EVENT_SHUTDOWN ||
	    (watch->event == VIR_DOMAIN_EVENT_STOPPED &&
	     watch->detail == VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN)) {
		watch_end_as(watch, GUEST_CRASHED,
			     "triple fault or reset: the guest ended before its report did");
		return;
	}
	if (watch->event == VIR_DOMAIN_EVENT_STOPPED &&
	    watch->detail == VIR_DOMAIN_EVENT_STOPPED_DESTROYED) {
		watch_end_as(watch, GUEST_ERROR, "somebody else destroyed the domain %s",
			     watch->name);
		return;
	}
	qemu_log_last_words(&watch->result->qemu, words, sizeof(words));
	watch_end_as(watch, GUEST_CRASHED, "QEMU died%s%s", words[0] ? ": " : "", words);
}
