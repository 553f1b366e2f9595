// SPDX-License-Identifier: MIT
/* One serial port of a guest on this machine, as a pair of named pipes. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/guest/console.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* A rack's whole report, so that a harness without a turn does not make the guest wait. */
#define PIPE_BYTES (256 << 10)

struct console_pipe {
	struct console console; /* its first member */
	int fd;
	char *in, *out;
	console_sink *sink; /* NULL: at its end */
	void *opaque;
};

static void read_pipe(struct console *console)
{
	struct console_pipe *port = (struct console_pipe *)console;
	char bytes[65536];
	ssize_t got;

	while (port->sink) {
		got = read(port->fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got > 0) {
			port->sink(port->opaque, bytes, (size_t)got);
			continue;
		}
		port->sink(port->opaque, NULL, 0);
		port->sink = NULL;
	}
}

static void close_pipe(struct console *console)
{
	struct console_pipe *port = (struct console_pipe *)console;

	if (port->fd >= 0)
		close(port->fd);
	unlink(port->in);
	unlink(port->out);
	free(port->in);
	free(port->out);
	free(port);
}

struct console *console_pipe_open(const char *path, console_sink *sink, void *opaque,
				  struct error *err)
{
	struct console_pipe *port = xcalloc(1, sizeof(*port));

	port->console = (struct console){ read_pipe, close_pipe };
	port->sink = sink;
	port->opaque = opaque;
	port->in = xasprintf("%s.in", path);
	port->out = xasprintf("%s.out", path);
	port->fd = -1;
	if (mkfifo(port->in, 0600) == 0 && mkfifo(port->out, 0600) == 0)
		port->fd = open(port->out, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (port->fd < 0) {
		error_set(err, ERROR_LAB, "%s: no pipe: %s", port->out, strerror(errno));
		close_pipe(&port->console);
		return NULL;
	}
	fcntl(port->fd, F_SETPIPE_SZ, PIPE_BYTES);
	return &port->console;
}
