// SPDX-License-Identifier: MIT
/* The domain XML of a guest, as a libxml2 tree. */
#include "harness/guest/domain.h"

#include <string.h>
#include <libxml/tree.h>

#include "harness/guest/rack.h"
#include "harness/util/cleanup.h"
#include "images/linux/job.h"

#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"

#define MEMORY_MIB_BARE 64
/* Bare: stack, arena and a copy of the text for each CPU. Linux 6.1: 0.35 MiB. */
#define MEMORY_MIB_RACK_CPU 1
#define MEMORY_MIB_LINUX    256
#define MEMORY_MIB_DISK                                                          \
	1024 /* a distribution's initrd and services; the host gives a page when \
	      * it is first touched */

static xmlNodePtr child(xmlNodePtr parent, const char *name)
{
	return xmlNewChild(parent, NULL, BAD_CAST name, NULL);
}

/* Unlike xmlNewChild with a content, it takes "&" as it is. */
static xmlNodePtr text_child(xmlNodePtr parent, const char *name, const char *text)
{
	return xmlNewTextChild(parent, NULL, BAD_CAST name, BAD_CAST text);
}

static void attribute(xmlNodePtr node, const char *name, const char *value)
{
	xmlNewProp(node, BAD_CAST name, BAD_CAST value);
}

static void number_attribute(xmlNodePtr node, const char *name, unsigned value)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", value);
	attribute(node, name, digits);
}

static xmlNodePtr number_child(xmlNodePtr parent, const char *name, unsigned value)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", value);
	return text_child(parent, name, digits);
}

bool domain_is_rack(const struct guest_request *request)
{
	return request->rack || request->cpu_count > 1;
}

static unsigned memory_mib(const struct guest_request *request)
{
	static const unsigned usual[] = {
		[GUEST_BARE] = MEMORY_MIB_BARE,
		[GUEST_LINUX] = MEMORY_MIB_LINUX,
		[GUEST_DISK] = MEMORY_MIB_DISK,
	};
	unsigned mib = request->memory_mib ? request->memory_mib : usual[request->image];

	if (domain_is_rack(request))
		mib += MEMORY_MIB_RACK_CPU * (unsigned)request->cpu_count;
	return mib;
}

/* Sockets of one core each: the boot CPU and those of a rack, or CPUs that are all alike. */
static unsigned vcpus(const struct guest_request *request)
{
	if (domain_is_rack(request))
		return (unsigned)request->cpu_count + 1;
	return request->vcpus ? request->vcpus : 1;
}

static void add_vcpu(xmlNodePtr domain, const struct guest_request *request)
{
	xmlNodePtr vcpu = number_child(domain, "vcpu", vcpus(request));

	attribute(vcpu, "placement", "static");
	if (domain_is_rack(request))
		number_attribute(vcpu, "current", 1);
}

/*
 * microvm starts in half of the time: no SeaBIOS, no PCI. It cannot plug CPUs; and under TCG every
 * second boot of a Linux kernel hung there. And a name means another CPU there: QEMU's microvm
 * takes the newest version of a model (Haswell-v4, EPYC-v4), pc the first.
 */
static bool uses_microvm(const struct domain_plan *plan)
{
	return plan->microvm && plan->request->image == GUEST_BARE &&
	       !domain_is_rack(plan->request) && !plan->request->cpus[0]->model;
}

/* Caller frees. */
static char *command_line(const struct guest_request *request)
{
	const char *given = request->cmdline ? request->cmdline : "";

	CLEANUP_FREE char *kinds = NULL;

	if (!domain_is_rack(request))
		return xstrdup(given);
	if (request->image != GUEST_LINUX)
		return xasprintf("%s%scpus=%zu", given, given[0] ? " " : "", request->cpu_count);
	kinds = rack_linux_kinds(request->cpus, request->cpu_count);
	return xasprintf("%s%spossible_cpus=%zu " JOB_CPUS_WORD "=%zu %s", given,
			 given[0] ? " " : "", request->cpu_count + 1, request->cpu_count, kinds);
}

static void add_os(xmlNodePtr domain, const struct domain_plan *plan)
{
	const struct guest_request *request = plan->request;
	CLEANUP_FREE char *cmdline = command_line(request);
	xmlNodePtr os = child(domain, "os");
	xmlNodePtr type = text_child(os, "type", "hvm");

	attribute(type, "arch", "x86_64");
	attribute(type, "machine", uses_microvm(plan) ? "microvm" : "pc");
	text_child(os, "kernel", plan->kernel);
	if (plan->initrd)
		text_child(os, "initrd", plan->initrd);
	if (cmdline[0])
		text_child(os, "cmdline", cmdline);
}

