/* SPDX-License-Identifier: MIT */
/*
 * The thread that reaps QEMU. libvirt makes QEMU a daemon, and waits until its pid is gone: where
 * PID 1 reaps late, for seconds. So this process becomes the subreaper, adopts QEMU, and reaps it
 * at once; never a child of libvirt's own, for which libvirt waits itself.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_REAPER_H
#define QUIRKLAB_HARNESS_GUEST_REAPER_H

#include <sys/types.h>
#include "harness/util/error.h"

struct reaper;

/* `last` is a child of this process; when it ends, the reaper reaps it and ends as well. */
struct reaper *reaper_start(pid_t last, struct error *err);
/* Waits for the end of `last` and joins the thread. NULL is allowed. */
void reaper_join(struct reaper *reaper);

#endif
