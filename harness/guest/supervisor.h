/* SPDX-License-Identifier: MIT */
/*
 * A child process that does nothing until the harness is gone, however it died, and then ends what
 * it left: the QEMUs of its embedded roots, and its domains on other hypervisors. It is told what
 * there is through a socket, and learns of the death when that closes.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_SUPERVISOR_H
#define QUIRKLAB_HARNESS_GUEST_SUPERVISOR_H

#include <sys/types.h>
#include "harness/util/error.h"

struct supervisor {
	pid_t pid;
	int socket; /* nobody else holds this end, so its closing is the harness' end */
};

/* Forks: call it before the first thread, and before libvirt is used. */
int supervisor_start(struct supervisor *supervisor, struct error *err);
/* Lets it see the end; the caller reaps the pid. */
void supervisor_stop(struct supervisor *supervisor);

/* From any thread. A root's QEMUs are to be killed, and the root removed. */
void supervisor_add_root(struct supervisor *supervisor, const char *path);
void supervisor_drop_root(struct supervisor *supervisor, const char *path);
/* The domains of that URI whose names begin with the prefix are to be destroyed. */
void supervisor_add_domains(struct supervisor *supervisor, const char *uri, const char *prefix);
void supervisor_drop_domains(struct supervisor *supervisor, const char *uri, const char *prefix);

#endif
