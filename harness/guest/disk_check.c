// SPDX-License-Identifier: MIT
/* What can be told of a disk image by its first bytes, and by qemu-img. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/guest/disk.h"
#include "harness/guest/disk_internal.h"
#include "harness/util/cleanup.h"

/* QEMU, docs/interop/qcow2.txt: big endian, version at 4, offset of the backing file's name at 8,
 * encryption method at 32, incompatible features at 72 (version 3). */
#define QCOW2_MAGIC	   "QFI\xfb"
#define QCOW2_HEADER_BYTES 104
#define QCOW2_CORRUPT	   (1U << 1)
#define QCOW2_DATA_FILE	   (1U << 2)

/* qemu-img check's exit status where clusters are used by nothing, which does no harm. */
#define CLUSTERS_LEAKED 3

/* QEMU, block/file-posix.c: who may write to an image has this byte of it locked. */
#define WRITERS_LOCK 101

/* What a disk, a partition table or a file system says at its beginning. */
static const struct {
	off_t offset;
	const char *bytes;
	size_t length;
} disk_marks[] = {
	{ 510, "\x55\xaa", 2 },		 /* a boot sector: MBR, GPT, FAT */
	{ 1080, "\x53\xef", 2 },	 /* ext2, ext3, ext4 */
	{ 0, "XFSB", 4 },		 /* XFS */
	{ 0x10040, "_BHRfS_M", 8 },	 /* btrfs */
	{ 1024, "\x10\x20\xf5\xf2", 4 }, /* F2FS */
	{ 0, "LUKS\xba\xbe", 6 },	 /* encrypted: told apart later */
	{ 512, "LABELONE", 8 },		 /* LVM */
};

static uint32_t be32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool has_mark(int fd)
{
	for (size_t i = 0; i < sizeof(disk_marks) / sizeof(disk_marks[0]); i++) {
		char bytes[8];

		if (pread(fd, bytes, disk_marks[i].length, disk_marks[i].offset) ==
			    (ssize_t)disk_marks[i].length &&
		    !memcmp(bytes, disk_marks[i].bytes, disk_marks[i].length))
			return true;
	}
	return false;
}

/* The lab's guests would see it change under them; QEMU refuses that. */
static bool is_written_to(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = WRITERS_LOCK,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int check_header(const char *path, const unsigned char *header, struct error *err)
{
	uint32_t version = be32(header + 4), bits = version >= 3 ? be32(header + 76) : 0;

	if (version != 2 && version != 3)
		return error_set(err, ERROR_INPUT, "%s: qcow2 of version %u: 2 or 3 was expected",
				 path, version);
	if (be32(header + 8) || be32(header + 12) || (bits & QCOW2_DATA_FILE))
		return error_set(
			err, ERROR_INPUT,
			"%s: it rests on another file: make it one by `qemu-img convert -O "
			"qcow2`",
			path);
	if (be32(header + 32))
		return error_set(err, ERROR_INPUT, "%s: encrypted: the lab takes no key", path);
	if (bits & QCOW2_CORRUPT)
		return error_set(err, ERROR_INPUT,
				 "%s: QEMU has marked it as corrupt: `qemu-img check -r all` on a "
				 "copy may mend it",
				 path);
	return 0;
}

const char *disk_format(const char *path, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char header[QCOW2_HEADER_BYTES] = { 0 };
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		error_set(err, ERROR_INPUT, "--image %s: %s", path, strerror(errno));
		return NULL;
	}
	if (!S_ISREG(status.st_mode)) {
		error_set(err, ERROR_INPUT, "--image %s: bare, linux or a file was expected", path);
		return NULL;
	}
	if (is_written_to(fd)) {
		error_set(err, ERROR_INPUT,
			  "%s: a running guest has it open for writing: end that, or give a copy",
			  path);
		return NULL;
	}
	if (pread(fd, header, sizeof(header), 0) > 0 && !memcmp(header, QCOW2_MAGIC, 4))
		return check_header(path, header, err) < 0 ? NULL : "qcow2";
	if (has_mark(fd))
		return "raw";
	error_set(err, ERROR_INPUT,
		  "%s: no disk image: neither qcow2, nor raw with partitions or a file system",
		  path);
	return NULL;
}

/* It only reads. Absolute: in "a:b.img" QEMU would see a protocol. */
static int examine(const char *path, struct text *said, struct error *err)
{
	CLEANUP_FREE char *file = realpath(path, NULL);
	const char *const argv[] = { "qemu-img", "check", "-q", "-f", "qcow2", file, NULL };

	if (!file)
		return error_set(err, ERROR_INPUT, "--image %s: %s", path, strerror(errno));
	return disk_tool(said, argv, NULL, CHECK_SECONDS, err);
}

int disk_check(const char *path, struct error *err)
{
	CLEANUP_TEXT struct text said = { 0 };
	const char *format = disk_format(path, err);
	CLEANUP_FREE char *program = NULL;
	int status;

	if (!format)
		return -1;
	program = disk_program(err); /* without it there may be no qemu-img either */
	if (!program)
		return -1;
	if (strcmp(format, "qcow2") != 0)
		return 0;
	status = examine(path, &said, err);
	if (status < 0)
		return error_prefix(err, "%s", path);
	if (status == 0 || status == CLUSTERS_LEAKED)
		return 0;
	return error_set(err, ERROR_INPUT, "%s: a damaged qcow2 (qemu-img check: %.*s)", path,
			 (int)strcspn(text_string(&said), "\n"), text_string(&said));
}
