/* SPDX-License-Identifier: MIT */
/* The root file system that a program sees. */
#ifndef QUIRKLAB_IMAGES_LINUX_ROOT_H
#define QUIRKLAB_IMAGES_LINUX_ROOT_H

/*
 * Goes into the copy of JOB_ROOT that root_keep made under this number, read-only; ROOT_FRESH: into
 * a fresh one, with a /tmp. Either has /proc, /sys and /dev. Where there is no JOB_ROOT the root
 * stays, and only /proc is mounted anew. In a namespace of mounts of its own all of it goes with
 * that. -1 with errno.
 */
#define ROOT_FRESH (-1)
int root_enter(int kept);
/*
 * Sees to it that there is a copy under this number, outside of all namespaces. Copies are kept:
 * memory that is used again for other code costs TCG all that it has translated of it, and a table
 * of each CPU that is plugged. Returns the number, or ROOT_FRESH where there is no room.
 */
int root_keep(int number);
/* Takes the program's root away, where root_enter was not in a namespace of its own. */
void root_forget(void);

#endif
