/* SPDX-License-Identifier: MIT */
/*
 * TAP (versions 12 to 14) and KTAP (version 1): what the lines of a test program add up to. The
 * lines come from a guest: everything is counted with bounds, and all text here is printable.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_TAP_H
#define QUIRKLAB_HARNESS_JUDGE_TAP_H

#include <stdbool.h>
#include <stddef.h>

struct tap {
	bool seen;     /* it is TAP: a version, a plan, or a numbered test, not nested */
	bool skip_all; /* 1..0 */
	/* Of nested tests the innermost count; `todo` are expected to fail, and do or do not. */
	unsigned passed, failed, skipped, todo;
	char first[160]; /* the first test that failed; "" none */
	char skip[160];	 /* why the first skipped one was, or all */
	char fault[160]; /* "" or what makes the whole worthless: no plan, too few tests, ... */
};

void tap_read(struct tap *out, const char *bytes, size_t length);

#endif
