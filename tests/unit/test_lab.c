// SPDX-License-Identifier: MIT
/* lab/: options, the shard that the environment says, names that are near, completion's words,
 * what a bench may conclude. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "lab/bench.h"
#include "lab/run_options.h"

Suite *suite_lab(void);

#define WORDS_MAX 40

/* Splits "run --jobs 3" at blanks (into storage that lasts until the next call) and parses it. */
static char *no_environment(const char *name)
{
	(void)name;
	return NULL;
}

static int parse_in(struct run_options *options, const char *line,
		    char *(*environment)(const char *), struct error *err)
{
	static char storage[512];
	char *words[WORDS_MAX + 1] = { 0 };
	int count = 0;

	snprintf(storage, sizeof(storage), "%s", line);
	for (char *word = strtok(storage, " "); word && count < WORDS_MAX; word = strtok(NULL, " "))
		words[count++] = word;
	return run_options_parse(options, count, words, environment, err);
}

static int parse(struct run_options *options, const char *line, struct error *err)
{
	return parse_in(options, line, no_environment, err);
}

START_TEST(defaults)
{
	struct run_options options;

	ck_assert_int_eq(parse(&options, "run", NULL), 1);
	ck_assert_int_eq(options.plan.image, GUEST_BARE);
	ck_assert_str_eq(options.plan.subject, "dispatch");
	ck_assert_uint_ge(options.plan.jobs, 1);
	ck_assert_uint_eq(options.plan.pack, 32);
	ck_assert_uint_eq(options.plan.shards, 0);
	ck_assert_double_eq(options.plan.timeout_scale, 1);
	ck_assert_int_eq(options.accelerator, ACCEL_AUTO);
	ck_assert_uint_eq(options.output_count, 0);
	ck_assert(!options.resume && !options.strict && !options.bisect);
}
END_TEST

START_TEST(every_option)
{
	struct run_options options;
	struct error err = { 0 };
	int first = parse(
		&options,
		"run --image linux --subject dispatch -j 3 --pack=200 --shard 2/5 "
		"--timeout-scale 2.5 --kernel k --emulator e --accel tcg --results r --resume "
		"--strict --bisect --output tap --output junit:j.xml skylake-x",
		&err);

	ck_assert_msg(first > 0, "%s", err.text);
	ck_assert_int_eq(options.plan.image, GUEST_LINUX);
	ck_assert_uint_eq(options.plan.jobs, 3);
	ck_assert_uint_eq(options.plan.pack, 200);
	ck_assert_uint_eq(options.plan.shard, 2);
	ck_assert_uint_eq(options.plan.shards, 5);
	ck_assert_double_eq(options.plan.timeout_scale, 2.5);
	ck_assert_str_eq(options.plan.kernel, "k");
	ck_assert_str_eq(options.emulator, "e");
	ck_assert_int_eq(options.accelerator, ACCEL_TCG);
	ck_assert_str_eq(options.results, "r");
	ck_assert(options.resume && options.strict && options.bisect);
	ck_assert_uint_eq(options.output_count, 2);
	ck_assert_int_eq(options.outputs[0].format, FORMAT_TAP);
	ck_assert_ptr_null(options.outputs[0].path);
	ck_assert_int_eq(options.outputs[1].format, FORMAT_JUNIT);
	ck_assert_str_eq(options.outputs[1].path, "j.xml");
}
END_TEST

START_TEST(help_and_version_win)
{
	struct run_options options;

	ck_assert_int_eq(parse(&options, "run --help", NULL), OPTIONS_HELP);
	ck_assert_int_eq(parse(&options, "run skylake-x -h", NULL), OPTIONS_HELP);
	ck_assert_int_eq(parse(&options, "run --version", NULL), OPTIONS_VERSION);
}
END_TEST

