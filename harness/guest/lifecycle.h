/* SPDX-License-Identifier: MIT */
/* libvirt's lifecycle events of a connection, handed to whoever waits for that domain. */
#ifndef QUIRKLAB_HARNESS_GUEST_LIFECYCLE_H
#define QUIRKLAB_HARNESS_GUEST_LIFECYCLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <libvirt/libvirt.h>
#include "harness/util/error.h"

struct lifecycle_listener {
	const char *name; /* of the domain */
	/* In libvirt's event thread. */
	void (*event)(struct lifecycle_listener *listener, int event, int detail);
	struct lifecycle_listener *next;
};

struct lifecycle {
	virConnectPtr connection;
	int callback;
	pthread_mutex_t lock;
	struct lifecycle_listener *listeners;
	atomic_bool lost; /* the connection closed by itself */
};

int lifecycle_start(struct lifecycle *lifecycle, virConnectPtr connection, struct error *err);
void lifecycle_stop(struct lifecycle *lifecycle);

void lifecycle_listen(struct lifecycle *lifecycle, struct lifecycle_listener *listener);
/* From then on the listener is not called. */
void lifecycle_unlisten(struct lifecycle *lifecycle, struct lifecycle_listener *listener);

#endif
