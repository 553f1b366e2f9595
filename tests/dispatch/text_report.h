/* SPDX-License-Identifier: MIT */
/*
 * What this CPU is and what the dispatcher picks on it, as text for people: a guest that was
 * started by hand has nobody who reads its report.
 */
#ifndef QUIRKLAB_DISPATCH_TEXT_REPORT_H
#define QUIRKLAB_DISPATCH_TEXT_REPORT_H

#include "tests/dispatch/dispatch.h"

/* The word on the guest's command line that asks for it: WORD=1. */
#define TEXT_REPORT_WORD "quirklab_text"

typedef void text_report_fn(void *context, const char *text);

/*
 * A line for each CPUID leaf, as `cpuid -r` writes them, then one for each pick. put gets pieces of
 * lines. fast_strings: see dispatch_identify.
 */
void text_report(text_report_fn *put, void *context, bool fast_strings);

#endif
