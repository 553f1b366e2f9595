// SPDX-License-Identifier: MIT
/* The name that somebody probably meant. */
#include <string.h>

#include "lab/lab.h"

#define LONGEST 40

/* Levenshtein's distance; both strings at most LONGEST bytes. */
static size_t distance(const char *a, const char *b)
{
	size_t row[LONGEST + 1], length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < length; j++) {
			size_t replace = corner + (a[i] != b[j]);
			size_t least = row[j] < row[j + 1] ? row[j] : row[j + 1];

			corner = row[j + 1];
			row[j + 1] = replace < least + 1 ? replace : least + 1;
		}
	}
	return row[length];
}

const char *near_name(const char *typed, const void *rows, size_t count, size_t size)
{
	const char *best = NULL;
	size_t length = strlen(typed);
	size_t least = length < 3 ? 2 : 3; /* nearer than this */

	if (!length || length > LONGEST)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name = *(const char *const *)((const char *)rows + i * size);
		size_t far;

		if (strlen(name) > LONGEST)
			continue;
		far = length > 1 && !strncmp(name, typed, length) ? 1 : distance(typed, name);
		if (far < least || (best && far == least && strlen(name) < strlen(best))) {
			least = far;
			best = name;
		}
	}
	return best;
}
