/* SPDX-License-Identifier: MIT */
/* CPUID as this CPU shows it: leaf by leaf, and sent as REPORT_CPUID frames. */
#ifndef QUIRKLAB_DISPATCH_CPUID_REPORT_H
#define QUIRKLAB_DISPATCH_CPUID_REPORT_H

#include "tests/dispatch/report.h"

typedef void cpuid_leaf_fn(void *context, uint32_t leaf, uint32_t subleaf,
			   const struct dispatch_registers *registers);

/* Hands over every leaf and subleaf that there is, at most some hundreds. */
void cpuid_walk(dispatch_cpuid_fn *cpuid, void *context, cpuid_leaf_fn *each, void *each_context);

/* cpuid: the instruction, or what a test puts in its place. */
void cpuid_report(struct report *report, dispatch_cpuid_fn *cpuid, void *context);

#endif
