// SPDX-License-Identifier: MIT
/*
 * Writes the initramfs of Linux guests: /init, a console, folders to mount on, and what is to be
 * run there; or with a shell. And the archive of what goes into a disk image.
 */
#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "harness/guest/disk_internal.h"
#include "harness/guest/guest.h"
#include "harness/guest/madt.h"
#include "harness/guest/payload.h"
#include "harness/guest/rack.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "images/linux/job.h"

/* An agent is about 1 MiB; a file much larger than that is a mistake, and would not fit the guest.
 */
#define AGENT_BYTES_MAX (64UL << 20)
/* An initramfs of ours: a payload is 256 MiB at most. */
#define INITRAMFS_BYTES_MAX (512UL << 20)

/* Where the kernel looks for tables, in a first archive that is not packed. */
#define MADT_MEMBER "kernel/firmware/acpi/madt.aml"

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

/* One member: a file's bytes, a link's target or a device's number, by its mode. */
struct member {
	const char *name;
	const void *bytes;
	size_t length;
	mode_t mode; /* 0: an executable file */
	dev_t device;
	const char *target;
};

/* Owner, group, times and inode number stay zero: the same agent gives the same bytes, whoever
 * packs it and when. */
static int add(struct archive *archive, const struct member *member)
{
	__attribute__((cleanup(cleanup_entry))) struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return -1;
	archive_entry_set_pathname(entry, member->name);
	archive_entry_set_mode(entry, member->mode ? member->mode : S_IFREG | 0755);
	archive_entry_set_uid(entry, 0);
	archive_entry_set_gid(entry, 0);
	archive_entry_set_mtime(entry, 0, 0);
	archive_entry_set_nlink(entry, 1);
	archive_entry_set_size(entry, (la_int64_t)member->length);
	if (member->device)
		archive_entry_set_rdev(entry, member->device);
	if (member->target)
		archive_entry_set_symlink(entry, member->target);
	if (archive_write_header(archive, entry) != ARCHIVE_OK)
		return -1;
	return member->length && archive_write_data(archive, member->bytes, member->length) !=
					 (la_ssize_t)member->length
		       ? -1
		       : 0;
}

static int add_folders(struct archive *archive, const char *const *folders)
{
	for (; *folders; folders++)
		if (add(archive, &(struct member){ .name = *folders, .mode = S_IFDIR | 0755 }) < 0)
			return -1;
	/* The kernel opens it for PID 1 before anything is mounted. */
	return add(archive, &(struct member){ .name = "dev/console",
					      .mode = S_IFCHR | 0600,
					      .device = makedev(5, 1) });
}

/* The job is where the agent looks for it, the rest below the program's root. */
static int add_payload_member(void *context, const struct payload_member *from)
{
	const char *root = strcmp(from->name, JOB_FILE) ? JOB_ROOT : "";
	CLEANUP_FREE char *name = xasprintf("%s%s", root, from->name);

	return add(context, &(struct member){ .name = name + 1,
					      .mode = from->mode,
					      .bytes = from->bytes,
					      .length = from->length,
					      .target = from->target });
}

static int add_payload(struct archive *archive, const struct payload *payload)
{
	static const char *const folders[] = { JOB_FOLDER, JOB_ROOT, JOB_COPY };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (add(archive,
			&(struct member){ .name = folders[i] + 1, .mode = S_IFDIR | 0755 }) < 0)
			return -1;
	return payload_each(payload, add_payload_member, archive);
}

/* Into memory; -1 is an error of libarchive's. */
static int open_archive(struct archive *archive, struct text *text)
{
	return archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
			       archive_write_open(archive, text, NULL, add_to_text, NULL) !=
				       ARCHIVE_OK
		       ? -1
		       : 0;
}

/* Into its file; result: of all that was done before. */
static int close_archive(struct archive *archive, int result, const char *path,
			 const struct text *text, struct error *err)
{
	if (result || archive_write_close(archive) != ARCHIVE_OK)
		return error_set(err, ERROR_LAB, "%s: libarchive: %s", path,
				 archive_error_string(archive) ?: "failed");
	return file_write(path, text->bytes, text->length, err);
}

/* An archive of the folders, of executable files (the list ends with a NULL) and of a payload
 * (NULL: none). */
static int write_all(const char *path, const char *const *folders, const struct member *members,
		     const struct payload *payload, struct error *err)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_write_new();
	CLEANUP_TEXT struct text text = { NULL, 0, 0 };
	int result;

	if (!archive)
		return error_set(err, ERROR_LAB, "%s: libarchive: out of memory", path);
	result = archive_write_set_format_cpio_newc(archive) != ARCHIVE_OK ||
		 open_archive(archive, &text) < 0 || add_folders(archive, folders) < 0;
	for (; members->name && !result; members++)
		result = add(archive, members) < 0;
	if (payload && !result)
		result = add_payload(archive, payload) != 0;
	return close_archive(archive, result, path, &text, err);
}

