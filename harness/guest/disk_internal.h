/* SPDX-License-Identifier: MIT */
/* Programs that work on disk images, for this folder only. */
#ifndef QUIRKLAB_HARNESS_GUEST_DISK_INTERNAL_H
#define QUIRKLAB_HARNESS_GUEST_DISK_INTERNAL_H

#include "harness/guest/disk.h"

#define CHECK_SECONDS	600
#define PREPARE_SECONDS 1200
#define LOGS_SECONDS	600

/* Where images/disk is; or NULL with ERROR_LAB: built without libguestfs. Caller frees. */
char *disk_program(struct error *err);

/* "qcow2" or "raw", by the first bytes; or NULL with ERROR_INPUT. */
const char *disk_format(const char *path, struct error *err);

/*
 * Runs a program to its end, in a session of its own, and takes what it says on both outputs, up to
 * 64 KiB. Returns its exit status, or -1 with ERROR_LAB: it cannot be run, was killed, took too
 * long, or connection (NULL: none) was interrupted; then nothing of it runs any more.
 */
int disk_tool(struct text *said, const char *const *argv, struct connection *connection,
	      unsigned seconds, struct error *err);

/* Writes what an image gets, as a tar file: the agent, and of the payload what is no library. */
int disk_tar_write(const char *path, const char *agent, const struct payload *payload,
		   struct error *err);

#endif
