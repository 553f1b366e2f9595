/* SPDX-License-Identifier: MIT */
/* The two files of a glibc, and how they are read out of a Debian package. */
#ifndef QUIRKLAB_HARNESS_GUEST_DEB_H
#define QUIRKLAB_HARNESS_GUEST_DEB_H

#include <stddef.h>
#include "harness/util/error.h"

#define LIBC_FILE_BYTES_MAX (64 << 20) /* libc.so.6 has 2 MB; with debug information some 30 */

struct blob {
	char *bytes; /* NULL: none */
	size_t length;
};

struct libc_files {
	struct blob library, loader; /* libc.so.6 and ld-linux-x86-64.so.2 */
};
void libc_files_free(struct libc_files *files);

/* What the package has of them; neither is checked. ERROR_INPUT where it is no Debian package, is
 * damaged, or unpacks to more than a package of a C library does. */
int deb_read(struct libc_files *files, const char *path, struct error *err);

#endif
