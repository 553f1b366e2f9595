// SPDX-License-Identifier: MIT
/* libvirt's lifecycle events, handed to whoever waits for that domain. */
#include "harness/guest/lifecycle.h"

#include <string.h>
#include <libvirt/virterror.h>

static int happened(virConnectPtr connection, virDomainPtr domain, int event, int detail,
		    void *opaque)
{
	struct lifecycle *lifecycle = opaque;
	const char *name = virDomainGetName(domain);

	(void)connection;
	pthread_mutex_lock(&lifecycle->lock);
	for (struct lifecycle_listener *l = lifecycle->listeners; name && l; l = l->next)
		if (!strcmp(l->name, name))
			l->event(l, event, detail);
	pthread_mutex_unlock(&lifecycle->lock);
	return 0;
}

static void closed(virConnectPtr connection, int reason, void *opaque)
{
	struct lifecycle *lifecycle = opaque;

	(void)connection;
	if (reason != VIR_CONNECT_CLOSE_REASON_CLIENT)
		atomic_store(&lifecycle->lost, true);
}

int lifecycle_start(struct lifecycle *lifecycle, virConnectPtr connection, struct error *err)
{
	lifecycle->connection = connection;
	lifecycle->listeners = NULL;
	atomic_init(&lifecycle->lost, false);
	pthread_mutex_init(&lifecycle->lock, NULL);
	lifecycle->callback =
		virConnectDomainEventRegisterAny(connection, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
						 VIR_DOMAIN_EVENT_CALLBACK(happened), lifecycle,
						 NULL);
	if (lifecycle->callback < 0) {
		pthread_mutex_destroy(&lifecycle->lock);
		return error_set(err, ERROR_LAB, "no lifecycle events: %s",
				 virGetLastErrorMessage());
	}
	/* Only a connection to a daemon can be lost; an embedded driver refuses. */
	if (virConnectRegisterCloseCallback(connection, closed, lifecycle, NULL) < 0)
		virResetLastError();
	return 0;
}

void lifecycle_stop(struct lifecycle *lifecycle)
{
	virConnectUnregisterCloseCallback(lifecycle->connection, closed);
	virConnectDomainEventDeregisterAny(lifecycle->connection, lifecycle->callback);
	pthread_mutex_destroy(&lifecycle->lock);
}

void lifecycle_listen(struct lifecycle *lifecycle, struct lifecycle_listener *listener)
{
	pthread_mutex_lock(&lifecycle->lock);
	listener->next = lifecycle->listeners;
	lifecycle->listeners = listener;
	pthread_mutex_unlock(&lifecycle->lock);
}

void lifecycle_unlisten(struct lifecycle *lifecycle, struct lifecycle_listener *listener)
{
	struct lifecycle_listener **link = &lifecycle->listeners;

	pthread_mutex_lock(&lifecycle->lock);
	while (*link && *link != listener)
		link = &(*link)->next;
	if (*link)
		*link = listener->next;
	pthread_mutex_unlock(&lifecycle->lock);
}
