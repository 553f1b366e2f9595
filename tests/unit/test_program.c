// SPDX-License-Identifier: MIT
/* A program as the subject: its TAP, its QL lines, its end, and how they are judged. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cpu/feature.h"
#include "harness/judge/judge.h"
#include "harness/judge/program.h"
#include "harness/judge/tap.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

Suite *suite_program(void);

/* --- TAP -----------------------------------------------------------------------------------------
 */

static struct tap tap_of(const char *text)
{
	struct tap tap;

	tap_read(&tap, text, strlen(text));
	return tap;
}

static void check_tap(const char *text, unsigned passed, unsigned failed, unsigned skipped,
		      unsigned todo, const char *first, const char *fault)
{
	const struct tap tap = tap_of(text);

	ck_assert_msg(tap.seen, "not seen as TAP: %s", text);
	ck_assert_str_eq(tap.fault, fault);
	ck_assert_str_eq(tap.first, first);
	ck_assert_uint_eq(tap.passed, passed);
	ck_assert_uint_eq(tap.failed, failed);
	ck_assert_uint_eq(tap.skipped, skipped);
	ck_assert_uint_eq(tap.todo, todo);
}

START_TEST(tap_plain)
{
	check_tap("TAP version 13\n1..2\nok 1 - a\nok 2 - b\n", 2, 0, 0, 0, "", "");
	check_tap("ok 1 - plan last\nok 2\n1..2\n", 2, 0, 0, 0, "", "");
	check_tap("1..2\r\nok 1\r\nnot ok 2 - b # why it is so\r\n", 1, 1, 0, 0, "b # why it is so",
		  "");
	check_tap("1..2\nok\nok no number", 2, 0, 0, 0, "", "");
	check_tap("1..1\nnot ok\n", 0, 1, 0, 0, "test 1", "");
	check_tap("noise\n1..1\nmore noise\nok 1\nokay\nnot okay\n", 1, 0, 0, 0, "", "");
}
END_TEST

START_TEST(tap_directives)
{
	check_tap("1..4\nok 1 # SKIP no avx\nok 2 - b # skip\nnot ok 3 # TODO later\nok 4 # TODO "
		  "now\n",
		  0, 0, 2, 2, "", "");
	ck_assert_str_eq(tap_of("1..1\nok 1 # SKIP no avx\n").skip, "no avx");
	ck_assert_str_eq(tap_of("1..0 # SKIP nothing here\n").skip, "nothing here");
	ck_assert(tap_of("1..0 # SKIP nothing here\n").skip_all);
	/* An escaped # begins no directive, and other words are none. */
	check_tap("1..2\nnot ok 1 - a \\# SKIP b\nnot ok 2 # TOD0\n", 0, 2, 0, 0, "a \\# SKIP b",
		  "");
}
END_TEST

START_TEST(tap_that_is_not_whole)
{
	check_tap("1..5\nok 1\nok 2\n", 2, 0, 0, 0, "", "2 of 5 planned tests reported");
	check_tap("1..1\nok 1\nok 2\n", 2, 0, 0, 0, "", "2 of 1 planned tests reported");
	check_tap("TAP version 14\nok 1\n", 1, 0, 0, 0, "", "no plan (1..N) after 1 tests");
	check_tap("ok 1\n", 1, 0, 0, 0, "", "no plan (1..N) after 1 tests");
	check_tap("1..2\n1..3\nok 1\nok 2\nok 3", 3, 0, 0, 0, "", "two plans, 1..2 and 1..3");
	check_tap("1..2\nok 1\nok 1\n", 2, 0, 0, 0, "", "test 1 comes where test 2 was expected");
	check_tap("1..2\nok 1\nBail out! no memory\nok 2\n", 1, 0, 0, 0, "",
		  "bailed out: no memory");
	check_tap("1..1\nok 1\n  ---\n  a: b\n", 1, 0, 0, 0, "", "a YAML block has no end");
	check_tap("1..99999999999\nok 1\n", 1, 0, 0, 0, "", "no plan (1..N) after 1 tests");
}
END_TEST

