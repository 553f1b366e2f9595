/* SPDX-License-Identifier: MIT */
/* The kernel out of a Linux boot image: a guest that boots it need not decompress it. */
#ifndef QUIRKLAB_HARNESS_GUEST_KERNEL_UNPACK_H
#define QUIRKLAB_HARNESS_GUEST_KERNEL_UNPACK_H

#include "harness/util/error.h"

/*
 * Writes the ELF file inside the boot image (bzImage) PATH to TO, for QEMU to start by its PVH
 * entry. 1: it is there. 0: it cannot be, nothing is written: PATH is no boot image, its
 * compression is none of libarchive's, or the kernel has no PVH entry (CONFIG_PVH). -1: TO cannot
 * be written, ERROR_LAB.
 */
int kernel_unpack(const char *path, const char *to, struct error *err);

#endif
