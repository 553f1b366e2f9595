// SPDX-License-Identifier: MIT
/* quirklab lint: what is wrong with the quirk table, before anything boots. */
#include "lab/lint.h"

#include <stdio.h>

#include "lab/lab.h"

enum { OPT_FORMAT = OPTION_LONG, OPT_MUTATE };

const struct option_row lint_option_rows[] = {
	{ OPT_FORMAT, "format", "text|sarif|junit",
	  "text (the default), SARIF 2.1.0 for code scanning, or JUnit XML" },
	{ OPT_MUTATE, "mutate", NULL,
	  "also break each row in every small way, and report what no CPU would\n"
	  "notice; with -v every mutation and how it ended" },
	{ 0 },
};

struct lint_options {
	enum lint_format format;
	bool mutate;
};

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const formats[] = {
		[LINT_TEXT] = "text", [LINT_SARIF] = "sarif", [LINT_JUNIT] = "junit", NULL
	};
	struct lint_options *options = state;
	unsigned word;

	if (key == OPT_MUTATE) {
		options->mutate = true;
		return 0;
	}
	if (parse_word(&word, argument, formats, "format", err) < 0)
		return -1;
	options->format = (enum lint_format)word;
	return 0;
}

int command_lint(struct lab *lab, const struct command *command, int argc, char **argv)
{
	CLEANUP_TEXT struct text out = { 0 };
	struct mutation_report mutations = { 0 };
	struct lint_options options = { 0 };
	struct lint lint = { 0 };
	struct error err = { 0 };
	int first, status;

	first = options_parse(command->options, true, argc, argv, each_option, &options, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (first < argc) {
		error_set(&err, ERROR_INPUT,
			  "lint takes no operand: it looks at the quirk table "
			  "of this program");
		return lab_fail(&err);
	}
	if (lint_open(&lint, &dispatch_quirks, &err) < 0) {
		status = lab_fail(&err);
		lint_close(&lint);
		return status;
	}
	lint_check_rows(&lint);
	lint_check_picks(&lint);
	lint_check_evidence(&lint);
	if (options.mutate && lint_failed(&lint)) {
		fprintf(stderr, "quirklab: no mutation is tried before the table itself is well\n");
		options.mutate = false;
	}
	if (options.mutate && lint_mutate(&lint, &mutations, &err) < 0) {
		status = lab_fail(&err);
	} else {
		if (options.mutate && lab->verbose && options.format == LINT_TEXT)
			text_addf(&out, "%s", text_string(&mutations.details));
		lint_write(&out, &lint, options.format, options.mutate ? &mutations : NULL);
		fwrite(out.bytes, 1, out.length, stdout);
		status = lint_failed(&lint) ? STATUS_FAIL : STATUS_OK;
	}
	text_free(&mutations.details);
	lint_close(&lint);
	return status;
}
