// SPDX-License-Identifier: MIT
/* lint: made-up quirk tables against the tree's own data, each with one fault; the mutations. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/lint.h"

Suite *suite_lint(void);

#define ALL .stepping_min = 0, .stepping_max = 15
#define ROW(row_name, row_vendor, row_family, ...)                                          \
	{                                                                                   \
		.name = row_name, .vendor = row_vendor, .family = row_family,               \
		.models = { __VA_ARGS__ },                                                  \
		.model_count = sizeof((uint16_t[]){ __VA_ARGS__ }) / sizeof(uint16_t), ALL, \
		.quirks = DISPATCH_NT_BAD, .reason = "made up", .source = "made up"         \
	}
#define OWN_ROWS                                                                            \
	ROW("skylake-l", "GenuineIntel", 6, 0x4E), ROW("skylake", "GenuineIntel", 6, 0x5E), \
		ROW("skylake-x", "GenuineIntel", 6, 0x55)
#define TABLE(rows)                                  \
	{                                            \
		rows, sizeof(rows) / sizeof(*(rows)) \
	}

/* The findings that are errors, as "RULE: TEXT" lines. */
static char *errors_of(const struct dispatch_quirk_row *rows, size_t count)
{
	const struct dispatch_quirk_table table = { rows, count };
	struct text out = { 0 };
	struct error err = { 0 };
	struct lint lint;

	ck_assert_msg(lint_open(&lint, &table, &err) == 0, "%s", err.text);
	lint_check_rows(&lint);
	lint_check_picks(&lint);
	lint_check_evidence(&lint);
	for (size_t i = 0; i < lint.findings.count; i++) {
		const struct finding *finding = &lint.findings.list[i];

		if (lint_rules[finding->rule].level == LINT_ERROR)
			text_addf(&out, "%s: %s\n", lint_rules[finding->rule].id, finding->text);
	}
	lint_close(&lint);
	text_add(&out, "", 0);
	return out.bytes;
}
#define ERRORS_OF(rows) errors_of(rows, sizeof(rows) / sizeof(*(rows)))

#define FINDS(errors, part) \
	ck_assert_msg(strstr(errors, part) != NULL, "no '%s' in:\n%s", part, errors)

START_TEST(own_table_is_clean)
{
	const struct dispatch_quirk_row rows[] = { OWN_ROWS };
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	ck_assert_str_eq(errors, "");
	ck_assert_uint_eq(dispatch_quirks.count, 3);
}
END_TEST

START_TEST(earlier_rows_take_it)
{
	const struct dispatch_quirk_row rows[] = { OWN_ROWS,
						   ROW("again", "GenuineIntel", 6, 0x55, 0x5E) };
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	ck_assert_str_eq(errors, "row-shadowed: row again: earlier rows take every CPU that it "
				 "names\n");
}
END_TEST

START_TEST(rows_contradict)
{
	struct dispatch_quirk_row rows[] = { OWN_ROWS,
					     ROW("good-steppings", "GenuineIntel", 6, 0x55, 0x56) };
	CLEANUP_FREE char *errors = NULL;

	rows[3].quirks = 0;
	errors = ERRORS_OF(rows);
	FINDS(errors, "rows-disagree: row good-steppings: names GenuineIntel 6:0x55, which row "
		      "skylake-x above it takes, with other quirks\n");
	ck_assert_ptr_null(strstr(errors, "row-shadowed"));
}
END_TEST

START_TEST(wrong_family)
{
	/* 0x17 where Hygon's 0x18 was meant: nobody is that. */
	const struct dispatch_quirk_row hygon[] = { OWN_ROWS,
						    ROW("dhyana", "HygonGenuine", 0x17, 0x00) };
	CLEANUP_FREE char *nobody = ERRORS_OF(hygon);
	/* And 0x17 under AMD's name: those are Zen. */
	const struct dispatch_quirk_row amd[] = { OWN_ROWS,
						  ROW("dhyana", "AuthenticAMD", 0x17, 0x31) };
	CLEANUP_FREE char *zen = ERRORS_OF(amd);

	FINDS(nobody, "row-unreached: row dhyana: takes HygonGenuine 23:0x00, which no CPU of the "
		      "catalogue is; is it a slip for ");
	FINDS(nobody, "HygonGenuine 24:0x00?\n");
	FINDS(nobody, "row-without-evidence: row dhyana: evidence.tsv has nothing on HygonGenuine "
		      "23:0x00 (not in the catalogue)\n");
	FINDS(zen,
	      "(AuthenticAMD 23:0x31:0-15): memset@llc is mov, movnti is agreed on; memset@2llc "
	      "is mov, movnti is agreed on\n");
	FINDS(zen, "row-against-evidence: row dhyana: movnti gains 39.46 % on AuthenticAMD "
		   "23:0x31");
}
END_TEST

