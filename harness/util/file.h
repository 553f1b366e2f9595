/* SPDX-License-Identifier: MIT */
/* Files: read whole with a bound, written whole or not at all, appended and synced; folders. */
#ifndef QUIRKLAB_HARNESS_UTIL_FILE_H
#define QUIRKLAB_HARNESS_UTIL_FILE_H

#include <stddef.h>
#include "harness/util/error.h"

/* Opens PATH, neither folder nor device (but a terminal or /dev/null), to read. A named pipe into
 * which nobody writes within seconds is an error: it would be waited for without end. A read of
 * what is in /proc and would wait fails with EAGAIN. The message does not name the path. */
int file_open(const char *path, struct error *err);

/* Opens PATH to write, emptied or made. A named pipe that nobody opens to read within seconds is an
 * error. The message does not name the path. */
int file_create(const char *path, struct error *err);

/* Reads PATH whole, at most `most` bytes. *bytes is NUL-terminated and the caller frees it. */
int file_read(const char *path, size_t most, char **bytes, size_t *length, struct error *err);

/* Writes PATH by way of a temporary file beside it, synced, then renamed: whole or not at all. */
int file_write(const char *path, const void *bytes, size_t length, struct error *err);

/* Appends to an open file in one write and syncs it (fdatasync); undoes a short write. */
int file_append_synced(int fd, const char *name, const void *bytes, size_t length,
		       struct error *err);

/* mkdir -p */
int folder_make(const char *path, struct error *err);
/* rm -r, without following symbolic links; a missing folder is no error. */
int folder_remove(const char *path, struct error *err);

#endif