/* libvirt wants a slot to plug it into, and a node that it belongs to: of all CPUs there is one. */
static void add_slot(xmlNodePtr domain, const struct guest_request *request)
{
	xmlNodePtr most = number_child(domain, "maxMemory", memory_mib(request) + NVDIMM_MIB);

	attribute(most, "slots", "1");
	attribute(most, "unit", "MiB");
}

static void add_node(xmlNodePtr cpu, const struct guest_request *request)
{
	xmlNodePtr cell = child(child(cpu, "numa"), "cell");
	CLEANUP_FREE char *cpus = xasprintf("0-%u", vcpus(request) - 1);

	number_attribute(cell, "id", 0);
	attribute(cell, "cpus", vcpus(request) > 1 ? cpus : "0");
	number_attribute(cell, "memory", memory_mib(request));
	attribute(cell, "unit", "MiB");
}

static void add_nvdimm(xmlNodePtr devices, const char *path)
{
	xmlNodePtr memory = child(devices, "memory"), target;

	attribute(memory, "model", "nvdimm");
	attribute(memory, "access", "private");
	text_child(child(memory, "source"), "path", path);
	target = child(memory, "target");
	attribute(number_child(target, "size", NVDIMM_MIB), "unit", "MiB");
	number_child(target, "node", 0);
}

static void add_topology(xmlNodePtr cpu, unsigned sockets)
{
	xmlNodePtr topology = child(cpu, "topology");

	number_attribute(topology, "sockets", sockets);
	number_attribute(topology, "cores", 1);
	number_attribute(topology, "threads", 1);
}

/* A libvirt model: no check, as the guest itself is asked what it sees. */
static void set_model(xmlNodePtr cpu, const struct realised *realised)
{
	xmlNodePtr model;

	attribute(cpu, "mode", "custom");
	attribute(cpu, "match", "exact");
	attribute(cpu, "check", "none");
	model = text_child(cpu, "model", realised->model);
	attribute(model, "fallback", "forbid");
}

/*
 * A CPU that QEMU is told in arguments of its own is `maximum` to libvirt: libvirt compares any
 * other mode with what QEMU then says of the CPU, and 11.3 refuses the guest ("conflicting CPU
 * data") where a bit is forced, since QEMU calls such a bit set and filtered out at once (both seen
 * on Debian 13). The CPU that boots a Linux rack has forced bits too (vme).
 */
static void add_cpu(xmlNodePtr domain, const struct domain_plan *plan)
{
	const struct guest_request *request = plan->request;

	xmlNodePtr cpu = child(domain, "cpu");

	if (request->cpus[0]->model && !plan->cpu_by_qemu)
		set_model(cpu, request->cpus[0]);
	else
		attribute(cpu, "mode", "maximum");
	if (vcpus(request) > 1)
		add_topology(cpu, vcpus(request));
	if (request->nvdimm)
		add_node(cpu, request);
}

static void add_serial(xmlNodePtr devices, const struct domain_plan *plan, unsigned port)
{
	xmlNodePtr serial = child(devices, "serial");
	bool nobody = plan->for_people && port;
	xmlNodePtr target, log;

	attribute(serial, "type", nobody ? "null" : plan->pipes ? "pipe" : "pty");
	if (plan->pipes && !nobody) {
		CLEANUP_FREE char *path = xasprintf("%s.%u", plan->pipes, port);

		attribute(child(serial, "source"), "path", path);
	}
	if (plan->log && !nobody) {
		log = child(serial, "log");
		attribute(log, "file", plan->log);
		attribute(log, "append", "off");
	}
	target = child(serial, "target");
	attribute(target, "type", "isa-serial");
	number_attribute(target, "port", port);
}

/*
 * virtio: the one bus that the initrd of every distribution's kernel knows. Nothing of it outlives
 * the guest, so nothing has to reach the host's disk.
 */
static void add_disk(xmlNodePtr devices, const char *path)
{
	xmlNodePtr disk = child(devices, "disk");
	xmlNodePtr node;

	attribute(disk, "type", "file");
	attribute(disk, "device", "disk");
	node = child(disk, "driver");
	attribute(node, "name", "qemu");
	attribute(node, "type", "qcow2");
	attribute(node, "cache", "unsafe");
	attribute(child(disk, "source"), "file", path);
	node = child(disk, "target");
	attribute(node, "dev", "vda");
	attribute(node, "bus", "virtio");
}

