// SPDX-License-Identifier: MIT
/* From a request to the domain that is booted for it. */
#include "harness/guest/boot_plan.h"

#include <errno.h>
#include <string.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/domain.h"
#include "harness/guest/emulator.h"
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

/* Which emulator boots it; NULL: libvirt's choice. */
static const char *choose_emulator(struct connection *connection,
				   const struct guest_request *request)
{
	CLEANUP_FREE char *path = NULL;
	const char *single;

	if (!connection->root.path || connection->hypervisor.kvm || request->image != GUEST_LINUX ||
	    !domain_is_rack(request))
		return connection->emulator;
	path = emulator_path(connection);
	single = single_thread_emulator(&connection->single, connection->libvirt, path);
	return single ? single : connection->emulator;
}

char *boot_plan_xml(struct connection *connection, const struct guest_request *request,
		    const char *name, const char *pipes, const char *disk, struct error *err)
{
	CLEANUP_FREE char *kernel = NULL, *initrd = NULL;
	struct domain_plan plan = {
		.name = name,
		.emulator = choose_emulator(connection, request),
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
