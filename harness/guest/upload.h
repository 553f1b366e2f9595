/* SPDX-License-Identifier: MIT */
/*
 * Files for guests of a hypervisor that cannot read ours: it is on another host, or it runs as
 * another user. Each file travels once, as a volume of a pool that lives as long as the connection.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_UPLOAD_H
#define QUIRKLAB_HARNESS_GUEST_UPLOAD_H

#include <libvirt/libvirt.h>
#include "harness/util/error.h"

struct upload;

/* The pool is named PREFIX without its last dash. Nothing is made before the first file. */
struct upload *upload_new(virConnectPtr libvirt, const char *prefix);
/* Deletes the volumes and the pool. NULL is allowed. */
void upload_free(struct upload *upload);

/* The path that the hypervisor's host has the file under. Thread-safe. Caller frees. */
char *upload_file(struct upload *upload, const char *path, struct error *err);

/* Deletes what a dead harness of that prefix left. */
void upload_remove(virConnectPtr libvirt, const char *prefix);

#endif
