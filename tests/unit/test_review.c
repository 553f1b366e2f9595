// SPDX-License-Identifier: MIT
/* diff: made-up sides compared; records read and what they come to. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/diff.h"
#include "lab/records.h"

Suite *suite_review(void);

static const char *keep(struct diff *diff, const char *text)
{
	return strings_keep(&diff->strings, text, strlen(text));
}

static void put_answer(struct diff *diff, struct diff_answer *answer, unsigned first, unsigned last,
		       const char *path, const char *expected)
{
	*answer = (struct diff_answer){ .first = first, .last = last, .count = 2 };
	answer->picks = xcalloc(2, sizeof(*answer->picks));
	answer->picks[0] = (struct diff_pick){ .operation = keep(diff, "memset"),
					       .class = keep(diff, "4k"),
					       .path = keep(diff, "mov"),
					       .expected = keep(diff, "mov") };
	answer->picks[1] = (struct diff_pick){ .operation = keep(diff, "memset"),
					       .class = keep(diff, "llc"),
					       .path = keep(diff, path),
					       .expected = expected ? keep(diff, expected) : NULL };
}

/* A CPU whose steppings before `from` get movnti, and those from..15 `path`. */
static void put_cpu(struct diff *diff, struct diff_side *side, const char *name, unsigned from,
		    const char *path, const char *expected)
{
	struct diff_cpu *cpu;

	side->cpus = xrealloc(side->cpus, (side->count + 1) * sizeof(*side->cpus));
	cpu = &side->cpus[side->count++];
	*cpu = (struct diff_cpu){ .family = 6, .model = 79, .agreed_on = true };
	snprintf(cpu->name, sizeof(cpu->name), "%s", name);
	strcpy(cpu->vendor, "GenuineIntel");
	cpu->answers = xcalloc(2, sizeof(*cpu->answers));
	if (from)
		put_answer(diff, &cpu->answers[cpu->count++], 0, from - 1, "movnti", expected);
	put_answer(diff, &cpu->answers[cpu->count++], from, 15, path, expected);
}

static void start(struct diff *diff, enum side_kind kind)
{
	*diff = (struct diff){ 0 };
	diff->base.kind = diff->head.kind = kind;
}

START_TEST(nothing_changes)
{
	struct diff diff;

	start(&diff, SIDE_TREE);
	put_cpu(&diff, &diff.base, "a", 0, "movnti", "movnti");
	put_cpu(&diff, &diff.head, "a", 7, "movnti", "movnti");
	diff_compare(&diff);
	ck_assert_uint_eq(diff.compared, 1);
	ck_assert_uint_eq(diff.change_count, 0);
	ck_assert(!diff_failed(&diff));
	diff_free(&diff);
}
END_TEST

START_TEST(some_steppings_change)
{
	struct diff diff;

	start(&diff, SIDE_TREE);
	put_cpu(&diff, &diff.base, "a", 3, "movnti", "movnti");
	put_cpu(&diff, &diff.head, "a", 5, "mov", "movnti");
	diff_compare(&diff);
	ck_assert_uint_eq(diff.change_count, 1);
	ck_assert_uint_eq(diff.changes[0].first, 5);
	ck_assert_uint_eq(diff.changes[0].last, 15);
	ck_assert_str_eq(diff.changes[0].before->path, "movnti");
	ck_assert_str_eq(diff.changes[0].after->path, "mov");
	ck_assert_str_eq(diff.changes[0].after->class, "llc");
	ck_assert_int_eq(diff.changes[0].agreement, NOT_AGREED);
	ck_assert(diff_failed(&diff));
	diff_free(&diff);
}
END_TEST

/* Base has a border of its own within what changes: it is one change all the same. */
START_TEST(neighbouring_runs_are_one)
{
	struct diff diff;

	start(&diff, SIDE_TREE);
	put_cpu(&diff, &diff.base, "a", 8, "movnti", "movnti");
	put_cpu(&diff, &diff.head, "a", 0, "mov", "mov");
	diff_compare(&diff);
	ck_assert_uint_eq(diff.change_count, 1);
	ck_assert_uint_eq(diff.changes[0].first, 0);
	ck_assert_uint_eq(diff.changes[0].last, 15);
	ck_assert_int_eq(diff.changes[0].agreement, AGREED);
	ck_assert(!diff_failed(&diff));
	diff_free(&diff);
}
END_TEST

