// SPDX-License-Identifier: MIT
/* quirklab show: one CPU: its identity and bits, what is expected, what the chooser says on the
 * host, and how a guest would present it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/realise.h"
#include "harness/util/cleanup.h"
#include "lab/cpus.h"
#include "lab/host_chooser.h"
#include "lab/lab.h"
#include "lab/lists.h"

enum { OPT_JSON = OPTION_LONG };

const struct option_row show_option_rows[] = {
	{ OPT_JSON, "json", NULL, "as a JSON array, an object a CPU" },
	{ 0 },
};

/* Everything that is known of one CPU. */
struct portrait {
	const struct cpu *cpu;
	struct host_choice choice;
	struct realised realised;
	bool presented;	    /* realised is filled */
	char trouble[1024]; /* else why not */
};

static const char *register_name(enum cpuid_register reg)
{
	static const char *const names[] = { "EAX", "EBX", "ECX", "EDX" };

	return names[reg];
}

static bool any(const struct feature_set *set)
{
	for (size_t i = 0; i < FEATURE_WORDS; i++)
		if (set->word[i])
			return true;
	return false;
}

/* --- text --------------------------------------------------------------------------------------
 */

static void text_set(const char *what, const struct feature_set *set)
{
	if (!any(set))
		return;
	printf("%s", what);
	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(set, (int)i))
			printf(" %s", features[i].name);
	printf("\n");
}

static void text_bits(const struct cpu *cpu)
{
	printf("\ndispatch bits\n");
	for (size_t i = 0; i < feature_count; i++) {
		const struct feature *feature = &features[i];

		if (!feature->dispatch)
			continue;
		printf("  %-12s %-8s leaf 0x%x", feature->name,
		       !feature_in(&cpu->known, (int)i) ? "unknown"
		       : feature_in(&cpu->on, (int)i)	? "on"
							: "off",
		       feature->leaf);
		if (feature->subleaf)
			printf(".%u", feature->subleaf);
		printf(" %s bit %u\n", register_name(feature->reg), feature->bit);
	}
}

static void text_picks(const struct host_choice *choice)
{
	printf("\n%-32s %-16s %-16s %-12s %s\n", "pick", "expected", "says on the host",
	       "quirk row", "because");
	for (size_t i = 0; i < choice->pick_count; i++) {
		const struct host_pick *pick = &choice->picks[i];
		CLEANUP_FREE char *name =
			xasprintf("%s@%s", dispatch_operation_name(pick->class->operation),
				  pick->class->name);

		printf("%-32s %-16s %-16s %-12s %s%s\n", name,
		       pick->expected ? pick->expected : "-", dispatch_path_name(pick->choice.path),
		       pick->choice.row ? pick->choice.row->name : "-", pick->choice.reason,
		       pick->verdict == VERDICT_FAIL ? "  <- fail" : "");
	}
}

static void show_text(const struct portrait *portrait)
{
	const struct cpu *cpu = portrait->cpu;
	char vendor[64];

	printf("%s\n", cpu->name);
	printf("  vendor     %s\n",
	       text_printable(vendor, sizeof(vendor), cpu->vendor, strlen(cpu->vendor)));
	printf("  signature  %u:%u:%u (0x%x:0x%x:0x%x), leaf 1 EAX 0x%08x\n", cpu->family,
	       cpu->model, cpu->stepping, cpu->family, cpu->model, cpu->stepping,
	       signature_encode(cpu->family, cpu->model, cpu->stepping));
	if (*cpu->uarch)
		printf("  uarch      %s\n", cpu->uarch);
	printf("  from       %s\n", origin_name(cpu->origin));
	if (cpu->llc_bytes)
		printf("  LLC        %llu KiB\n", (unsigned long long)cpu->llc_bytes >> 10);
	if (cpu->line_bytes)
		printf("  line       %u bytes\n", cpu->line_bytes);
	if (*cpu->note)
		printf("  note       %s\n", cpu->note);
	text_bits(cpu);
	text_picks(&portrait->choice);
	printf("\npresented by\n");
	if (!portrait->presented) {
		printf("  not known: %s\n", portrait->trouble);
		return;
	}
	if (portrait->realised.model)
		printf("  libvirt model %s\n", portrait->realised.model);
	if (portrait->realised.qemu.length)
		printf("  -cpu %s%s%s\n", portrait->realised.model ? "" : "base",
		       portrait->realised.model ? "" : ",", text_string(&portrait->realised.qemu));
	text_set("  forced (advertised, not implemented):", &portrait->realised.forced);
	text_set("  cannot be presented:", &portrait->realised.unavailable);
}

/* --- JSON --------------------------------------------------------------------------------------
 */

static json_t *json_set(const struct feature_set *set)
{
	json_t *out = json_array();

	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(set, (int)i))
			json_array_append_new(out, json_string(features[i].name));
	return out;
}

static json_t *json_bits(const struct cpu *cpu)
{
	json_t *out = json_array();

	for (size_t i = 0; i < feature_count; i++) {
		const struct feature *feature = &features[i];
		json_t *bit;

		if (!feature->dispatch)
			continue;
		bit = json_object();
		json_object_set_new(bit, "name", json_string(feature->name));
		json_object_set_new(bit, "value",
				    feature_in(&cpu->known, (int)i)
					    ? json_boolean(feature_in(&cpu->on, (int)i))
					    : json_null());
		json_object_set_new(bit, "leaf", json_integer(feature->leaf));
		json_object_set_new(bit, "subleaf", json_integer(feature->subleaf));
		json_object_set_new(bit, "register", json_string(register_name(feature->reg)));
		json_object_set_new(bit, "bit", json_integer(feature->bit));
		json_array_append_new(out, bit);
	}
	return out;
}

