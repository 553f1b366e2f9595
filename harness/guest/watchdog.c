// SPDX-License-Identifier: MIT
/* When a guest counts as hung. */
#include "harness/guest/watchdog.h"

#include <stdio.h>

/*
 * Seconds at a scale of 1 on a machine with a core for each guest, under TCG. A bare guest sends a
 * frame every few milliseconds, the first one within 0.2 s; but a rack waits up to 8 s for a CPU
 * that does not start (START_TRIES in images/bare/rack.c). Linux is silent for 2 s of its boot
 * (`quiet`), and a foreign subject that is single-stepped by ptrace for longer. A distribution's
 * initrd is 15 to 100 MiB to unpack, and its init may wait 90 s for a device that is not there.
 */
#define CREATE_LIMIT  60.0
#define BARE_LIMIT    10.0
#define LINUX_LIMIT   30.0
#define DISK_LIMIT    120.0
#define BARE_WALL     60.0
#define BARE_CPU_WALL 5.0
#define LINUX_WALL    600.0
#define DISK_WALL     1200.0
#define KVM_FACTOR    0.5

void watchdog_start(struct watchdog *watchdog, const struct guest_request *request,
		    const struct watchdog_load *load)
{
	static const struct {
		double limit, wall;
	} limits[] = {
		[GUEST_BARE] = { BARE_LIMIT, BARE_WALL },
		[GUEST_LINUX] = { LINUX_LIMIT, LINUX_WALL },
		[GUEST_DISK] = { DISK_LIMIT, DISK_WALL },
	};
	const double more = request->image == GUEST_BARE ? BARE_CPU_WALL : 0;
	double factor = load->timeout_scale > 0 ? load->timeout_scale : 1;

	if (load->kvm)
		factor *= KVM_FACTOR;
	if (load->cores && load->guests > load->cores)
		factor *= (double)load->guests / load->cores;
	*watchdog = (struct watchdog){
		.limit = factor * limits[request->image].limit,
		.wall = factor * (limits[request->image].wall + more * (double)request->cpu_count) +
			(double)request->program_seconds * (double)request->cpu_count,
		.create = factor * CREATE_LIMIT,
	};
}

void watchdog_resume(struct watchdog *watchdog, double now)
{
	watchdog->begin = now;
	watchdog->progress = now;
}

void watchdog_report(struct watchdog *watchdog, size_t bytes, size_t frames, double now)
{
	watchdog->report_bytes += bytes;
	watchdog->frames += frames;
	if (frames)
		watchdog->progress = now;
}

void watchdog_console(struct watchdog *watchdog, size_t bytes, double now)
{
	watchdog->console_bytes += bytes;
	if (watchdog->console_bytes <= WATCHDOG_CONSOLE_MOST)
		watchdog->progress = now;
}

bool watchdog_bites(const struct watchdog *watchdog, double now, char *reason, size_t room)
{
	if (watchdog->report_bytes > WATCHDOG_REPORT_MOST) {
		snprintf(reason, room, "an endless report: %zu bytes, %zu good frames",
			 watchdog->report_bytes, watchdog->frames);
		return true;
	}
	if (now - watchdog->progress > watchdog->limit) {
		snprintf(reason, room,
			 "no progress for %.1f s (%zu good frames, %zu report bytes and %zu "
			 "console bytes before)",
			 watchdog->limit, watchdog->frames, watchdog->report_bytes,
			 watchdog->console_bytes);
		return true;
	}
	if (now - watchdog->begin > watchdog->wall) {
		snprintf(reason, room,
			 "not at its end after %.0f s, the limit of last resort (%zu good frames)",
			 watchdog->wall, watchdog->frames);
		return true;
	}
	return false;
}
