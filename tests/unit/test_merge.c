// SPDX-License-Identifier: MIT
/* harness/report: results read again (merge, compare), what a record keeps of a witness, logs. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/judge/trace.h"
#include "harness/report/logs.h"
#include "harness/report/merge.h"
#include "harness/report/reporter.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

Suite *suite_merge(void);

static char folder[] = "/tmp/quirklab-merge-XXXXXX";

static void set_up(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

static void tear_down(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
}

/* A record of one pick. */
static void add_record(struct text *out, const char *name, enum verdict verdict, const char *says)
{
	struct cell_result *result = xcalloc(1, sizeof(*result));
	struct pick *pick = &result->picks[result->pick_count++];

	strcpy(result->run, "20260101-000000");
	snprintf(result->cell, sizeof(result->cell), "%s/bare/dispatch", name);
	snprintf(result->name, sizeof(result->name), "%s", name);
	strcpy(result->vendor, "GenuineIntel");
	result->family = 6;
	strcpy(result->image, "bare");
	strcpy(result->subject, "dispatch");
	strcpy(pick->operation, "memset");
	strcpy(pick->class, "llc");
	strcpy(pick->expected, "movnti");
	snprintf(pick->says, sizeof(pick->says), "%s", says);
	snprintf(pick->does, sizeof(pick->does), "%s", says);
	pick->verdict = verdict;
	result->verdict = verdict;
	result->seconds.total = 0.25;
	record_write(out, result);
	cell_result_free(result);
	free(result);
}

static void write_file(const char *path, const char *bytes, size_t length)
{
	ck_assert_int_eq(file_write(path, bytes, length, NULL), 0);
}

/* A file with a record of each of the names, which are separated by blanks. */
static void write_records(const char *path, const char *names, enum verdict verdict,
			  const char *says)
{
	CLEANUP_FREE char *copy = xstrdup(names);
	CLEANUP_TEXT struct text text = { 0 };

	for (char *save = NULL, *name = strtok_r(copy, " ", &save); name;
	     name = strtok_r(NULL, " ", &save))
		add_record(&text, name, verdict, says);
	write_file(path, text_string(&text), text.length);
}

static int read_all(struct merge *merge, char **paths, struct error *err)
{
	size_t count = 0;

	while (paths[count])
		count++;
	return merge_read(merge, paths, count, err);
}

#define PATHS(...) ((char *[]){ __VA_ARGS__, NULL })

/* --- merge ---------------------------------------------------------------------------------------
 */

START_TEST(shards_become_one_run)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	struct merge merge;

	write_records("1", "c a", VERDICT_PASS, "movnti");
	write_records("2", "b", VERDICT_FAIL, "mov");
	write_records("3", "", VERDICT_PASS, ""); /* an empty shard */
	ck_assert_int_eq(read_all(&merge, PATHS("1", "2", "3"), NULL), 0);
	ck_assert_uint_eq(merge.run_count, 1);
	ck_assert_uint_eq(merge.runs[0].count, 3);
	ck_assert_uint_eq(merge.runs[0].summary.count[VERDICT_PASS], 2);
	ck_assert_uint_eq(merge.runs[0].summary.count[VERDICT_FAIL], 1);
	ck_assert_double_eq(merge.runs[0].summary.seconds, 0.75);
	ck_assert_str_eq(text_string(&merge.runs[0].label), "1 2 3");
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(kept_read(result, &merge.runs[0].cells[i]), 0);
		ck_assert_int_eq(result->name[0], "abc"[i]); /* sorted */
		cell_result_free(result);
	}
	merge_free(&merge);
}
END_TEST

