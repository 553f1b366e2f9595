/* SPDX-License-Identifier: MIT */
/* Other programs, run by a command: what they print is kept in memory. */
#ifndef QUIRKLAB_LAB_CHILD_H
#define QUIRKLAB_LAB_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include "harness/util/error.h"
#include "harness/util/text.h"

struct child {
	pid_t pid;
	int output, complaint; /* its standard output and standard error, in memory */
	bool alone;	       /* in a process group of its own */
};

/* argv[0] is looked up in PATH; NULL ends it. folder: where it runs, or NULL: here. input: what it
 * reads, or NULL: nothing. It does not get the variables of a make that runs us. */
int child_start(struct child *child, const char *const argv[], const char *folder,
		const struct text *input, struct error *err);
/* The same for what starts others in its turn, such as make: in a process group of its own, which
 * child_wait ends whole when a signal comes to us; it is told to end as well where we are killed.
 */
int child_start_alone(struct child *child, const char *const argv[], const char *folder,
		      struct error *err);
/* Waits; its exit status, or 128 and the signal that ended it. */
int child_wait(struct child *child);
/* What it printed, at most `most` bytes (ERROR_LAB beyond): for after child_wait. */
int child_output(const struct child *child, struct text *out, size_t most, struct error *err);
/* The last line that is not empty of what it complained about, or "". Returns ERROR_LAB where a
 * disk was full, else ERROR_INPUT. */
enum error_kind child_complaint(const struct child *child, char *out, size_t room);
void child_close(struct child *child);

/* All of the above: child_complaint, after `what`, where the status is not 0. out may be NULL. A
 * signal to us ends it and what it has started (ERROR_LAB). */
int child_run(const char *what, const char *const argv[], const char *folder, struct text *out,
	      struct error *err);

#endif
