// SPDX-License-Identifier: MIT
/*
 * Which cells can share a guest. Bare ones all can: nothing in that guest rests on the CPU that
 * boots it. A Linux kernel sets itself up once, for its boot CPU.
 */
#include "harness/plan/groups.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cpu/realise.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

#define BARE_SMALL 4
/* A boot takes 2 s of a core, a CPU 0.03 s and what the program takes on it. */
#define LINUX_SMALL 16

/*
 * What the kernel sets up once and each CPU has to go along with, or what a program sees of the
 * kernel rather than of its CPU. Any other bit may differ: the CPU that boots the guest has only
 * those that all have (rack_linux_boot_cpu), so that the kernel does not use it.
 */
const char *const groups_linux_bits[] = {
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

static bool has_property(const struct realised *realised, const char *name)
{
	for (size_t i = 0; name && i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, name))
			return !strcmp(realised->property[i].value, "on");
	return false;
}

static void add_bits(struct text *key, const struct realised *realised,
		     const struct hypervisor *hypervisor)
{
	for (size_t i = 0; groups_linux_bits[i]; i++) {
		const char *property =
			realise_property(feature_find(groups_linux_bits[i]), hypervisor);

		text_addf(key, "%d", has_property(realised, property));
	}
	for (size_t i = 0; i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, "phys-bits"))
			text_addf(key, ",%s", realised->property[i].value);
}

/* Two cells of one key can share a Linux guest. NULL: it boots alone. Caller frees. */
static char *linux_key(const struct cpu *cpu, const struct hypervisor *const *hypervisors,
		       size_t count)
{
	CLEANUP_FREE struct realised *realised = xcalloc(1, sizeof(*realised));
	struct text key = { 0 };

	text_addf(&key, "%s", cpu->vendor);
	for (size_t i = 0; i < count; i++) {
		struct error err = { 0 };

		if (realise(realised, cpu, REALISE_LINUX, hypervisors[i], &err) < 0) {
			text_free(&key); /* it is told when it boots */
			return NULL;
		}
		text_addf(&key, ",");
		add_bits(&key, realised, hypervisors[i]);
		realised_free(realised);
	}
	return key.bytes;
}

static unsigned number_of(char **keys, unsigned *count, char *key)
{
	for (unsigned i = 0; i < *count; i++) {
		if (strcmp(keys[i], key))
			continue;
		free(key);
		return i + 1;
	}
	keys[(*count)++] = key;
	return *count;
}

unsigned groups_make(unsigned *group, const struct plan *plan, const struct plan_options *options,
		     const struct hypervisor *const *hypervisors, size_t hypervisor_count)
{
	const bool bare = options->image == GUEST_BARE;
	const bool sockets = options->image == GUEST_LINUX && options->kind == SUBJECT_PROGRAM;
	CLEANUP_FREE char **keys = xcalloc(plan->count + 1, sizeof(*keys));
	unsigned count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_cell *cell = &plan->cells[i];
		char *key = NULL;

		group[i] = 0;
		/* A named model is a type of its own, and so is its machine. */
		if (cell->finished || options->pack < 2 || cell->cpu->libvirt_model)
			continue;
		if (bare)
			key = xstrdup("");
		else if (sockets)
			key = linux_key(cell->cpu, hypervisors, hypervisor_count);
		if (key)
			group[i] = number_of(keys, &count, key);
	}
	for (unsigned i = 0; i < count; i++)
		free(keys[i]);
	return count;
}

size_t groups_small(enum guest_image image)
{
	return image == GUEST_BARE ? BARE_SMALL : LINUX_SMALL;
}

void groups_split(size_t *guests, const size_t *sizes, size_t count, size_t pack, size_t small,
		  size_t workers)
{
	size_t all = 0;

	for (size_t i = 0; i < count; i++) {
		guests[i] = (sizes[i] + pack - 1) / pack;
		all += guests[i];
	}
	for (; all % workers; all++) {
		size_t largest = count;

		for (size_t i = 0; i < count; i++)
			if (sizes[i] / (guests[i] + 1) >= small &&
			    (largest == count ||
			     sizes[i] * guests[largest] > sizes[largest] * guests[i]))
				largest = i;
		if (largest == count)
			return;
		guests[largest]++;
	}
}
