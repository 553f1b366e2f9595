// SPDX-License-Identifier: MIT
/* From a request to the domain that is booted for it. */
#include "harness/guest/boot_plan.h"

#include <errno.h>
#include <string.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/domain.h"
#include "harness/util/cleanup.h"

/* Where the hypervisor finds the file. libvirt wants an absolute path: QEMU's folder is "/". */
char *boot_place(struct connection *connection, const char *path, struct error *err)
{
	char *absolute;

	if (connection->upload)
		return upload_file(connection->upload, path, err);
	absolute = realpath(path, NULL);
	if (!absolute)
		error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	return absolute;
}

char *boot_plan_xml(struct connection *connection, const struct guest_request *request,
		    const char *name, const char *pipes, const char *disk, struct error *err)
{
	CLEANUP_FREE char *kernel = NULL, *initrd = NULL;
	struct domain_plan plan = {
		.name = name,
		.emulator = connection->emulator,
		.kvm = connection->hypervisor.kvm,
		.microvm = connection->microvm,
		.cpu_by_qemu = connection->cpu_by_qemu,
		.pipes = pipes,
		.request = request,
	};

	if (request->kernel) {
		kernel = boot_place(connection, request->kernel, err);
		if (!kernel)
			return NULL;
	}
	if (request->initrd) {
		initrd = boot_place(connection, request->initrd, err);
		if (!initrd)
			return NULL;
	}
	plan.disk = disk;
	plan.kernel = kernel;
	plan.initrd = initrd;
	return domain_xml(&plan, err);
}
