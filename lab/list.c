// SPDX-License-Identifier: MIT
/* quirklab list: the CPUs, libvirt models, subjects and operations that the lab knows. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/judge.h"
#include "harness/util/cleanup.h"
#include "lab/cpus.h"
#include "lab/lab.h"
#include "lab/lists.h"
#include "lab/subject.h"
#include "tests/dispatch/dispatch.h"

enum { OPT_JSON = OPTION_LONG };

const struct option_row list_option_rows[] = {
	{ OPT_JSON, "json", NULL, "as a JSON array" },
	{ 0 },
};

static const char *const origins[] = {
	[CPU_CATALOGUE] = "catalogue", [CPU_UNKNOWN] = "unknown", [CPU_MODEL] = "model",
	[CPU_SIGNATURE] = "signature", [CPU_DUMP] = "dump",
};

const char *origin_name(enum cpu_origin origin)
{
	return origins[origin];
}

void print_json(json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(1) | JSON_ENSURE_ASCII);

	printf("%s\n", text ? text : "null");
	free(text);
	json_decref(value);
}

json_t *inert_string(const char *bytes)
{
	char inert[1024];

	return json_string(text_printable(inert, sizeof(inert), bytes, strlen(bytes)));
}

/* --- cpus --------------------------------------------------------------------------------------
 */

static bool dispatch_bit(const struct cpu *cpu, size_t feature)
{
	return features[feature].dispatch && feature_in(&cpu->on, (int)feature);
}

static void cpu_line(const struct cpu *cpu)
{
	CLEANUP_FREE char *signature =
		xasprintf("%u:%u:%u", cpu->family, cpu->model, cpu->stepping);

	printf("%-12s %-10s %-36s %-9s", cpu->vendor, signature, cpu->name, origins[cpu->origin]);
	for (size_t i = 0; i < feature_count; i++)
		if (dispatch_bit(cpu, i))
			printf(" %s", features[i].name);
	printf("\n");
}

static json_t *cpu_json(const struct cpu *cpu)
{
	json_t *out = json_object(), *bits = json_array();

	for (size_t i = 0; i < feature_count; i++)
		if (dispatch_bit(cpu, i))
			json_array_append_new(bits, json_string(features[i].name));
	json_object_set_new(out, "name", inert_string(cpu->name));
	json_object_set_new(out, "vendor", inert_string(cpu->vendor));
	json_object_set_new(out, "family", json_integer(cpu->family));
	json_object_set_new(out, "model", json_integer(cpu->model));
	json_object_set_new(out, "stepping", json_integer(cpu->stepping));
	json_object_set_new(out, "uarch", inert_string(cpu->uarch));
	json_object_set_new(out, "origin", json_string(origins[cpu->origin]));
	json_object_set_new(out, "bits", bits);
	return out;
}

static int list_cpus(struct lab *lab, bool json, struct error *err)
{
	struct cpu_tables tables = { 0 };
	struct cpu_list list = { 0 };
	json_t *array = json ? json_array() : NULL;
	int result = cpu_tables_read(&tables, err);

	(void)lab;
	if (result == 0)
		result = cpus_collect(&list, &tables, NULL, 0, NULL, err);
	cpus_sort(&list);
	for (size_t i = 0; result == 0 && i < list.count; i++) {
		if (json)
			json_array_append_new(array, cpu_json(&list.cpus[i]));
		else
			cpu_line(&list.cpus[i]);
	}
	if (json && result == 0)
		print_json(array);
	else
		json_decref(array);
	cpu_list_free(&list);
	cpu_tables_free(&tables);
	return result;
}

/* --- models ------------------------------------------------------------------------------------
 */

static const struct cpu *find_model(const struct cpu_tables *tables, const char *name)
{
	for (size_t i = 0; i < tables->models.count; i++)
		if (!strcmp(tables->models.cpus[i].libvirt_model, name))
			return &tables->models.cpus[i];
	return NULL;
}

