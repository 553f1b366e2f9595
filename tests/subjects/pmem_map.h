/* SPDX-License-Identifier: MIT */
/* Persistent memory of a Linux guest, mapped into this process. */
#ifndef QUIRKLAB_PMEM_MAP_H
#define QUIRKLAB_PMEM_MAP_H

#include <stddef.h>

struct pmem_map {
	unsigned char *at;
	size_t bytes;
	char what[64]; /* the device: "dax0.0:e820" */
};

/*
 * Loads the modules that lie in /modules, makes the first region of persistent memory a DAX device
 * where it is none yet, and maps it with MAP_SYNC: loads and stores go to the medium, with no page
 * cache between. What it had in it is lost. -1 with one line in why.
 */
int pmem_map(struct pmem_map *memory, char *why, size_t room);

#endif
