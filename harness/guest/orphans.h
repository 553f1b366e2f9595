/* SPDX-License-Identifier: MIT */
/* Ending QEMUs by the root that they belong to, without libvirt: for when libvirt's owner is dead.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_ORPHANS_H
#define QUIRKLAB_HARNESS_GUEST_ORPHANS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * SIGKILLs every process with an argument that names a file inside the folder (QEMU's sockets, its
 * pid file and its secrets are there), again and again until none has been seen for `quiet_ms`, or
 * `most_ms` have passed. Returns how many it killed.
 */
size_t orphans_end(const char *folder, unsigned quiet_ms, unsigned most_ms);

/* Whether there is such a process. */
bool orphans_live(const char *folder);

#endif
