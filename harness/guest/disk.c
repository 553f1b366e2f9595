// SPDX-License-Identifier: MIT
/* Prepares a disk image for guests, and reads what a dead one left. */
#include "harness/guest/disk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/disk_internal.h"
#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"

#define PROGRAM		"disk"
#define OVERLAY_MOST	(4UL << 20) /* an empty one has 200 KiB, more for a large disk */
#define LOGS_BYTES_MOST (2UL << 20)

char *disk_program(struct error *err)
{
	char *path = path_image(PROGRAM);

	if (access(path, X_OK) == 0)
		return path;
	error_set(err, ERROR_LAB,
		  "--image FILE: built without libguestfs: install libguestfs-dev and build again");
	free(path);
	return NULL;
}

/* What a line NAME, TAB, VALUE of the program says; NULL: no such line. Caller frees. */
static char *said(const struct text *text, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = text_string(text); *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (!strncmp(at, name, length) && at[length] == '\t')
			return strndup(at + length + 1, strcspn(at + length + 1, "\n"));
	return NULL;
}

/* The program's own error, or what it said last. */
static int refuse(const struct text *text, int status, struct error *err)
{
	CLEANUP_FREE char *input = said(text, "input");
	CLEANUP_FREE char *lab = said(text, "lab");

	if (input)
		return error_set(err, ERROR_INPUT, "%s", input);
	if (lab)
		return error_set(err, ERROR_LAB, "%s", lab);
	return error_set(err, ERROR_LAB, "images/" PROGRAM ": exit status %d: %.*s", status,
			 (int)strcspn(text_string(text), "\n"), text_string(text));
}

/* argv[0] is the program; its own errors are told as ours. */
static int run(struct text *out, const char *const *argv, struct connection *connection,
	       unsigned seconds, struct error *err)
{
	int status = disk_tool(out, argv, connection, seconds, err);

	if (status <= 0)
		return status;
	return refuse(out, status, err);
}

static const char *accelerator(const struct connection *connection)
{
	return connection->hypervisor.kvm ? "kvm" : "tcg";
}

static char *file_there(const char *folder, const char *name)
{
	char *path = xasprintf("%s/%s", folder, name);

	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static int take(struct disk *disk, const struct disk_request *request, const struct text *out,
		struct error *err)
{
	disk->words = said(out, "words");
	disk->system = said(out, "system");
	disk->release = said(out, "release");
	disk->image = file_there(request->folder, "empty.qcow2");
	disk->initrd = file_there(request->folder, "initrd");
	disk->kernel =
		request->kernel ? xstrdup(request->kernel) : file_there(request->folder, "kernel");
	if (!disk->words || !disk->image || !disk->kernel)
		return error_set(err, ERROR_LAB, "%s: not prepared to the end", request->image);
	if (kernel_check(disk->kernel, GUEST_DISK, err) < 0)
		return error_set(err, ERROR_INPUT, "%s: its kernel %s is none for x86-64",
				 request->image, disk->release);
	return 0;
}

int disk_prepare(struct disk *disk, struct connection *connection,
		 const struct disk_request *request, struct error *err)
{
	CLEANUP_FREE char *path = disk_program(err);
	CLEANUP_FREE char *image = realpath(request->image, NULL);
	CLEANUP_FREE char *tar = xasprintf("%s/tar", request->folder);
	CLEANUP_TEXT struct text out = { 0 };
	const char *format;

	*disk = (struct disk){ 0 };
	if (!path)
		return -1;
	if (connection->upload)
		return error_set(err, ERROR_INPUT,
				 "--image FILE: the hypervisor %s cannot read this user's files: "
				 "run without -c, or with qemu:///session",
				 connection->uri);
	if (!image)
		return error_set(err, ERROR_INPUT, "%s: %s", request->image, strerror(errno));
	format = disk_format(image, err);
	if (!format || disk_tar_write(tar, request->agent, request->payload, err) < 0)
		return -1;
	const char *const argv[] = {
		path,
		"prepare",
		image,
		format,
		request->folder,
		tar,
		accelerator(connection),
		request->full_boot ? "full" : "agent",
		request->kernel,
		NULL,
	};
	if (run(&out, argv, connection, PREPARE_SECONDS, err) == 0 &&
	    take(disk, request, &out, err) == 0) {
		unlink(tar);
		return 0;
	}
	disk_free(disk);
	return -1;
}

void disk_free(struct disk *disk)
{
	free(disk->image);
	free(disk->kernel);
	free(disk->initrd);
	free(disk->words);
	free(disk->system);
	free(disk->release);
	*disk = (struct disk){ 0 };
}

char *disk_overlay(const char *empty, const char *name, struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t length;
	char *path;

	if (file_read(empty, OVERLAY_MOST, &bytes, &length, err) < 0)
		return NULL;
	path = xasprintf("%.*s/%s.qcow2", (int)(strrchr(empty, '/') - empty), empty, name);
	if (file_write(path, bytes, length, err) == 0)
		return path;
	free(path);
	return NULL;
}

int disk_logs(struct text *out, struct connection *connection, const char *overlay,
	      struct error *err)
{
	CLEANUP_FREE char *path = disk_program(err);
	CLEANUP_FREE char *folder = xasprintf("%s.logs", overlay);
	CLEANUP_FREE char *file = xasprintf("%s/logs", folder);
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_TEXT struct text words = { 0 };
	const char *const argv[] = { path, "logs", overlay, folder, accelerator(connection), NULL };
	size_t length = 0;
	int result;

	if (!path || folder_make(folder, err) < 0)
		return -1;
	result = run(&words, argv, connection, LOGS_SECONDS, err);
	if (!result)
		result = file_read(file, LOGS_BYTES_MOST, &bytes, &length, err);
	if (!result)
		text_add(out, bytes, length);
	folder_remove(folder, NULL);
	return result;
}
