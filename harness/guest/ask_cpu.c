// SPDX-License-Identifier: MIT
/* Which CPUID bits this QEMU can present, and which of them its accelerator has: asked of itself.
 */
#include <string.h>
#include <jansson.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/domain.h"
#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"

/* `max` has whatever the accelerator can do; the full expansion lists every property with its
 * value. */
static const char question[] = "{\"execute\":\"query-cpu-model-expansion\","
			       "\"arguments\":{\"type\":\"full\",\"model\":{\"name\":\"max\"}}}";

void guest_read_cpu_answer(struct hypervisor *out, const char *reply, struct error *err)
{
	/* Some properties are 2^64 - 1, which is no integer to jansson. */
	json_t *root = json_loads(reply, JSON_DECODE_INT_AS_REAL, NULL);
	const json_t *model = json_object_get(json_object_get(root, "return"), "model");
	const json_t *properties = json_object_get(model, "props");

	if (!json_is_object(properties)) {
		error_set(err, ERROR_LAB, "QEMU does not tell what its CPU model 'max' has");
		json_decref(root);
		return;
	}
	for (int i = 0; i < (int)feature_count; i++) {
		const char *name = features[i].qemu ? features[i].qemu : features[i].qemu_new;
		const json_t *value = name ? json_object_get(properties, name) : NULL;

		feature_put(&out->named, i, value != NULL);
		feature_put(&out->native, i, json_is_true(value));
	}
	out->asked = true;
	json_decref(root);
}

int guest_ask_cpu(struct connection *connection, struct hypervisor *out, struct error *err)
{
	CLEANUP_FREE char *name = xasprintf("%sask", connection->prefix);
	CLEANUP_FREE char *xml = NULL, *reply = NULL;
	virDomainPtr domain;

	*out = connection->hypervisor;
	xml = domain_probe_xml(name, connection->emulator, connection->hypervisor.kvm);
	domain = virDomainCreateXML(connection->libvirt, xml, VIR_DOMAIN_START_PAUSED);
	if (!domain)
		return error_set(err, ERROR_LAB, "libvirt does not start the guest: %s",
				 virGetLastErrorMessage());
	if (virDomainQemuMonitorCommand(domain, question, &reply, 0) < 0)
		error_set(err, ERROR_LAB, "QEMU cannot be asked for its CPUs: %s",
			  virGetLastErrorMessage());
	else
		guest_read_cpu_answer(out, reply, err);
	virDomainDestroy(domain);
	virDomainFree(domain);
	return out->asked ? 0 : -1;
}
