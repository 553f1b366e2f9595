// SPDX-License-Identifier: MIT
/*
 * Which cells can share a guest. Bare ones all can: nothing in that guest rests on the CPU that
 * boots it. A Linux kernel sets itself up once, for its boot CPU.
 */
#include "harness/plan/groups.h"

#include <stdlib.h>
#include <string.h>

#include "harness/cpu/realise.h"
#include "harness/guest/rack.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

#define BARE_SMALL 4
/* A boot takes 2 s of a core, a CPU 0.03 s and what the program takes on it. */
#define LINUX_SMALL 16

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
	for (size_t i = 0; rack_linux_bits[i]; i++) {
		const char *property =
			realise_property(feature_find(rack_linux_bits[i]), hypervisor);

		text_addf(key, "%d", has_property(realised, property));
	}
	for (size_t i = 0; i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, "phys-bits"))
			text_addf(key, ",%s", realised->property[i].value);
}

/*
 * Linux parks an Intel CPU that goes offline in mwait where the CPU has it, and where a guest has a
 * second CPU, QEMU's TCG makes a busy loop of mwait (target/i386, helper_mwait).
 */
static bool parks_busily(const struct realised *realised, const struct hypervisor *hypervisor)
{
	return !hypervisor->kvm && has_property(realised, "monitor");
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
		bool alone = realise(realised, cpu, REALISE_LINUX, hypervisors[i], &err) < 0;

		/* One that cannot be realised is told when it boots. */
		alone = alone || parks_busily(realised, hypervisors[i]);
		text_addf(&key, ",");
		add_bits(&key, realised, hypervisors[i]);
		realised_free(realised);
		if (alone) {
			text_free(&key);
			return NULL;
		}
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
