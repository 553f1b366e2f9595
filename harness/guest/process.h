/* SPDX-License-Identifier: MIT */
/*
 * What a process has one of, however many connections it opens: the supervisor, the reaper and
 * libvirt's event loop. The only global state of the harness.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_PROCESS_H
#define QUIRKLAB_HARNESS_GUEST_PROCESS_H

#include "harness/guest/supervisor.h"

/* The first hold starts all three, so it must come before the caller's first thread. */
int process_hold(struct error *err);
/* The last release ends them. */
void process_release(void);
/* Of a process that is held. */
struct supervisor *process_supervisor(void);

#endif
