/* SPDX-License-Identifier: MIT */
/* What the commands of the program share: the table of commands, options, messages, statuses. */
#ifndef QUIRKLAB_LAB_LAB_H
#define QUIRKLAB_LAB_LAB_H

#include <stdbool.h>
#include <stddef.h>
#include "harness/guest/connection.h"
#include "harness/util/error.h"

/* Exit statuses (CONTRACT, Verdicts). */
enum {
	STATUS_OK = 0,
	STATUS_FAIL = 1,  /* a cell is fail, hung or crashed */
	STATUS_USAGE = 2, /* bad usage or bad input; nothing was booted or written */
	STATUS_LAB = 3,	  /* the lab could not work */
	STATUS_BISECT_SKIP = 125,
};

#define LAB_URIS_MAX 16

/* The options that stand before the command. */
struct lab {
	const char *uris[LAB_URIS_MAX]; /* -c, in order */
	size_t uri_count;		/* 0: the embedded driver */
	bool verbose;
};

struct option_row {
	int key;	      /* its letter, or a number from OPTION_LONG on where it has none */
	const char *name;     /* without the dashes; NULL ends a table */
	const char *argument; /* its word in the help; NULL: the option takes none */
	const char *help;     /* '\n' starts a new line */
};
#define OPTION_LONG 256

struct command {
	const char *name;
	const char *arguments; /* "[SPEC...]"; "" for none */
	const char *help;      /* one line */
	const char *more;      /* paragraphs for its own --help; may be NULL */
	const struct option_row *options;
	int (*run)(struct lab *lab, const struct command *command, int argc, char **argv);
};

extern const struct command lab_commands[];
extern const size_t lab_command_count;
extern const struct option_row lab_global_options[];

/* Beside the index of the first operand, options_parse returns one of these. */
enum {
	OPTIONS_BAD = -1, /* err says why */
	OPTIONS_HELP = -2,
	OPTIONS_VERSION = -3,
};

/*
 * Reads the options of argv with getopt_long; --help and --version are always there. `each` gets
 * every option in turn and returns 0, or -1 with err filled; NULL where there are no others. all:
 * options may follow operands; otherwise the first operand ends them. Returns the index in argv of
 * the first operand.
 */
int options_parse(const struct option_row *rows, bool all, int argc, char **argv,
		  int (*each)(void *state, int key, const char *argument, struct error *err),
		  void *state, struct error *err);
/* The lines that describe the rows, for --help. */
void options_help(const struct option_row *rows);

/* An unsigned number from..to, decimal or 0x-hex, and nothing after it. what names the option. */
int parse_number(unsigned *out, const char *text, unsigned from, unsigned to, const char *what,
		 struct error *err);
/* --accel, and how its row of options reads. */
#define ACCELERATORS	  "kvm|tcg|auto"
#define ACCELERATORS_HELP "auto (the default): KVM where it works, else TCG"
int parse_accelerator(enum accelerator *accelerator, const char *text, struct error *err);
/* The factor of --timeout-scale. */
int parse_scale(double *scale, const char *text, struct error *err);
/* One of the words, by its index; NULL ends them. what: the option without its dashes. */
int parse_word(unsigned *out, const char *text, const char *const words[], const char *what,
	       struct error *err);

/* For a negative result of options_parse: prints the help, the version or the error, and returns
 * the exit status. */
int lab_stop(const struct command *command, int result, const struct error *err);
/* Prints "quirklab: TEXT" on stderr and returns the exit status of that kind of error. */
int lab_fail(const struct error *err);

/* The name of the list (count rows of `size` bytes that start with a char pointer) that is nearest
 * to what was typed, or NULL where none is near. */
const char *near_name(const char *typed, const void *rows, size_t count, size_t size);

int command_run(struct lab *lab, const struct command *command, int argc, char **argv);
int command_replay(struct lab *lab, const struct command *command, int argc, char **argv);
int command_list(struct lab *lab, const struct command *command, int argc, char **argv);
int command_show(struct lab *lab, const struct command *command, int argc, char **argv);
int command_cpuid(struct lab *lab, const struct command *command, int argc, char **argv);
int command_cpuid_diff(struct lab *lab, const struct command *command, int argc, char **argv);
int command_repro(struct lab *lab, const struct command *command, int argc, char **argv);
int command_diff(struct lab *lab, const struct command *command, int argc, char **argv);
int command_accept(struct lab *lab, const struct command *command, int argc, char **argv);
int command_lint(struct lab *lab, const struct command *command, int argc, char **argv);
int command_report(struct lab *lab, const struct command *command, int argc, char **argv);
int command_bench(struct lab *lab, const struct command *command, int argc, char **argv);
int command_scale(struct lab *lab, const struct command *command, int argc, char **argv);
int command_doctor(struct lab *lab, const struct command *command, int argc, char **argv);

extern const struct option_row run_option_rows[], replay_option_rows[], list_option_rows[],
	show_option_rows[], cpuid_option_rows[], cpuid_diff_option_rows[], repro_option_rows[],
	diff_option_rows[], accept_option_rows[], lint_option_rows[], report_option_rows[],
	bench_option_rows[], scale_option_rows[], doctor_option_rows[];

#endif
