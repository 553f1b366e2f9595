/* SPDX-License-Identifier: MIT */
/* The expected picks of a run's subject, by the version that each guest reports. */
#ifndef QUIRKLAB_HARNESS_PLAN_EXPECTED_H
#define QUIRKLAB_HARNESS_PLAN_EXPECTED_H

#include <pthread.h>
#include "harness/judge/judge.h"
#include "harness/plan/plan.h"

#define EXPECTED_VERSIONS 16

struct expected {
	const char *subject;
	const char *beside; /* of the user's program: the folder that it is in; else NULL */
	bool program;
	pthread_mutex_t lock;
	struct {
		char version[64];
		struct expectations *expectations; /* NULL: no file fits */
	} versions[EXPECTED_VERSIONS];
	size_t count;
};

/* Reads the picks for no version, so that a broken file shows before the first boot. */
int expected_open(struct expected *expected, const struct plan_options *options, struct error *err);
/* NULL where nothing fits. Thread-safe; owned by *expected. A guest that reports ever more versions
 * gets what fits no version. */
const struct expectations *expected_of(struct expected *expected, const char *version);
void expected_close(struct expected *expected);

#endif
