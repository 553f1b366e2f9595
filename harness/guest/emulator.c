// SPDX-License-Identifier: MIT
/* What is known of the emulator behind a connection. */
#include "harness/guest/emulator.h"

#include <string.h>
#include <jansson.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/domain.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

static unsigned long number(const json_t *object, const char *key)
{
	return (unsigned long)json_integer_value(json_object_get(object, key));
}

/* libvirt tells the version of its default emulator only; another one is asked itself. */
static int ask(virDomainPtr domain, unsigned long *version, struct error *err)
{
	CLEANUP_FREE char *reply = NULL;
	json_t *root;
	const json_t *qemu;

	if (virDomainQemuMonitorCommand(domain, "{\"execute\":\"query-version\"}", &reply, 0) < 0)
		return error_set(err, ERROR_LAB, "the emulator's version: %s",
				 virGetLastErrorMessage());
	root = json_loads(reply, 0, NULL);
	qemu = json_object_get(json_object_get(root, "return"), "qemu");
	*version = number(qemu, "major") * 1000000 + number(qemu, "minor") * 1000 +
		   number(qemu, "micro");
	json_decref(root);
	if (!*version)
		return error_set(err, ERROR_LAB, "the emulator does not tell its version");
	return 0;
}

int emulator_version(struct connection *connection, unsigned long *version, struct error *err)
{
	CLEANUP_FREE char *name = xasprintf("%sversion", connection->prefix);
	CLEANUP_FREE char *xml = NULL;
	virDomainPtr domain;
	int result;

	if (!connection->emulator) {
		if (virConnectGetVersion(connection->libvirt, version) < 0)
			return error_set(err, ERROR_LAB,
					 "%s: no QEMU (the package qemu-system-x86 is needed): %s",
					 connection->uri, virGetLastErrorMessage());
		return 0;
	}
	xml = domain_probe_xml(name, connection->emulator, false);
	domain = virDomainCreateXML(connection->libvirt, xml, VIR_DOMAIN_START_PAUSED);
	if (!domain)
		return error_set(err, ERROR_INPUT, "%s: %s", connection->emulator,
				 virGetLastErrorMessage());
	result = ask(domain, version, err);
	virDomainDestroy(domain);
	virDomainFree(domain);
	return result;
}

bool emulator_offers_kvm(virConnectPtr libvirt)
{
	CLEANUP_FREE char *answer =
		virConnectGetDomainCapabilities(libvirt, NULL, "x86_64", NULL, "kvm", 0);

	virResetLastError();
	return answer != NULL;
}

bool emulator_has_machine(struct connection *connection, const char *machine)
{
	CLEANUP_FREE char *answer =
		virConnectGetDomainCapabilities(connection->libvirt, connection->emulator, "x86_64",
						machine,
						connection->hypervisor.kvm ? "kvm" : "qemu", 0);

	virResetLastError();
	return answer != NULL;
}

char *emulator_path(struct connection *connection)
{
	CLEANUP_FREE char *answer = NULL;
	char *path = NULL;
	xmlDocPtr document;

	if (connection->emulator)
		return realpath(connection->emulator, NULL);
	answer =
		virConnectGetDomainCapabilities(connection->libvirt, NULL, "x86_64", NULL, NULL, 0);
	document = answer ? xmlReadMemory(answer, (int)strlen(answer), NULL, NULL,
					  XML_PARSE_NONET | XML_PARSE_NOERROR)
			  : NULL;
	for (xmlNodePtr node = document ? xmlDocGetRootElement(document)->children : NULL;
	     node && !path; node = node->next)
		if (!xmlStrcmp(node->name, BAD_CAST "path"))
			path = (char *)xmlNodeGetContent(node);
	xmlFreeDoc(document);
	return path;
}
