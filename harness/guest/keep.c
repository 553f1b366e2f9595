// SPDX-License-Identifier: MIT
/* A guest that outlives the harness. */
#include <libvirt/virterror.h>

#include "harness/guest/boot_plan.h"
#include "harness/guest/connection_internal.h"
#include "harness/guest/domain.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

int guest_keep(struct connection *connection, const struct guest_request *request,
	       const struct guest_definition *definition, char **uri, struct error *err)
{
	CLEANUP_FREE char *kernel = boot_place(connection, request->kernel, err);
	CLEANUP_FREE char *initrd =
		kernel && request->initrd ? boot_place(connection, request->initrd, err) : NULL;
	CLEANUP_FREE char *xml = NULL;
	const struct domain_plan plan = {
		.name = definition->name,
		.emulator = connection->emulator,
		.kvm = connection->hypervisor.kvm,
		.microvm = connection->microvm,
		.cpu_by_qemu = connection->cpu_by_qemu,
		.for_people = true,
		.log = definition->log,
		.kernel = kernel,
		.initrd = initrd,
		.request = request,
	};
	virDomainPtr domain;

	*uri = NULL;
	if (!kernel || (request->initrd && !initrd))
		return -1;
	xml = domain_xml(&plan, err);
	if (!xml || (connection->root.path && root_keep(&connection->root, err) < 0))
		return -1;
	/* Its name has not our prefix, by which the others are found and ended. */
	domain = virDomainCreateXML(connection->libvirt, xml, 0);
	if (!domain)
		return error_set(err, ERROR_LAB, "libvirt does not start the guest: %s",
				 virGetLastErrorMessage());
	virDomainFree(domain);
	*uri = xstrdup(connection->uri);
	return 0;
}
