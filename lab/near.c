// SPDX-License-Identifier: MIT
/* The name that somebody probably meant. */
#include <string.h>

#include "harness/util/text.h"
#include "lab/lab.h"

const char *near_name(const char *typed, const void *rows, size_t count, size_t size)
{
	const char *best = NULL;
	size_t length = strlen(typed);
	size_t least = length < 3 ? 2 : 3; /* nearer than this */

	if (!length)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		const char *name = *(const char *const *)((const char *)rows + i * size);
		size_t far = length > 1 && !strncmp(name, typed, length)
				     ? 1
				     : name_distance(typed, name);

		if (far < least || (best && far == least && strlen(name) < strlen(best))) {
			least = far;
			best = name;
		}
	}
	return best;
}
