// SPDX-License-Identifier: MIT
/* Writes the initramfs of Linux guests: the agent as /init, a console, and folders to mount on. */
#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

/* An agent is about 1 MiB; a file much larger than that is a mistake, and would not fit the guest.
 */
#define AGENT_BYTES_MAX (64UL << 20)

static void cleanup_archive(struct archive **archive)
{
	if (*archive)
		archive_write_free(*archive);
}

static void cleanup_entry(struct archive_entry **entry)
{
	if (*entry)
		archive_entry_free(*entry);
}

static la_ssize_t add_to_text(struct archive *archive, void *text, const void *bytes, size_t length)
{
	(void)archive;
	text_add(text, bytes, length);
	return (la_ssize_t)length;
}

/*
 * One member. Owner, group, times and inode number stay zero: the same agent gives the same
 * bytes, whoever packs it and when.
 */
static int add(struct archive *archive, const char *name, mode_t mode, dev_t device,
	       const void *bytes, size_t length)
{
	__attribute__((cleanup(cleanup_entry))) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return -1;
	archive_entry_set_pathname(entry, name);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_nlink(entry, 1);
	archive_entry_set_size(entry, (la_int64_t)length);
	if (device)
		archive_entry_set_rdev(entry, device);
	if (archive_write_header(archive, entry) != ARCHIVE_OK)
		return -1;
	return length && archive_write_data(archive, bytes, length) != (la_ssize_t)length ? -1 : 0;
}

static int add_all(struct archive *archive, const void *agent, size_t length)
{
	static const char *const folders[] = { "dev", "proc", "sys", "tmp" };
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (add(archive, folders[i], S_IFDIR | 0755, 0, NULL, 0) < 0)
			return -1;
	/* The kernel opens it for PID 1 before anything is mounted. */
	if (add(archive, "dev/console", S_IFCHR | 0600, makedev(5, 1), NULL, 0) < 0)
		return -1;
	return add(archive, "init", S_IFREG | 0755, 0, agent, length);
}

int initramfs_write(const char *path, const char *agent, struct error *err)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_write_new();
	CLEANUP_TEXT struct text text = { NULL, 0, 0 };
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	if (file_read(agent, AGENT_BYTES_MAX, &bytes, &length, err) < 0)
		return error_prefix(err, "the Linux guest's agent");
	if (length < 4 || memcmp(bytes, "\177ELF", 4) != 0)
		return error_set(err, ERROR_LAB, "%s: not a program: run `make images`", agent);
	if (!archive)
		return error_set(err, ERROR_LAB, "%s: libarchive: out of memory", path);
	if (archive_write_set_format_cpio_newc(archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
	    archive_write_open(archive, &text, NULL, add_to_text, NULL) != ARCHIVE_OK ||
	    add_all(archive, bytes, length) < 0 || archive_write_close(archive) != ARCHIVE_OK)
		return error_set(err, ERROR_LAB, "%s: libarchive: %s", path,
				 archive_error_string(archive) ?: "failed");
	return file_write(path, text.bytes, text.length, err);
}
