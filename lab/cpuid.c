// SPDX-License-Identifier: MIT
/* quirklab cpuid: who a CPU is, from a dump, a report, a SPEC or this machine; and its conversion.
 */
#include <stdio.h>
#include <string.h>

#include "lab/cpuid.h"
#include "lab/lab.h"

enum { OPT_TO = OPTION_LONG };

const struct option_row cpuid_option_rows[] = {
	{ OPT_TO, "to", "FORMAT",
	  "write it as cpuid-r, json, tsv, libvirt (<cpudata>) or qemu (-cpu)" },
	{ 0 },
};

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	const struct cpuid_format **format = state;
	const char *near;

	(void)key;
	for (size_t i = 0; i < cpuid_format_count; i++)
		if (!strcmp(argument, cpuid_formats[i].name)) {
			*format = &cpuid_formats[i];
			return 0;
		}
	near = near_name(argument, cpuid_formats, cpuid_format_count, sizeof(*cpuid_formats));
	return error_set(err, ERROR_INPUT,
			 "--to '%s': cpuid-r, json, tsv, libvirt or qemu was expected%s%s%s",
			 argument, near ? "; do you mean " : "", near ? near : "", near ? "?" : "");
}

static void print_warnings(const struct dump_list *list, const struct text *own)
{
	const char *line = text_string(own);

	for (size_t i = 0; i < list->count; i++) {
		const struct dump *dump = &list->dumps[i];

		for (size_t j = 0; j < dump->warning_count; j++)
			fprintf(stderr, "quirklab: warning: %s\n", dump->warnings[j]);
		if (dump->warnings_dropped)
			fprintf(stderr, "quirklab: warning: %zu more\n", dump->warnings_dropped);
	}
	while (*line) {
		int length = (int)strcspn(line, "\n");

		fprintf(stderr, "quirklab: warning: %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}

static int write_out(const struct dump_list *list, const struct cpuid_format *format,
		     const struct cpu_tables *tables, struct error *err)
{
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_TEXT struct text warnings = { 0 };

	if (!format)
		cpuid_describe(&out, list, tables);
	else if (format->write(&out, &warnings, list, tables, err) < 0)
		return -1;
	if (out.length)
		fwrite(out.bytes, 1, out.length, stdout);
	fflush(stdout);
	if (format && !format->says_warnings)
		print_warnings(list, &warnings);
	return 0;
}

/* What is known is written in any case; a CPU without an identity is bad input all the same. */
static int check_identities(const struct dump_list *list, const char *word, struct error *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (dump_identity(&list->dumps[i], err) < 0)
			return error_prefix(err, "%s", strcmp(word, "-") ? word : "standard input");
	return 0;
}

int command_cpuid(struct lab *lab, const struct command *command, int argc, char **argv)
{
	const struct cpuid_format *format = NULL;
	struct dump_list list = { 0 };
	struct cpu_tables tables = { 0 };
	struct error err = { 0 };
	int first, status = STATUS_OK;

	(void)lab;
	first = options_parse(command->options, true, argc, argv, each_option, &format, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 1) {
		error_set(&err, ERROR_INPUT, "cpuid: one SPEC, file, '-' or 'host' was expected");
		return lab_fail(&err);
	}
	if (cpu_tables_read(&tables, &err) < 0 ||
	    cpuid_source(&list, argv[first], &tables, &err) < 0 ||
	    write_out(&list, format, &tables, &err) < 0 ||
	    check_identities(&list, argv[first], &err) < 0)
		status = lab_fail(&err);
	dump_list_free(&list);
	cpu_tables_free(&tables);
	return status;
}
