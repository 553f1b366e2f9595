// SPDX-License-Identifier: MIT
/* What a guest that died left in the logs of its disk. */
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "images/disk/image.h"

#define LOG_BYTES_MOST	   (128 * 1024) /* the end of each file */
#define LOGS_BYTES_MOST	   (1024 * 1024)
#define JOURNAL_LINES_MOST 5000

static const char *const places[] = {
	"/var/log/*.log", "/var/log/syslog",	 "/var/log/messages",	      "/var/log/dmesg",
	"/var/log/debug", "/var/crash/*/dmesg*", "/var/lib/systemd/pstore/*",
};

/* When the image was prepared, by what was written then: older logs tell of its making. */
static int64_t since(const struct image *image)
{
	static const char *const written[] = { "/etc/systemd/system/quirklab.service",
					       "/etc/inittab" };
	int64_t time = 0;

	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]) && !time; i++) {
		struct guestfs_statns *status = guestfs_statns(image->g, written[i]);

		if (!status)
			continue;
		time = status->st_mtime_sec;
		guestfs_free_statns(status);
	}
	return time;
}

static bool is_older(const struct image *image, const char *path, int64_t time)
{
	struct guestfs_statns *status = guestfs_statns(image->g, path);
	const bool older = !status || status->st_mtime_sec < time;

	if (status)
		guestfs_free_statns(status);
	return older;
}

static bool is_full(const struct text *out)
{
	return out->length >= LOGS_BYTES_MOST;
}

static void add_file(const struct image *image, const char *path, struct text *out)
{
	int64_t size = guestfs_filesize(image->g, path);
	int64_t from = size > LOG_BYTES_MOST ? size - LOG_BYTES_MOST : 0;
	CLEANUP_FREE char *bytes = NULL;
	size_t got = 0;

	if (size <= 0 || is_full(out) || guestfs_is_file(image->g, path) <= 0)
		return;
	bytes = guestfs_pread(image->g, path, LOG_BYTES_MOST, from, &got);
	if (!bytes)
		return;
	text_addf(out, "==> %s%s <==\n", path, from ? " (its end)" : "");
	text_add(out, bytes, got);
	text_addf(out, "\n");
}

static void add_field(const struct guestfs_xattr_list *entry, const char *name, const char *after,
		      struct text *out)
{
	for (uint32_t i = 0; i < entry->len; i++) {
		const struct guestfs_xattr *field = &entry->val[i];

		if (strcmp(field->attrname, name) != 0)
			continue;
		text_add(out, field->attrval, field->attrval_len);
		text_addf(out, "%s", after);
		return;
	}
}

/* Its entries since then, with who said it. */
static void add_journal(const struct image *image, int64_t time, struct text *out)
{
	guestfs_h *g = image->g;
	int64_t count = 0;

	if (guestfs_is_dir(g, "/var/log/journal") <= 0 ||
	    guestfs_journal_open(g, "/var/log/journal") < 0)
		return;
	text_addf(out, "==> the journal <==\n");
	while (count++ < JOURNAL_LINES_MOST && guestfs_journal_next(g) > 0 && !is_full(out)) {
		struct guestfs_xattr_list *entry;

		if (guestfs_journal_get_realtime_usec(g) / 1000000 < time)
			continue;
		entry = guestfs_journal_get(g);
		if (!entry)
			break;
		add_field(entry, "SYSLOG_IDENTIFIER", ": ", out);
		add_field(entry, "MESSAGE", "\n", out);
		guestfs_free_xattr_list(entry);
	}
	guestfs_journal_close(g);
}

void image_logs(const struct image *image, struct text *out)
{
	const int64_t time = since(image);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		CLEANUP_STRINGS char **found = guestfs_glob_expand(image->g, places[i]);

		for (char **path = found; path && *path; path++)
			if (!is_older(image, *path, time))
				add_file(image, *path, out);
	}
	add_journal(image, time, out);
}
