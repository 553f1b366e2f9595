// SPDX-License-Identifier: MIT
/* A libvirt connection: opened, described, closed. */
#include "harness/guest/connection_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>
#include <libvirt/virterror.h>
#include <libxml/uri.h>

#include "harness/guest/accelerator.h"
#include "harness/guest/capability_cache.h"
#include "harness/guest/emulator.h"
#include "harness/guest/process.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

/* 9.0 starts guests with forced bits, 11.3 does not (domain.c); which version began is not known.
 */
#define LIBVIRT_COMPARES_FORCED 10000000

/* A remote host that does not answer KEEPALIVE_COUNT times is lost. */
#define KEEPALIVE_SECONDS 5
#define KEEPALIVE_COUNT	  6

/* How long the event loop may take to let go of the streams. */
#define DRAIN_SECONDS 2.0

static bool uri_is_local(const char *text)
{
	xmlURIPtr uri = xmlParseURI(text);
	bool local = uri && (!uri->server || !uri->server[0]);

	xmlFreeURI(uri);
	return local;
}

static int decide_accelerator(struct connection *connection, enum accelerator wanted,
			      struct error *err)
{
	char words[512] = "the hypervisor offers no KVM";
	enum accelerator_kvm kvm = ACCELERATOR_KVM_NONE;

	if (connection->local)
		kvm = accelerator_explain(NULL, words, sizeof(words));
	else if (emulator_offers_kvm(connection->libvirt))
		kvm = ACCELERATOR_KVM_WORKS;
	connection->hypervisor.kvm =
		wanted == ACCEL_AUTO ? kvm == ACCELERATOR_KVM_WORKS : wanted == ACCEL_KVM;
	if (wanted == ACCEL_KVM && kvm == ACCELERATOR_KVM_NONE)
		return error_set(err, ERROR_LAB, "KVM was asked for: %s", words);
	return 0;
}

/* Versions are major * 1000000 + minor * 1000 + release. */
static void version_text(char *out, size_t room, unsigned long version)
{
	snprintf(out, room, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000,
		 version % 1000);
}

static int describe(struct connection *connection, enum accelerator wanted, struct error *err)
{
	unsigned long libvirt = 0, qemu = 0;

	if (decide_accelerator(connection, wanted, err) < 0)
		return -1;
	if (virConnectGetLibVersion(connection->libvirt, &libvirt) < 0)
		return error_set(err, ERROR_LAB, "%s: libvirt's version: %s", connection->uri,
				 virGetLastErrorMessage());
	version_text(connection->libvirt_text, sizeof(connection->libvirt_text), libvirt);
	connection->hypervisor.libvirt_version = (unsigned)libvirt;
	if (emulator_version(connection, &qemu, err) < 0)
		return -1;
	version_text(connection->qemu_text, sizeof(connection->qemu_text), qemu);
	connection->hypervisor.qemu_version =
		(unsigned)(qemu / 1000000 * 1000 + qemu / 1000 % 1000);
	connection->cpu_by_qemu = libvirt >= LIBVIRT_COMPARES_FORCED;
	connection->microvm = emulator_has_machine(connection, "microvm");
	return 0;
}

/* One of a QEMU driver: qemu[+TRANSPORT]://[HOST]/system, session or embed. */
static bool uri_is_of_qemu(const char *text)
{
	static const char *const drivers[] = { "/system", "/session", "/embed" };
	xmlURIPtr uri = xmlParseURI(text);
	bool known = false;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++)
		known |= uri && uri->path && !strcmp(uri->path, drivers[i]);
	known = known && uri->scheme && !strncmp(uri->scheme, "qemu", 4);
	xmlFreeURI(uri);
	return known;
}

/* What may help where there is no connection. libvirt's own words say the rest. */
static const char *connect_hint(const struct connection *connection)
{
	if (connection->root.path)
		return " (the packages libvirt-daemon-system and libvirt-daemon-driver-qemu are "
		       "needed)";
	if (!uri_is_of_qemu(connection->uri))
		return " (qemu:///system, qemu:///session or qemu+ssh://HOST/system was expected)";
	return connection->local ? " (its daemon, libvirtd or virtqemud, has to run)" : "";
}

static int connect_libvirt(struct connection *connection, struct error *err)
{
	connection->libvirt = virConnectOpen(connection->uri);
	if (!connection->libvirt)
		return error_set(err, ERROR_LAB, "%s: %s%s", connection->uri,
				 virGetLastErrorMessage(), connect_hint(connection));
	if (!connection->local)
		virConnectSetKeepAlive(connection->libvirt, KEEPALIVE_SECONDS, KEEPALIVE_COUNT);
	return lifecycle_start(&connection->lifecycle, connection->libvirt, err);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && !strcmp(text + length - end_length, end);
}