START_TEST(tap_yaml_is_no_test)
{
	check_tap("1..2\nnot ok 1 - a\n  ---\n  not ok 2\n1..7\n  ...\nok 2\n", 1, 1, 0, 0, "a",
		  "");
}
END_TEST

START_TEST(tap_nested)
{
	/* TAP 14: four blanks; the line behind sums up. */
	check_tap("TAP version 14\n1..2\n    1..2\n    ok 1 - x\n    ok 2 - y\nok 1 - both\nok 2\n",
		  3, 0, 0, 0, "", "");
	check_tap("1..1\n    1..2\n    ok 1\n    not ok 2 - y\nnot ok 1 - both\n", 1, 1, 0, 0, "y",
		  "");
	/* A summary that says otherwise does not hide it, unless it is marked. */
	check_tap("1..1\n    1..1\n    not ok 1 - y\nok 1 - both\n", 0, 1, 0, 0, "y", "");
	check_tap("1..1\n    1..1\n    not ok 1 - y\nnot ok 1 - both # TODO\n", 0, 0, 0, 1, "", "");
	check_tap("1..1\n    1..3\n    ok 1\nok 1\n", 1, 1, 0, 0,
		  "nested tests: 1 of 3 were planned", "");
	/* KTAP: two blanks, a version on each level. */
	check_tap("KTAP version 1\n1..1\n  KTAP version 1\n  1..2\n    KTAP version 1\n    1..1\n"
		  "    # case: prose\n    not ok 1 deep\n  not ok 1 mid\n  ok 2 other\nnot ok 1 "
		  "top\n",
		  1, 1, 0, 0, "deep", "");
	/* Nested tests that nothing sums up. */
	check_tap("1..1\nok 1\n    not ok 1 - late\n", 1, 1, 0, 0, "late", "");
}
END_TEST

START_TEST(tap_bounds)
{
	CLEANUP_TEXT struct text deep = { 0 };

	text_addf(&deep, "1..1\n");
	for (int i = 1; i < 40; i++)
		text_addf(&deep, "%*sok 1\n", i, "");
	text_addf(&deep, "ok 1\n");
	check_tap(deep.bytes, 7, 0, 0, 0, "", "tests are nested more than 8 deep");
	ck_assert(!tap_of("hello\n").seen);
	ck_assert(!tap_of("").seen);
	ck_assert(!tap_of("ok then\n").seen);
	ck_assert(!tap_of("    1..2\n    ok 1\n").seen);
	ck_assert_str_eq(tap_of("1..1\nnot ok 1 - \033[31mred\n").first, "\\x1b[31mred");
}
END_TEST

/* --- the whole: a CPU, a program, a verdict ------------------------------------------------------
 */

static struct {
	char folder[32];
	struct cpu asked;
	struct observation seen;
	struct observed_program program;
	struct expectations *expectations;
	struct cell_result result;
} court;

/* A persist line of one word at 0x10040, by movnti; STEPS follow. */
#define PERSIST(STEPS)                                        \
	("QL persist copy@8 returned 0x10040 8 0x10000 4096 " \
	 "1000:480fc307,0=0,1=0,2=0,3=0,4=0,5=0,"             \
	 "6=0,7=10040,8=0,9=0,a=0,b=0,c=0,d=0,e=0,f=0" STEPS)

#define TABLE                                                         \
	"vendor\tfamily\tmodel\tstepping\tname\tfill@4k\tmemset@4k\n" \
	"#depends\t\t\t\t\terms\t\n"                                  \
	"GenuineIntel\t6\t0x55\t0\tskylake-x\trep-stosb\t__memset_avx_rtm\n"

static void write_table(const char *name, const char *text)
{
	CLEANUP_FREE char *folder = xasprintf("%s/expect", court.folder);
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);

	ck_assert_int_eq(folder_make(folder, NULL), 0);
	ck_assert_int_eq(file_write(path, text, strlen(text), NULL), 0);
}

static void expect_table(const char *version)
{
	struct error err = { 0 };

	ck_assert_msg(!expectations_read_program(&court.expectations, court.folder, "filler",
						 version, &err),
		      "%s", err.text);
}

