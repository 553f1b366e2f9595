/* SPDX-License-Identifier: MIT */
/*
 * A running guest as it is seen from here: what its ports said, what libvirt said of its domain,
 * and when that makes an end. Several threads meet in it: the one that boots, and libvirt's event
 * thread.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_WATCH_H
#define QUIRKLAB_HARNESS_GUEST_WATCH_H

#include <pthread.h>
#include "harness/guest/connection_internal.h"
#include "harness/guest/console.h"
#include "harness/guest/guest.h"
#include "harness/guest/watchdog.h"

enum watch_port { WATCH_CONSOLE, WATCH_REPORT, WATCH_PORTS };

struct watch {
	struct lifecycle_listener listener; /* the first member */
	const struct connection *connection;
	const struct guest_request *request;
	const char *name;		    /* of the domain */
	struct console *ports[WATCH_PORTS]; /* opened by the caller, NULL before */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct guest_result *result;
	struct watchdog watchdog;
	double last_frame;
	bool closed[WATCH_PORTS];
	/* Called again and again while the guest runs, without the lock; what it cannot do ends the
	 * guest. NULL: nothing to do. */
	int (*attend)(struct watch *watch, struct error *err);
	bool panicked;
	bool stopped; /* the domain ended by itself, how: */
	int event, detail;
};

/* From then on lifecycle events of that domain are seen. */
void watch_start(struct watch *watch, struct connection *connection,
		 const struct guest_request *request, const char *name,
		 struct guest_result *result);
/* Closes the ports; the result is the caller's alone again. */
void watch_stop(struct watch *watch);
void watch_free(struct watch *watch);

/* Where a port's bytes go (console_sink). */
extern console_sink *const watch_sinks[WATCH_PORTS];

/*
 * Waits for the end of the guest that was just resumed, and fills the result's end, reason and
 * `guest`. Of a domain that ended by itself the reason is left empty: see watch_explain_crash.
 */
void watch_until_end(struct watch *watch);
/* Whether the domain ended by itself. */
bool watch_stopped(struct watch *watch);
/* The reason of a domain that ended by itself, after watch_stop; result->qemu tells the rest. */
void watch_explain_crash(struct watch *watch);

/* Fills the result's end and reason. */
void watch_end_as(struct watch *watch, enum guest_end end, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
