/* SPDX-License-Identifier: MIT */
/*
 * What a Linux guest gets beside the agent: a program that is the subject, the files that it needs,
 * and how to run it (the job). It is a small root file system of its own: names are absolute, as
 * the program sees them. In an initramfs it lies below PAYLOAD_ROOT, and the agent runs the program
 * chrooted into a fresh copy of it, one for each CPU: QEMU's TCG shares translated code among the
 * CPUs of a guest, whatever their features, as long as it lies in the same memory. In a
 * distribution's image only the program and the job are brought in (payload_each), and the program
 * runs in the image's own root.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_PAYLOAD_H
#define QUIRKLAB_HARNESS_GUEST_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "harness/util/error.h"

struct payload;
struct payload *payload_new(void);
void payload_free(struct payload *payload); /* NULL is allowed */

/* One member; a name that is there already is replaced. Folders above it are made. `library`: not
 * for a distribution's image, which has its own. ERROR_INPUT where PATH cannot be read. */
int payload_add_file(struct payload *payload, const char *name, const char *path, bool library,
		     struct error *err);
void payload_add_bytes(struct payload *payload, const char *name, const void *bytes, size_t length,
		       mode_t mode, bool library);
void payload_add_link(struct payload *payload, const char *name, const char *target, bool library);

/* A folder's whole tree, as it is, under a name; depth: of folders above it, 0. */
int payload_add_tree(struct payload *payload, const char *name, const char *path, unsigned depth,
		     struct error *err);

/* --- programs (libraries.c) ----------------------------------------------------------------------
 */

/*
 * A program of this machine, under its own base name in /subject, with its loader and the libraries
 * that it needs as the loader itself finds them, and, of a script, its interpreter. Sets the
 * arguments: the program, then `arguments` (which ends with NULL; NULL: none). ERROR_INPUT with one
 * line: no executable, of another architecture, a library that is nowhere.
 *
 * To find the libraries the loader is run here, with --list: it maps them and runs none of their
 * code. Only a loader in a folder of the system is.
 */
int payload_add_program(struct payload *payload, const char *path, const char *const *arguments,
			struct error *err);
/* A folder's whole tree as /subject; `/subject/run` is the program. Every executable in it gets
 * what it needs. */
int payload_add_folder(struct payload *payload, const char *path, const char *const *arguments,
		       struct error *err);

/* How it is run: argv[0] is a name in the payload. The list ends with NULL; copied. */
void payload_set_arguments(struct payload *payload, const char *const *argv);
void payload_set_environment(struct payload *payload, const char *name, const char *value);
/* A program that writes nothing for so long is killed; 0: the default. */
void payload_set_seconds(struct payload *payload, unsigned seconds);
/* It writes to no file: CPUs of the same bits may share a copy of the root, where it cannot. */
void payload_set_read_only(struct payload *payload);

struct payload_member {
	const char *name; /* absolute, as the program sees it */
	mode_t mode;	  /* with its type: folder, file, link */
	const void *bytes;
	size_t length;
	const char *target; /* of a link */
	bool library;
};
/* Of all files together; a guest needs room for several copies. */
size_t payload_bytes(const struct payload *payload);
/* Every member in an order in which a folder comes before what is in it, the job last. Ends early
 * where each() returns anything but 0, with that. */
int payload_each(const struct payload *payload,
		 int (*each)(void *context, const struct payload_member *member), void *context);

#endif
