/* SPDX-License-Identifier: MIT */
/* What is known of the emulator behind a connection. */
#ifndef QUIRKLAB_HARNESS_GUEST_EMULATOR_H
#define QUIRKLAB_HARNESS_GUEST_EMULATOR_H

#include <stdbool.h>
#include <libvirt/libvirt.h>
#include "harness/guest/connection.h"

/* major * 1000000 + minor * 1000 + release, of the connection's emulator. */
int emulator_version(struct connection *connection, unsigned long *version, struct error *err);
/* Whether the connection's emulator has this machine. */
bool emulator_has_machine(struct connection *connection, const char *machine);
/* Where the hypervisor has the emulator that it would take; NULL: it does not say. Caller frees. */
char *emulator_path(struct connection *connection);
/* Whether the host says that it runs x86_64 guests under KVM. */
bool emulator_offers_kvm(virConnectPtr libvirt);

#endif
