/* SPDX-License-Identifier: MIT */
/* The running kernel as the subject: what it patched, and what it says of the CPU. */
#ifndef QUIRKLAB_IMAGES_LINUX_KERNEL_H
#define QUIRKLAB_IMAGES_LINUX_KERNEL_H

#include "tests/dispatch/selftest.h"

/* Reports this CPU from REPORT_START to REPORT_DONE, with the frames of the subject `linux`. What
 * cannot be read is a REPORT_NOTE, and the report is then not complete. */
void kernel_report(const struct selftest_platform *platform);

#endif
