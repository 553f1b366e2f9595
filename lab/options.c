// SPDX-License-Identifier: MIT
/* Options from tables of rows, by getopt_long; their help; messages and exit statuses. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/text.h"
#include "lab/lab.h"

#define ROWS_MAX 48

enum { KEY_HELP = 'h', KEY_VERSION = 'V' };

static const struct option_row always[] = {
	{ KEY_HELP, "help", NULL, "this help" },
	{ KEY_VERSION, "version", NULL, "the version" },
	{ 0 },
};

/* What getopt_long wants, from our rows. */
struct getopt_tables {
	char letters[2 * ROWS_MAX + 4];
	struct option options[ROWS_MAX + 1];
	size_t count;
};

static void add_rows(struct getopt_tables *tables, const struct option_row *rows)
{
	char *end = tables->letters + strlen(tables->letters);

	for (; rows->name && tables->count < ROWS_MAX; rows++) {
		tables->options[tables->count++] = (struct option){
			.name = rows->name,
			.has_arg = rows->argument ? required_argument : no_argument,
			.val = rows->key,
		};
		if (rows->key >= OPTION_LONG)
			continue;
		*end++ = (char)rows->key;
		if (rows->argument)
			*end++ = ':';
	}
	*end = '\0';
}

static const struct option_row *find_key(const struct option_row *rows, int key)
{
	for (; rows->name; rows++)
		if (rows->key == key)
			return rows;
	return NULL;
}

/* Whether a command was given an option of those before it. */
static bool is_global(const char *name, int key)
{
	for (const struct option_row *row = lab_global_options; row->name; row++)
		if (name ? !strcmp(row->name, name) : row->key == key)
			return true;
	return false;
}

/* The message for an option that getopt_long refused. */
static int bad_option(const struct option_row *rows, int result, const char *word,
		      struct error *err)
{
	const struct option_row *row;
	size_t count = 0, length = strcspn(word, "=");
	const char *near;
	char name[64];

	if (result == ':') {
		row = find_key(rows, optopt);
		return error_set(err, ERROR_INPUT, "option '%s' needs %s", word,
				 row ? row->argument : "an argument");
	}
	if (optopt && !find_key(rows, optopt) && is_global(NULL, optopt))
		return error_set(err, ERROR_INPUT, "option '-%c' comes before the command", optopt);
	if (optopt && !find_key(rows, optopt) && !find_key(always, optopt))
		return error_set(err, ERROR_INPUT, "no option '-%c': try --help", optopt);
	if (optopt)
		return error_set(err, ERROR_INPUT, "option '%.*s' takes no argument", (int)length,
				 word);
	while (rows[count].name)
		count++;
	snprintf(name, sizeof(name), "%.*s", (int)(length - 2), word + 2);
	if (is_global(name, 0))
		return error_set(err, ERROR_INPUT, "option '--%s' comes before the command", name);
	near = count ? near_name(name, &rows->name, count, sizeof(*rows)) : NULL;
	if (near)
		return error_set(err, ERROR_INPUT, "no option '--%s': do you mean '--%s'?", name,
				 near);
	return error_set(err, ERROR_INPUT, "no option '--%s': try --help", name);
}

int options_parse(const struct option_row *rows, bool all, int argc, char **argv,
		  int (*each)(void *state, int key, const char *argument, struct error *err),
		  void *state, struct error *err)
{
	struct getopt_tables tables = { 0 };
	int result;

	strcpy(tables.letters, all ? ":" : "+:");
	add_rows(&tables, rows);
	add_rows(&tables, always);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	for (;;) {
		int before = optind > 0 ? optind : 1;

		optopt = 0;
		result = getopt_long(argc, argv, tables.letters, tables.options, NULL);
		if (result < 0)
			return optind;
		if (result == '?' || result == ':')
			return bad_option(rows, result, argv[optind > 1 ? optind - 1 : before],
					  err);
		if (result == KEY_HELP)
			return OPTIONS_HELP;
		if (result == KEY_VERSION)
			return OPTIONS_VERSION;
		if (each && each(state, result, optarg, err) < 0)
			return OPTIONS_BAD;
	}
}

/* One row: its spellings, then its help in a column of its own. */
static void row_help(const struct option_row *row)
{
	char left[64];
	const char *line = row->help;
	bool letter = row->key < OPTION_LONG;

	snprintf(left, sizeof(left), "%c%c%s --%s%s%s", letter ? '-' : ' ', letter ? row->key : ' ',
		 letter ? "," : " ", row->name, row->argument ? " " : "",
		 row->argument ? row->argument : "");
	printf("  %-26s", left);
	if (strlen(left) >= 26)
		printf("\n%28s", "");
	while (*line) {
		size_t length = strcspn(line, "\n");

		printf(" %.*s\n", (int)length, line);
		line += length;
		if (*line == '\n') {
			line++;
			printf("%28s", "");
		}
	}
}

void options_help(const struct option_row *rows)
{
	for (; rows->name; rows++)
		row_help(rows);
	for (rows = always; rows->name; rows++)
		row_help(rows);
}

int parse_number(unsigned *out, const char *text, unsigned from, unsigned to, const char *what,
		 struct error *err)
{
	char *end = NULL;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || value < from || value > to)
		return error_set(err, ERROR_INPUT,
				 "%s: a number from %u to %u was expected, not '%s'", what, from,
				 to, text);
	*out = (unsigned)value;
	return 0;
}

int lab_stop(const struct command *command, int result, const struct error *err)
{
	if (result == OPTIONS_VERSION) {
		printf("quirklab " QUIRKLAB_VERSION "\n");
		return STATUS_OK;
	}
	if (result != OPTIONS_HELP || !command)
		return lab_fail(err);
	printf("usage: quirklab [-c URI]... [-v] %s%s%s%s\n\n%s\n", command->name,
	       command->options->name ? " [OPTION...]" : "", *command->arguments ? " " : "",
	       command->arguments, command->help);
	if (command->more)
		printf("\n%s\n", command->more);
	printf("\noptions:\n");
	options_help(command->options);
	return STATUS_OK;
}

int lab_fail(const struct error *err)
{
	fflush(stdout);
	fprintf(stderr, "quirklab: %s\n", err->text);
	return err->kind == ERROR_INPUT ? STATUS_USAGE : STATUS_LAB;
}

int parse_accelerator(enum accelerator *accelerator, const char *text, struct error *err)
{
	static const char *const words[] = {
		[ACCEL_AUTO] = "auto", [ACCEL_KVM] = "kvm", [ACCEL_TCG] = "tcg", NULL
	};
	unsigned word = 0;

	if (parse_word(&word, text, words, "accel", err) < 0)
		return -1;
	*accelerator = (enum accelerator)word;
	return 0;
}

int parse_scale(double *scale, const char *text, struct error *err)
{
	char *end = NULL;

	*scale = strtod(text, &end);
	if (end == text || *end || !isfinite(*scale) || *scale < 0.01 || *scale > 1000)
		return error_set(
			err, ERROR_INPUT,
			"--timeout-scale: a number from 0.01 to 1000 was expected, not '%s'", text);
	return 0;
}

int parse_word(unsigned *out, const char *text, const char *const words[], const char *what,
	       struct error *err)
{
	CLEANUP_TEXT struct text list = { 0 };

	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], text)) {
			*out = i;
			return 0;
		}
		text_addf(&list, "%s%s", !i ? "" : words[i + 1] ? ", " : " or ", words[i]);
	}
	return error_set(err, ERROR_INPUT, "--%s '%s': %s was expected", what, text,
			 text_string(&list));
}