static void see(uint32_t leaf, uint32_t subleaf, const uint32_t reg[4])
{
	struct cpuid_leaf entry = { .leaf = leaf, .subleaf = subleaf };

	memcpy(entry.reg, reg, sizeof(entry.reg));
	cpuid_add(&court.seen.cpuid, &entry);
}

static void convene(void)
{
	static const uint32_t vendor[4] = { 7, 0x756E6547, 0x6C65746E, 0x49656E69 };
	static const uint32_t signature[4] = { 0x50650 };
	static const uint32_t bits[4] = { 0, 1 << 9 }; /* erms */

	memset(&court, 0, sizeof(court));
	strcpy(court.folder, "/tmp/quirklab-program.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(court.folder));
	cpu_init(&court.asked);
	strcpy(court.asked.name, "skylake-x");
	strcpy(court.asked.vendor, "GenuineIntel");
	court.asked.identity_known = true;
	court.asked.family = 6;
	court.asked.model = 0x55;
	court.asked.origin = CPU_CATALOGUE;
	feature_put(&court.asked.on, feature_find("erms"), true);
	feature_put(&court.asked.known, feature_find("erms"), true);
	see(0, 0, vendor);
	see(1, 0, signature);
	see(7, 0, bits);
	court.seen.started = court.seen.done = court.seen.complete = true;
	court.seen.program = &court.program;
	court.program.ended = true;
}

static void adjourn(void)
{
	expectations_free(court.expectations);
	cpuid_free(&court.seen.cpuid);
	text_free(&court.program.output);
	text_free(&court.program.errors);
	cell_result_free(&court.result);
	cpu_free(&court.asked);
	folder_remove(court.folder, NULL);
}

static void print(const char *text)
{
	text_addf(&court.program.output, "%s\n", text);
}

static void ends(enum report_exit how, uint8_t code)
{
	court.program.how = (uint8_t)how;
	court.program.code = code;
}

static void expect(enum verdict verdict, const char *reason)
{
	judge(&court.result, &court.asked, &court.seen, court.expectations);
	ck_assert_str_eq(court.result.reason, reason);
	ck_assert_str_eq(verdict_name(court.result.verdict), verdict_name(verdict));
}

START_TEST(exit_status_alone)
{
	static const struct {
		enum report_exit how;
		uint8_t code;
		enum verdict verdict;
		const char *reason;
	} rows[] = {
		{ REPORT_EXITED, 0, VERDICT_PASS, "" },
		{ REPORT_EXITED, 1, VERDICT_FAIL, "exit status 1: the last line" },
		{ REPORT_EXITED, 77, VERDICT_SKIP,
		  "the program skipped (exit status 77): the last line" },
		{ REPORT_SIGNALLED, 11, VERDICT_FAIL, "ended by signal 11 (SEGV): the last line" },
		{ REPORT_SIGNALLED, 9, VERDICT_FAIL,
		  "ended by signal 9 (KILL), as the system does where memory runs out: the last "
		  "line" },
		{ REPORT_TIMED_OUT, REPORT_LIMIT_SILENCE, VERDICT_HUNG,
		  "wrote nothing for too long: ended after 0 bytes of output" },
		{ REPORT_TIMED_OUT, REPORT_LIMIT_TOTAL, VERDICT_HUNG,
		  "wrote without an end: ended after 0 bytes of output" },
		{ REPORT_NOT_STARTED, 8, VERDICT_ERROR,
		  "the guest does not start it: Exec format error" },
	};

	text_addf(&court.program.errors, "first\nthe last line\n \n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ends(rows[i].how, rows[i].code);
		expect(rows[i].verdict, rows[i].reason);
	}
	court.program.ended = false;
	expect(VERDICT_ERROR, "the guest did not say how the program ended");
}
END_TEST

START_TEST(tap_and_exit_status)
{
	print("QL pick fill@4k mov");
	print("1..2\nok 1 - a\nnot ok 2 - b");
	expect(VERDICT_FAIL, "1 of 2 tests failed, first: b");
	ck_assert_uint_eq(court.result.pick_count, 2); /* the cell is the worst of them */
	ck_assert_str_eq(court.result.picks[0].operation, "program");
	ck_assert_str_eq(court.result.picks[0].class, "tap");
	ck_assert_int_eq(court.result.picks[0].verdict, VERDICT_FAIL);
	ck_assert_int_eq(court.result.picks[1].verdict, VERDICT_PASS);
	ck_assert(court.result.program_seen->tap);
	ck_assert_uint_eq(court.result.program_seen->passed, 1);
	ck_assert_uint_eq(court.result.program_seen->failed, 1);
	text_free(&court.program.output);
	print("1..2\nok 1 - a\nok 2 - b");
	expect(VERDICT_PASS, "");
	ends(REPORT_EXITED, 3);
	expect(VERDICT_FAIL, "no test failed, and exit status 3");
	ends(REPORT_SIGNALLED, 6);
	expect(VERDICT_FAIL, "ended by signal 6 (ABRT)");
	text_free(&court.program.output);
	print("1..0 # SKIP not here");
	ends(REPORT_EXITED, 4);
	expect(VERDICT_SKIP, "the program skipped all of its tests: not here");
	text_free(&court.program.output);
	print("1..3\nok 1");
	court.program.left_out = 7;
	ends(REPORT_EXITED, 0);
	expect(VERDICT_FAIL, "TAP: 1 of 3 planned tests reported (it wrote more than is kept)");
}
END_TEST

/* rep stosb in a function of three instructions; movnti in a loop with a fence. */
#define STOSB  "10:1:4889d1 13:5:f3aa 15:1:c3"
#define MOVNTI "0:7:480fc337 4:7:4883c708 8:7:4883ea08 c:7:75f2 e:1:0faef8 11:1:c3"

START_TEST(picks_as_expected)
{
	write_table("filler.tsv", TABLE);
	expect_table(NULL);
	print("QL version 2.0 beta");
	print("QL pick fill@4k rep-stosb the row");
	print("QL trace fill@4k 4096 returned " STOSB);
	print("QL pick memset@4k __memset_avx_rtm");
	print("QL value threshold 0x1000");
	print("QL note all is well");
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.pick_count, 2);
	ck_assert_str_eq(court.result.picks[0].expected, "rep-stosb");
	ck_assert_str_eq(court.result.picks[0].says, "rep-stosb");
	ck_assert_str_eq(court.result.picks[0].does, "rep-stosb");
	ck_assert_str_eq(court.result.picks[0].row, "the row");
	ck_assert_uint_eq(court.result.picks[0].size, 4096);
	ck_assert_uint_eq(court.result.trace_count, 1);
	ck_assert(!court.result.picks[1].size_known);
	ck_assert_str_eq(court.result.program_seen->version, "2.0 beta");
	ck_assert_str_eq(court.result.program_seen->values[0].name, "threshold");
	ck_assert_str_eq(court.result.program_seen->values[0].text, "0x1000");
	ck_assert_str_eq(court.result.program_seen->notes[0], "all is well");
}
END_TEST

