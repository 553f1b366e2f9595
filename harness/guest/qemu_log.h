/* SPDX-License-Identifier: MIT */
/* QEMU's stderr, which libvirt keeps in a file where it is local. */
#ifndef QUIRKLAB_HARNESS_GUEST_QEMU_LOG_H
#define QUIRKLAB_HARNESS_GUEST_QEMU_LOG_H

#include "harness/guest/connection.h"
#include "harness/util/text.h"

/* Adds the log of a domain that has ended, and removes the file. Nothing where libvirt is remote. */
void qemu_log_take(const struct connection *connection, const char *name, struct text *log);
/* What QEMU itself said last; "" where it said nothing. */
void qemu_log_last_words(const struct text *log, char *out, size_t room);

#endif