/* --- of a disk image
 * -----------------------------------------------------------------------------------
 */

static int add_to_image(void *context, const struct payload_member *from)
{
	/* Folders of the image keep their modes: a tar file makes those above a member. */
	if (from->library || (S_ISDIR(from->mode) && !strstr(from->name + 1, "/")))
		return 0;
	return add(context, &(struct member){ .name = from->name + 1,
					      .mode = from->mode,
					      .bytes = from->bytes,
					      .length = from->length,
					      .target = from->target });
}

int disk_tar_write(const char *path, const char *agent, const struct payload *payload,
		   struct error *err)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_write_new();
	struct member member = { .name = &JOB_AGENT[1] };
	CLEANUP_TEXT struct text text = { NULL, 0, 0 };
	CLEANUP_FREE char *bytes = NULL;
	int result;

	if (!archive)
		return error_set(err, ERROR_LAB, "%s: libarchive: out of memory", path);
	if (file_read(agent, AGENT_BYTES_MAX, &bytes, &member.length, err) < 0)
		return error_prefix(err, "the Linux guest's agent");
	member.bytes = bytes;
	result = archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
		 open_archive(archive, &text) < 0 || add(archive, &member) < 0;
	if (payload && !result)
		result = payload_each(payload, add_to_image, archive) != 0;
	return close_archive(archive, result, path, &text, err);
}

int initramfs_write(const char *path, const char *agent, const struct payload *payload,
		    struct error *err)
{
	static const char *const folders[] = { "dev", "proc", "sys", "tmp", NULL };
	struct member members[] = { { .name = "init" }, { 0 } };
	CLEANUP_FREE char *bytes = NULL;

	if (file_read(agent, AGENT_BYTES_MAX, &bytes, &members[0].length, err) < 0)
		return error_prefix(err, "the Linux guest's agent");
	if (members[0].length < 4 || memcmp(bytes, "\177ELF", 4) != 0)
		return error_set(err, ERROR_LAB, "%s: not a program: run `make images`", agent);
	members[0].bytes = bytes;
	return write_all(path, folders, members, payload, err);
}

/* Its folders are in no archive: so the kernel, when it unpacks this one as well, leaves it out. */
static int archive_madt(struct text *text)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_write_new();
	CLEANUP_TEXT struct text madt = { 0 };

	madt_add(&madt, RACK_CPUS_MOST + 1);
	if (!archive || archive_write_set_format_cpio_newc(archive) != ARCHIVE_OK ||
	    open_archive(archive, text) < 0)
		return -1;
	if (add(archive, &(struct member){ .name = MADT_MEMBER,
					   .mode = S_IFREG | 0644,
					   .bytes = madt.bytes,
					   .length = madt.length }) < 0)
		return -1;
	return archive_write_close(archive) == ARCHIVE_OK ? 0 : -1;
}

int initramfs_write_rack(const char *path, const char *initramfs, struct error *err)
{
	CLEANUP_TEXT struct text text = { 0 };
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	if (file_read(initramfs, INITRAMFS_BYTES_MAX, &bytes, &length, err) < 0)
		return -1;
	if (archive_madt(&text) < 0)
		return error_set(err, ERROR_LAB, "%s: libarchive: out of memory", path);
	text_add(&text, bytes, length);
	return file_write(path, text.bytes, text.length, err);
}

/* Whether a program needs no loader, which an initramfs has not. */
static bool is_static(const char *bytes, size_t length)
{
	Elf64_Ehdr header;

	if (length < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > length ||
	    header.e_phnum > (length - header.e_phoff) / sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

int initramfs_write_shell(const char *path, const char *busybox, const char *script,
			  struct error *err)
{
	/* The last ones are where busybox installs its names. */
	static const char *const folders[] = { "dev",  "proc", "sys",	  "tmp",      "root", "bin",
					       "sbin", "usr",  "usr/bin", "usr/sbin", NULL };
	struct member members[] = { { .name = "init", .bytes = script, .length = strlen(script) },
				    { .name = "bin/busybox" },
				    { 0 } };
	CLEANUP_FREE char *bytes = NULL;

	if (file_read(busybox, AGENT_BYTES_MAX, &bytes, &members[1].length, err) < 0)
		return error_prefix(err, "a shell for the guest (the package busybox-static)");
	if (!is_static(bytes, members[1].length))
		return error_set(err, ERROR_LAB,
				 "%s: is no static x86-64 program: the package busybox-static has "
				 "one",
				 busybox);
	members[1].bytes = bytes;
	return write_all(path, folders, members, NULL, err);
}