static void add_devices(xmlNodePtr domain, const struct domain_plan *plan)
{
	xmlNodePtr devices = child(domain, "devices");
	xmlNodePtr usb, balloon;

	if (plan->emulator)
		text_child(devices, "emulator", plan->emulator);
	usb = child(devices, "controller");
	attribute(usb, "type", "usb");
	attribute(usb, "model", "none");
	if (plan->disk)
		add_disk(devices, plan->disk);
	add_serial(devices, plan, 0);
	add_serial(devices, plan, 1);
	balloon = child(devices, "memballoon");
	attribute(balloon, "model", "none");
	if (plan->request->nvdimm)
		add_nvdimm(devices, plan->request->nvdimm);
}

static void add_argument(xmlNodePtr commandline, xmlNsPtr qemu, const char *value)
{
	xmlNodePtr argument = xmlNewChild(commandline, qemu, BAD_CAST "arg", NULL);

	attribute(argument, "value", value);
}

static void add_global(xmlNodePtr commandline, xmlNsPtr qemu, const char *model, const char *name,
		       const char *value)
{
	CLEANUP_FREE char *global = xasprintf("%s-x86_64-cpu.%s=%s", model, name, value);

	add_argument(commandline, qemu, "-global");
	add_argument(commandline, qemu, global);
}

/*
 * Of several -cpu QEMU takes the last. -cpu has no way to write a comma, as brand strings have;
 * -global takes the rest of its word as the value.
 */
static void add_cpu_arguments(xmlNodePtr commandline, xmlNsPtr qemu, const struct domain_plan *plan)
{
	const struct realised *realised = plan->request->cpus[0];
	const char *model = realised->model ? realised->model : RACK_CPU_MODEL;
	CLEANUP_TEXT struct text cpu = { 0 };

	text_addf(&cpu, "%s", model);
	for (size_t i = 0; i < realised->property_count; i++) {
		const char *name = realised->property[i].name;
		const char *value = realised->property[i].value;

		if (realised->model || strchr(value, ','))
			add_global(commandline, qemu, model, name, value);
		else
			text_addf(&cpu, ",%s=%s", name, value);
	}
	if (realised->model && !plan->cpu_by_qemu)
		return;
	add_argument(commandline, qemu, "-cpu");
	add_argument(commandline, qemu, text_string(&cpu));
}

/* Else libvirt asks QEMU for some 400 properties of the CPU at each start: 0.6 s. */
static void add_quick_start(xmlNodePtr domain, xmlNsPtr qemu)
{
	xmlNodePtr capabilities = xmlNewChild(domain, qemu, BAD_CAST "capabilities", NULL);
	xmlNodePtr del = xmlNewChild(capabilities, qemu, BAD_CAST "del", NULL);

	attribute(del, "capability", "cpu-unavailable-features");
}

static void add_qemu(xmlNodePtr domain, xmlNsPtr qemu, const struct domain_plan *plan)
{
	const struct guest_request *request = plan->request;
	xmlNodePtr commandline;

	commandline = xmlNewChild(domain, qemu, BAD_CAST "commandline", NULL);
	if (domain_is_rack(request)) {
		CLEANUP_FREE char *linux_boot_cpu =
			request->image == GUEST_LINUX
				? rack_linux_boot_cpu(request->cpus, request->cpu_count)
				: NULL;

		add_argument(commandline, qemu, "-cpu");
		add_argument(commandline, qemu, linux_boot_cpu ? linux_boot_cpu : RACK_BOOT_CPU);
	} else {
		add_cpu_arguments(commandline, qemu, plan);
	}
	if (plan->gdb) {
		add_argument(commandline, qemu, "-gdb");
		add_argument(commandline, qemu, plan->gdb);
	}
	add_quick_start(domain, qemu);
}

static void add_all(xmlNodePtr domain, const struct domain_plan *plan)
{
	static const char *const ends[] = { "on_poweroff", "on_reboot", "on_crash" };
	xmlNsPtr qemu = xmlNewNs(domain, BAD_CAST QEMU_NAMESPACE, BAD_CAST "qemu");
	xmlNodePtr memory, platform;

	attribute(domain, "type", plan->kvm ? "kvm" : "qemu");
	text_child(domain, "name", plan->name);
	if (plan->request->nvdimm)
		add_slot(domain, plan->request);
	memory = number_child(domain, "memory",
			      memory_mib(plan->request) + (plan->request->nvdimm ? NVDIMM_MIB : 0));
	attribute(memory, "unit", "MiB");
	add_vcpu(domain, plan->request);
	add_os(domain, plan);
	platform = child(domain, "features");
	if (!uses_microvm(plan))
		child(platform, "acpi");
	child(platform, "apic");
	add_cpu(domain, plan);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		text_child(domain, ends[i], "destroy");
	add_devices(domain, plan);
	add_qemu(domain, qemu, plan);
}

