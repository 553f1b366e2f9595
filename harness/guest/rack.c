// SPDX-License-Identifier: MIT
/* The CPUs of a rack: which one boots it, and plugging the others, one QMP command for each. */
#include "harness/guest/rack.h"

#include <ctype.h>
#include <string.h>
#include <jansson.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/virterror.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"
#include "images/linux/job.h"

static bool is_text(const char *name)
{
	return !strcmp(name, "vendor") || !strcmp(name, "model-id") ||
	       !strcmp(name, "hv-vendor-id");
}

/*
 * Since 9.2 QEMU insists on the property's own type; before, it takes any. model-id may hold bytes
 * that are no UTF-8, so it is taken as Latin-1.
 */
static json_t *property_value(const char *name, const char *value)
{
	char *end;
	long long number;

	if (is_text(name)) {
		json_t *plain = json_string(value);

		return plain ? plain : json_string("");
	}
	if (!strcmp(value, "on") || !strcmp(value, "off"))
		return json_boolean(!strcmp(value, "on"));
	number = strtoll(value, &end, 0);
	if (isdigit((unsigned char)value[0]) && !*end)
		return json_integer(number);
	return json_string(value);
}

char *rack_command(const struct realised *cpu, unsigned apic_id)
{
	json_t *arguments = json_object();
	json_t *command;
	char *text;
	CLEANUP_FREE char *id = xasprintf("cpu%u", apic_id);

	json_object_set_new(arguments, "driver", json_string(RACK_CPU_TYPE));
	json_object_set_new(arguments, "id", json_string(id));
	json_object_set_new(arguments, "socket-id", json_integer(apic_id));
	json_object_set_new(arguments, "core-id", json_integer(0));
	json_object_set_new(arguments, "thread-id", json_integer(0));
	for (size_t i = 0; i < cpu->property_count; i++)
		json_object_set_new(arguments, cpu->property[i].name,
				    property_value(cpu->property[i].name, cpu->property[i].value));
	command = json_pack("{s:s, s:o}", "execute", "device_add", "arguments", arguments);
	text = command ? json_dumps(command, JSON_COMPACT) : NULL;
	json_decref(command);
	if (!text)
		abort();
	return text;
}

/* The "desc" of a QMP error reply; NULL where the command went well. Caller frees. */
static char *reply_error(const char *reply)
{
	json_t *root = json_loads(reply, 0, NULL);
	const json_t *error = json_object_get(root, "error");
	const char *description = json_string_value(json_object_get(error, "desc"));
	char *result = NULL;

	if (!root)
		result = xstrdup("no JSON in QEMU's reply");
	else if (error)
		result = xstrdup(description ? description : "an error without words");
	json_decref(root);
	return result;
}

int rack_plug(virDomainPtr domain, const struct realised *const *cpus, size_t from, size_t to,
	      struct error *err)
{
	for (size_t i = from; i < to; i++) {
		CLEANUP_FREE char *command = rack_command(cpus[i], (unsigned)i + 1);
		CLEANUP_FREE char *reply = NULL;
		CLEANUP_FREE char *refusal = NULL;

		if (virDomainQemuMonitorCommand(domain, command, &reply, 0) < 0)
			return error_set(err, ERROR_LAB, "CPU %zu of the rack: %s", i + 1,
					 virGetLastErrorMessage());
		refusal = reply_error(reply);
		if (refusal)
			return error_set(err, ERROR_LAB, "CPU %zu of the rack: QEMU: %s", i + 1,
					 refusal);
	}
	return 0;
}

/*
 * What the kernel sets up once and each CPU has to go along with, or what a program sees of the
 * kernel rather than of its CPU. Any other bit may differ: the CPU that boots the guest
 * has none of them, so that neither the kernel nor the agent uses it.
 */
const char *const rack_linux_bits[] = {
	/* the page tables, which all CPUs share */
	"pae", "pse", "pge", "nx", "pat", "mtrr", "pdpe1gb", "la57", "pcid", "invpcid",
	/* protections whose instructions are patched into the kernel's text */
	"smep", "smap", "umip", "fsgsbase",
	/* XCR0, and the layout of a program's saved state */
	"fxsr", "sse", "sse2", "xsave", "xsaveopt", "xsavec", "xsaves", "xgetbv1", "avx", "mpx",
	"avx512f", "pku", "amx_tile",
	/* how system calls enter, and what the vDSO executes */
	"sep", "syscall", "lm", "rdtscp", "rdpid",
	/* interrupts, timers, machine checks */
	"msr", "tsc", "apic", "x2apic", "arat", "tsc_deadline_timer", "mce", "mca", "hypervisor",
	NULL
};

static const char *value_of(const struct realised *cpu, const char *name)
{
	for (size_t i = 0; i < cpu->property_count; i++)
		if (!strcmp(cpu->property[i].name, name))
			return cpu->property[i].value;
	return NULL;
}

static bool is_needed(int feature)
{
	for (size_t i = 0; rack_linux_bits[i]; i++)
		if (feature_find(rack_linux_bits[i]) == feature)
			return true;
	/* The words that hold what every 64-bit CPU has. */
	return features[feature].reg == CPUID_EDX &&
	       (features[feature].leaf == 1 || features[feature].leaf == 0x80000001);
}

static bool all_have(const struct realised *const *cpus, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = value_of(cpus[i], name);

		if (!value || strcmp(value, "on"))
			return false;
	}
	return true;
}

char *rack_linux_boot_cpu(const struct realised *const *cpus, size_t count)
{
	const struct realised *first = cpus[0];
	struct text text = { 0 };

	text_addf(&text, "%s", RACK_CPU_MODEL);
	for (size_t i = 0; i < first->property_count; i++) {
		const char *name = first->property[i].name, *value = first->property[i].value;
		int feature;

		feature = feature_find(name);
		if (feature >= 0 && !(is_needed(feature) && all_have(cpus, count, name)))
			continue;
		/* The name may hold a comma, which -cpu cannot say. */
		if (!strcmp(name, "model-id") || !strcmp(name, "xlevel2"))
			continue;
		text_addf(&text, ",%s=%s", name, value);
	}
	return text.bytes;
}

/* What a CPU is called, not what it can execute. */
static bool is_name(const char *property)
{
	static const char *const names[] = { "family", "model",	 "stepping", "model-id",
					     "level",  "xlevel", "xlevel2" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(property, names[i]))
			return true;
	return false;
}

/* All other properties, in the order in which each CPU has them. Caller frees. */
static char *kind_of(const struct realised *cpu)
{
	struct text kind = { 0 };

	for (size_t i = 0; i < cpu->property_count; i++)
		if (!is_name(cpu->property[i].name))
			text_addf(&kind, ",%s=%s", cpu->property[i].name, cpu->property[i].value);
	return kind.bytes ? kind.bytes : xstrdup("");
}

char *rack_linux_kinds(const struct realised *const *cpus, size_t count)
{
	CLEANUP_FREE char **kinds = xcalloc(count + 1, sizeof(*kinds));
	struct text word = { 0 };

	text_addf(&word, "%s", JOB_KINDS_WORD);
	for (size_t i = 0; i < count; i++) {
		size_t same = 0;

		kinds[i] = kind_of(cpus[i]);
		while (strcmp(kinds[same], kinds[i]))
			same++;
		text_addf(&word, "%c%zu", i ? ',' : '=', same);
	}
	for (size_t i = 0; i < count; i++)
		free(kinds[i]);
	return word.bytes;
}
