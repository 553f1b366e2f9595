// SPDX-License-Identifier: MIT
/* One serial port of a guest, as a libvirt stream. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <libvirt/virterror.h>

#include "harness/guest/console.h"
#include "harness/util/text.h"

struct console_stream {
	struct console console; /* its first member */
	pthread_mutex_t lock;	/* held while the sink is called */
	virStreamPtr stream;
	console_sink *sink; /* NULL: closed, or at its end */
	void *opaque;
	bool watched; /* the stream has our callback */
	atomic_uint *live;
};

/* In the event thread, after whatever it was doing when the port was closed. */
static void bury(int timer, void *opaque)
{
	struct console_stream *port = opaque;

	virEventRemoveTimeout(timer);
	pthread_mutex_destroy(&port->lock);
	atomic_fetch_sub(port->live, 1);
	free(port);
}

static void at_end(struct console_stream *port)
{
	if (port->watched) {
		port->watched = false;
		virStreamEventRemoveCallback(port->stream);
	}
	if (port->sink)
		port->sink(port->opaque, NULL, 0);
	port->sink = NULL;
}

/* Nothing is written, so a hang-up without bytes is the end; with bytes, the next read tells. */
static void ready(virStreamPtr stream, int events, void *opaque)
{
	struct console_stream *port = opaque;
	char bytes[16384];
	int got;

	pthread_mutex_lock(&port->lock);
	while (port->sink) {
		got = virStreamRecv(stream, bytes, sizeof(bytes));
		if (got > 0) {
			port->sink(port->opaque, bytes, (size_t)got);
			continue;
		}
		if (got == -2 && !(events & (VIR_STREAM_EVENT_HANGUP | VIR_STREAM_EVENT_ERROR)))
			break;
		at_end(port);
	}
	pthread_mutex_unlock(&port->lock);
}

static void read_nothing(struct console *console)
{
	(void)console;
}

static void close_stream(struct console *console)
{
	struct console_stream *port = (struct console_stream *)console;
	bool watched;

	pthread_mutex_lock(&port->lock);
	port->sink = NULL;
	watched = port->watched;
	port->watched = false;
	pthread_mutex_unlock(&port->lock);
	if (watched)
		virStreamEventRemoveCallback(port->stream);
	if (port->stream) {
		virStreamAbort(port->stream);
		virStreamFree(port->stream);
	}
	/* libvirt may be about to call `ready`. Its own word that it will not (the callback that
	 * frees) never comes from a remote driver. */
	if (virEventAddTimeout(0, bury, port, NULL) < 0)
		abort();
}

struct console *console_stream_open(virConnectPtr connection, virDomainPtr domain,
				    const char *device, console_sink *sink, void *opaque,
				    atomic_uint *live, struct error *err)
{
	struct console_stream *port = xcalloc(1, sizeof(*port));

	port->console = (struct console){ read_nothing, close_stream };
	pthread_mutex_init(&port->lock, NULL);
	port->sink = sink;
	port->opaque = opaque;
	port->live = live;
	atomic_fetch_add(live, 1);
	port->stream = virStreamNew(connection, VIR_STREAM_NONBLOCK);
	if (!port->stream ||
	    virDomainOpenConsole(domain, device, port->stream, VIR_DOMAIN_CONSOLE_FORCE) < 0)
		goto failed;
	pthread_mutex_lock(&port->lock);
	port->watched =
		virStreamEventAddCallback(port->stream,
					  VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_HANGUP |
						  VIR_STREAM_EVENT_ERROR,
					  ready, port, NULL) == 0;
	pthread_mutex_unlock(&port->lock);
	if (!port->watched)
		goto failed;
	return &port->console;
failed:
	error_set(err, ERROR_LAB, "cannot open %s: %s", device, virGetLastErrorMessage());
	close_stream(&port->console);
	return NULL;
}
