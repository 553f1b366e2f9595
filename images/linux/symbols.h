/* SPDX-License-Identifier: MIT */
/* The kernel's symbols, from /proc/kallsyms. */
#ifndef QUIRKLAB_IMAGES_LINUX_SYMBOLS_H
#define QUIRKLAB_IMAGES_LINUX_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbol {
	const char *name; /* wanted */
	uint64_t address; /* 0: the kernel has none of that name */
	uint64_t next;	  /* the lowest higher address of a symbol behind it in the file, else 0 */
};

/*
 * Fills address and next of each wanted symbol from a file in the format of /proc/kallsyms. It is
 * read up to the symbol `last` (NULL: to its end), which is one of the wanted. Returns 0, or -1
 * with errno: no such file, or (ENODATA) it hides all addresses.
 */
int symbols_read(const char *path, struct symbol *wanted, size_t count, const char *last);

#endif