/* The cells of a disk image are named after the file, as far as that can be a folder's name. */
START_TEST(image_may_be_a_file)
{
	static const struct {
		const char *line, *name;
	} rows[] = {
		{ "run --image images/debian-12.qcow2", "debian-12.qcow2" },
		{ "run --image ./.hidden", "_hidden" },
		{ "run --image ./a:b*c", "a_b_c" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run_options options;
		struct error err = { 0 };

		ck_assert_msg(parse(&options, rows[i].line, &err) > 0, "%s", err.text);
		ck_assert_int_eq(options.plan.image, GUEST_DISK);
		ck_assert_str_eq(options.disk_name, rows[i].name);
	}
}
END_TEST

START_TEST(bad_options_say_what_was_expected)
{
	static const struct {
		const char *line, *words;
	} rows[] = {
		{ "run --jobs", "'--jobs' needs N" },
		{ "run -j", "'-j' needs N" },
		{ "run --jobs 0", "1 to 256" },
		{ "run --jobs -1", "not '-1'" },
		{ "run --jobs 3x", "not '3x'" },
		{ "run --jobs 99999999999999999999", "1 to 256" },
		{ "run --pack 201", "1 to 200" },
		{ "run --shard 3", "K/N was expected" },
		{ "run --shard 0/2", "1 to 2" },
		{ "run --shard 3/2", "1 to 2" },
		{ "run --shard 1/0", "1 to 100000" },
		{ "run --timeout-scale nan", "0.01 to 1000" },
		{ "run --timeout-scale inf", "0.01 to 1000" },
		{ "run --timeout-scale 0", "0.01 to 1000" },
		{ "run --image disk", "'disk': bare, linux or a file" },
		{ "run --full-boot", "needs --image FILE" },
		{ "run --image linux --full-boot", "needs --image FILE" },
		{ "run --image ./x --subject glibc --libc /", "a library of its own" },
		{ "run --accel hvf", "auto, kvm or tcg" },
		{ "run --subject memset", "dispatch, linux, glibc, pmem or the path" },
		{ "run --subject /nowhere/memset", "/nowhere/memset: No such file" },
		{ "run --subject /bin/sh --image bare", "/bin/sh: it needs --image linux" },
		{ "run --subject glibc --image bare", "needs --image linux" },
		{ "run --silence 0", "--silence" },
		{ "run --subject linux --image bare", "needs --image linux" },
		{ "run --append nosmp", "only Linux guests" },
		{ "run --output xml", "tap, junit" },
		{ "run --output tap:", "a file" },
		{ "run --output tap --output jsonl", "two formats for standard output" },
		{ "run --output tap --output jsonl:-", "two formats for standard output" },
		{ "run --output tap:x --output jsonl:x", "two formats for x" },
		{ "run --jbs 3", "do you mean '--jobs'" },
		{ "run --nothing-like-it", "no option '--nothing-like-it'" },
		{ "run -x", "no option '-x'" },
		{ "run --strict -x", "no option '-x'" },
		{ "run -v", "option '-v' comes before the command" },
		{ "run --verbose", "option '--verbose' comes before the command" },
		{ "run --strict=yes", "takes no argument" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct run_options options;
		struct error err = { 0 };

		ck_assert_int_eq(parse(&options, rows[i].line, &err), OPTIONS_BAD);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_msg(strstr(err.text, rows[i].words), "%s: %s", rows[i].line, err.text);
		run_options_free(&options);
	}
}
END_TEST

/* --- the environment
 * ------------------------------------------------------------------------------- */

/* "NAME=VALUE NAME=VALUE" stands for the environment. */
static const char *variables;

static char *acted_environment(const char *name)
{
	static char value[64];
	size_t length = strlen(name);

	for (const char *at = variables; at && *at; at += strcspn(at, " "), at += *at == ' ') {
		if (strncmp(at, name, length) || at[length] != '=')
			continue;
		at += length + 1;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, " "), at);
		return value;
	}
	return NULL;
}

