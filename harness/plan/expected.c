// SPDX-License-Identifier: MIT
/* The expected picks of a run's subject, each version read once. */
#include "harness/plan/expected.h"

#include <stdio.h>
#include <string.h>

static int read_version(const struct expected *expected, struct expectations **out,
			const char *version, struct error *err)
{
	if (!expected->program)
		return expectations_read(out, expected->subject, version, err);
	return expectations_read_program(out, expected->beside, expected->subject, version, err);
}

int expected_open(struct expected *expected, const struct plan_options *options, struct error *err)
{
	memset(expected, 0, sizeof(*expected));
	expected->subject = options->subject;
	expected->program = options->kind == SUBJECT_PROGRAM;
	expected->beside = options->beside;
	if (read_version(expected, &expected->versions[0].expectations, NULL, err) < 0)
		return -1;
	expected->count = 1;
	pthread_mutex_init(&expected->lock, NULL);
	return 0;
}

static size_t find_version(struct expected *expected, const char *version)
{
	size_t i;

	for (i = 0; i < expected->count; i++)
		if (!strcmp(expected->versions[i].version, version))
			return i;
	if (i == EXPECTED_VERSIONS)
		return 0;
	snprintf(expected->versions[i].version, sizeof(expected->versions[i].version), "%s",
		 version);
	if (read_version(expected, &expected->versions[i].expectations, version, NULL) < 0)
		expected->versions[i].expectations = NULL;
	expected->count++;
	return i;
}

const struct expectations *expected_of(struct expected *expected, const char *version)
{
	const struct expectations *found;

	pthread_mutex_lock(&expected->lock);
	found = expected->versions[find_version(expected, version)].expectations;
	pthread_mutex_unlock(&expected->lock);
	return found;
}

void expected_close(struct expected *expected)
{
	for (size_t i = 0; i < expected->count; i++)
		expectations_free(expected->versions[i].expectations);
	pthread_mutex_destroy(&expected->lock);
}