START_TEST(picks_that_fail)
{
	static const struct {
		const char *lines, *reason;
	} rows[] = {
		{ "QL pick fill@4k mov", "fill@4k: expected rep-stosb, says mov" },
		{ "QL trace fill@4k 4096 returned " MOVNTI,
		  "fill@4k: expected rep-stosb, does movnti" },
		{ "QL pick fill@4k rep-stosb\nQL trace fill@4k 4096 returned " MOVNTI,
		  "fill@4k: expected rep-stosb, says rep-stosb, does movnti" },
		{ "QL pick fill@4k some_name\nQL trace fill@4k 4096 returned " MOVNTI,
		  "fill@4k: expected rep-stosb, does movnti" },
		{ "QL pick fill@4k some_name", "fill@4k: expected rep-stosb, says some_name, and "
					       "no trace shows what that does" },
		{ "QL trace fill@4k 4096 returned 0:1:c3",
		  "fill@4k: expected rep-stosb, does nothing that stores" },
		{ "", "fill@4k: no pick for fill@4k" },
	};

	write_table("filler.tsv", TABLE);
	expect_table(NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text_free(&court.program.output);
		print("QL pick memset@4k __memset_avx_rtm");
		print(rows[i].lines);
		expect(VERDICT_FAIL, rows[i].reason);
		cell_result_free(&court.result);
	}
	text_free(&court.program.output);
	print("QL trace fill@4k 4096 returned " STOSB);
	print("QL pick memset@4k __memset_sse2");
	expect(VERDICT_FAIL, "memset@4k: expected __memset_avx_rtm, says __memset_sse2");
}
END_TEST

