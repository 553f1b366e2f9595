/* SPDX-License-Identifier: MIT */
/* CPUID as this CPU shows it, sent as REPORT_CPUID frames. */
#ifndef QUIRKLAB_DISPATCH_CPUID_REPORT_H
#define QUIRKLAB_DISPATCH_CPUID_REPORT_H

#include "tests/dispatch/report.h"

/* cpuid: the instruction, or what a test puts in its place. */
void cpuid_report(struct report *report, dispatch_cpuid_fn *cpuid, void *context);

#endif