START_TEST(nobody_agreed)
{
	struct diff diff;

	start(&diff, SIDE_TREE);
	put_cpu(&diff, &diff.base, "row", 0, "movnti", NULL);
	put_cpu(&diff, &diff.head, "row", 0, "mov", NULL);
	put_cpu(&diff, &diff.base, "dump", 0, "movnti", NULL);
	put_cpu(&diff, &diff.head, "dump", 0, "mov", NULL);
	diff.head.cpus[1].agreed_on = false;
	diff_compare(&diff);
	ck_assert_uint_eq(diff.change_count, 2);
	ck_assert_str_eq(diff.changes[0].cpu->name, "dump");
	ck_assert_int_eq(diff.changes[0].agreement, NOT_ASKED);
	ck_assert_int_eq(diff.changes[1].agreement, NOBODY);
	ck_assert(diff_failed(&diff));
	diff.changes[1].agreement = AGREED;
	ck_assert(!diff_failed(&diff));
	diff_free(&diff);
}
END_TEST

START_TEST(runs_are_compared_by_name)
{
	struct diff diff;

	start(&diff, SIDE_RECORDS);
	put_cpu(&diff, &diff.base, "gone", 0, "movnti", "movnti");
	put_cpu(&diff, &diff.base, "b", 0, "movnti", "movnti");
	put_cpu(&diff, &diff.base, "sick", 0, "movnti", "movnti");
	put_cpu(&diff, &diff.base, "odd", 0, "movnti", "movnti");
	put_cpu(&diff, &diff.head, "b", 0, "mov", "movnti");
	put_cpu(&diff, &diff.head, "new", 0, "mov", "movnti");
	put_cpu(&diff, &diff.head, "sick", 0, "mov", "movnti");
	put_cpu(&diff, &diff.head, "odd", 0, "mov", "movnti");
	diff.head.cpus[2].dead = true;
	diff.head.cpus[3].answers[0].picks[1].mismatch = keep(&diff, "fsrs");
	diff_compare(&diff);
	ck_assert_uint_eq(diff.change_count, 1);
	ck_assert_str_eq(diff.changes[0].cpu->name, "b");
	ck_assert_uint_eq(diff.compared, 3);
	ck_assert_uint_eq(diff.only_base, 1);
	ck_assert_uint_eq(diff.only_head, 1);
	ck_assert_uint_eq(diff.not_compared, 3); /* two of sick, one of odd */
	diff_free(&diff);
}
END_TEST

/* --- signatures --- */

static void put_jump(struct diff *diff, struct diff_side *side, size_t sweep, uint32_t at,
		     const char *path)
{
	struct diff_sweep *to = &side->sweeps[sweep];

	to->jumps = xrealloc(to->jumps, (to->count + 1) * sizeof(*to->jumps));
	to->jumps[to->count].at = at;
	put_answer(diff, &to->jumps[to->count++].answer, 0, 0, path, NULL);
}

START_TEST(signatures_that_no_table_names)
{
	struct diff diff;

	start(&diff, SIDE_TREE);
	put_cpu(&diff, &diff.base, "a", 0, "movnti", "movnti"); /* 6:79 */
	put_cpu(&diff, &diff.head, "a", 0, "movnti", "movnti");
	for (size_t i = 0; i < 2; i++) {
		put_jump(&diff, &diff.base, i, 0, "movnti");
		put_jump(&diff, &diff.head, i, 0, "movnti");
		/* 6:77:0 to 6:80:7 */
		put_jump(&diff, &diff.head, i, SWEEP_SIGNATURE(6, 77, 0), "mov");
		put_jump(&diff, &diff.head, i, SWEEP_SIGNATURE(6, 80, 8), "movnti");
		/* families below 6 have no such model */
		put_jump(&diff, &diff.head, i, SWEEP_SIGNATURE(31, 255, 15), "mov");
	}
	diff_compare(&diff);
	ck_assert_uint_eq(diff.signature_count, 3);
	ck_assert_uint_eq(diff.signatures[0].family, 6);
	ck_assert_uint_eq(diff.signatures[0].model_first, 77);
	ck_assert_uint_eq(diff.signatures[0].model_last, 78); /* 79 is named */
	ck_assert_uint_eq(diff.signatures[0].first, 0);
	ck_assert_uint_eq(diff.signatures[0].last, 15);
	ck_assert_uint_eq(diff.signatures[1].model_first, 80);
	ck_assert_uint_eq(diff.signatures[1].last, 7);
	ck_assert_uint_eq(diff.signatures[2].family, 31);
	ck_assert_uint_eq(diff.signatures[2].first, 15);
	ck_assert(diff_failed(&diff));
	diff_free(&diff);
}
END_TEST