START_TEST(swallowed_model)
{
	const struct dispatch_quirk_row rows[] = {
		ROW("skylake-l", "GenuineIntel", 6, 0x4E), ROW("skylake", "GenuineIntel", 6, 0x5E),
		ROW("skylake-x", "GenuineIntel", 6, 0x54, 0x55, 0x56)
	};
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	FINDS(errors, "row-swallows: row skylake-x: takes GenuineIntel 6:0x56 (broadwell-d), the "
		      "model after 0x55; evidence.tsv has nothing on it\n");
	FINDS(errors, "row-swallows: row skylake-x: takes GenuineIntel 6:0x54 (not in the "
		      "catalogue), the model before 0x55");
	FINDS(errors, "unknown-off-default: row skylake-x: takes below-skylake-x (GenuineIntel "
		      "6:0x54:0) of unknown.tsv");
	FINDS(errors, "pick-against-expect: row skylake-x: takes broadwell-d (GenuineIntel "
		      "6:0x56:0-15): clear_extent@llc is rep-stosb, movnti is agreed on");
}
END_TEST

START_TEST(against_evidence)
{
	const struct dispatch_quirk_row rows[] = { OWN_ROWS,
						   ROW("broadwell-x", "GenuineIntel", 6, 0x4F) };
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	FINDS(errors,
	      "row-against-evidence: row broadwell-x: movnti gains 121.84 % on GenuineIntel "
	      "6:0x4F: evidence.tsv, line ");
	ck_assert_ptr_null(strstr(errors, "row-without-evidence"));
}
END_TEST

START_TEST(row_is_gone)
{
	const struct dispatch_quirk_row rows[] = { ROW("skylake-l", "GenuineIntel", 6, 0x4E),
						   ROW("skylake", "GenuineIntel", 6, 0x5E) };
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	FINDS(errors, "pick-without-row: skylake-x (GenuineIntel 6:0x55:0-15), which no row of the "
		      "quirk table names: clear_extent@llc is movnti, rep-stosb is agreed on; "
		      "clear_extent@2llc is movnti, rep-stosb is agreed on; memset@llc is movnti, "
		      "mov is agreed on; memset@2llc is movnti, mov is agreed on\n");
}
END_TEST

/* Every stepping of a golden row counts, not only the one that boots. */
START_TEST(steppings_lost)
{
	struct dispatch_quirk_row rows[] = { OWN_ROWS };
	CLEANUP_FREE char *errors = NULL;

	rows[2].stepping_min = 4;
	rows[2].stepping_max = 7;
	errors = ERRORS_OF(rows);
	FINDS(errors, "skylake-x (GenuineIntel 6:0x55:0-3), which no row");
	FINDS(errors, "skylake-x (GenuineIntel 6:0x55:8-15), which no row");
}
END_TEST

START_TEST(nothing_can_be_it)
{
	struct dispatch_quirk_row rows[] = { OWN_ROWS, ROW("i586", "GenuineIntel", 5, 0x55) };
	CLEANUP_FREE char *errors = ERRORS_OF(rows);

	FINDS(errors, "row-unreached: row i586: no CPUID can say any of its signatures\n");
}
END_TEST

/* --- where a row stands --- */

START_TEST(lines_of_rows)
{
	static const char text[] = "/* .name = \"skylake-l\" in a comment */\n"
				   "\t{\n"
				   "\t\t.name = \"skylake-l\", // \"\n"
				   "\t\t.reason = \"/* no comment\",\n"
				   "\t}, {\n"
				   "\t\t.name=\"skylake\",\n"
				   "\t\t.name\t= \"skylake-x\",\n";
	const struct dispatch_quirk_row rows[] = { OWN_ROWS };
	const struct dispatch_quirk_table table = TABLE(rows);
	struct quirk_source source;

	quirk_source_scan(&source, &table, text);
	ck_assert_uint_eq(source.lines[0], 3);
	ck_assert_uint_eq(source.lines[1], 6);
	ck_assert_uint_eq(source.lines[2], 7);
	ck_assert(!source.another);
	quirk_source_free(&source);
	quirk_source_scan(&source, &table, ".name = \"skylake-l\", .name = \"other\"");
	ck_assert(source.another);
	quirk_source_free(&source);
}
END_TEST

/* --- mutations --- */

static void sum(const struct mutation_report *report, struct mutation_count *sum)
{
	*sum = (struct mutation_count){ 0 };
	for (size_t i = 0; i < MUTATION_KINDS; i++) {
		sum->made += report->kind[i].made;
		sum->noticed += report->kind[i].noticed;
		sum->equivalent += report->kind[i].equivalent;
	}
}

static void mutate(struct lint *lint, const struct dispatch_quirk_table *table, const char *blind,
		   struct mutation_report *report)
{
	struct error err = { 0 };

