/* SPDX-License-Identifier: MIT */
/* The root file system that a program sees. */
#ifndef QUIRKLAB_IMAGES_LINUX_ROOT_H
#define QUIRKLAB_IMAGES_LINUX_ROOT_H

/*
 * Makes a fresh copy of JOB_ROOT, with /proc, /sys, /dev and /tmp, and goes into it; where there is
 * no JOB_ROOT the root stays, and only /proc is mounted anew. In a namespace of mounts of its own
 * all of it goes with that. -1 with errno.
 */
int root_enter(void);
/* Takes the copy away, where root_enter was not in a namespace of its own. */
void root_forget(void);

#endif
