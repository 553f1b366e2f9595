// SPDX-License-Identifier: MIT
/* Looks up numbers on the guest's command line. */
#include "images/bare/commandline.h"

#include <stddef.h>

/* What follows KEY= at the start of a word, or NULL. */
static const char *value_of(const char *word, const char *key)
{
	for (; *key; key++, word++)
		if (*word != *key)
			return NULL;
	return *word == '=' ? word + 1 : NULL;
}

unsigned commandline_number(const char *line, const char *key, unsigned absent)
{
	unsigned found = absent;

	while (line && *line) {
		const char *value = value_of(line, key);
		unsigned number = 0;

		if (value && *value >= '0' && *value <= '9') {
			while (*value >= '0' && *value <= '9' && number < 100000)
				number = number * 10 + (unsigned)(*value++ - '0');
			if (*value == ' ' || !*value)
				found = number;
		}
		while (*line && *line != ' ')
			line++;
		while (*line == ' ')
			line++;
	}
	return found;
}
