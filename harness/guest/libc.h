/* SPDX-License-Identifier: MIT */
/* The subject `glibc`: our probe of a C library, loaded by the library that it is to probe. */
#ifndef QUIRKLAB_HARNESS_GUEST_LIBC_H
#define QUIRKLAB_HARNESS_GUEST_LIBC_H

#include "harness/guest/payload.h"

/*
 * Fills an empty payload with the probe and a glibc: that of this machine where `libc` is NULL,
 * else of a folder (a root file system, a folder of libraries, or glibc's build tree) or of a
 * Debian package. Links of a folder lead nowhere out of it. A package is read in memory; what it
 * unpacks to is bounded, whatever it says of itself. ERROR_INPUT with one line where there is no
 * glibc for x86-64; ERROR_LAB where the probe is not built.
 */
int libc_payload(struct payload *payload, const char *libc, struct error *err);

#endif
