/* SPDX-License-Identifier: MIT */
/* What the hostile guests share: the two ports and well-formed frames. */
#ifndef QUIRKLAB_TESTS_GUEST_H
#define QUIRKLAB_TESTS_GUEST_H

#include <stddef.h>

#include "images/bare/pvh.h"
#include "images/bare/serial.h"
#include "images/bare/x86.h"
#include "images/protocol.h"
#include "tests/dispatch/selftest.h"

/* A platform that can only send, as CPU 0. */
extern struct selftest_platform guest_platform;

/* Both ports on. */
void guest_begin(void);

/* A frame with the right length and CRC around any payload. */
void guest_frame(unsigned kind, const void *payload, size_t length);

/* A good REPORT_START. */
void guest_start(void);

#endif
