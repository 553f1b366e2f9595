// SPDX-License-Identifier: MIT
/* Files read whole, written whole or not at all, appended and synced; folders made and removed. */
#include "harness/util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

#define PIPE_PATIENCE 5 /* seconds */
#define PIPE_TICK_US  50000

/* A pipe that has a name may have no writer, ever. One of a shell's <(COMMAND) always has. */
static int await_writer(int fd, struct error *err)
{
	struct pollfd writer = { .fd = fd, .events = POLLIN };
	struct statfs where;
	int got;

	if (fstatfs(fd, &where) == 0 && where.f_type == PIPEFS_MAGIC)
		return 0;
	do {
		got = poll(&writer, 1, PIPE_PATIENCE * 1000);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		return 0;
	return error_set(err, ERROR_INPUT, "a pipe into which nobody has written for %d s",
			 PIPE_PATIENCE);
}

/* Where somebody may type or paste, and what is empty. Others have no end, or none soon. */
static bool is_odd_device(int fd, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return !isatty(fd) && st->st_rdev != makedev(1, 3); /* /dev/null */
	return S_ISBLK(st->st_mode);
}

/* Refuses what is no file, and takes O_NONBLOCK back. */
static int settle(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, ERROR_INPUT, "%s", strerror(errno));
	if (S_ISDIR(st.st_mode))
		return error_set(err, ERROR_INPUT, "is a folder, a file was expected");
	if (is_odd_device(fd, &st))
		return error_set(err, ERROR_INPUT, "is a device, a file was expected");
	if (S_ISFIFO(st.st_mode) && await_writer(fd, err) < 0)
		return -1;
	/* Some of /proc wait as a pipe does, but pass for files: of those a read fails. */
	if (!S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, 0) < 0)
		return error_set(err, ERROR_INPUT, "%s", strerror(errno));
	return 0;
}

int file_open(const char *path, struct error *err)
{
	/* Without O_NONBLOCK the open of such a pipe would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return error_set(err, ERROR_INPUT, "%s", strerror(errno));
	if (settle(fd, err) == 0)
		return fd;
	close(fd);
	return -1;
}

int file_create(const char *path, struct error *err)
{
	const double until = clock_seconds() + PIPE_PATIENCE;
	struct stat st;
	int fd;

	while ((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0666)) < 0 &&
	       errno == ENXIO && stat(path, &st) == 0 && S_ISFIFO(st.st_mode)) {
		if (clock_seconds() > until)
			return error_set(err, ERROR_INPUT, "a pipe that nobody has read for %d s",
					 PIPE_PATIENCE);
		usleep(PIPE_TICK_US);
	}
	if (fd >= 0 && fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	error_set(err, ERROR_INPUT, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

int file_read(const char *path, size_t most, char **bytes, size_t *length, struct error *err)
{
	CLEANUP_FD int fd = file_open(path, err);
	CLEANUP_TEXT struct text text = { 0 };
	char chunk[65536];
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return error_prefix(err, "%s", path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > (off_t)most)
		return error_set(err, ERROR_INPUT, "%s: larger than %zu bytes", path, most);
	while ((got = read(fd, chunk, sizeof(chunk))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, ERROR_INPUT, "%s: %s", path,
					 errno == EAGAIN ? "a read would wait for what comes next, "
							   "a file was expected"
							 : strerror(errno));
		if (text.length + (size_t)got > most)
			return error_set(err, ERROR_INPUT, "%s: larger than %zu bytes", path, most);
		text_add(&text, chunk, (size_t)got);
	}
	text_add(&text, "", 0); /* so that an empty file too is a string */
	*bytes = text.bytes;
	*length = text.length;
	text = (struct text){ 0 };
	return 0;
}

static int write_all(int fd, const void *bytes, size_t length)
{
	const char *from = bytes;

	while (length) {
		ssize_t put = write(fd, from, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		from += put;
		length -= (size_t)put;
	}
	return 0;
}

int file_write(const char *path, const void *bytes, size_t length, struct error *err)
{
	CLEANUP_FREE char *temporary = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	mode_t mask;
	int saved;

	if (fd < 0)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	mask = umask(0);
	umask(mask);
	if (write_all(fd, bytes, length) < 0 || fchmod(fd, 0666 & ~mask) < 0 || fsync(fd) < 0) {
		saved = errno;
		close(fd);
		unlink(temporary);
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(saved));
	}
	if (close(fd) < 0 || rename(temporary, path) < 0) {
		saved = errno;
		unlink(temporary);
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(saved));
	}
	return 0;
}

int file_append_synced(int fd, const char *name, const void *bytes, size_t length,
		       struct error *err)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int saved;

	if (end < 0)
		return error_set(err, ERROR_LAB, "%s: %s", name, strerror(errno));
	if (write_all(fd, bytes, length) == 0 && fdatasync(fd) == 0)
		return 0;
	saved = errno;
	/* Half a record would spoil the next one. Where this fails too, a reader cuts the torn
	 * line. */
	if (ftruncate(fd, end) < 0)
		return error_set(err, ERROR_LAB, "%s: %s, and the torn record stays: %s", name,
				 strerror(saved), strerror(errno));
	return error_set(err, ERROR_LAB, "%s: %s", name, strerror(saved));
}

int folder_make(const char *path, struct error *err)
{
	CLEANUP_FREE char *partial = xstrdup(path);
	struct stat st;

	for (char *slash = partial + (*partial == '/'); *slash; slash++) {
		if (*slash != '/')
			continue;
		*slash = '\0';
		if (mkdir(partial, 0777) < 0 && errno != EEXIST)
			return error_set(err, ERROR_LAB, "%s: %s", partial, strerror(errno));
		*slash = '/';
	}
	if (mkdir(partial, 0777) < 0 && errno != EEXIST)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return error_set(err, ERROR_LAB, "%s: exists and is no folder", path);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int folder_remove(const char *path, struct error *err)
{
	/* 16 descriptors: the depth of our folders is under 8. */
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) < 0 && errno != ENOENT)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	return 0;
}
