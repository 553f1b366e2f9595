// SPDX-License-Identifier: MIT
/* QEMU's stderr, from libvirt's file. */
#include "harness/guest/qemu_log.h"

#include <string.h>

#include "harness/guest/connection_internal.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

#define LOG_MOST (1u << 20)

char *qemu_log_path(const struct connection *connection, const char *name)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (connection->root.path)
		return xasprintf("%s/log/qemu/%s.log", connection->root.path, name);
	if (!connection->local)
		return NULL;
	if (!strcmp(connection->uri, "qemu:///system"))
		return xasprintf("/var/log/libvirt/qemu/%s.log", name);
	if (cache && cache[0] == '/')
		return xasprintf("%s/libvirt/qemu/log/%s.log", cache, name);
	return xasprintf("%s/.cache/libvirt/qemu/log/%s.log", home ? home : "", name);
}

void qemu_log_read(const char *path, struct text *log)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t length = 0;

	if (path && file_read(path, LOG_MOST, &bytes, &length, NULL) == 0)
		text_add(log, bytes, length);
}

void qemu_log_last_words(const struct text *log, char *out, size_t room)
{
	/* libvirt writes its own lines into the file too; QEMU's begin with the program's name. */
	static const char mark[] = "qemu-system-x86_64: ";
	const char *at = text_string(log), *last = NULL;

	out[0] = '\0';
	while ((at = strstr(at, mark)))
		last = at++;
	if (last)
		text_printable(out, room, last, strcspn(last, "\r\n"));
}