static int check(const struct guest_request *request, struct error *err)
{
	if (!request->cpu_count || !request->kernel)
		return error_set(err, ERROR_INPUT, "a guest needs a CPU and a kernel");
	if (!domain_is_rack(request))
		return 0;
	if (request->image == GUEST_DISK)
		return error_set(err, ERROR_INPUT, "a guest of a disk image cannot be a rack");
	if (request->cpu_count > RACK_CPUS_MOST)
		return error_set(err, ERROR_INPUT, "a rack of %zu CPUs: at most %d",
				 request->cpu_count, RACK_CPUS_MOST);
	for (size_t i = 0; i < request->cpu_count; i++)
		if (request->cpus[i]->model)
			return error_set(err, ERROR_INPUT,
					 "the libvirt model %s is a type of its own: not in a rack",
					 request->cpus[i]->model);
	return 0;
}

/* --- without libvirt
 * -----------------------------------------------------------------------------------
 */

static void add_option(struct text *out, const char *option, const char *value)
{
	text_addf(out, " \\\n\t%s", option);
	if (!value)
		return;
	text_addf(out, " ");
	text_add_word(out, value);
}

static void add_cpu_options(struct text *out, const struct realised *realised, const char *cpu)
{
	const char *model = realised->model ? realised->model : RACK_CPU_MODEL;
	CLEANUP_TEXT struct text properties = { 0 };

	text_addf(&properties, "%s", model);
	for (size_t i = 0; i < realised->property_count; i++) {
		const char *name = realised->property[i].name;
		const char *value = realised->property[i].value;

		if (realised->model || strchr(value, ',')) {
			CLEANUP_FREE char *global =
				xasprintf("%s-x86_64-cpu.%s=%s", model, name, value);

			add_option(out, "-global", global);
		} else {
			text_addf(&properties, ",%s=%s", name, value);
		}
	}
	add_option(out, "-cpu", cpu ? cpu : text_string(&properties));
}

void domain_qemu_command(struct text *out, const struct domain_plan *plan, const char *emulator,
			 const char *cpu)
{
	const struct guest_request *request = plan->request;
	CLEANUP_FREE char *machine = xasprintf("%s,accel=%s", uses_microvm(plan) ? "microvm" : "pc",
					       plan->kvm ? "kvm" : "tcg");
	CLEANUP_FREE char *memory = xasprintf("%uM", memory_mib(request));
	CLEANUP_FREE char *cmdline = command_line(request);

	text_add_word(out, emulator);
	add_option(out, "-machine", machine);
	add_cpu_options(out, request->cpus[0], cpu);
	add_option(out, "-m", memory);
	add_option(out, "-nodefaults", NULL);
	add_option(out, "-no-user-config", NULL);
	add_option(out, "-display none", NULL);
	add_option(out, "-no-reboot", NULL);
	add_option(out, "-serial stdio", NULL);
	add_option(out, "-serial null", NULL);
	add_option(out, "-kernel", plan->kernel);
	if (plan->initrd)
		add_option(out, "-initrd", plan->initrd);
	if (cmdline[0])
		add_option(out, "-append", cmdline);
	text_addf(out, "\n");
}

static xmlNodePtr new_domain(void)
{
	xmlDocPtr document = xmlNewDoc(BAD_CAST "1.0");
	xmlNodePtr domain = xmlNewNode(NULL, BAD_CAST "domain");

	xmlDocSetRootElement(document, domain);
	return domain;
}

static char *to_text(xmlNodePtr domain)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	char *text;

	if (xmlNodeDump(buffer, domain->doc, domain, 0, 1) < 0)
		abort();
	text = xstrdup((const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	xmlFreeDoc(domain->doc);
	return text;
}

char *domain_xml(const struct domain_plan *plan, struct error *err)
{
	xmlNodePtr domain;

	if (check(plan->request, err) < 0)
		return NULL;
	domain = new_domain();
	add_all(domain, plan);
	return to_text(domain);
}

char *domain_probe_xml(const char *name, const char *emulator, bool kvm)
{
	xmlNodePtr domain = new_domain();
	xmlNsPtr qemu = xmlNewNs(domain, BAD_CAST QEMU_NAMESPACE, BAD_CAST "qemu");
	xmlNodePtr memory, type, devices;

	attribute(domain, "type", kvm ? "kvm" : "qemu");
	text_child(domain, "name", name);
	memory = number_child(domain, "memory", 16);
	attribute(memory, "unit", "MiB");
	type = text_child(child(domain, "os"), "type", "hvm");
	attribute(type, "arch", "x86_64");
	attribute(type, "machine", "pc");
	devices = child(domain, "devices");
	if (emulator)
		text_child(devices, "emulator", emulator);
	attribute(child(devices, "memballoon"), "model", "none");
	add_quick_start(domain, qemu);
	return to_text(domain);
}
