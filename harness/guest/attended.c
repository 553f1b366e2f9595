// SPDX-License-Identifier: MIT
/* A guest with somebody at its console: started, read and written, destroyed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <libvirt/virterror.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/console.h"
#include "harness/guest/definition.h"
#include "harness/guest/domain.h"
#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

struct guest_attended {
	struct lifecycle_listener listener; /* the first member */
	struct connection *connection;
	char *name, *pipes;
	char *gdb; /* the stub's socket, or NULL */
	struct console *console;
	int input;
	virDomainPtr domain;
	void (*sink)(void *context, const void *bytes, size_t length);
	void *context;
	atomic_bool stopped; /* libvirt says so */
	bool closed;	     /* and QEMU has closed its end of the console */
};

static void console_bytes(void *opaque, const void *bytes, size_t length)
{
	struct guest_attended *guest = opaque;

	if (length)
		guest->sink(guest->context, bytes, length);
	else
		guest->closed = true;
}

/* In libvirt's event thread. */
static void lifecycle_event(struct lifecycle_listener *listener, int event, int detail)
{
	struct guest_attended *guest = (struct guest_attended *)listener;

	(void)detail;
	if (event == VIR_DOMAIN_EVENT_STOPPED || event == VIR_DOMAIN_EVENT_SHUTDOWN ||
	    event == VIR_DOMAIN_EVENT_CRASHED)
		atomic_store(&guest->stopped, true);
}

static int open_console(struct guest_attended *guest, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s.0", guest->pipes);

	guest->console = console_pipe_open(path, console_bytes, guest, err);
	return guest->console ? 0 : -1;
}

/* QEMU has opened its end by then. */
static int open_input(struct guest_attended *guest, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s.0.in", guest->pipes);

	guest->input = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (guest->input < 0)
		return error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	return 0;
}

static int start(struct guest_attended *guest, const struct guest_request *request,
		 const struct guest_definition *definition, struct error *err)
{
	CLEANUP_FREE char *xml = NULL, *gdb = NULL;
	struct domain_plan plan;

	if (definition_plan(&plan, guest->connection, request, definition, err) < 0)
		return -1;
	if (guest->gdb)
		gdb = xasprintf("unix:%s,server=on,wait=off", guest->gdb);
	plan.name = guest->name;
	plan.pipes = guest->pipes;
	plan.gdb = gdb;
	xml = domain_xml(&plan, err);
	definition_plan_free(&plan);
	if (!xml || open_console(guest, err) < 0)
		return -1;
	guest->domain =
		virDomainCreateXML(guest->connection->libvirt, xml, VIR_DOMAIN_START_PAUSED);
	if (!guest->domain)
		return error_set(err, ERROR_LAB, "libvirt does not start the guest: %s",
				 virGetLastErrorMessage());
	if (open_input(guest, err) < 0)
		return -1;
	if (!guest->gdb && virDomainResume(guest->domain) < 0)
		return error_set(err, ERROR_LAB, "libvirt does not resume the guest: %s",
				 virGetLastErrorMessage());
	return 0;
}

struct guest_attended *guest_attend(struct connection *connection,
				    const struct guest_request *request,
				    const struct guest_definition *definition,
				    void (*sink)(void *context, const void *bytes, size_t length),
				    void *context, struct error *err)
{
	struct guest_attended *guest;

	if (!connection->root.path) {
		error_set(
			err, ERROR_INPUT,
			"%s: a guest's console and its gdb stub are on its own host: leave -c out, "
			"or take --keep and virsh",
			connection->uri);
		return NULL;
	}
	guest = xcalloc(1, sizeof(*guest));
	guest->connection = connection;
	guest->sink = sink;
	guest->context = context;
	guest->input = -1;
	guest->name =
		xasprintf("%s%u", connection->prefix, atomic_fetch_add(&connection->next, 1) + 1);
	guest->pipes = xasprintf("%s/%s", connection->root.path, guest->name);
	if (definition->gdb)
		guest->gdb = xasprintf("%s/gdb", connection->root.path);
	guest->listener.name = guest->name;
	guest->listener.event = lifecycle_event;
	lifecycle_listen(&connection->lifecycle, &guest->listener);
	if (start(guest, request, definition, err) == 0)
		return guest;
	guest_attended_end(guest);
	return NULL;
}

bool guest_attended_read(struct guest_attended *guest)
{
	/* What was said before the end is still in the pipe. */
	bool stopped = atomic_load(&guest->stopped);

	guest->console->read(guest->console);
	return !stopped && !guest->closed && !atomic_load(&guest->connection->interrupted) &&
	       !atomic_load(&guest->connection->lifecycle.lost);
}

size_t guest_attended_write(struct guest_attended *guest, const void *bytes, size_t length)
{
	ssize_t put;

	do
		put = write(guest->input, bytes, length);
	while (put < 0 && errno == EINTR);
	return put < 0 ? 0 : (size_t)put;
}

const char *guest_attended_gdb(const struct guest_attended *guest)
{
	return guest->gdb;
}

void guest_attended_end(struct guest_attended *guest)
{
	if (!guest)
		return;
	lifecycle_unlisten(&guest->connection->lifecycle, &guest->listener);
	if (guest->domain) {
		if (virDomainDestroy(guest->domain) < 0)
			virResetLastError(); /* it was gone already */
		virDomainFree(guest->domain);
	}
	if (guest->console)
		guest->console->close(guest->console);
	if (guest->input >= 0)
		close(guest->input);
	free(guest->name);
	free(guest->pipes);
	free(guest->gdb);
	free(guest);
}
