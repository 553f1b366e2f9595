// SPDX-License-Identifier: MIT
/* The one CPU that `quirklab repro` is about. */
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/repro.h"

#define NAMES_SHOWN 8

/* The part of the word that names a file, "-" or "host": all of it, or what stands before a comma.
 */
static char *file_of(const char *word, const struct cpu_tables *tables)
{
	char *head = xstrdup(word);
	char *comma;

	for (;;) {
		if (!strcmp(head, "-") || !strcmp(head, "host") || spec_is_path(head, tables))
			return head;
		comma = strrchr(head, ',');
		if (!comma)
			break;
		*comma = '\0';
	}
	free(head);
	return NULL;
}

static int refuse_many(const char *word, const struct cpu_list *cpus, struct error *err)
{
	CLEANUP_TEXT struct text names = { 0 };

	for (size_t i = 0; i < cpus->count && i < NAMES_SHOWN; i++)
		text_addf(&names, "%s%s", i ? ", " : "", cpus->cpus[i].name);
	return error_set(err, ERROR_INPUT, "%s: means %zu CPUs: name one of them: %s%s", word,
			 cpus->count, text_string(&names), cpus->count > NAMES_SHOWN ? " ..." : "");
}

static int read_spec(struct repro_target *target, const char *word, const struct cpu_tables *tables,
		     struct error *err)
{
	struct cpu_list cpus = { 0 };
	int result = spec_parse(&cpus, word, tables, err);

	if (!result && cpus.count != 1)
		result = refuse_many(word, &cpus, err);
	if (!result)
		cpu_copy(&target->cpu, &cpus.cpus[0]);
	cpu_list_free(&cpus);
	return result;
}

static int read_file(struct repro_target *target, const char *file, const struct cpu_tables *tables,
		     struct error *err)
{
	struct dump_list list = { 0 };

	if (cpuid_source(&list, file, tables, err) < 0)
		return -1;
	target->dump = list.dumps[0];
	free(list.dumps);
	target->from_file = true;
	/* The name of a libvirt model stands in for an identity. */
	if (!target->dump.cpus[0].cpu.libvirt_model && dump_identity(&target->dump, err) < 0)
		return error_prefix(err, "%s", file);
	return 0;
}

int repro_target_read(struct repro_target *target, const char *word,
		      const struct cpu_tables *tables, struct error *err)
{
	CLEANUP_FREE char *file = file_of(word, tables);

	*target = (struct repro_target){ 0 };
	cpu_init(&target->cpu);
	if (file && read_file(target, file, tables, err) < 0)
		return -1;
	if (file && !strcmp(file, word))
		cpu_copy(&target->cpu, &target->dump.cpus[0].cpu);
	else if (file && (!strcmp(file, "-") || !strcmp(file, "host")))
		return error_set(err, ERROR_INPUT,
				 "%s: edits need a file: save what it says in one", word);
	else if (read_spec(target, word, tables, err) < 0)
		return -1;
	if (!file)
		dump_from_cpu(&target->dump, &target->cpu);
	target->row = catalogue_row(tables, &target->cpu);
	return 0;
}

void repro_target_free(struct repro_target *target)
{
	cpu_free(&target->cpu);
	dump_free(&target->dump);
	*target = (struct repro_target){ 0 };
}
