/* SPDX-License-Identifier: MIT */
/* The inside of kernel_find, for its unit test: the same search in any pair of folders. */
#ifndef QUIRKLAB_HARNESS_GUEST_KERNEL_H
#define QUIRKLAB_HARNESS_GUEST_KERNEL_H

#include "harness/util/error.h"

/*
 * The newest readable kernel of BOOT/vmlinuz-VERSION and MODULES/VERSION/vmlinuz, compared by
 * VERSION; of two with the same version the one in BOOT. A missing folder is an empty one. The
 * caller frees the path. NULL with ERROR_LAB and the remedy where there is none.
 */
char *kernel_find_in(const char *boot, const char *modules, struct error *err);

#endif