	ck_assert_msg(lint_open(lint, table, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < lint->cell_count; i++)
		if (blind && !strcmp(lint->cells[i].cpu->name, blind))
			memset(lint->cells[i].expected, 0, sizeof(lint->cells[i].expected));
	ck_assert_msg(lint_mutate(lint, report, &err) == 0, "%s", err.text);
}

START_TEST(own_table_has_no_hole)
{
	struct mutation_report report;
	struct mutation_count all;
	struct lint lint;

	mutate(&lint, &dispatch_quirks, NULL, &report);
	sum(&report, &all);
	/* By hand, for three rows of one model and all steppings: 1 drop, 2 widen, 4 narrow, 1
	 * flip, 8 vendor, 4 family each; 2 swaps. */
	ck_assert_uint_eq(report.kind[MUTATION_DROP].made, 3);
	ck_assert_uint_eq(report.kind[MUTATION_WIDEN].made, 6);
	ck_assert_uint_eq(report.kind[MUTATION_NARROW].made, 12);
	ck_assert_uint_eq(report.kind[MUTATION_SWAP].made, 2);
	ck_assert_uint_eq(report.kind[MUTATION_FLIP].made, 3);
	ck_assert_uint_eq(report.kind[MUTATION_VENDOR].made, 24);
	ck_assert_uint_eq(report.kind[MUTATION_FAMILY].made, 12);
	/* Rows that do not overlap may be swapped; there is no model 0x4E of family 5. */
	ck_assert_uint_eq(report.kind[MUTATION_SWAP].equivalent, 2);
	ck_assert_uint_eq(report.kind[MUTATION_FAMILY].equivalent, 3);
	ck_assert_uint_eq(all.made, all.noticed + all.equivalent);
	ck_assert_uint_eq(lint.findings.count, 0);
	text_free(&report.details);
	lint_close(&lint);
}
END_TEST

static const struct {
	const char *blind, *hole;
} holes[] = {
	{ "skylake-x-s15", "row skylake-x: narrowed to steppings 0-14: no cell notices; one for "
			   "GenuineIntel 6:0x55:15 would" },
	{ "skylake-hypervisor", "row skylake: narrowed to CPUs without the hypervisor bit: no cell "
				"notices; one for GenuineIntel 6:0x5E:0 with the hypervisor bit "
				"would" },
	{ "broadwell-d",
	  "row skylake-x: widened by the model after, 0x56: no cell notices; one for "
	  "GenuineIntel 6:0x56:0 would" },
	{ "hygon-06-4e", "row skylake-l: given to HygonGenuine as well: no cell notices; one for "
			 "HygonGenuine 6:0x4E:0 would" },
	{ "intel-07-55",
	  "row skylake-x: for family 7 as well: no cell notices; one for GenuineIntel "
	  "7:0x55:0 would" },
};

START_TEST(a_hole)
{
	struct mutation_report report;
	struct lint lint;

	mutate(&lint, &dispatch_quirks, holes[_i].blind, &report);
	ck_assert_uint_eq(lint.findings.count, 1);
	ck_assert_int_eq(lint.findings.list[0].rule, LINT_MUTATION_UNNOTICED);
	ck_assert_str_eq(lint.findings.list[0].text, holes[_i].hole);
	text_free(&report.details);
	lint_close(&lint);
}
END_TEST

START_TEST(broken_tables_are_not_mutated)
{
	const struct dispatch_quirk_row rows[] = { ROW("skylake-l", "GenuineIntel", 6, 0x4E) };
	const struct dispatch_quirk_table table = TABLE(rows);
	struct mutation_report report;
	struct error err = { 0 };
	struct lint lint;

	ck_assert_int_eq(lint_open(&lint, &table, &err), 0);
	ck_assert_int_eq(lint_mutate(&lint, &report, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "does not pass with the table as it is"));
	lint_close(&lint);
}
END_TEST

Suite *suite_lint(void)
{
	Suite *suite = suite_create("lint");
	TCase *rows = tcase_create("rows");
	TCase *mutations = tcase_create("mutations");

	tcase_add_test(rows, own_table_is_clean);
	tcase_add_test(rows, earlier_rows_take_it);
	tcase_add_test(rows, rows_contradict);
	tcase_add_test(rows, wrong_family);
	tcase_add_test(rows, swallowed_model);
	tcase_add_test(rows, against_evidence);
	tcase_add_test(rows, row_is_gone);
	tcase_add_test(rows, steppings_lost);
	tcase_add_test(rows, nothing_can_be_it);
	tcase_add_test(rows, lines_of_rows);
	suite_add_tcase(suite, rows);
	/* Proofs go through millions of signatures, and sanitisers are slow. */
	tcase_set_timeout(mutations, 60);
	tcase_add_test(mutations, own_table_has_no_hole);
	tcase_add_loop_test(mutations, a_hole, 0, sizeof(holes) / sizeof(*holes));
	tcase_add_test(mutations, broken_tables_are_not_mutated);
	suite_add_tcase(suite, mutations);
	return suite;
}
