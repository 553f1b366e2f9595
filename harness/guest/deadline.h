/* SPDX-License-Identifier: MIT */
/*
 * libvirt waits for QEMU's monitor without a limit. Where a guest is not there in time, its QEMU is
 * killed: then the libvirt call that waits for it fails.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_DEADLINE_H
#define QUIRKLAB_HARNESS_GUEST_DEADLINE_H

/* Of a domain of the embedded driver with this root. Returns a number for deadline_cancel, or -1.
 */
int deadline_set(const char *root, const char *name, double seconds);
void deadline_cancel(int deadline);

#endif
