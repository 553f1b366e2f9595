/* SPDX-License-Identifier: MIT */
/* The subject `pmem`: our program that stores in persistent memory, with the kernel's modules for
 * it. */
#ifndef QUIRKLAB_HARNESS_GUEST_PMEM_H
#define QUIRKLAB_HARNESS_GUEST_PMEM_H

#include "harness/guest/payload.h"

/* What makes a part of a guest's memory persistent memory to its kernel, and how much that takes
 * (Documentation/admin-guide/kernel-parameters.txt, memmap=nn!ss). */
#define PMEM_WORDS "memmap=16M!128M"
#define PMEM_MIB   16

/*
 * Fills an empty payload. kernel: the file that will boot, a Linux boot image; modules: the folder
 * in which its release has its modules, or NULL for this machine's. Modules that are compressed are
 * unpacked here; one that is built in is left out. ERROR_INPUT with one line where the kernel does
 * not say its release, or has no such modules there; ERROR_LAB where the program is not built.
 */
int pmem_payload(struct payload *payload, const char *kernel, const char *modules,
		 struct error *err);

#endif