START_TEST(a_path_without_its_fence)
{
	print("QL trace memset@4k 4096 returned 0:7:480fc337 4:7:4883c708 8:7:4883ea08 c:7:75f2 "
	      "e:1:c3");
	expect(VERDICT_FAIL, "memset@4k: movnti without a fence after the last store");
	text_free(&court.program.output);
	print("QL trace memset@4k 65536 abandoned 0:4:480fc337 4:4:4883c708 8:4:4883ea08 c:3:75f2");
	expect(VERDICT_PASS, ""); /* what was not seen to its return may have one */
	ck_assert_int_eq(court.result.picks[0].verdict, VERDICT_PASS);
	text_free(&court.program.output);
	print("QL trace memset@4k 65536 abandoned 0:4:480fc337 4:4:4883c708 8:4:4883ea08 c:3:75f2");
	print("QL trace memset@4k 65536 returned " MOVNTI);
	cell_result_free(&court.result);
	expect(VERDICT_PASS, "");
	ck_assert_str_eq(court.result.picks[0].does, "movnti; sfence");
}
END_TEST

START_TEST(a_skipped_pick_and_a_mismatch)
{
	write_table("filler.tsv", TABLE);
	expect_table(NULL);
	print("QL skip fill@4k not built in");
	print("QL pick memset@4k __memset_avx_rtm");
	expect(VERDICT_SKIP, "the program skips it: not built in");
	text_free(&court.program.output);
	print("QL pick fill@4k mov");
	print("QL pick memset@4k __memset_avx_rtm");
	court.seen.cpuid.leaves[2].reg[1] = 0;
	expect(VERDICT_MISMATCH, "mismatch: erms");
	/* Its own failure is worse. */
	ends(REPORT_EXITED, 1);
	expect(VERDICT_FAIL, "exit status 1");
}
END_TEST

START_TEST(nothing_expected)
{
	print("QL pick fill@4k mov");
	expect(VERDICT_PASS, ""); /* recorded, no more */
	ck_assert_uint_eq(court.result.pick_count, 1);
	ck_assert_str_eq(court.result.picks[0].expected, "");
	ck_assert_int_eq(court.result.picks[0].verdict, VERDICT_PASS);
	print("QL trace fill@4k 4096 returned " STOSB);
	expect(VERDICT_FAIL, "fill@4k: says mov, does rep-stosb");
}
END_TEST

START_TEST(lines_that_are_none)
{
	static const char *const rows[] = {
		"QL pik fill mov",
		"QL ",
		"QL pick fill@4k",
		"QL pick fill@ mov",
		"QL pick @4k mov",
		"QL pick fi/ll mov",
		"QL pick fill \033[31m",
		"QL pick a_name_of_an_operation_that_is_longer_than_that mov",
		"QL trace fill@4k 4096 returned",
		"QL trace fill@4k 4096 vanished 0:1:c3",
		"QL trace fill@4k 4k returned 0:1:c3",
		"QL trace fill@4k 9223372036854775808 returned 0:1:c3",
		"QL trace fill@4k 99999999999999999999 returned 0:1:c3",
		"QL trace fill@4k 4096 returned 0:0:c3",
		"QL trace fill@4k 4096 returned 0:8:c3",
		"QL trace fill@4k 4096 returned 0:1:c",
		"QL trace fill@4k 4096 returned 0:1:",
		"QL trace fill@4k 4096 returned 0:1:00112233445566778899aabbccddeeff",
		"QL trace fill@4k 4096 returned 00112233445566778:1:c3",
		"QL trace fill@4k 4096 returned :1:c3",
		"QL trace fill@4k 4096 same",
		"QL trace fill@4k 4096 same never@told",
		"QL trace fill@4k 4096 same fill@4k",
		"QL persist",
		"QL persist copy@8",
		"QL persist copy@8 returned 0x10040 8 0x10000 4096",
		PERSIST(" 2000"),
		"QL value",
		"QL version ",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_FREE char *inert = xmalloc(512);
		char reason[640];

		text_free(&court.program.output);
		print("first");
		print(rows[i]);
		text_printable(inert, 161, rows[i], strlen(rows[i]));
		snprintf(reason, sizeof(reason),
			 "line 2 of its output is no line for the lab, or one too many: %s", inert);
		expect(VERDICT_FAIL, reason);
	}
	text_free(&court.program.output);
	print("  QL pik is prose where it is indented\nQLx as well");
	expect(VERDICT_PASS, "");
}
END_TEST

