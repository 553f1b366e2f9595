// SPDX-License-Identifier: MIT
/* libvirt's knowledge of the emulators, kept from run to run. */
#include "harness/guest/capability_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

/* Such a file is some 200 KiB. */
#define FILE_MOST (8 << 20)

static char *root_folder(const char *root)
{
	return xasprintf("%s/cache/qemu/capabilities", root);
}

static bool same(const char *path, const char *bytes, size_t length)
{
	CLEANUP_FREE char *there = NULL;
	size_t there_length = 0;

	return file_read(path, FILE_MOST, &there, &there_length, NULL) == 0 &&
	       there_length == length && !memcmp(there, bytes, length);
}

static void copy_file(const char *from_folder, const char *to_folder, const char *name)
{
	CLEANUP_FREE char *from = xasprintf("%s/%s", from_folder, name);
	CLEANUP_FREE char *to = xasprintf("%s/%s", to_folder, name);
	CLEANUP_FREE char *bytes = NULL;
	size_t length = 0;

	if (file_read(from, FILE_MOST, &bytes, &length, NULL) == 0 && !same(to, bytes, length))
		file_write(to, bytes, length, NULL);
}

static void copy_all(const char *from, const char *to)
{
	const struct dirent *entry;
	DIR *folder = opendir(from);

	if (!folder)
		return;
	if (folder_make(to, NULL) == 0)
		while ((entry = readdir(folder))) {
			size_t length = strlen(entry->d_name);

			if (length > 4 && !strcmp(entry->d_name + length - 4, ".xml"))
				copy_file(from, to, entry->d_name);
		}
	closedir(folder);
}

void capability_cache_load(const char *root)
{
	CLEANUP_FREE char *cache = path_cache("capabilities");
	CLEANUP_FREE char *here = root_folder(root);

	if (cache)
		copy_all(cache, here);
}

void capability_cache_save(const char *root)
{
	CLEANUP_FREE char *cache = path_cache("capabilities");
	CLEANUP_FREE char *here = root_folder(root);

	if (cache)
		copy_all(here, cache);
}
