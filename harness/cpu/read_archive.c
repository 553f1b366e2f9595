/* SPDX-License-Identifier: MIT */
/*
 * Archives of hwloc-gather-cpuid, as libarchive unpacks them: a file puN for each logical CPU. What
 * is unpacked is bounded, whatever the archive says of itself.
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/read.h"
#include "harness/util/cleanup.h"

#define ENTRY_BYTES_MAX (1u << 20) /* one CPU's file; the largest known is 4 KB */
#define ENTRIES_MAX	65536u

static const struct {
	size_t offset;
	const char *bytes;
	size_t length;
} magics[] = {
	{ 0, "BZh", 3 },
	{ 0, "\x1F\x8B", 2 },
	{ 0,
	  "\xFD"
	  "7zXZ",
	  5 },
	{ 0, "\x28\xB5\x2F\xFD", 4 },
	{ 257, "ustar", 5 },
};

bool archive_looks(const char *bytes, size_t length)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (length >= magics[i].offset + magics[i].length &&
		    !memcmp(bytes + magics[i].offset, magics[i].bytes, magics[i].length))
			return true;
	return false;
}

/* The N of ".../puN"; -1 for any other file. */
static long cpu_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *at = path ? scan_word(slash ? slash + 1 : path, "pu") : NULL;
	uint32_t number;

	at = at ? scan_decimal(at, &number) : NULL;
	return at && !*at && number <= INT32_MAX ? (long)number : -1;
}

/* The entry's bytes and a NUL; -1 where it is larger than one CPU's file, or damaged. */
static long read_entry(struct archive *archive, char *bytes)
{
	size_t used = 0;
	la_ssize_t got;

	while ((got = archive_read_data(archive, bytes + used, ENTRY_BYTES_MAX - used)) > 0) {
		used += (size_t)got;
		if (used == ENTRY_BYTES_MAX)
			return -1;
	}
	bytes[used] = '\0';
	return got < 0 ? -1 : (long)used;
}

static void read_cpus(struct reading *reading, struct archive *archive)
{
	CLEANUP_FREE char *bytes = xmalloc(ENTRY_BYTES_MAX + 1);
	struct archive_entry *entry;
	uint64_t unpacked = 0;
	int result = ARCHIVE_OK;

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct dump_text text = { .bytes = bytes };
		long number, length;

		result = archive_read_next_header(archive, &entry);
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
			break;
		/* Before it is unpacked: passing over an entry unpacks it too. */
		unpacked += (uint64_t)archive_entry_size(entry);
		if (unpacked > DUMP_BYTES_MAX || archive_entry_size(entry) < 0) {
			reading_warn(reading, 0,
				     "the archive unpacks to more than %u MB: the rest is "
				     "left out",
				     DUMP_BYTES_MAX >> 20);
			return;
		}
		number = cpu_of(archive_entry_pathname(entry));
		if (number < 0)
			continue;
		length = read_entry(archive, bytes);
		if (length < 0) {
			reading_warn(reading, 0, "the file of CPU %ld is damaged or too large",
				     number);
			continue;
		}
		text.length = (size_t)length;
		if (text_clean(&text))
			continue;
		reading_cpu(reading, number);
		hwloc_read_cpu(reading, &text);
	}
	if (result != ARCHIVE_EOF)
		reading_warn(reading, 0, "the archive is damaged or cut off: CPUs may be missing");
}

int archive_read(struct reading *reading, const char *bytes, size_t length, struct error *err)
{
	struct archive *archive = archive_read_new();

	if (!archive)
		abort();
	archive_read_support_filter_bzip2(archive);
	archive_read_support_filter_gzip(archive);
	archive_read_support_filter_xz(archive);
	archive_read_support_filter_zstd(archive);
	archive_read_support_format_tar(archive);
	if (archive_read_open_memory(archive, bytes, length) == ARCHIVE_OK) {
		read_cpus(reading, archive);
		archive_read_free(archive);
		return 0;
	}
	archive_read_free(archive);
	return error_set(err, ERROR_INPUT, "an archive that cannot be unpacked");
}
