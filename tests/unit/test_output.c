// SPDX-License-Identifier: MIT
/* images/linux/output: what the agent keeps of a program's output, as the harness reads it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/observation.h"
#include "harness/util/text.h"
#include "images/linux/output.h"

Suite *suite_output(void);

/* Of each kind pieces of 2047 bytes, each with 4 more, fit into REPORT_OUTPUT_MAX: 127, and one of
 * 1663. */
#define KEPT (127 * 2047 + 1663)

static struct output *output;
static struct report_reader *reader;
static struct report report;

static void feed(void *context, const void *bytes, size_t length)
{
	report_feed(context, bytes, length);
}

static struct selftest_platform platform = { .send = feed, .version = "" };

static void set_up(void)
{
	output = output_new();
	reader = report_reader_new(1);
	platform.context = reader;
	report_begin(&report, &platform);
	report_text(&report, "");
	report_u32(&report, 0);
	report_send(&report, REPORT_START);
}

static void tear_down(void)
{
	output_free(output);
	report_reader_free(reader);
}

static void write_text(enum output_stream stream, const char *text)
{
	output_add(output, stream, text, strlen(text));
}

/* What arrives, and how much was left out. */
static const struct observed_program *arrives(uint64_t left_out)
{
	const struct observation *seen;

	ck_assert_uint_eq(output_send(output, &report), left_out);
	seen = report_cpu(reader, 0);
	ck_assert_ptr_nonnull(seen);
	ck_assert_uint_eq(seen->malformed, 0);
	return seen->program;
}

START_TEST(all_of_little)
{
	const struct observed_program *program;

	write_text(OUTPUT_STANDARD, "one\ntw");
	write_text(OUTPUT_ERRORS, "error\n");
	write_text(OUTPUT_STANDARD, "o\n\nok 1\nno end");
	program = arrives(0);
	ck_assert_uint_eq(output_written(output), 26);
	ck_assert_str_eq(program->output.bytes, "one\ntwo\n\nok 1\nno end");
	ck_assert_str_eq(program->errors.bytes, "error\n");
}
END_TEST

START_TEST(verdicts_go_first)
{
	static const char line[] =
		"a line of no use whatever, but of some length: 64 bytes in all\n";
	const size_t lines = 2 * REPORT_OUTPUT_MAX / (sizeof(line) - 1);
	const struct observed_program *program;

	for (size_t i = 0; i < lines; i++)
		write_text(OUTPUT_STANDARD, line);
	write_text(OUTPUT_STANDARD, "not ok 7 - behind it all\n  ok 1\nQL pick a b\n1..3\n");
	program = arrives(output_written(output) - KEPT - 49);
	/* The last of the lines of no use is cut, so it gets an end. */
	ck_assert_uint_eq(program->output.length, KEPT + 1 + 49);
	ck_assert_ptr_nonnull(strstr(program->output.bytes,
				     "\nnot ok 7 - behind it all\n  ok 1\nQL pick a b\n1..3\n"));
}
END_TEST

/* Of a line without an end the rest is left out, and its end with it. */
START_TEST(a_verdict_behind_what_is_left_out_has_its_own_line)
{
	const size_t length = 300000;
	char *line = malloc(length + 1);
	const struct observed_program *program;

	memset(line, 'x', length);
	line[length] = '\0';
	write_text(OUTPUT_STANDARD, line);
	write_text(OUTPUT_STANDARD, "\nok 2 - after\n");
	free(line);
	program = arrives(length + 1 - KEPT);
	ck_assert_uint_eq(program->output.length, KEPT + strlen("\nok 2 - after\n"));
	ck_assert_str_eq(program->output.bytes + KEPT - 1, "x\nok 2 - after\n");
}
END_TEST

START_TEST(a_flood_of_verdicts_is_bounded)
{
	const struct observed_program *program;

	for (int i = 0; i < 100000; i++)
		write_text(OUTPUT_STANDARD, "ok 1\n");
	program = arrives(500000 - KEPT);
	ck_assert_uint_eq(program->output.length, KEPT);
}
END_TEST

/* Text in the middle of other bytes: without its NUL. */
static void put(char *where, const char *text)
{
	while (*text)
		*where++ = *text++;
}

START_TEST(lines_without_an_end)
{
	static char block[100000];
	const struct observed_program *program;

	memset(block, 'x', sizeof(block));
	put(block, "ok 1");
	put(block + 50000, "ok 2"); /* in the middle of a line: no verdict */
	for (int i = 0; i < 50; i++)
		output_add(output, OUTPUT_STANDARD, block, sizeof(block));
	write_text(OUTPUT_STANDARD, "\nok 3 - a line again\n");
	/* Each of the 10 pieces that may be a verdict has room for an end of the line before it: 16
	 * KiB of the first line are 9. */
	ck_assert_uint_eq(output_send(output, &report),
			  50 * sizeof(block) + 21 - (REPORT_OUTPUT_MAX - 10));
	program = report_cpu(reader, 0)->program;
	ck_assert_ptr_nonnull(strstr(program->output.bytes, "\nok 3 - a line again\n"));
}
END_TEST

START_TEST(streams_in_turn)
{
	const struct observed_program *program;

	for (int i = 0; i < 200000; i++) {
		write_text(OUTPUT_STANDARD, "\n");
		write_text(OUTPUT_ERRORS, "\n");
	}
	ck_assert_uint_gt(output_send(output, &report), 0);
	program = report_cpu(reader, 0)->program;
	ck_assert_uint_le(program->output.length + program->errors.length, REPORT_OUTPUT_MAX);
	ck_assert_uint_gt(program->output.length, 20000);
	ck_assert_uint_gt(program->errors.length, 20000);
}
END_TEST

Suite *suite_output(void)
{
	Suite *suite = suite_create("output");
	TCase *tests = tcase_create("output");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, all_of_little);
	tcase_add_test(tests, verdicts_go_first);
	tcase_add_test(tests, a_verdict_behind_what_is_left_out_has_its_own_line);
	tcase_add_test(tests, a_flood_of_verdicts_is_bounded);
	tcase_add_test(tests, lines_without_an_end);
	tcase_add_test(tests, streams_in_turn);
	suite_add_tcase(suite, tests);
	return suite;
}
