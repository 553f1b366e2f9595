/* SPDX-License-Identifier: MIT */
/* From a request to the domain that is booted for it on this connection. */
#ifndef QUIRKLAB_HARNESS_GUEST_BOOT_PLAN_H
#define QUIRKLAB_HARNESS_GUEST_BOOT_PLAN_H

#include "harness/guest/guest.h"

/*
 * The domain XML, with the files' paths as the hypervisor has them: sends them there first where it
 * cannot read ours. `pipes`, `disk`: see struct domain_plan. Caller frees.
 */
char *boot_plan_xml(struct connection *connection, const struct guest_request *request,
		    const char *name, const char *pipes, const char *disk, struct error *err);

/* The file's path as the hypervisor has it; sends it there where it has to. Caller frees. */
char *boot_place(struct connection *connection, const char *path, struct error *err);

#endif