static int open_embedded(struct connection *connection, struct error *err)
{
	connection_sweep();
	if (root_open(&connection->root, err) < 0)
		return -1;
	supervisor_add_root(process_supervisor(), connection->root.path);
	capability_cache_load(connection->root.path);
	connection->uri = xasprintf("qemu:///embed?root=%s", connection->root.path);
	connection->local = true;
	if (connect_libvirt(connection, err) < 0)
		return -1;
	return 0;
}

static int open_other(struct connection *connection, const char *uri, struct error *err)
{
	uint16_t random;

	connection->uri = xstrdup(uri);
	connection->local = uri_is_local(uri);
	/* On that hypervisor there may be a harness of another host with our pid. */
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint16_t)time(NULL);
	snprintf(connection->prefix, sizeof(connection->prefix), "quirklab-%d-%04x-", (int)getpid(),
		 random);
	supervisor_add_domains(process_supervisor(), uri, connection->prefix);
	if (connect_libvirt(connection, err) < 0)
		return -1;
	/* Only a session of our own has our rights. */
	if (!connection->local || !ends_with(uri, "/session"))
		connection->upload = upload_new(connection->libvirt, connection->prefix);
	return 0;
}

struct connection *connection_open(const struct connection_options *options, struct error *err)
{
	struct connection *connection;
	int result;

	if (process_hold(err) < 0)
		return NULL;
	connection = xcalloc(1, sizeof(*connection));
	connection->root.lock = -1;
	connection->undertaker = undertaker_start();
	pthread_mutex_init(&connection->single.lock, NULL);
	connection->emulator = options->emulator ? xstrdup(options->emulator) : NULL;
	snprintf(connection->prefix, sizeof(connection->prefix), "quirklab-%d-", (int)getpid());
	if (options->uri)
		result = open_other(connection, options->uri, err);
	else
		result = open_embedded(connection, err);
	if (!result)
		result = describe(connection, options->accelerator, err);
	if (!result && connection->root.path)
		capability_cache_save(connection->root.path);
	if (result < 0) {
		connection_close(connection);
		return NULL;
	}
	return connection;
}

void connection_guard_folder(const char *path)
{
	supervisor_add_root(process_supervisor(), path);
}

void connection_unguard_folder(const char *path)
{
	supervisor_drop_root(process_supervisor(), path);
}

static void destroy_left(struct connection *connection)
{
	virDomainPtr *domains = NULL;
	int count = virConnectListAllDomains(connection->libvirt, &domains, 0);

	for (int i = 0; i < count; i++) {
		const char *name = virDomainGetName(domains[i]);

		if (name && !strncmp(name, connection->prefix, strlen(connection->prefix)))
			virDomainDestroy(domains[i]);
		virDomainFree(domains[i]);
	}
	free(domains);
}

void connection_close(struct connection *connection)
{
	double begin = clock_seconds();
	bool lost = false;

	if (!connection)
		return;
	undertaker_stop(connection->undertaker);
	if (connection->libvirt) {
		destroy_left(connection);
		upload_free(connection->upload);
		while (atomic_load(&connection->consoles) &&
		       clock_seconds() - begin < DRAIN_SECONDS)
			usleep(1000);
		if (connection->lifecycle.connection) {
			lost = atomic_load(&connection->lifecycle.lost);
			lifecycle_stop(&connection->lifecycle);
		}
		virConnectClose(connection->libvirt);
	}
	if (connection->root.path) {
		CLEANUP_FREE char *path = xstrdup(connection->root.path);

		capability_cache_save(path);
		root_close(&connection->root);
		supervisor_drop_root(process_supervisor(), path);
	} else if (connection->uri && !lost) {
		/* Else the supervisor tries once more, when this process is gone. */
		supervisor_drop_domains(process_supervisor(), connection->uri, connection->prefix);
	}
	process_release();
	free(connection->uri);
	free(connection->emulator);
	single_thread_free(&connection->single);
	free(connection);
}

const struct hypervisor *connection_hypervisor(const struct connection *connection)
{
	return &connection->hypervisor;
}

bool connection_is_local(const struct connection *connection)
{
	return connection->local;
}

const char *connection_qemu_text(const struct connection *connection)
{
	return connection->qemu_text;
}

const char *connection_libvirt_text(const struct connection *connection)
{
	return connection->libvirt_text;
}

char **connection_models(struct connection *connection, struct error *err)
{
	char **models = NULL;

	if (virConnectGetCPUModelNames(connection->libvirt, "x86_64", &models, 0) < 0) {
		error_set(err, ERROR_LAB, "%s: CPU models: %s", connection->uri,
			  virGetLastErrorMessage());
		return NULL;
	}
	if (!models)
		models = xcalloc(1, sizeof(*models));
	return models;
}

void connection_models_free(char **models)
{
	for (char **model = models; model && *model; model++)
		free(*model);
	free(models);
}

void connection_interrupt(struct connection *connection)
{
	atomic_store(&connection->interrupted, true);
}

void connection_sweep(void)
{
	root_sweep();
}
