/* SPDX-License-Identifier: MIT */
/*
 * A distribution's disk image as what guests boot. The user's file is never written: it is the
 * backing file of an overlay that is prepared once, with the agent and the subject in it, and each
 * guest has an overlay on that. libguestfs does the work, in a program of its own (images/disk/).
 */
#ifndef QUIRKLAB_HARNESS_GUEST_DISK_H
#define QUIRKLAB_HARNESS_GUEST_DISK_H

#include <stdbool.h>
#include "harness/guest/connection.h"
#include "harness/guest/payload.h"
#include "harness/util/text.h"

/* What can be told of the file without starting anything. ERROR_INPUT: no file, neither qcow2 nor a
 * raw disk, a damaged qcow2, one that rests on another file. */
int disk_check(const char *path, struct error *err);

struct disk_request {
	const char *image;	       /* the user's file */
	const char *folder;	       /* for the overlays, of this run alone; absolute */
	const char *agent;	       /* the agent's file */
	const struct payload *payload; /* what the agent runs; NULL: nothing */
	const char *kernel;	       /* to boot instead of the image's own; or NULL */
	bool full_boot;		       /* its own init starts the agent */
};

struct disk {			/* all owned */
	char *image;		/* an empty overlay on the prepared one: each guest gets a copy */
	char *kernel, *initrd;	/* initrd NULL: it has none */
	char *words;		/* of the kernel's command line: where the root is */
	char *system, *release; /* what the image says it is, and its kernel's release; for people
				 */
};

/*
 * Takes half a minute under TCG; the first time on a machine libguestfs builds its appliance as
 * well. ERROR_INPUT: no Linux system for x86-64 in it, no kernel, encrypted; ERROR_LAB: interrupted
 * by connection_interrupt, no libguestfs.
 */
int disk_prepare(struct disk *disk, struct connection *connection,
		 const struct disk_request *request, struct error *err);
void disk_free(struct disk *disk);

/* The copy of `empty` that one guest writes to. Caller frees the path and removes the file. */
char *disk_overlay(const char *empty, const char *name, struct error *err);

/* What the logs in a dead guest's overlay say, with a line before each; at most 1 MiB. */
int disk_logs(struct text *out, struct connection *connection, const char *overlay,
	      struct error *err);

#endif
