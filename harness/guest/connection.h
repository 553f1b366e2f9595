/* SPDX-License-Identifier: MIT */
/*
 * A libvirt connection to run guests on: by default the embedded driver with a root of its own,
 * else any URI (qemu:///system, qemu:///session, qemu+ssh://host/system). Owns the libvirt event
 * loop thread (one per process), the state directory with its lock, and the supervisor that ends
 * this root's QEMUs when the harness dies.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_CONNECTION_H
#define QUIRKLAB_HARNESS_GUEST_CONNECTION_H

#include "harness/cpu/realise.h"
#include "harness/util/error.h"

struct connection;

struct connection_options {
	const char *uri;      /* NULL: the embedded driver */
	const char *emulator; /* NULL: libvirt's choice */
	enum accelerator { ACCEL_AUTO, ACCEL_KVM, ACCEL_TCG } accelerator;
};

/* The first one forks the supervisor: call it before the first thread. libvirt opens its embedded
 * driver once in the life of a process, so that connection cannot be opened anew after
 * connection_close. ERROR_LAB with a remedy where libvirt, QEMU or the rights are missing.
 * ACCEL_KVM that the host cannot give is an error, ACCEL_AUTO takes KVM where it runs an ordinary
 * guest, else TCG. */
struct connection *connection_open(const struct connection_options *options, struct error *err);
/* Destroys every domain that is left, removes the root, ends the supervisor. NULL is allowed. */
void connection_close(struct connection *connection);

const struct hypervisor *connection_hypervisor(const struct connection *connection);
bool connection_is_local(const struct connection *connection);
const char *connection_qemu_text(const struct connection *connection);	  /* "7.2.22" */
const char *connection_libvirt_text(const struct connection *connection); /* "9.0.0" */

/* The libvirt CPU model names of this hypervisor for x86_64; NULL-terminated, the caller frees the
 * array with connection_models_free. */
char **connection_models(struct connection *connection, struct error *err);
void connection_models_free(char **models);

/* From any thread or a signal handler: every boot under way ends soon, with GUEST_INTERRUPTED. */
void connection_interrupt(struct connection *connection);

/*
 * A folder whose files QEMUs have that are no guests of libvirt's: should this process die, the
 * supervisor ends those and removes the folder. Absolute. Only while a connection is open.
 */
void connection_guard_folder(const char *path);
void connection_unguard_folder(const char *path);

/* Ends the QEMUs of embedded roots that nobody holds (a harness and its supervisor both died). */
void connection_sweep(void);

#endif
