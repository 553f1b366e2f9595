/* SPDX-License-Identifier: MIT */
/* When a guest counts as hung: by the progress that it makes. No clock in here: the caller has it.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_WATCHDOG_H
#define QUIRKLAB_HARNESS_GUEST_WATCHDOG_H

#include "harness/guest/guest.h"

struct watchdog {
	double create; /* seconds that the creation may take */
	double limit;  /* seconds without a good frame or a console byte */
	double wall;   /* seconds in all, the last resort */
	double begin, progress;
	size_t frames, report_bytes, console_bytes;
};

/* How much the limits stretch. */
struct watchdog_load {
	double timeout_scale;	/* the user's; 0 is taken as 1 */
	bool kvm;		/* else TCG, an order of magnitude slower */
	unsigned guests, cores; /* guests (or other loads) at once, on how many cores */
};

/* What is kept of a guest's streams; a report that grows beyond is no report. */
#define WATCHDOG_REPORT_MOST  (16u << 20)
#define WATCHDOG_CONSOLE_MOST (1u << 20)

void watchdog_start(struct watchdog *watchdog, const struct guest_request *request,
		    const struct watchdog_load *load);
/* The guest begins to run. */
void watchdog_resume(struct watchdog *watchdog, double now);
/* Report bytes, and how many good frames they completed: garbage is no progress. */
void watchdog_report(struct watchdog *watchdog, size_t bytes, size_t frames, double now);
void watchdog_console(struct watchdog *watchdog, size_t bytes, double now);
/* True where the guest counts as hung; the reason is one line. */
bool watchdog_bites(const struct watchdog *watchdog, double now, char *reason, size_t room);

#endif