START_TEST(shards_of_the_engines)
{
	static const struct {
		const char *variables;
		unsigned shard, shards; /* 0, 0: none */
	} rows[] = {
		{ "", 0, 0 },
		{ "CI_NODE_TOTAL=1", 0, 0 }, /* GitLab without parallel */
		{ "CI_NODE_INDEX=1 CI_NODE_TOTAL=4", 1, 4 },
		{ "CI_NODE_INDEX=4 CI_NODE_TOTAL=4", 4, 4 },
		{ "JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=3", 1, 3 },
		{ "JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=3", 3, 3 },
		{ "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_COUNT=4", 3, 4 },
		{ "SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=8", 4, 4 },
		{ "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=6 "
		  "SLURM_ARRAY_TASK_STEP=2",
		  3, 4 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };
		unsigned shard, shards;

		variables = rows[i].variables;
		ck_assert_msg(shard_from_environment(&shard, &shards, acted_environment, &err) == 0,
			      "%s: %s", variables, err.text);
		ck_assert_uint_eq(shard, rows[i].shard);
		ck_assert_uint_eq(shards, rows[i].shards);
	}
}
END_TEST

START_TEST(broken_environments_are_refused)
{
	static const struct {
		const char *variables, *word;
	} rows[] = {
		{ "CI_NODE_INDEX=5 CI_NODE_TOTAL=4", "CI_NODE_INDEX" },
		{ "CI_NODE_INDEX=0 CI_NODE_TOTAL=4", "CI_NODE_INDEX" },
		{ "CI_NODE_INDEX=one CI_NODE_TOTAL=4", "CI_NODE_INDEX" },
		{ "CI_NODE_INDEX=1", "CI_NODE_TOTAL" },
		{ "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=3", "JOB_COMPLETION_INDEX" },
		{ "JOB_COMPLETION_INDEX=3", "JOB_COMPLETIONS" },
		{ "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_COUNT=4",
		  "--shard" },
		{ "SLURM_ARRAY_TASK_ID=1", "SLURM_ARRAY_TASK_MIN" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };
		unsigned shard, shards;

		variables = rows[i].variables;
		ck_assert_int_eq(shard_from_environment(&shard, &shards, acted_environment, &err),
				 -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_msg(strstr(err.text, rows[i].word), "%s: %s", variables, err.text);
	}
}
END_TEST

START_TEST(the_option_wins_over_the_environment)
{
	struct run_options options;

	variables = "CI_NODE_INDEX=9 CI_NODE_TOTAL=4"; /* broken, and not looked at */
	ck_assert_int_gt(parse_in(&options, "run --shard 1/1", acted_environment, NULL), 0);
	ck_assert_uint_eq(options.plan.shards, 1);
	variables = "CI_NODE_INDEX=3 CI_NODE_TOTAL=4";
	ck_assert_int_gt(parse_in(&options, "run", acted_environment, NULL), 0);
	ck_assert_uint_eq(options.plan.shard, 3);
}
END_TEST

/* --- the table of commands
 * --------------------------------------------------------------------------- */

START_TEST(near_names)
{
	static const struct {
		const char *typed, *near;
	} rows[] = {
		{ "rnu", "run" }, { "ru", "run" },   { "reply", "replay" }, { "doctro", "doctor" },
		{ "x", NULL },	  { "zebra", NULL }, { "", NULL },	    { "repla", "replay" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *near = near_name(rows[i].typed, lab_commands, lab_command_count,
					     sizeof(*lab_commands));

		if (rows[i].near) {
			ck_assert_msg(near != NULL, "%s", rows[i].typed);
			ck_assert_str_eq(near, rows[i].near);
		} else {
			ck_assert_msg(!near, "%s: %s", rows[i].typed, near);
		}
	}
}
END_TEST

START_TEST(commands_are_described)
{
	for (size_t i = 0; i < lab_command_count; i++) {
		const struct command *command = &lab_commands[i];

		ck_assert_ptr_nonnull(command->run);
		ck_assert(*command->help && !strchr(command->help, '\n'));
		ck_assert_uint_le(strlen(command->help), 80);
		for (const struct option_row *row = command->options; row->name; row++)
			for (const struct option_row *other = row + 1; other->name; other++) {
				ck_assert_int_ne(row->key, other->key);
				ck_assert_str_ne(row->name, other->name);
			}
	}
}
END_TEST

/* The words of a local variable of the completion: NAME='...' */
static char *completion_words(const char *script, const char *variable)
{
	CLEANUP_FREE char *start = xasprintf("\t%s='", variable);
	const char *from;

	/* cpuid-diff is no name of a variable */
	for (char *dash = start; (dash = strchr(dash, '-'));)
		*dash = '_';
	from = strstr(script, start);

	ck_assert_msg(from != NULL, "no variable %s", variable);
	from += strlen(start);
	return xasprintf(" %.*s ", (int)strcspn(from, "'"), from);
}

static size_t count_words(const char *words)
{
	size_t count = 0;

	while (*(words += strspn(words, " \n\t"))) {
		count++;
		words += strcspn(words, " \n\t");
	}
	return count;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	while (*(words += strspn(words, " \n\t"))) {
		size_t here = strcspn(words, " \n\t");

		if (here == length && !strncmp(words, word, length))
			return true;
		words += here;
	}
	return false;
}

static void check_rows(const char *script, const char *variable, const struct option_row *rows)
{
	CLEANUP_FREE char *words = completion_words(script, variable);
	size_t count = 2; /* --help, --version */

	for (; rows->name; rows++, count++) {
		CLEANUP_FREE char *option = xasprintf("--%s", rows->name);

		ck_assert_msg(has_word(words, option), "%s: no %s", variable, option);
	}
	ck_assert_uint_eq(count_words(words), count);
}

START_TEST(completion_knows_every_word)
{
	CLEANUP_FREE char *script = NULL, *commands = NULL;
	size_t length;

	if (file_read("docs/completion/quirklab.bash", 1 << 20, &script, &length, NULL) < 0)
		return; /* not run from the source tree */
	commands = completion_words(script, "commands");
	check_rows(script, "global", lab_global_options);
	for (size_t i = 0; i < lab_command_count; i++) {
		ck_assert(has_word(commands, lab_commands[i].name));
		check_rows(script, lab_commands[i].name, lab_commands[i].options);
	}
	ck_assert_uint_eq(count_words(commands), lab_command_count);
}
END_TEST

/* Passes of one slice each. */
static void fill_line(struct bench_line *line, struct measured_slice *slices, const double *rates,
		      unsigned passes, bool lost)
{
	struct measured *cell = &line->measured;

	for (unsigned i = 0; i < passes; i++)
		slices[i] = (struct measured_slice){
			.gb_per_s = rates[i], .pace = 1, .pass = i, .lost = lost
		};
	*line = (struct bench_line){ .measured = { .passes = passes,
						   .per_pass = 1,
						   .rounds = 1,
						   .slices = slices,
						   .slice_count = passes } };
	measure_sum(&cell, 1, 5);
}

/*
 * The reference's passes are 10 to 13 GB/s, all disturbed. 7 and 7 samples without overlap happen
 * by chance in 2 of C(14, 7) = 3432 cases, 0.06 %; 5 and 7 in 2 of 792, 0.25 %, which is too often.
 */
START_TEST(what_noise_allows_to_say)
{
	static const double reference[] = { 10, 10.5, 11, 11.5, 12, 12.5, 13 };
	static const struct {
		double rates[7];
		unsigned passes;
		bool lost;
		enum conclusion conclusion;
	} rows[] = {
		{ { 20, 21, 22, 23, 24, 25, 26 }, 7, true, CONCLUSION_GOOD },
		{ { 20, 21, 22, 23, 24, 25, 26 }, 7, false, CONCLUSION_GOOD },
		{ { 5, 5, 6, 6, 6, 7, 7 }, 7, true, CONCLUSION_BAD },
		{ { 5, 5, 6, 6, 6, 7, 10.2 }, 7, true, CONCLUSION_NOISY },
		{ { 20, 21, 22, 23, 24 }, 5, true, CONCLUSION_NOISY },
		{ { 10, 10.5, 11, 11.5, 12, 12.5, 13 }, 7, true, CONCLUSION_NOISY },
		{ { 13.1, 13.1, 13.1, 13.1, 13.1, 13.1, 13.1 }, 7, true, CONCLUSION_NOISY },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct measured_slice slices[2][7];
		struct bench_line lines[2];

		fill_line(&lines[0], slices[0], reference, 7, true);
		fill_line(&lines[1], slices[1], rows[i].rates, rows[i].passes, rows[i].lost);
		bench_compare(lines, 2);
		ck_assert_msg(lines[1].conclusion == rows[i].conclusion, "row %zu: %s", i,
			      conclusion_name(lines[1].conclusion));
		ck_assert(lines[1].compared == (rows[i].conclusion != CONCLUSION_NOISY));
	}
}
END_TEST

/* The same 2 % slower: no difference if it is quiet, nothing in noise. */
START_TEST(no_difference_is_said_of_quiet_runs)
{
	static const double reference[] = { 50, 50, 50, 50, 50, 50, 50 },
			    slower[] = { 49, 49, 49, 49, 49, 49, 49 };

	for (int lost = 0; lost < 2; lost++) {
		struct measured_slice slices[2][7];
		struct bench_line lines[2];

		fill_line(&lines[0], slices[0], reference, 7, false);
		fill_line(&lines[1], slices[1], slower, 7, lost);
		bench_compare(lines, 2);
		ck_assert_int_eq(lines[1].conclusion, lost ? CONCLUSION_NOISY : CONCLUSION_SAME);
	}
}
END_TEST

/*
 * Ten passes: the runs are 0 and 5, 1 and 6 ... of both, and a run's figure that of 3/4 of the way
 * between two passes. One bad pass of ten is not in the interval, which leaves 16 of 100 ratios out
 * at each end; it is in a run. Where that run lies among the reference's the path is neither good
 * nor bad.
 */
START_TEST(the_interval_is_that_of_the_passes)
{
	static const double reference[] = { 50, 50, 50, 50, 50, 50, 50, 50, 50, 50 };
	static const struct {
		double rates[10];
		enum conclusion conclusion;
	} rows[] = {
		{ { 49, 49, 49, 49, 49, 49, 49, 49, 49, 20 }, CONCLUSION_SAME },
		{ { 40, 40, 40, 40, 40, 40, 40, 40, 40, 20 }, CONCLUSION_BAD },
		{ { 40, 40, 40, 40, 40, 40, 40, 40, 40, 90 }, CONCLUSION_UNCERTAIN },
		{ { 60, 60, 60, 60, 60, 60, 60, 60, 60, 50.5 }, CONCLUSION_GOOD },
		{ { 60, 60, 60, 60, 40, 60, 60, 60, 60, 45 }, CONCLUSION_UNCERTAIN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct measured_slice slices[2][10];
		struct bench_line lines[2];

		fill_line(&lines[0], slices[0], reference, 10, false);
		fill_line(&lines[1], slices[1], rows[i].rates, 10, false);
		bench_compare(lines, 2);
		ck_assert_msg(lines[1].conclusion == rows[i].conclusion, "row %zu: %s", i,
			      conclusion_name(lines[1].conclusion));
	}
}
END_TEST

Suite *suite_lab(void)
{
	Suite *suite = suite_create("lab");
	TCase *options = tcase_create("options"), *environment = tcase_create("environment"),
	      *commands = tcase_create("commands"), *bench = tcase_create("bench");

	tcase_add_test(options, defaults);
	tcase_add_test(options, every_option);
	tcase_add_test(options, help_and_version_win);
	tcase_add_test(options, image_may_be_a_file);
	tcase_add_test(options, bad_options_say_what_was_expected);
	suite_add_tcase(suite, options);
	tcase_add_test(environment, shards_of_the_engines);
	tcase_add_test(environment, broken_environments_are_refused);
	tcase_add_test(environment, the_option_wins_over_the_environment);
	suite_add_tcase(suite, environment);
	tcase_add_test(commands, near_names);
	tcase_add_test(commands, commands_are_described);
	tcase_add_test(commands, completion_knows_every_word);
	suite_add_tcase(suite, commands);
	tcase_add_test(bench, what_noise_allows_to_say);
	tcase_add_test(bench, no_difference_is_said_of_quiet_runs);
	tcase_add_test(bench, the_interval_is_that_of_the_passes);
	suite_add_tcase(suite, bench);
	return suite;
}
