// SPDX-License-Identifier: MIT
/* One serial port of a guest, as a libvirt stream. */
#include "harness/guest/console.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <libvirt/virterror.h>

#include "harness/util/text.h"

struct console {
	pthread_mutex_t lock; /* held while the sink is called */
	virStreamPtr stream;
	console_sink *sink; /* NULL: closed, or at its end */
	void *opaque;
	bool watched; /* the stream has our callback */
	atomic_uint *live;
	atomic_uint holders; /* the caller, and the event loop */
};

static void release(void *opaque)
{
	struct console *console = opaque;

	if (atomic_fetch_sub(&console->holders, 1) > 1)
		return;
	virStreamFree(console->stream);
	pthread_mutex_destroy(&console->lock);
	atomic_fetch_sub(console->live, 1);
	free(console);
}

static void at_end(struct console *console)
{
	if (console->watched) {
		console->watched = false;
		virStreamEventRemoveCallback(console->stream);
	}
	if (console->sink)
		console->sink(console->opaque, NULL, 0);
	console->sink = NULL;
}

/* Nothing is written, so a hang-up without bytes is the end; with bytes, the next read tells. */
static void ready(virStreamPtr stream, int events, void *opaque)
{
	struct console *console = opaque;
	char bytes[16384];
	int got;

	pthread_mutex_lock(&console->lock);
	while (console->sink) {
		got = virStreamRecv(stream, bytes, sizeof(bytes));
		if (got > 0) {
			console->sink(console->opaque, bytes, (size_t)got);
			continue;
		}
		if (got == -2 && !(events & (VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR)))
			break;
		at_end(console);
	}
	pthread_mutex_unlock(&console->lock);
}

struct console *console_open(virConnectPtr connection, virDomainPtr domain, const char *device,
			     console_sink *sink, void *opaque, atomic_uint *live,
			     struct error *err)
{
	struct console *console = xcalloc(1, sizeof(*console));

	pthread_mutex_init(&console->lock, NULL);
	console->sink = sink;
	console->opaque = opaque;
	console->live = live;
	atomic_fetch_add(live, 1);
	atomic_init(&console->holders, 1);
	console->stream = virStreamNew(connection, VIR_STREAM_NONBLOCK);
	if (!console->stream ||
	    virDomainOpenConsole(domain, device, console->stream, VIR_DOMAIN_CONSOLE_FORCE) < 0)
		goto failed;
	atomic_fetch_add(&console->holders, 1);
	console->watched = true;
	if (virStreamEventAddCallback(console->stream,
				      VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP |
					      VIR_STREAM_EVENT_ERROR,
				      ready, console, release) < 0) {
		atomic_fetch_sub(&console->holders, 1);
		virStreamAbort(console->stream);
		goto failed;
	}
	return console;
failed:
	error_set(err, ERROR_LAB, "cannot open %s: %s", device, virGetLastErrorMessage());
	release(console);
	return NULL;
}

void console_close(struct console *console)
{
	bool watched;

	if (!console)
		return;
	pthread_mutex_lock(&console->lock);
	console->sink = NULL;
	watched = console->watched;
	console->watched = false;
	pthread_mutex_unlock(&console->lock);
	if (watched)
		virStreamEventRemoveCallback(console->stream);
	virStreamAbort(console->stream);
	release(console);
}
