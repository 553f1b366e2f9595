// SPDX-License-Identifier: MIT
/* A guest for people as a text: domain XML, and a command of QEMU. */
#include <errno.h>
#include <string.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/definition.h"
#include "harness/guest/domain.h"
#include "harness/guest/emulator.h"
#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"

int definition_plan(struct domain_plan *plan, struct connection *connection,
		    const struct guest_request *request, const struct guest_definition *definition,
		    struct error *err)
{
	*plan = (struct domain_plan){
		.name = definition->name,
		.emulator = connection->emulator,
		.kvm = connection->hypervisor.kvm,
		.microvm = connection->microvm,
		.cpu_by_qemu = connection->cpu_by_qemu,
		.for_people = true,
		.log = definition->log,
		.request = request,
	};
	plan->kernel = realpath(request->kernel, NULL);
	if (!plan->kernel)
		return error_set(err, ERROR_INPUT, "%s: %s", request->kernel, strerror(errno));
	if (!request->initrd)
		return 0;
	plan->initrd = realpath(request->initrd, NULL);
	if (plan->initrd)
		return 0;
	free((char *)plan->kernel);
	return error_set(err, ERROR_INPUT, "%s: %s", request->initrd, strerror(errno));
}

void definition_plan_free(struct domain_plan *plan)
{
	free((char *)plan->kernel);
	free((char *)plan->initrd);
}

char *guest_domain_xml(struct connection *connection, const struct guest_request *request,
		       const struct guest_definition *definition, struct error *err)
{
	struct domain_plan plan;
	char *xml;

	if (definition_plan(&plan, connection, request, definition, err) < 0)
		return NULL;
	xml = domain_xml(&plan, err);
	definition_plan_free(&plan);
	return xml;
}

/* What stands behind " -cpu " in libvirt's own command, without quotes. NULL: it has none. */
static char *cpu_of_command(const char *command)
{
	const char *from = strstr(command, "-cpu ");
	size_t length;

	if (!from)
		return NULL;
	from += strlen("-cpu ");
	if (*from == '\'')
		return strndup(from + 1, strcspn(from + 1, "'"));
	length = strcspn(from, " \n\\");
	return strndup(from, length);
}

/* A name of libvirt's is more to QEMU than the name: libvirt turns off what its model has not. */
static int libvirt_cpu(char **cpu, struct connection *connection, const struct domain_plan *plan,
		       struct error *err)
{
	CLEANUP_FREE char *xml = domain_xml(plan, err);
	CLEANUP_FREE char *command = NULL;

	if (!xml)
		return -1;
	command = virConnectDomainXMLToNative(connection->libvirt, "qemu-argv", xml, 0);
	if (!command)
		return error_set(err, ERROR_LAB, "libvirt does not tell its command: %s",
				 virGetLastErrorMessage());
	*cpu = cpu_of_command(command);
	return *cpu ? 0
		    : error_set(err, ERROR_LAB, "libvirt's command has no -cpu: %.200s", command);
}

char *guest_qemu_command(struct connection *connection, const struct guest_request *request,
			 const struct guest_definition *definition, struct error *err)
{
	CLEANUP_FREE char *emulator = emulator_path(connection);
	CLEANUP_FREE char *cpu = NULL;
	struct text out = { 0 };
	struct domain_plan plan;
	int result = 0;

	if (definition_plan(&plan, connection, request, definition, err) < 0)
		return NULL;
	if (request->cpus[0]->model && !plan.cpu_by_qemu)
		result = libvirt_cpu(&cpu, connection, &plan, err);
	if (!result)
		domain_qemu_command(&out, &plan, emulator ? emulator : "qemu-system-x86_64", cpu);
	definition_plan_free(&plan);
	return result < 0 ? NULL : out.bytes;
}
