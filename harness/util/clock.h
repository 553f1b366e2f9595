/* SPDX-License-Identifier: MIT */
/* Seconds on the monotonic clock. */
#ifndef QUIRKLAB_HARNESS_UTIL_CLOCK_H
#define QUIRKLAB_HARNESS_UTIL_CLOCK_H

#include <time.h>

static inline double clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#endif