START_TEST(as_many_as_there_is_room_for)
{
	CLEANUP_TEXT struct text line = { 0 };

	text_addf(&line, "QL trace big 4096 limit");
	for (int i = 0; i < REPORT_TRACE_STEPS_MAX; i++)
		text_addf(&line, " %x:1:0fc338", i * 0x100000);
	print(line.bytes);
	print(line.bytes);
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.trace_count, 1); /* both are the same */
	ck_assert_str_eq(court.result.picks[0].does, "movnti; not to the return");
	print("QL trace big 4096 returned 0:1:c3");
	expect(VERDICT_FAIL,
	       "line 3 of its output is no line for the lab, or one too many: QL trace big 4096 "
	       "returned 0:1:c3");
	text_free(&court.program.output);
	text_addf(&line, " 0:1:c3");
	print(line.bytes);
	judge(&court.result, &court.asked, &court.seen, NULL);
	ck_assert_int_eq(court.result.verdict, VERDICT_FAIL);
	text_free(&court.program.output);
	for (int i = 0; i <= CELL_PICKS_MAX; i++)
		text_addf(&court.program.output, "QL pick op%d mov\n", i);
	expect(VERDICT_FAIL,
	       "line 64 of its output is no line for the lab, or one too many: QL pick op63 mov");
	ck_assert_uint_eq(court.result.pick_count, CELL_PICKS_MAX);
}
END_TEST

START_TEST(a_loop_keeps_its_distance)
{
	/* A copy that flushes: the jump back over the gap between the two halves is a loop. */
	print("QL trace copy 4096 returned 1000:7:488907 1003:7:e9f8000000 1100:7:660fae3f "
	      "1104:7:4883c740 1108:7:4883ea40 110c:7:0f85eefeffff 1112:1:c3");
	expect(VERDICT_PASS, "");
	ck_assert_str_eq(court.result.picks[0].does, "clflushopt-copy");
	ck_assert_str_eq(court.result.traces[0],
			 "returned *7 488907 e9f8000000 @100 660fae3f 4883c740 4883ea40 "
			 "0f85eefeffff *1 c3");
}
END_TEST

START_TEST(a_trace_like_another)
{
	print("QL trace fill@4k 4096 returned " STOSB);
	print("QL trace other@64 64 same fill@4k");
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.pick_count, 2);
	ck_assert_str_eq(court.result.picks[1].operation, "other");
	ck_assert_str_eq(court.result.picks[1].does, "rep-stosb");
	ck_assert_uint_eq(court.result.picks[1].size, 64);
	ck_assert_uint_eq(court.result.picks[0].size, 4096);
}
END_TEST

START_TEST(a_fault_is_told)
{
	print("QL trace fill@4k 4096 faulted 0:1:4889d1 3:1:0f01fc");
	expect(VERDICT_PASS, "");
	ck_assert_str_eq(court.result.picks[0].does, "clzero; not to the return");
	ck_assert_uint_eq(court.result.picks[0].executable, REPORT_EXECUTABLE_NO);
}
END_TEST

/* --- which table ---------------------------------------------------------------------------------
 */

