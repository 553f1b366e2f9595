/* SPDX-License-Identifier: MIT */
/* QEMU's stderr, which libvirt keeps in a file where it is local. */
#ifndef QUIRKLAB_HARNESS_GUEST_QEMU_LOG_H
#define QUIRKLAB_HARNESS_GUEST_QEMU_LOG_H

#include "harness/guest/connection.h"
#include "harness/util/text.h"

/* Where it is; NULL where libvirt is remote. Caller frees. */
char *qemu_log_path(const struct connection *connection, const char *name);
/* Adds what is there so far. A missing file, or NULL, adds nothing. */
void qemu_log_read(const char *path, struct text *log);
/* What QEMU itself said last; "" where it said nothing. */
void qemu_log_last_words(const struct text *log, char *out, size_t room);

#endif