START_TEST(common_cells_begin_a_second_run)
{
	struct merge merge;
	struct error err = { 0 };

	write_records("a1", "a b", VERDICT_PASS, "movnti");
	write_records("a2", "c", VERDICT_PASS, "movnti");
	write_records("b1", "b a", VERDICT_PASS, "movnti");
	write_records("b2", "c d", VERDICT_PASS, "movnti");
	ck_assert_int_eq(read_all(&merge, PATHS("a1", "a2", "b1", "b2"), NULL), 0);
	ck_assert_uint_eq(merge.run_count, 2);
	ck_assert_uint_eq(merge.runs[0].count, 3);
	ck_assert_uint_eq(merge.runs[1].count, 4);
	ck_assert_str_eq(text_string(&merge.runs[1].label), "b1 b2");
	merge_free(&merge);
	ck_assert_int_eq(read_all(&merge, PATHS("a1", "b1", "a1"), &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, "a1: 'a/bare/dispatch' is in two of the sources before it: at "
				   "most 2 runs can be compared");
	merge_free(&merge);
}
END_TEST

START_TEST(of_two_records_the_last_counts)
{
	CLEANUP_FREE struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_TEXT struct text text = { 0 };
	struct merge merge;

	add_record(&text, "a", VERDICT_FAIL, "mov");
	text_addf(&text, "\n"); /* a blank line is none of anybody's */
	add_record(&text, "b", VERDICT_PASS, "movnti");
	add_record(&text, "a", VERDICT_PASS, "movnti");
	write_file("twice", text.bytes, text.length);
	ck_assert_int_eq(read_all(&merge, PATHS("twice"), NULL), 0);
	ck_assert_uint_eq(merge.runs[0].count, 2);
	ck_assert_uint_eq(merge.runs[0].summary.count[VERDICT_PASS], 2);
	ck_assert_uint_eq(merge.warning_count, 1);
	ck_assert_str_eq(merge.warnings[0],
			 "twice:4: 'a/bare/dispatch' again, first in line 1: the last one counts");
	merge_free(&merge);
}
END_TEST

START_TEST(a_torn_line_is_left_out_and_garbage_is_refused)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct merge merge;
	struct error err = { 0 };

	add_record(&text, "a", VERDICT_PASS, "movnti");
	add_record(&text, "b", VERDICT_PASS, "movnti");
	write_file("torn", text.bytes, text.length - 20);
	ck_assert_int_eq(read_all(&merge, PATHS("torn"), NULL), 0);
	ck_assert_uint_eq(merge.runs[0].count, 1);
	ck_assert_uint_eq(merge.warning_count, 1);
	ck_assert_str_eq(merge.warnings[0],
			 "torn:2: the last line is torn and left out: its run was ended");
	merge_free(&merge);

	/* Only the newline is missing: that is a whole record. */
	write_file("whole", text.bytes, text.length - 1);
	ck_assert_int_eq(read_all(&merge, PATHS("whole"), NULL), 0);
	ck_assert_uint_eq(merge.runs[0].count, 2);
	ck_assert_uint_eq(merge.warning_count, 0);
	merge_free(&merge);

	text_addf(&text, "{\"schema\":1}\n");
	write_file("bad", text.bytes, text.length);
	ck_assert_int_eq(read_all(&merge, PATHS("bad"), &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, "bad:3: no record: 'run' is missing");
	merge_free(&merge);
}
END_TEST

START_TEST(what_is_no_source_is_refused)
{
	struct merge merge;
	struct error err = { 0 };

	write_file("empty", "", 0);
	ck_assert_int_eq(read_all(&merge, PATHS("empty"), &err), -1);
	ck_assert_ptr_eq(strstr(err.text, "empty: no records"), err.text);
	merge_free(&merge);
	ck_assert_int_eq(read_all(&merge, PATHS("nowhere"), &err), -1);
	ck_assert_str_eq(err.text, "nowhere: No such file or directory");
	merge_free(&merge);
	ck_assert_int_eq(mkdir("folder", 0777), 0);
	ck_assert_int_eq(read_all(&merge, PATHS("folder"), &err), -1);
	ck_assert_str_eq(err.text, "folder/results.jsonl: No such file or directory");
	merge_free(&merge);
}
END_TEST

START_TEST(a_folder_has_a_plan_and_logs)
{
	static const char plan[] = "{\"run\":\"1\",\"cell\":\"a/bare/dispatch\"}\n"
				   "{\"run\":\"1\",\"cell\":\"b/bare/dispatch\"}\n";
	struct merge merge;
	struct error err = { 0 };

	ck_assert_int_eq(folder_make("r/cells", NULL), 0);
	write_records("r/results.jsonl", "a", VERDICT_PASS, "movnti");
	write_file("r/plan.jsonl", plan, strlen(plan));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(read_all(&merge, i ? PATHS("r/results.jsonl") : PATHS("r"), NULL),
				 0);
		ck_assert_uint_eq(merge.runs[0].summary.cells, 2);
		ck_assert_uint_eq(merge.runs[0].unfinished_count, 1);
		ck_assert_str_eq(merge.runs[0].unfinished[0], "b/bare/dispatch");
		ck_assert_str_eq(merge.runs[0].cells[0].folder, "r");
		merge_free(&merge);
	}
	write_file("r/plan.jsonl", "{}\n", 3);
	ck_assert_int_eq(read_all(&merge, PATHS("r"), &err), -1);
	ck_assert_str_eq(err.text, "r/plan.jsonl:1: no cell of a plan");
	merge_free(&merge);
}
END_TEST

