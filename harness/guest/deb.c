/* SPDX-License-Identifier: MIT */
/*
 * A Debian package (deb(5)): an ar archive with data.tar, compressed, which holds the files. All is
 * read in memory by libarchive and bounded: a package may come from anywhere.
 */
#include "harness/guest/deb.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

#define PACKAGE_BYTES_MAX  (64UL << 20)	 /* libc6 has 3 MB */
#define UNPACKED_BYTES_MAX (512UL << 20) /* 13 MB */
#define ENTRIES_MAX	   20000	 /* 400 */

/* Before 2.34 the names are links to a file beside them, libc-2.31.so and ld-2.31.so. */
enum part { LIBRARY, LIBRARY_FILE, LOADER, LOADER_FILE, PARTS };

struct found {
	struct blob parts[PARTS];
};

static void free_found(struct found *found)
{
	for (size_t i = 0; i < PARTS; i++)
		free(found->parts[i].bytes);
}

static void free_archive(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}
#define CLEANUP_ARCHIVE __attribute__((cleanup(free_archive)))

static enum part part_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : "";

	if (!strcmp(name, "libc.so.6"))
		return LIBRARY;
	if (!strcmp(name, "ld-linux-x86-64.so.2"))
		return LOADER;
	if (!strncmp(name, "libc-2.", 7))
		return LIBRARY_FILE;
	return strncmp(name, "ld-2.", 5) ? PARTS : LOADER_FILE;
}

/* The bytes of the entry that was just met. */
static int read_entry(struct blob *out, struct archive *archive, la_int64_t size)
{
	size_t used = 0;
	la_ssize_t got = 0;

	out->bytes = xmalloc((size_t)size + 1);
	while (used < (size_t)size &&
	       (got = archive_read_data(archive, out->bytes + used, (size_t)size - used)) > 0)
		used += (size_t)got;
	out->length = used;
	return got < 0 || used != (size_t)size ? -1 : 0;
}

static int damaged(const char *path, struct archive *archive, struct error *err)
{
	const char *why = archive_error_string(archive);

	return error_set(err, ERROR_INPUT, "%s: a damaged Debian package: %s", path,
			 why ? why : "it ends too early");
}

static int read_files(struct found *found, const struct blob *data, const char *path,
		      struct error *err)
{
	CLEANUP_ARCHIVE struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	uint64_t unpacked = 0;
	int result = ARCHIVE_OK;

	if (!archive)
		abort();
	archive_read_support_filter_xz(archive);
	archive_read_support_filter_zstd(archive);
	archive_read_support_filter_gzip(archive);
	archive_read_support_filter_bzip2(archive);
	archive_read_support_format_tar(archive);
	if (archive_read_open_memory(archive, data->bytes, data->length) != ARCHIVE_OK)
		return damaged(path, archive, err);
	for (size_t i = 0;; i++) {
		la_int64_t size;
		enum part part;

		result = archive_read_next_header(archive, &entry);
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
			break;
		if (i == ENTRIES_MAX)
			return error_set(err, ERROR_INPUT,
					 "%s: holds more than %d files; a package of glibc was "
					 "expected",
					 path, ENTRIES_MAX);
		/* Before it is unpacked: passing over an entry unpacks it too. */
		size = archive_entry_size(entry);
		unpacked += (uint64_t)size;
		if (size < 0 || unpacked > UNPACKED_BYTES_MAX)
			return error_set(err, ERROR_INPUT,
					 "%s: unpacks to more than %lu MB; a package of glibc was "
					 "expected",
					 path, UNPACKED_BYTES_MAX >> 20);
		part = part_of(archive_entry_pathname(entry));
		if (part == PARTS || found->parts[part].bytes || size > LIBC_FILE_BYTES_MAX ||
		    archive_entry_filetype(entry) != AE_IFREG)
			continue;
		if (read_entry(&found->parts[part], archive, size))
			return damaged(path, archive, err);
	}
	return result == ARCHIVE_EOF ? 0 : damaged(path, archive, err);
}

/* data.tar.xz and the like: the member that holds the files. */
static int read_data(struct blob *data, const char *bytes, size_t length, const char *path,
		     struct error *err)
{
	CLEANUP_ARCHIVE struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	int result;

	if (!archive)
		abort();
	archive_read_support_format_ar(archive);
	if (archive_read_open_memory(archive, bytes, length) != ARCHIVE_OK)
		return error_set(err, ERROR_INPUT, "%s: a folder or a Debian package was expected",
				 path);
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const char *name;

		result = archive_read_next_header(archive, &entry);
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
			break;
		name = archive_entry_pathname(entry);
		if (!name || strncmp(name, "data.tar", 8))
			continue;
		if (archive_entry_size(entry) < 0 || (uint64_t)archive_entry_size(entry) > length ||
		    read_entry(data, archive, archive_entry_size(entry)))
			return damaged(path, archive, err);
		return 0;
	}
	return error_set(err, ERROR_INPUT, "%s: a folder or a Debian package was expected", path);
}

/* Moves what was found to where the caller wants it. */
static void take(struct blob *out, struct found *found, enum part first, enum part second)
{
	enum part part = found->parts[first].bytes ? first : second;

	*out = found->parts[part];
	found->parts[part] = (struct blob){ 0 };
}

int deb_read(struct libc_files *files, const char *path, struct error *err)
{
	__attribute__((cleanup(free_found))) struct found found = { 0 };
	CLEANUP_FREE char *bytes = NULL;
	struct blob data = { 0 };
	size_t length;
	int result;

	if (file_read(path, PACKAGE_BYTES_MAX, &bytes, &length, err))
		return -1;
	result = read_data(&data, bytes, length, path, err);
	if (result == 0)
		result = read_files(&found, &data, path, err);
	free(data.bytes);
	if (result)
		return -1;
	take(&files->library, &found, LIBRARY, LIBRARY_FILE);
	take(&files->loader, &found, LOADER, LOADER_FILE);
	return 0;
}
