// SPDX-License-Identifier: MIT
/* Reads the CPU's identity from /proc/cpuinfo. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "images/linux/cpuinfo.h"

/* The value of a line "KEY<blanks>: VALUE", or NULL: another key ("model" is not "model name"). */
static const char *value_of(const char *line, const char *key)
{
	const size_t length = strlen(key);

	if (strncmp(line, key, length) != 0)
		return NULL;
	line += length;
	line += strspn(line, " \t");
	return line[0] == ':' ? line + 1 + (line[1] == ' ') : NULL;
}

int cpuinfo_read(const char *path, struct cpuinfo *info)
{
	struct {
		const char *key;
		unsigned *number;
		int seen;
	} fields[] = { { "vendor_id", NULL, 0 },
		       { "cpu family", &info->family, 0 },
		       { "model", &info->model, 0 },
		       { "stepping", &info->stepping, 0 } };
	const size_t count = sizeof(fields) / sizeof(fields[0]);
	FILE *file = fopen(path, "re");
	char line[8192]; /* the list of flags is the longest, about 2 KiB */
	size_t seen = 0, i;

	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < count; i++) {
			const char *value = value_of(line, fields[i].key);

			if (!value || fields[i].seen)
				continue;
			if (fields[i].number)
				*fields[i].number = (unsigned)strtoul(value, NULL, 10);
			else
				snprintf(info->vendor, sizeof(info->vendor), "%s", value);
			fields[i].seen = 1;
			seen++;
		}
	}
	fclose(file);
	if (seen == count)
		return 0;
	errno = ENODATA;
	return -1;
}