/* --- compare -------------------------------------------------------------------------------------
 */

START_TEST(changes_are_found)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct change *changes;
	struct merge merge;
	size_t count;

	write_records("before", "a b gone", VERDICT_PASS, "movnti");
	add_record(&text, "a", VERDICT_PASS, "movnti");
	add_record(&text, "b", VERDICT_FAIL, "mov");
	add_record(&text, "fresh", VERDICT_PASS, "movnti");
	write_file("after", text.bytes, text.length);
	ck_assert_int_eq(read_all(&merge, PATHS("before", "after"), NULL), 0);
	changes = changes_find(&count, &merge.runs[0], &merge.runs[1]);
	ck_assert_uint_eq(count, 3);
	ck_assert_uint_eq(changes[0].before, 1);
	ck_assert_uint_eq(changes[0].after, 1);
	ck_assert_str_eq(changes[0].what, "pass -> fail\n"
					  "memset@llc: pass -> fail, says movnti -> mov, "
					  "does movnti -> mov\n");
	ck_assert_uint_eq(changes[1].before, 2);
	ck_assert_uint_eq(changes[1].after, NO_CELL);
	ck_assert_str_eq(changes[1].what, "only before\n");
	ck_assert_uint_eq(changes[2].before, NO_CELL);
	ck_assert_uint_eq(changes[2].after, 2);
	ck_assert_str_eq(changes[2].what, "only after\n");
	changes_free(changes, count);
	changes = changes_find(&count, &merge.runs[0], &merge.runs[0]);
	ck_assert_uint_eq(count, 0);
	changes_free(changes, count);
	merge_free(&merge);
}
END_TEST

START_TEST(a_comparison_in_markdown)
{
	CLEANUP_FREE char *bytes = NULL;
	struct change *changes;
	struct merge merge;
	size_t count, length;
	FILE *out = open_memstream(&bytes, &length);

	write_records("before", "a <b>|", VERDICT_PASS, "movnti");
	write_records("after", "a <b>|", VERDICT_FAIL, "mov|`");
	ck_assert_int_eq(read_all(&merge, PATHS("before", "after"), NULL), 0);
	changes = changes_find(&count, &merge.runs[0], &merge.runs[1]);
	ck_assert_int_eq(compare_write(FORMAT_MARKDOWN, out, &merge, changes, count, NULL), 0);
	fclose(out);
	ck_assert_ptr_eq(strstr(bytes, "### quirklab: changes\n\n2 cells changed, of 2 before and "
				       "2 after\n\n| cell | CPU | what changed |\n"),
			 bytes);
	ck_assert_ptr_nonnull(strstr(bytes, "| &lt;b\\>\\|/bare/dispatch | GenuineIntel 6:0:0 | "
					    "pass -\\> fail<br>"));
	ck_assert_ptr_nonnull(strstr(bytes, "says movnti -\\> mov\\|\\`, "));
	ck_assert(!compare_format(FORMAT_TAP) && compare_format(FORMAT_HTML));
	changes_free(changes, count);
	merge_free(&merge);
}
END_TEST

/* --- the command that runs a cell again ----------------------------------------------------------
 */

static char *command_of(const char *name, const char *spec, const char *edit, const char *image,
			const char *subject)
{
	struct cell_result *result = xcalloc(1, sizeof(*result));
	struct text out = { 0 };

	strcpy(result->name, name);
	strcpy(result->spec, spec);
	strcpy(result->image, image);
	strcpy(result->subject, subject);
	if (*edit)
		result->edits[result->edit_count++] = xstrdup(edit);
	result_command(&out, result);
	cell_result_free(result);
	free(result);
	return out.bytes;
}

