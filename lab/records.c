// SPDX-License-Identifier: MIT
/* The records of a run that is over. */
#include "lab/records.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/judge/judge.h"
#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

#define FILE_MOST (1UL << 30)

static char *file_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return xasprintf("%s/results.jsonl", path);
	return xstrdup(path);
}

bool records_are_at(const char *path)
{
	CLEANUP_FREE char *file = file_of(path);
	CLEANUP_FD int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char first;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (strcmp(file, path))
		return true; /* the folder's results.jsonl, empty or not */
	return read(fd, &first, 1) == 1 && first == '{';
}

int records_read(const char *path,
		 int (*each)(void *context, const struct cell_result *result, struct error *err),
		 void *context, struct error *err)
{
	CLEANUP_FREE char *file = file_of(path);
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_FREE char *bytes = NULL;
	size_t length, line = 0;

	if (file_read(file, FILE_MOST, &bytes, &length, err) < 0)
		return -1;
	for (char *at = bytes, *end; (end = memchr(at, '\n', length - (size_t)(at - bytes)));
	     at = end + 1) {
		int failed;

		line++;
		if (record_read(result, at, (size_t)(end - at), err) < 0)
			return error_prefix(err, "%s:%zu", file, line);
		failed = each(context, result, err);
		cell_result_free(result);
		if (failed)
			return error_prefix(err, "%s:%zu", file, line);
	}
	return 0;
}

/* "movnti; head/tail mov + clwb; sfence" begins with its path. */
static size_t deed_length(const struct pick *pick)
{
	return strcspn(pick->does, "; ");
}

const char *record_path(char *out, size_t room, const struct pick *pick)
{
	if (*pick->says)
		snprintf(out, room, "%s", pick->says);
	else
		snprintf(out, room, "%.*s", (int)deed_length(pick), pick->does);
	return out;
}

bool record_is_true(const struct pick *pick)
{
	size_t length = deed_length(pick);

	/* Neither a fence that is owed nor a flush that is missing changes the path: then the pick
	 * failed although it says what is expected. */
	if (pick->verdict == VERDICT_FAIL && !strcmp(pick->expected, pick->says))
		return false;
	/* A program may have names of its own for what it picks: they say nothing of stores. */
	if (!expectations_is_path(pick->says) || !*pick->does)
		return true;
	return strlen(pick->says) == length && !memcmp(pick->says, pick->does, length);
}
