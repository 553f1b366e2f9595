/* SPDX-License-Identifier: MIT */
/*
 * The embedded driver's root: a private folder for each connection, BASE/XXXXXX, where BASE is
 * $XDG_RUNTIME_DIR/quirklab or /tmp/quirklab-UID. Whoever uses a root holds a shared lock on its
 * file `lock`: the harness, and its supervisor. A root that nobody holds is swept.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_ROOT_H
#define QUIRKLAB_HARNESS_GUEST_ROOT_H

#include "harness/util/error.h"

struct root {
	char *path; /* absolute and short: a UNIX socket's path holds 107 bytes */
	int lock;
};

/* Makes a root with its qemu.conf and takes its lock. */
int root_open(struct root *root, struct error *err);
/* Marks it as one that outlives its harness: neither closing nor sweeping ends it while a QEMU of
 * it is there. */
int root_keep(const struct root *root, struct error *err);
/* Ends what QEMUs it has, removes it, and lets go; of a kept one it only lets go. An empty struct
 * (path NULL) is allowed. */
void root_close(struct root *root);

/* A folder in /tmp that only this user can enter, made where it is missing. The name begins with a
 * dot: no sweep takes it. NULL where it cannot be made; the caller frees it. */
char *root_private_folder(const char *name);

/* Takes one more shared lock, of another process. Returns its file descriptor, or -1. */
int root_hold(const char *path);
/* Ends the root's QEMUs, found in /proc, and removes it. For a root whose libvirt is dead. */
void root_end(const char *path);
/* Does so for every root of this user that nobody holds. */
void root_sweep(void);

#endif