START_TEST(commands)
{
	static const struct {
		const char *name, *spec, *edit, *image, *subject, *command;
	} rows[] = {
		{ "skylake-x", "", "", "bare", "dispatch", "quirklab run --pack 1 skylake-x" },
		{ "skylake-x,vendor=--x", "", "vendor=  x", "bare", "dispatch",
		  "quirklab run --pack 1 'skylake-x,vendor=  x'" },
		{ "intel-6-0xF0", "GenuineIntel/6:240:0", "+erms", "linux", "linux",
		  "quirklab run --pack 1 --image linux --subject linux "
		  "GenuineIntel/6:240:0,+erms" },
		{ "x'; rm -rf ~; '", "", "", "bare", "dispatch",
		  "quirklab run --pack 1 'x'\\''; rm -rf ~; '\\'''" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *command = command_of(rows[i].name, rows[i].spec, rows[i].edit,
							rows[i].image, rows[i].subject);

		ck_assert_str_eq(command, rows[i].command);
	}
}
END_TEST

/* --- traces --------------------------------------------------------------------------------------
 */

static void note_step(void *context, const struct trace_step *step)
{
	text_addf(context, "%x %u%s %s [%s]\n", step->offset, step->rounds,
		  step->emulated  ? "~"
		  : step->faulted ? "!"
				  : "",
		  step->text, step->class);
}

START_TEST(a_trace_is_kept_and_read_again)
{
	/* rep stosb; ret, then at 0x10 clzero (emulated) and jnz back to it; the bytes of the last
	 * step are unknown */
	static const uint8_t code[] = { 0xf3, 0xaa, 0xc3 },
			     more[] = { 0x0f, 0x01, 0xfc, 0x75, 0xfb };
	struct observation *observation = xcalloc(1, sizeof(*observation));
	struct cell_result *result = xcalloc(1, sizeof(*result));
	struct observed_pick pick = { .trace_count = 2, .trace = { 0, 1 } };
	CLEANUP_TEXT struct text text = { 0 };
	char end[16];

	memcpy(observation->code, code, sizeof(code));
	memset(observation->code_known, true, sizeof(code));
	memcpy(observation->code + 0x10, more, sizeof(more));
	memset(observation->code_known + 0x10, true, sizeof(more));
	observation->trace_count = 2;
	observation->traces[0] = (struct observed_trace){
		.end = REPORT_TRACE_RETURNED,
		.step_count = 2,
		.steps = { { .rounds = 7, .offset = 0 }, { .rounds = 1, .offset = 2 } },
	};
	observation->traces[1] = (struct observed_trace){
		.end = REPORT_TRACE_FAULTED,
		.step_count = 3,
		.steps = { { .rounds = 4, .flags = REPORT_STEP_EMULATED, .offset = 0x10 },
			   { .rounds = 4, .offset = 0x13 },
			   { .rounds = 1,
			     .flags = REPORT_STEP_FAULTED,
			     .offset = REPORT_NO_CODE } },
	};
	trace_keep(result, &result->picks[0], observation, &pick);
	trace_keep(result, &result->picks[1], observation, &pick);
	ck_assert_uint_eq(result->trace_count, 2); /* each once */
	ck_assert_uint_eq(result->picks[1].trace_count, 2);
	ck_assert_uint_eq(result->picks[1].trace[1], 1);
	ck_assert_str_eq(result->traces[0], "returned *7 f3aa *1 c3");
	ck_assert_str_eq(result->traces[1], "faulted @10 *4 0f01fc~ 75fb @ffff *1 ?!");
	ck_assert(trace_valid(result->traces[0]) && trace_valid(result->traces[1]));
	trace_each(result->traces[0], end, note_step, &text);
	ck_assert_str_eq(end, "returned");
	trace_each(result->traces[1], end, note_step, &text);
	ck_assert_str_eq(end, "faulted");
	ck_assert_str_eq(text.bytes, "0 7 rep stosb [rep-stosb]\n2 1 ret []\n"
				     "10 4~ clzero rax [clzero]\n13 4 jnz 0x10 []\n"
				     "ffff 1! ? []\n");
	cell_result_free(result);
	free(result);
	free(observation);
}
END_TEST

START_TEST(bad_traces_are_refused)
{
	static const char *const bad[] = {
		"",
		"went f3aa",
		"returned f3a",
		"returned f3AA",
		"returned *8 c3",
		"returned *0 c3",
		"returned *77 c3",
		"returned @ c3",
		"returned @12345 c3",
		"returned  c3",
		"returned c3 ",
		"returned c3~!",
		"returned ?c3",
		"returned 00112233445566778899aabbccddeeff", /* 16 bytes */
		"returned <script>",
	};
	CLEANUP_TEXT struct text most = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(!trace_valid(bad[i]), "'%s'", bad[i]);
	text_addf(&most, "limit");
	for (int i = 0; i < REPORT_TRACE_STEPS_MAX; i++)
		text_addf(&most, " c3");
	ck_assert(trace_valid(most.bytes));
	text_addf(&most, " c3");
	ck_assert(!trace_valid(most.bytes));
}
END_TEST

/* --- logs ----------------------------------------------------------------------------------------
 */

START_TEST(a_log_s_end)
{
	CLEANUP_TEXT struct text log = { 0 }, out = { 0 };

	ck_assert_int_eq(folder_make("r/cells/a/bare/dispatch", NULL), 0);
	write_file("r/cells/a/bare/dispatch/console.log", "one\r\n\033[2Jtwo\xe2\x80\xae", 15);
	ck_assert(log_tail(&out, "r", "a/bare/dispatch", "console"));
	ck_assert_str_eq(text_string(&out), "one\n\\x1b[2Jtwo\\xe2\\x80\\xae\n");
	ck_assert(!log_tail(&out, "r", "a/bare/dispatch", "qemu"));

	for (int i = 1; i <= 100; i++)
		text_addf(&log, "line %03d\n", i);
	write_file("r/cells/a/bare/dispatch/qemu.log", log.bytes, log.length);
	text_free(&out);
	ck_assert(log_tail(&out, "r", "a/bare/dispatch", "qemu"));
	ck_assert_ptr_eq(strstr(out.bytes, "... 540 bytes before\nline 061\n"), out.bytes);
	ck_assert_str_eq(out.bytes + out.length - 9, "line 100\n");
}
END_TEST

/* A megabyte without a newline, and NULs: a bounded number of printable bytes. */
START_TEST(an_endless_line)
{
	CLEANUP_FREE char *line = xcalloc(1, 1 << 20);
	CLEANUP_TEXT struct text out = { 0 };

	ck_assert_int_eq(folder_make("r/cells/a", NULL), 0);
	memset(line + (1 << 19), 'x', 1 << 19);
	write_file("r/cells/a/console.log", line, 1 << 20);
	ck_assert(log_tail(&out, "r", "a", "console"));
	ck_assert_ptr_eq(strstr(out.bytes, "... 1048176 bytes before\nxxxx"), out.bytes);
	ck_assert_uint_eq(out.length, strlen("... 1048176 bytes before\n") + 400 + 1);
	memset(line, 0, 1 << 20);
	write_file("r/cells/a/console.log", line, 1 << 20);
	text_free(&out);
	ck_assert(log_tail(&out, "r", "a", "console"));
	ck_assert_uint_eq(out.length, strlen("... 1048176 bytes before\n") + 4 * 400 + 1);
}
END_TEST

/* A record's name of a cell is anybody's. */
START_TEST(only_logs_of_the_folder_are_read)
{
	static const char *const names[] = {
		"../../secret", "/secret", "a/../../../secret", "", "a//b", "./a", "..",
		"link",		"pipe"
	};
	CLEANUP_TEXT struct text out = { 0 };

	ck_assert_int_eq(folder_make("secret", NULL), 0);
	ck_assert_int_eq(folder_make("r/cells/a", NULL), 0);
	ck_assert_int_eq(folder_make("r/cells/link", NULL), 0);
	ck_assert_int_eq(folder_make("r/cells/pipe", NULL), 0);
	write_file("secret/console.log", "secret\n", 7);
	write_file("r/cells/a/console.log", "mine\n", 5);
	ck_assert_int_eq(symlink("../../../secret/console.log", "r/cells/link/console.log"), 0);
	ck_assert_int_eq(mkfifo("r/cells/pipe/console.log", 0666), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_msg(!log_tail(&out, "r", names[i], "console"), "%s", names[i]);
	ck_assert_uint_eq(out.length, 0);
}
END_TEST

Suite *suite_merge(void)
{
	Suite *suite = suite_create("merge");
	TCase *merge = tcase_create("merge"), *compare = tcase_create("compare"),
	      *record = tcase_create("record"), *logs = tcase_create("logs");

	tcase_add_checked_fixture(merge, set_up, tear_down);
	tcase_add_test(merge, shards_become_one_run);
	tcase_add_test(merge, common_cells_begin_a_second_run);
	tcase_add_test(merge, of_two_records_the_last_counts);
	tcase_add_test(merge, a_torn_line_is_left_out_and_garbage_is_refused);
	tcase_add_test(merge, what_is_no_source_is_refused);
	tcase_add_test(merge, a_folder_has_a_plan_and_logs);
	suite_add_tcase(suite, merge);
	tcase_add_checked_fixture(compare, set_up, tear_down);
	tcase_add_test(compare, changes_are_found);
	tcase_add_test(compare, a_comparison_in_markdown);
	suite_add_tcase(suite, compare);
	tcase_add_test(record, commands);
	tcase_add_test(record, a_trace_is_kept_and_read_again);
	tcase_add_test(record, bad_traces_are_refused);
	suite_add_tcase(suite, record);
	tcase_add_checked_fixture(logs, set_up, tear_down);
	tcase_add_test(logs, a_log_s_end);
	tcase_add_test(logs, an_endless_line);
	tcase_add_test(logs, only_logs_of_the_folder_are_read);
	suite_add_tcase(suite, logs);
	return suite;
}
