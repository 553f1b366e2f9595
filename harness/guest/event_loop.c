// SPDX-License-Identifier: MIT
/* The thread that runs libvirt's event loop. */
#include "harness/guest/event_loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "harness/util/text.h"

struct event_loop {
	pthread_t thread;
	atomic_bool stop;
	int timer; /* only there to wake the thread */
};

/* libvirt keeps the first registration for the life of the process and complains about a second. */
static pthread_once_t registration = PTHREAD_ONCE_INIT;
static int registered = -1;

static void register_once(void)
{
	registered = virEventRegisterDefaultImpl();
}

static void *run(void *opaque)
{
	struct event_loop *loop = opaque;

	while (!atomic_load(&loop->stop))
		virEventRunDefaultImpl();
	return NULL;
}

static void woken(int timer, void *opaque)
{
	(void)opaque;
	virEventUpdateTimeout(timer, -1);
}

struct event_loop *event_loop_start(struct error *err)
{
	struct event_loop *loop;
	int failure;

	pthread_once(&registration, register_once);
	if (registered < 0) {
		error_set(err, ERROR_LAB, "libvirt has no event loop: %s",
			  virGetLastErrorMessage());
		return NULL;
	}
	loop = xcalloc(1, sizeof(*loop));
	loop->timer = virEventAddTimeout(-1, woken, NULL, NULL);
	failure = pthread_create(&loop->thread, NULL, run, loop);
	if (failure) {
		virEventRemoveTimeout(loop->timer);
		free(loop);
		error_set(err, ERROR_LAB, "no thread for libvirt's event loop: %s",
			  strerror(failure));
		return NULL;
	}
	pthread_setname_np(loop->thread, "libvirt-events");
	return loop;
}

void event_loop_stop(struct event_loop *loop)
{
	if (!loop)
		return;
	atomic_store(&loop->stop, true);
	virEventUpdateTimeout(loop->timer, 0);
	pthread_join(loop->thread, NULL);
	virEventRemoveTimeout(loop->timer);
	free(loop);
}
