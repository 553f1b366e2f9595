/* SPDX-License-Identifier: MIT */
/* A CPU as a value, lists of CPUs, and the bit by bit comparison of two. */
#include "harness/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>
#include "harness/util/text.h"

void cpu_init(struct cpu *cpu)
{
	*cpu = (struct cpu){ .level = -1 };
}

void cpu_copy(struct cpu *to, const struct cpu *from)
{
	*to = *from;
	to->libvirt_model = from->libvirt_model ? xstrdup(from->libvirt_model) : NULL;
	for (size_t i = 0; i < from->edit_count; i++)
		to->edits[i] = xstrdup(from->edits[i]);
}

void cpu_free(struct cpu *cpu)
{
	free(cpu->libvirt_model);
	for (size_t i = 0; i < cpu->edit_count; i++)
		free(cpu->edits[i]);
	cpu_init(cpu);
}

struct cpu *cpu_list_add(struct cpu_list *list)
{
	if (list->count == list->room) {
		list->room = list->room ? list->room * 2 : 64;
		list->cpus = xrealloc(list->cpus, list->room * sizeof(*list->cpus));
	}
	cpu_init(&list->cpus[list->count]);
	return &list->cpus[list->count++];
}

void cpu_list_free(struct cpu_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		cpu_free(&list->cpus[i]);
	free(list->cpus);
	*list = (struct cpu_list){ 0 };
}

static void compare_identity(const struct cpu *asked, const struct cpu *seen,
			     struct cpu_difference *out)
{
	const struct {
		const char *name;
		bool differs;
	} fields[] = {
		{ "vendor", memcmp(asked->vendor, seen->vendor, 12) != 0 },
		{ "family", asked->family != seen->family },
		{ "model", asked->model != seen->model },
		{ "stepping", asked->stepping != seen->stepping },
	};

	for (size_t i = 0; asked->identity_known && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].differs)
			out->identity[out->identity_count++] = fields[i].name;
	if (asked->level >= 0 && asked->level != seen->level)
		out->identity[out->identity_count++] = "level";
}

void cpu_compare(const struct cpu *asked, const struct cpu *seen, struct cpu_difference *out)
{
	*out = (struct cpu_difference){ 0 };
	compare_identity(asked, seen, out);
	for (int i = 0; i < (int)feature_count; i++) {
		bool on = feature_in(&asked->on, i);
		bool seen_on = feature_in(&seen->known, i) && feature_in(&seen->on, i);

		if (!feature_in(&asked->known, i) || on == seen_on)
			continue;
		if (on)
			out->missing[out->missing_count++] = features[i].name;
		else
			out->extra[out->extra_count++] = features[i].name;
	}
}

int cpu_order_compare(const struct cpu_order *a, const struct cpu_order *b)
{
	int vendor = strcmp(a->vendor, b->vendor);

	if (vendor)
		return vendor;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->model != b->model)
		return a->model < b->model ? -1 : 1;
	if (a->stepping != b->stepping)
		return a->stepping < b->stepping ? -1 : 1;
	return strcmp(a->name, b->name);
}
