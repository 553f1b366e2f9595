// SPDX-License-Identifier: MIT
/* Runs a fuzzer's seeds without libFuzzer: every file, and the beginnings of each. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/file.h"
#include "harness/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define BEGINNINGS 64

/* A copy of its own size, so that AddressSanitizer sees a read behind its end. */
static void one(const char *bytes, size_t length)
{
	uint8_t *copy = xmalloc(length);

	memcpy(copy, bytes, length);
	LLVMFuzzerTestOneInput(copy, length);
	free(copy);
}

static int replay(const char *folder)
{
	struct error err = { 0 };
	DIR *seeds = opendir(folder);
	struct dirent *seed;
	int count = 0;

	if (!seeds) {
		fprintf(stderr, "%s: no folder of seeds\n", folder);
		return 1;
	}
	while ((seed = readdir(seeds))) {
		char *path, *bytes;
		size_t length;

		if (seed->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", folder, seed->d_name);
		if (file_read(path, 1 << 20, &bytes, &length, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 1;
		}
		for (size_t i = 0; i <= BEGINNINGS; i++)
			one(bytes, length * i / BEGINNINGS);
		free(bytes);
		free(path);
		count++;
	}
	closedir(seeds);
	printf("%s: %d seeds\n", folder, count);
	return count == 0;
}

int main(int argc, char **argv)
{
	int status = argc < 2;

	for (int i = 1; i < argc; i++)
		status |= replay(argv[i]);
	return status;
}
