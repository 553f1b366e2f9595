// SPDX-License-Identifier: MIT
/* The CPUs that the SPECs of a command line mean. */
#include "lab/cpus.h"

#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"
#include "lab/lab.h"

bool cpus_want_models(char *const *specs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(specs[i], "models"))
			return true;
	return false;
}

static void add_origin(struct cpu_list *list, const struct cpu_list *from, enum cpu_origin origin)
{
	for (size_t i = 0; i < from->count; i++)
		if (from->cpus[i].origin == origin)
			cpu_copy(cpu_list_add(list), &from->cpus[i]);
}

static int add_models(struct cpu_list *list, const struct cpu_tables *tables,
		      struct connection *connection, struct error *err)
{
	char **models;
	int result = 0;

	if (!connection) {
		add_origin(list, &tables->models, CPU_MODEL);
		return 0;
	}
	models = connection_models(connection, err);
	if (!models)
		return -1;
	for (char **name = models; *name && result == 0; name++) {
		CLEANUP_FREE char *spec = xasprintf("model:%s", *name);

		result = spec_parse(list, spec, tables, err);
	}
	connection_models_free(models);
	return result;
}

static int add_spec(struct cpu_list *list, const struct cpu_tables *tables, const char *spec,
		    struct connection *connection, struct error *err)
{
	if (!strcmp(spec, "catalogue")) {
		add_origin(list, &tables->known, CPU_CATALOGUE);
		return 0;
	}
	if (!strcmp(spec, "unknown")) {
		add_origin(list, &tables->known, CPU_UNKNOWN);
		return 0;
	}
	if (!strcmp(spec, "models"))
		return add_models(list, tables, connection, err);
	return spec_parse(list, spec, tables, err);
}

static bool alike(const struct cpu *a, const struct cpu *b)
{
	return !strcmp(a->name, b->name) && a->origin == b->origin &&
	       !strcmp(a->vendor, b->vendor) && a->family == b->family && a->model == b->model &&
	       a->stepping == b->stepping && a->level == b->level &&
	       !memcmp(&a->known, &b->known, sizeof(a->known)) &&
	       !memcmp(&a->on, &b->on, sizeof(a->on));
}

/* Drops each CPU that an earlier one equals. What only shares a name stays: plan_make refuses it.
 */
static void drop_twins(struct cpu_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		bool twin = false;

		for (size_t j = 0; j < kept && !twin; j++)
			twin = alike(&list->cpus[j], &list->cpus[i]);
		if (twin)
			cpu_free(&list->cpus[i]);
		else if (kept++ != i)
			list->cpus[kept - 1] = list->cpus[i];
	}
	list->count = kept;
}

int cpus_collect(struct cpu_list *list, const struct cpu_tables *tables, char *const *specs,
		 size_t count, struct connection *connection, struct error *err)
{
	if (!count) {
		add_origin(list, &tables->known, CPU_CATALOGUE);
		add_origin(list, &tables->known, CPU_UNKNOWN);
	}
	for (size_t i = 0; i < count; i++)
		if (add_spec(list, tables, specs[i], connection, err) < 0)
			return -1;
	drop_twins(list);
	return 0;
}

int cpus_compare(const void *left, const void *right)
{
	const struct cpu *a = left, *b = right;
	const struct cpu_order one = { a->vendor, a->family, a->model, a->stepping, a->name };
	const struct cpu_order other = { b->vendor, b->family, b->model, b->stepping, b->name };

	return cpu_order_compare(&one, &other);
}

void cpus_sort(struct cpu_list *list)
{
	qsort(list->cpus, list->count, sizeof(*list->cpus), cpus_compare);
}

int cpus_check_models(const struct cpu_list *list, struct connection *connection, struct error *err)
{
	const char *wrong = NULL, *near;
	size_t count = 0;
	char **models;

	for (size_t i = 0; i < list->count && !wrong; i++)
		wrong = list->cpus[i].libvirt_model;
	if (!wrong)
		return 0;
	models = connection_models(connection, err);
	if (!models)
		return -1;
	while (models[count])
		count++;
	wrong = NULL;
	for (size_t i = 0; i < list->count && !wrong; i++) {
		const char *model = list->cpus[i].libvirt_model;
		size_t j = 0;

		while (model && j < count && strcmp(models[j], model))
			j++;
		wrong = model && j == count ? model : NULL;
	}
	if (wrong) {
		near = near_name(wrong, models, count, sizeof(*models));
		error_set(err, ERROR_INPUT, "libvirt has no CPU model '%s' here: %s%s%s", wrong,
			  near ? "do you mean '" : "'quirklab list models' lists them",
			  near ? near : "", near ? "'?" : "");
	}
	connection_models_free(models);
	return wrong ? -1 : 0;
}