static json_t *json_picks(const struct host_choice *choice)
{
	json_t *out = json_array();

	for (size_t i = 0; i < choice->pick_count; i++) {
		const struct host_pick *from = &choice->picks[i];
		json_t *pick = json_object();

		json_object_set_new(pick, "op",
				    json_string(dispatch_operation_name(from->class->operation)));
		json_object_set_new(pick, "class", json_string(from->class->name));
		json_object_set_new(pick, "size", json_integer((json_int_t)from->size));
		json_object_set_new(pick, "expected",
				    from->expected ? inert_string(from->expected) : json_null());
		json_object_set_new(pick, "says",
				    json_string(dispatch_path_name(from->choice.path)));
		json_object_set_new(pick, "row",
				    from->choice.row ? json_string(from->choice.row->name)
						     : json_null());
		json_object_set_new(pick, "reason", json_string(from->choice.reason));
		json_array_append_new(out, pick);
	}
	return out;
}

static json_t *show_json(const struct portrait *portrait)
{
	const struct cpu *cpu = portrait->cpu;
	json_t *out = json_object(), *presented = json_null();

	json_object_set_new(out, "name", inert_string(cpu->name));
	json_object_set_new(out, "vendor", inert_string(cpu->vendor));
	json_object_set_new(out, "family", json_integer(cpu->family));
	json_object_set_new(out, "model", json_integer(cpu->model));
	json_object_set_new(out, "stepping", json_integer(cpu->stepping));
	json_object_set_new(out, "uarch", inert_string(cpu->uarch));
	json_object_set_new(out, "origin", json_string(origin_name(cpu->origin)));
	json_object_set_new(out, "llc", json_integer((json_int_t)cpu->llc_bytes));
	json_object_set_new(out, "line", json_integer(cpu->line_bytes));
	json_object_set_new(out, "bits", json_bits(cpu));
	json_object_set_new(out, "picks", json_picks(&portrait->choice));
	if (portrait->presented) {
		presented = json_object();
		json_object_set_new(presented, "model",
				    portrait->realised.model
					    ? inert_string(portrait->realised.model)
					    : json_null());
		json_object_set_new(presented, "qemu",
				    inert_string(text_string(&portrait->realised.qemu)));
		json_object_set_new(presented, "forced", json_set(&portrait->realised.forced));
		json_object_set_new(presented, "unavailable",
				    json_set(&portrait->realised.unavailable));
	}
	json_object_set_new(out, "presented", presented);
	return out;
}

/* --- the command ---------------------------------------------------------------------------------
 */

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	(void)key;
	(void)argument;
	(void)err;
	*(bool *)state = true;
	return 0;
}

static void show(const struct cpu_list *list, const struct expectations *expectations,
		 struct connection *connection, const struct error *no_connection, bool json)
{
	struct portrait *portrait = xcalloc(1, sizeof(*portrait));
	json_t *array = json ? json_array() : NULL;

	for (size_t i = 0; i < list->count; i++) {
		struct error err = *no_connection;

		memset(portrait, 0, sizeof(*portrait));
		portrait->cpu = &list->cpus[i];
		host_choose(&portrait->choice, portrait->cpu, expectations);
		portrait->presented =
			connection && realise(&portrait->realised, portrait->cpu, REALISE_BARE,
					      connection_hypervisor(connection), &err) == 0;
		memcpy(portrait->trouble, err.text, sizeof(err.text));
		if (json)
			json_array_append_new(array, show_json(portrait));
		else
			show_text(portrait);
		if (!json && i + 1 < list->count)
			printf("\n");
		if (portrait->presented)
			realised_free(&portrait->realised);
	}
	if (json)
		print_json(array);
	free(portrait);
}

int command_show(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct connection_options where = { .uri = lab->uri_count ? lab->uris[0] : NULL };
	struct expectations *expectations = NULL;
	struct connection *connection;
	struct cpu_tables tables = { 0 };
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	bool json = false;
	int first, status = STATUS_OK;

	first = options_parse(command->options, true, argc, argv, each_option, &json, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 1) {
		error_set(&err, ERROR_INPUT, "show: one SPEC was expected");
		return lab_fail(&err);
	}
	if (cpu_tables_read(&tables, &err) < 0 ||
	    cpus_collect(&list, &tables, argv + first, 1, NULL, &err) < 0 ||
	    expectations_read(&expectations, "dispatch", NULL, &err) < 0) {
		status = lab_fail(&err);
	} else {
		/* Without a hypervisor everything else can still be shown. */
		connection = connection_open(&where, &err);
		if (connection && cpus_check_models(&list, connection, &err) < 0)
			status = lab_fail(&err);
		else
			show(&list, expectations, connection, &err, json);
		connection_close(connection);
	}
	expectations_free(expectations);
	cpu_list_free(&list);
	cpu_tables_free(&tables);
	return status;
}
