// SPDX-License-Identifier: MIT
/* The quirklab program: the options before the command, then the command. */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "lab/lab.h"

static void help(void)
{
	printf("usage: quirklab [-c URI]... [-v] COMMAND ...\n\n"
	       "Boots guests with different x86 CPU identities, runs dispatch selftests inside "
	       "and\n"
	       "checks the memset, clear and flush paths that each CPU gets.\n\ncommands:\n");
	for (size_t i = 0; i < lab_command_count; i++)
		printf("  %-10s %s\n", lab_commands[i].name, lab_commands[i].help);
	printf("\noptions before the command:\n");
	options_help(lab_global_options);
	printf("\n'quirklab COMMAND --help' describes a command.\n");
}

static int global_option(void *state, int key, const char *argument, struct error *err)
{
	struct lab *lab = state;

	switch (key) {
	case 'c':
		if (lab->uri_count == LAB_URIS_MAX)
			return error_set(err, ERROR_INPUT, "-c: at most %d connections",
					 LAB_URIS_MAX);
		if (!*argument)
			return error_set(err, ERROR_INPUT, "-c: a URI was expected");
		lab->uris[lab->uri_count++] = argument;
		break;
	case 'v':
		lab->verbose = true;
		break;
	}
	return 0;
}

static const struct command *find_command(const char *name, struct error *err)
{
	const char *near;

	for (size_t i = 0; i < lab_command_count; i++)
		if (!strcmp(lab_commands[i].name, name))
			return &lab_commands[i];
	near = near_name(name, lab_commands, lab_command_count, sizeof(*lab_commands));
	if (near)
		error_set(err, ERROR_INPUT, "no command '%s': do you mean '%s'?", name, near);
	else
		error_set(err, ERROR_INPUT, "no command '%s': 'quirklab --help' lists them", name);
	return NULL;
}

/* The status of a command whose output may not have arrived. */
static int end(int status)
{
	struct error err = { 0 };
	const bool flushed = fflush(stdout) == 0;
	const char *why = flushed ? "a write failed" : strerror(errno);

	if (flushed && !ferror(stdout))
		return status;
	error_set(&err, ERROR_LAB, "standard output: %s", why);
	lab_fail(&err);
	return status == STATUS_OK ? STATUS_LAB : status;
}

int main(int argc, char **argv)
{
	struct lab lab = { 0 };
	struct error err = { 0 };
	const struct command *command;
	int first;

	setlocale(LC_CTYPE, "");
	first = options_parse(lab_global_options, false, argc, argv, global_option, &lab, &err);
	if (first == OPTIONS_HELP) {
		help();
		return end(STATUS_OK);
	}
	if (first < 0)
		return end(lab_stop(NULL, first, &err));
	if (first == argc) {
		error_set(&err, ERROR_INPUT, "a command is missing: 'quirklab --help' lists them");
		return lab_fail(&err);
	}
	command = find_command(argv[first], &err);
	if (!command)
		return lab_fail(&err);
	return end(command->run(&lab, command, argc - first, argv + first));
}