/* --- a sample of CPUs --- */

START_TEST(one_of_each_set_of_bits)
{
	struct cpu_list cpus = { 0 };
	const char *names[4];

	for (int i = 0; i < 4; i++) {
		struct cpu *cpu = cpu_list_add(&cpus);

		snprintf(cpu->name, sizeof(cpu->name), "%d", i);
		strcpy(cpu->vendor, i == 3 ? "AuthenticAMD" : "GenuineIntel");
		feature_put(&cpu->on, feature_find("erms"), i == 1);
	}
	ck_assert_uint_eq(diff_sample(&cpus, names), 3);
	ck_assert_str_eq(names[0], "0");
	ck_assert_str_eq(names[1], "1");
	ck_assert_str_eq(names[2], "3");
	cpu_list_free(&cpus);
}
END_TEST

/* --- records --- */

START_TEST(what_a_pick_came_to)
{
	static const struct {
		const char *expected, *says, *does, *path;
		enum verdict verdict;
		bool is_true;
	} rows[] = {
		{ "movnti", "movnti", "movnti; sfence", "movnti", VERDICT_PASS, true },
		{ "movnti", "mov", "mov", "mov", VERDICT_FAIL, true },
		{ "movnti", "mov", "movnti; sfence", "mov", VERDICT_FAIL, false },
		{ "movnti", "movnti", "movnti", "movnti", VERDICT_FAIL, false }, /* no fence */
		{ "", "movnti", "movnti; sfence", "movnti", VERDICT_SKIP, true },
		{ "", "movnti", "movnti-like", "movnti", VERDICT_SKIP, false },
		{ "", "", "rep-stosb; head/tail mov", "rep-stosb", VERDICT_SKIP, true },
		{ "", "__memset_evex", "movntdq-ymm", "__memset_evex", VERDICT_SKIP, true },
		{ "", "movnti", "", "movnti", VERDICT_SKIP, true },
		{ "", "", "", "", VERDICT_SKIP, true },
	};
	char path[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pick pick = { .verdict = rows[i].verdict };

		strcpy(pick.expected, rows[i].expected);
		strcpy(pick.says, rows[i].says);
		strcpy(pick.does, rows[i].does);
		ck_assert_str_eq(record_path(path, sizeof(path), &pick), rows[i].path);
		ck_assert_msg(record_is_true(&pick) == rows[i].is_true, "row %zu", i);
	}
}
END_TEST

START_TEST(equal_strings_are_one)
{
	struct strings strings = { 0 };
	const char *a = strings_keep(&strings, "abc", 3);

	ck_assert_ptr_eq(a, strings_keep(&strings, "abcd", 3));
	ck_assert_ptr_ne(a, strings_keep(&strings, "abcd", 4));
	ck_assert_str_eq(strings_keep(&strings, "\033[1m\n", 5), "\\x1b[1m\\x0a");
	strings_free(&strings);
}
END_TEST

Suite *suite_review(void)
{
	Suite *suite = suite_create("review");
	TCase *compare = tcase_create("compare");
	TCase *records = tcase_create("records");

	tcase_add_test(compare, nothing_changes);
	tcase_add_test(compare, some_steppings_change);
	tcase_add_test(compare, neighbouring_runs_are_one);
	tcase_add_test(compare, nobody_agreed);
	tcase_add_test(compare, runs_are_compared_by_name);
	tcase_add_test(compare, signatures_that_no_table_names);
	tcase_add_test(compare, one_of_each_set_of_bits);
	suite_add_tcase(suite, compare);
	tcase_add_test(records, what_a_pick_came_to);
	tcase_add_test(records, equal_strings_are_one);
	suite_add_tcase(suite, records);
	return suite;
}