static int list_models(struct lab *lab, bool json, struct error *err)
{
	struct connection_options options = { .uri = lab->uri_count ? lab->uris[0] : NULL };
	struct cpu_tables tables = { 0 };
	struct connection *connection;
	json_t *array = json ? json_array() : NULL;
	char **models = NULL;
	int result = -1;

	connection = connection_open(&options, err);
	if (connection)
		models = connection_models(connection, err);
	if (models && cpu_tables_read(&tables, err) == 0)
		result = 0;
	for (char **name = models; result == 0 && *name; name++) {
		const struct cpu *known = find_model(&tables, *name);

		if (json) {
			json_t *model = json_object();

			json_object_set_new(model, "name", inert_string(*name));
			json_object_set_new(model, "expected", json_boolean(known != NULL));
			json_array_append_new(array, model);
		} else {
			printf("model:%-32s %s\n", *name,
			       known ? "with expected picks" : "no expected picks");
		}
	}
	if (json && result == 0)
		print_json(array);
	else
		json_decref(array);
	if (models)
		connection_models_free(models);
	cpu_tables_free(&tables);
	connection_close(connection);
	return result;
}

/* --- subjects, operations ------------------------------------------------------------------------
 */

static int list_subjects(struct lab *lab, bool json, struct error *err)
{
	json_t *array = json ? json_array() : NULL;

	(void)lab;
	(void)err;
	for (size_t i = 0; i < subject_row_count; i++) {
		if (json) {
			json_t *subject = json_object();

			json_object_set_new(subject, "name", json_string(subject_rows[i].name));
			json_object_set_new(subject, "help", json_string(subject_rows[i].help));
			json_array_append_new(array, subject);
		} else {
			printf("%-10s %s\n", subject_rows[i].name, subject_rows[i].help);
		}
	}
	if (json)
		print_json(array);
	return 0;
}

static int list_operations(struct lab *lab, bool json, struct error *err)
{
	json_t *array = json ? json_array() : NULL, *classes = NULL;

	(void)lab;
	(void)err;
	for (size_t i = 0; i < dispatch_class_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		const char *name = dispatch_operation_name(class->operation);
		bool first = !i || class->operation != class[-1].operation;

		if (!json && first)
			printf("%s%-26s", i ? "\n" : "", name);
		if (!json) {
			printf(" %s", class->name);
			continue;
		}
		if (first) {
			json_t *operation = json_object();

			classes = json_array();
			json_object_set_new(operation, "op", json_string(name));
			json_object_set_new(operation, "classes", classes);
			json_array_append_new(array, operation);
		}
		json_array_append_new(classes, json_string(class->name));
	}
	if (json)
		print_json(array);
	else
		printf("\n");
	return 0;
}

/* --- the command ---------------------------------------------------------------------------------
 */

static const struct list {
	const char *name;
	int (*print)(struct lab *lab, bool json, struct error *err);
} lists[] = {
	{ "cpus", list_cpus },
	{ "models", list_models },
	{ "subjects", list_subjects },
	{ "operations", list_operations },
};
#define LISTS (sizeof(lists) / sizeof(*lists))

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	(void)key;
	(void)argument;
	(void)err;
	*(bool *)state = true;
	return 0;
}

int command_list(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct error err = { 0 };
	bool json = false;
	const char *near;
	int first = options_parse(command->options, true, argc, argv, each_option, &json, &err);

	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 1) {
		error_set(&err, ERROR_INPUT, "list: one of %s was expected", command->arguments);
		return lab_fail(&err);
	}
	for (size_t i = 0; i < LISTS; i++)
		if (!strcmp(argv[first], lists[i].name))
			return lists[i].print(lab, json, &err) < 0 ? lab_fail(&err) : STATUS_OK;
	near = near_name(argv[first], lists, LISTS, sizeof(*lists));
	error_set(&err, ERROR_INPUT, near ? "no list '%s': do you mean '%s'?" : "no list '%s': %s",
		  argv[first], near ? near : command->arguments);
	return lab_fail(&err);
}