START_TEST(tables_by_version)
{
	char version[64];

	write_table("filler.tsv", TABLE);
	write_table("filler-2.0.tsv",
		    "vendor\tfamily\tmodel\tstepping\tname\tother@any\n#depends\t\t\t\t\t\n");
	expect_table("1.9");
	ck_assert_uint_eq(expectations_columns(court.expectations), 2);
	expectations_free(court.expectations);
	expect_table("2.0 beta");
	ck_assert_uint_eq(expectations_columns(court.expectations), 1);
	ck_assert_str_eq(expectations_column(court.expectations, 0), "other@any");
	print("noise\nQL note QL version 1\nQL version 2.0 beta");
	program_version(version, sizeof(version), &court.program);
	ck_assert_str_eq(version, "2.0 beta");
	text_free(&court.program.output);
	program_version(version, sizeof(version), &court.program);
	ck_assert_str_eq(version, "");
}
END_TEST

START_TEST(tables_of_others)
{
	struct expectations *none = NULL;
	struct error err = { 0 };

	/* A program that is called like a subject of ours has none of ours. */
	ck_assert_int_eq(expectations_read_program(&none, court.folder, "linux", "6.1.0", &err), 0);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(expectations_read_program(&none, court.folder, "dispatch", NULL, &err), 0);
	ck_assert_ptr_null(none);
	/* But it may have its own, with its own names. */
	write_table("linux.tsv", TABLE);
	ck_assert_int_eq(expectations_read_program(&none, court.folder, "linux", "6.1.0", &err), 0);
	ck_assert_ptr_nonnull(none);
	expectations_free(none);
	write_table("filler.tsv", "vendor\tfamily\n");
	ck_assert_int_eq(expectations_check_program(court.folder, "filler", &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
}
END_TEST

START_TEST(persistent)
{
	print("QL pick copy@8 movnti");
	print(PERSIST(" 1004:0faef8"));
	print(PERSIST(" 1004:0faef0"));
	expect(VERDICT_PASS, "");
	ck_assert_str_eq(court.result.picks[0].does, "movnti; sfence: durable");
	print(PERSIST("")); /* of several calls the worst counts, wherever it stands */
	print(PERSIST(" 1004:0faef8"));
	cell_result_free(&court.result);
	expect(VERDICT_FAIL, "copy@8: not durable: offset 0: stored by movnti at 0x1000, with no "
			     "fence after it; 8 of 8 bytes");
	ck_assert_str_eq(court.result.picks[0].does, "movnti: not durable");
	text_free(&court.program.output);
	print("QL pick copy@8 clwb-copy");
	print(PERSIST(" 1004:0faef8"));
	cell_result_free(&court.result);
	expect(VERDICT_FAIL, "copy@8: says clwb-copy, does movnti");
}
END_TEST

Suite *suite_program(void)
{
	Suite *suite = suite_create("program");
	TCase *tests = tcase_create("tap");

	tcase_add_test(tests, tap_plain);
	tcase_add_test(tests, tap_directives);
	tcase_add_test(tests, tap_that_is_not_whole);
	tcase_add_test(tests, tap_yaml_is_no_test);
	tcase_add_test(tests, tap_nested);
	tcase_add_test(tests, tap_bounds);
	suite_add_tcase(suite, tests);
	tests = tcase_create("program");
	tcase_add_checked_fixture(tests, convene, adjourn);
	tcase_add_test(tests, exit_status_alone);
	tcase_add_test(tests, tap_and_exit_status);
	tcase_add_test(tests, picks_as_expected);
	tcase_add_test(tests, picks_that_fail);
	tcase_add_test(tests, a_path_without_its_fence);
	tcase_add_test(tests, a_skipped_pick_and_a_mismatch);
	tcase_add_test(tests, nothing_expected);
	tcase_add_test(tests, lines_that_are_none);
	tcase_add_test(tests, persistent);
	tcase_add_test(tests, as_many_as_there_is_room_for);
	tcase_add_test(tests, a_loop_keeps_its_distance);
	tcase_add_test(tests, a_trace_like_another);
	tcase_add_test(tests, a_fault_is_told);
	tcase_add_test(tests, tables_by_version);
	tcase_add_test(tests, tables_of_others);
	suite_add_tcase(suite, tests);
	return suite;
}
