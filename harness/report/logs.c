// SPDX-License-Identifier: MIT
/* The ends of a cell's logs. */
#include "harness/report/logs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/util/cleanup.h"

#define TAIL_BYTES 8192
#define TAIL_LINES 40
#define LINE_MOST  400

/* A path of plain components below the folder. */
static bool stays_below(const char *cell)
{
	while (*cell) {
		size_t length = strcspn(cell, "/");

		if (!length || (length <= 2 && strspn(cell, ".") >= length))
			return false;
		cell += length;
		if (*cell)
			cell++;
	}
	return true;
}

/* Only a regular file: opening anything else could wait for ever. */
static int open_log(const char *folder, const char *cell, const char *name)
{
	CLEANUP_FREE char *path = xasprintf("%s/cells/%s/%s.log", folder, cell, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Where the last `lines` lines begin. */
static const char *last_lines(const char *bytes, size_t length, unsigned lines)
{
	const char *at = bytes + length;

	if (at > bytes && at[-1] == '\n')
		at--;
	while (at > bytes && (at[-1] != '\n' || --lines))
		at--;
	return at;
}

static void add_line(struct text *out, const char *line, size_t length)
{
	char inert[4 * LINE_MOST + 1];

	if (length && line[length - 1] == '\r')
		length--;
	text_printable(inert, sizeof(inert), line, length < LINE_MOST ? length : LINE_MOST);
	text_addf(out, "%s%s\n", inert, length > LINE_MOST ? " ..." : "");
}

bool log_tail(struct text *out, const char *folder, const char *cell, const char *name)
{
	CLEANUP_FD int fd = stays_below(cell) ? open_log(folder, cell, name) : -1;
	CLEANUP_FREE char *bytes = NULL;
	const char *at, *end;
	ssize_t length;
	off_t size;

	if (fd < 0)
		return false;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return false;
	bytes = xmalloc(TAIL_BYTES);
	length = pread(fd, bytes, TAIL_BYTES, size > TAIL_BYTES ? size - TAIL_BYTES : 0);
	if (length < 0)
		return false;
	end = bytes + length;
	at = last_lines(bytes, (size_t)length, TAIL_LINES);
	if (at == bytes && size > length) {
		/* The first line may have lost its beginning; of one endless line the end is kept.
		 */
		const char *newline = memchr(at, '\n', (size_t)length);

		at = newline && newline + 1 < end ? newline + 1 : end - LINE_MOST;
	}
	if (at > bytes || size > length)
		text_addf(out, "... %lld bytes before\n", (long long)(size - (end - at)));
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		add_line(out, at, (size_t)((newline ? newline : end) - at));
		at = newline ? newline + 1 : end;
	}
	return true;
}
