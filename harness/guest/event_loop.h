/* SPDX-License-Identifier: MIT */
/* The thread that runs libvirt's event loop: streams, lifecycle events, keep-alives. */
#ifndef QUIRKLAB_HARNESS_GUEST_EVENT_LOOP_H
#define QUIRKLAB_HARNESS_GUEST_EVENT_LOOP_H

#include "harness/util/error.h"

struct event_loop;

/* libvirt has one event loop per process: so one at a time. */
struct event_loop *event_loop_start(struct error *err);
/* Ends and joins the thread. NULL is allowed. */
void event_loop_stop(struct event_loop *loop);

#endif
