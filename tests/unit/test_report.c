// SPDX-License-Identifier: MIT
/* harness/report: records, the summary, and each format. */
#include <check.h>
#include <jansson.h>
#include <libxml/HTMLparser.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/page.h"
#include "harness/util/cleanup.h"

Suite *suite_report(void);

/* What a hostile guest would like to see in a report. */
#define HOSTILE "\033[2J<script>alert(1)</script>&\"'|`\n# not ok"

static void add_pick(struct cell_result *result, const char *operation, const char *class,
		     const char *expected, const char *says, enum verdict verdict)
{
	struct pick *pick = &result->picks[result->pick_count++];

	strcpy(pick->operation, operation);
	strcpy(pick->class, class);
	strcpy(pick->expected, expected);
	strcpy(pick->says, says);
	snprintf(pick->does, sizeof(pick->does), "%s; sfence", says);
	pick->size = 4096;
	pick->size_known = true;
	pick->executable = 1;
	pick->verdict = verdict;
}

/* A cell of skylake-x; the caller frees it. */
static struct cell_result *make(const char *name, enum verdict verdict)
{
	struct cell_result *result = xcalloc(1, sizeof(*result));

	strcpy(result->run, "20260101-000000");
	snprintf(result->cell, sizeof(result->cell), "%s/bare/dispatch", name);
	snprintf(result->name, sizeof(result->name), "%s", name);
	strcpy(result->vendor, "GenuineIntel");
	result->family = 6;
	result->model = 85;
	result->stepping = 4;
	strcpy(result->image, "bare");
	strcpy(result->subject, "dispatch");
	strcpy(result->accel, "tcg");
	result->pack = 31;
	result->tries = 1;
	result->verdict = verdict;
	strcpy(result->qemu, "7.2.22");
	strcpy(result->libvirt, "9.0.0");
	result->seconds.total = 0.0133;
	add_pick(result, "clear_page", "4k", "rep-stosb", "rep-stosb", VERDICT_PASS);
	switch (verdict) {
	case VERDICT_PASS:
		break;
	case VERDICT_FAIL:
		add_pick(result, "memset", "llc", "mov", "movnti", VERDICT_FAIL);
		strcpy(result->reason, "memset@llc: expected mov, says movnti");
		break;
	case VERDICT_MISMATCH:
		add_pick(result, "memset", "4k", "rep-stosb", "mov", VERDICT_MISMATCH);
		strcpy(result->picks[1].depends[0], "fsrs");
		result->picks[1].depends_count = 1;
		result->difference.missing[0] = "fsrs";
		result->difference.missing_count = 1;
		strcpy(result->reason, "fsrs");
		break;
	default:
		strcpy(result->reason, "no progress for 2.0 s");
	}
	return result;
}

static void drop(struct cell_result *result)
{
	cell_result_free(result);
	free(result);
}

/* --- records -------------------------------------------------------------------------------------
 */

START_TEST(a_record_is_what_the_contract_says)
{
	struct cell_result *result = make("skylake-x", VERDICT_FAIL);
	CLEANUP_TEXT struct text line = { 0 };

	result->edits[result->edit_count++] = xstrdup("-erms");
	record_write(&line, result);
	ck_assert_str_eq(
		line.bytes,
		"{\"schema\":1,\"run\":\"20260101-000000\",\"cell\":\"skylake-x/bare/dispatch\","
		"\"cpu\":{\"name\":\"skylake-x\",\"vendor\":\"GenuineIntel\",\"family\":6,"
		"\"model\":85,"
		"\"stepping\":4,\"edits\":[\"-erms\"]},\"image\":\"bare\",\"subject\":\"dispatch\","
		"\"accel\":\"tcg\",\"pack\":31,\"verdict\":\"fail\","
		"\"reason\":\"memset@llc: expected mov, says movnti\",\"tries\":1,\"picks\":["
		"{\"op\":\"clear_page\",\"class\":\"4k\",\"size\":4096,\"expected\":\"rep-stosb\","
		"\"says\":\"rep-stosb\",\"does\":\"rep-stosb; sfence\",\"row\":null,"
		"\"executable\":\"yes\",\"verdict\":\"pass\",\"depends\":[]},"
		"{\"op\":\"memset\",\"class\":\"llc\",\"size\":4096,\"expected\":\"mov\","
		"\"says\":\"movnti\",\"does\":\"movnti; sfence\",\"row\":null,"
		"\"executable\":\"yes\",\"verdict\":\"fail\",\"depends\":[]}],"
		"\"cpuid\":{\"missing\":[],\"extra\":[],\"identity\":[]},"
		"\"versions\":{\"qemu\":\"7.2.22\",\"libvirt\":\"9.0.0\",\"kernel\":null,\"libc\":"
		"null},"
		"\"seconds\":{\"create\":0.0,\"guest\":0.0,\"destroy\":0.0,\"total\":0.0133}}\n");
	drop(result);
}
END_TEST

START_TEST(what_is_written_is_read_alike)
{
	struct cell_result *read = xcalloc(1, sizeof(*read));

	for (int verdict = 0; verdict < VERDICTS; verdict++) {
		struct cell_result *result = make("skylake-x,-erms", (enum verdict)verdict);
		CLEANUP_TEXT struct text once = { 0 }, twice = { 0 };

		result->edits[result->edit_count++] = xstrdup("-erms");
		result->picks[0].size_known = false;
		strcpy(result->picks[0].row, "skylake-x");
		if (verdict == VERDICT_FAIL) {
			result->kernel_seen = xcalloc(1, sizeof(*result->kernel_seen));
			strcpy(result->kernel_seen->flags, " fpu rep_good");
			strcpy(result->kernel_seen->vulnerabilities[0].name, "mds");
			strcpy(result->kernel_seen->vulnerabilities[0].text, "Not affected");
			result->kernel_seen->vulnerability_count = 1;
			strcpy(result->kernel_seen->sites[0].name, "clear_page_erms");
			result->kernel_seen->sites[0].count = 38;
			result->kernel_seen->site_count = 1;
			strcpy(result->kernel_seen->options, "mitigations=auto spectre_v2=off");
			strcpy(result->kernel_seen->microcode, "0x1");
			strcpy(result->kernel_seen->boot, "both");
		}
		record_write(&once, result);
		ck_assert_int_eq(record_read(read, once.bytes, once.length, NULL), 0);
		record_write(&twice, read);
		ck_assert_str_eq(once.bytes, twice.bytes);
		ck_assert_int_eq(read->verdict, verdict);
		ck_assert_int_eq(read->kernel_seen != NULL, verdict == VERDICT_FAIL);
		if (read->kernel_seen) {
			ck_assert_str_eq(read->kernel_seen->boot, "both");
			ck_assert_str_eq(read->kernel_seen->options,
					 "mitigations=auto spectre_v2=off");
			ck_assert_str_eq(read->kernel_seen->microcode, "0x1");
		}
		ck_assert_str_eq(read->picks[0].row, "skylake-x");
		ck_assert(!read->picks[0].size_known);
		cell_result_free(read);
		drop(result);
	}
	free(read);
}
END_TEST

/* What a program calls its implementations is no path, and stands apart. */
START_TEST(names_of_a_program_are_no_paths_of_a_record)
{
	struct cell_result *read = xcalloc(1, sizeof(*read));
	struct cell_result *result = make("skylake", VERDICT_FAIL);
	static const char name[] = "__memmove_avx_unaligned_erms_rtm";
	CLEANUP_TEXT struct text text = { 0 };

	strcpy(result->picks[0].expected, name);
	strcpy(result->picks[0].says, "movnti");
	record_write(&text, result);
	ck_assert_ptr_nonnull(strstr(text.bytes, "\"expected\":null,\"expected_name\":"
						 "\"__memmove_avx_unaligned_erms_rtm\","
						 "\"says\":\"movnti\",\"does\""));
	ck_assert_int_eq(record_read(read, text.bytes, text.length, NULL), 0);
	ck_assert_str_eq(read->picks[0].expected, name);
	ck_assert_str_eq(read->picks[0].says, "movnti");
	cell_result_free(read);
	free(read);
	drop(result);
}
END_TEST

START_TEST(hostile_strings_are_inert_in_a_record)
{
	struct cell_result *result = make("skylake-x", VERDICT_FAIL);
	CLEANUP_TEXT struct text line = { 0 };

	strcpy(result->picks[0].says, "\033[2J\n");
	strcpy(result->reason, "\xff\xfe broken \x01");
	record_write(&line, result);
	for (size_t i = 0; i + 1 < line.length; i++)
		ck_assert(line.bytes[i] >= ' ' && line.bytes[i] < 0x7f);
	drop(result);
}
END_TEST

START_TEST(what_is_no_record_is_refused)
{
	static const struct {
		const char *line, *word;
	} rows[] = {
		{ "", "column" },
		{ "[]", "object" },
		{ "{}", "schema" },
		{ "{\"schema\":2}", "schema" },
		{ "{\"schema\":1}", "run" },
		{ "{\"schema\":1,\"run\":7}", "run" },
		{ "{\"schema\":1,\"run\":\"r\",\"cell\":\"c\",\"cpu\":[]}", "cpu" },
	};
	struct cell_result *result = xcalloc(1, sizeof(*result));

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = { 0 };

		ck_assert_int_eq(record_read(result, rows[i].line, strlen(rows[i].line), &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_msg(strstr(err.text, rows[i].word), "%s: %s", rows[i].line, err.text);
	}
	free(result);
}
END_TEST

/* One field of a good record is broken at a time. */
START_TEST(bounds_of_a_record_hold)
{
	static const struct {
		const char *from, *to, *word;
	} rows[] = {
		{ "\"family\":6", "\"family\":-1", "family" },
		{ "\"family\":6", "\"family\":271", "family" },
		{ "\"model\":85", "\"model\":256", "model" },
		{ "\"tries\":1", "\"tries\":1.5", "tries" },
		{ "\"verdict\":\"pass\"", "\"verdict\":\"well\"", "verdict" },
		{ "\"executable\":\"yes\"", "\"executable\":\"maybe\"", "executable" },
		{ "\"GenuineIntel\"", "\"GenuineIntel!\"", "vendor" },
		{ "\"missing\":[]", "\"missing\":[1]", "missing" },
		{ "\"depends\":[]", "\"depends\":[\"a-name-of-16-bytes\"]", "depends" },
		{ "\"total\":0.0133", "\"total\":\"long\"", "total" },
	};
	struct cell_result *good = make("skylake-x", VERDICT_PASS),
			   *read = xcalloc(1, sizeof(*read));
	CLEANUP_TEXT struct text line = { 0 };

	record_write(&line, good);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_TEXT struct text broken = { 0 };
		const char *at = strstr(line.bytes, rows[i].from);
		struct error err = { 0 };

		ck_assert_ptr_nonnull(at);
		text_add(&broken, line.bytes, (size_t)(at - line.bytes));
		text_addf(&broken, "%s%s", rows[i].to, at + strlen(rows[i].from));
		ck_assert_int_eq(record_read(read, broken.bytes, broken.length, &err), -1);
		ck_assert_msg(strstr(err.text, rows[i].word), "%s: %s", rows[i].to, err.text);
	}
	free(read);
	drop(good);
}
END_TEST

/* --- the summary ---------------------------------------------------------------------------------
 */

static void add(struct summary *summary, enum verdict verdict, size_t count)
{
	struct cell_result *result = make("skylake-x", verdict);

	for (size_t i = 0; i < count; i++)
		summary_add(summary, result);
	drop(result);
}

START_TEST(the_summary_of_the_contract)
{
	struct summary summary = { .cells = 252, .seconds = 4.1 };
	CLEANUP_TEXT struct text line = { 0 };

	add(&summary, VERDICT_PASS, 230);
	add(&summary, VERDICT_MISMATCH, 22);
	summary_write(&line, &summary);
	ck_assert_str_eq(line.bytes, "252 cells: 230 pass, 22 mismatch (fsrs), 0 fail, 4.1 s");
}
END_TEST

START_TEST(the_summary_counts_what_never_ran)
{
	struct summary summary = { .cells = 4, .seconds = 0.05 };
	CLEANUP_TEXT struct text line = { 0 };

	add(&summary, VERDICT_HUNG, 1);
	summary_write(&line, &summary);
	ck_assert_str_eq(line.bytes, "4 cells: 0 pass, 0 fail, 1 hung, 3 not run, 0.050 s");
}
END_TEST

START_TEST(reasons_are_named_once_and_bounded)
{
	struct summary summary = { 0 };
	struct cell_result *result = make("skylake-x", VERDICT_MISMATCH);

	add(&summary, VERDICT_MISMATCH, 2);
	ck_assert_str_eq(summary.because[VERDICT_MISMATCH], "fsrs");
	for (unsigned i = 0; i < 100; i++) {
		snprintf(result->picks[1].depends[0], 16, "bit-%u", i);
		summary_add(&summary, result);
	}
	ck_assert_uint_lt(strlen(summary.because[VERDICT_MISMATCH]), 128);
	ck_assert_ptr_nonnull(strstr(summary.because[VERDICT_MISMATCH], "fsrs, bit-0, bit-1, "));
	ck_assert_ptr_nonnull(strstr(summary.because[VERDICT_MISMATCH], ", ..."));
	drop(result);
}
END_TEST

/* --- formats -------------------------------------------------------------------------------------
 */

/* The report of one cell of each verdict, and one hostile one. */
static char *report(struct report_options options)
{
	struct summary summary = { .seconds = 1 };
	struct cell_result *hostile = make("hostile", VERDICT_FAIL);
	struct error err = { 0 };
	char *bytes = NULL;
	size_t length;
	FILE *out = open_memstream(&bytes, &length);
	struct reporter *reporter;

	options.planned = VERDICTS + 1;
	options.width = options.width ? options.width : 80;
	summary.cells = options.planned;
	reporter = reporter_open(&options, out);
	for (int verdict = VERDICTS - 1; verdict >= 0; verdict--) {
		struct cell_result *result =
			make(verdict_name((enum verdict)verdict), (enum verdict)verdict);

		reporter_cell(reporter, result);
		summary_add(&summary, result);
		drop(result);
	}
	strcpy(hostile->reason, HOSTILE);
	strcpy(hostile->picks[1].says, "\033[31m<b>|");
	reporter_cell(reporter, hostile);
	summary_add(&summary, hostile);
	drop(hostile);
	ck_assert_int_eq(reporter_close(reporter, &summary, &err), 0);
	fclose(out);
	return bytes;
}

static void check_inert(const char *bytes)
{
	for (const char *at = bytes; *at; at++)
		ck_assert_msg(*at == '\n' || (*at >= ' ' && *at < 0x7f), "byte 0x%02x in: %.60s",
			      (unsigned char)*at, at);
}

static size_t count_of(const char *bytes, const char *word)
{
	size_t count = 0;

	for (const char *at = bytes; (at = strstr(at, word)); at += strlen(word))
		count++;
	return count;
}

START_TEST(tap)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_TAP });

	check_inert(bytes);
	ck_assert_ptr_eq(strstr(bytes, "TAP version 13\n1..8\nnot ok 1 - error/bare/dispatch\n"),
			 bytes);
	ck_assert_ptr_nonnull(strstr(bytes, "\nok 7 - pass/bare/dispatch\n"));
	ck_assert_ptr_nonnull(strstr(bytes, "\nnot ok 6 - fail/bare/dispatch\n  ---\n"));
	ck_assert_ptr_nonnull(
		strstr(bytes, "\nok 5 - mismatch/bare/dispatch # SKIP mismatch: fsrs\n"));
	ck_assert_ptr_nonnull(strstr(bytes, "\n# 8 cells: 1 pass, 1 mismatch (fsrs), 1 skip "));
	ck_assert_uint_eq(count_of(bytes, "\nok ") + count_of(bytes, "\nnot ok "), 8);
	ck_assert_uint_eq(count_of(bytes, "\n  ---\n"), count_of(bytes, "\n  ...\n"));
	ck_assert_uint_eq(count_of(bytes, "\n  reason: '"), count_of(bytes, "\n  ---\n"));
}
END_TEST

START_TEST(tap_quotes_a_reason)
{
	struct report_options options = { .format = FORMAT_TAP, .planned = 1 };
	struct cell_result *result = make("a", VERDICT_FAIL);
	struct summary summary = { .cells = 1 };
	char *bytes = NULL;
	size_t length;
	FILE *out = open_memstream(&bytes, &length);
	struct reporter *reporter = reporter_open(&options, out);

	strcpy(result->reason, "it's \"so\": # \\");
	reporter_cell(reporter, result);
	ck_assert_int_eq(reporter_close(reporter, &summary, NULL), 0);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(bytes, "\n  verdict: fail\n  reason: 'it''s \"so\": # \\'\n"));
	drop(result);
	free(bytes);
}
END_TEST

START_TEST(tap_of_a_run_that_was_cut_short)
{
	struct report_options options = { .format = FORMAT_TAP, .planned = 3 };
	struct cell_result *result = make("a#b\\c", VERDICT_PASS);
	struct summary summary = { .cells = 3 };
	char *bytes = NULL;
	size_t length;
	FILE *out = open_memstream(&bytes, &length);
	struct reporter *reporter = reporter_open(&options, out);

	reporter_cell(reporter, result);
	ck_assert_int_eq(reporter_close(reporter, &summary, NULL), 0);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(bytes, "\nok 1 - a\\#b\\\\c/bare/dispatch\n"));
	ck_assert_ptr_nonnull(strstr(bytes, "\nBail out! 2 of 3 cells have no result\n"));
	free(bytes);
	drop(result);
}
END_TEST

START_TEST(json_lines)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_JSONL });
	size_t lines = 0;

	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
		json_t *record = json_loads(line, 0, NULL);

		ck_assert_ptr_nonnull(record);
		json_decref(record);
		lines++;
	}
	ck_assert_uint_eq(lines, 8);
}
END_TEST

static double number(xmlDocPtr document, const char *path)
{
	xmlXPathContextPtr context = xmlXPathNewContext(document);
	xmlXPathObjectPtr object = xmlXPathEvalExpression(BAD_CAST path, context);
	double value = xmlXPathCastToNumber(object);

	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
	return value;
}

START_TEST(junit)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_JUNIT });
	xmlDocPtr document = xmlReadMemory(bytes, (int)strlen(bytes), NULL, NULL, XML_PARSE_NONET);

	check_inert(bytes);
	ck_assert_ptr_nonnull(document);
	ck_assert_double_eq(number(document, "count(//testcase)"), 8);
	ck_assert_double_eq(number(document, "count(//testcase/failure)"), 2);
	ck_assert_double_eq(number(document, "count(//testcase/skipped)"), 2);
	ck_assert_double_eq(number(document, "count(//testcase/error)"), 3);
	ck_assert_double_eq(number(document, "number(//testsuite/@tests)"), 8);
	ck_assert_double_eq(number(document, "number(//testsuite/@failures)"), 2);
	ck_assert_double_eq(number(document, "number(//testsuite/@errors)"), 3);
	ck_assert_double_eq(number(document, "number(//testsuite/@skipped)"), 2);
	ck_assert_double_eq(number(document, "count(//script)"), 0);
	xmlFreeDoc(document);
}
END_TEST

/* What stands between two marks, the marks themselves left out. The caller frees. */
static char *between(const char *bytes, const char *from, const char *to)
{
	const char *start = strstr(bytes, from), *end;

	ck_assert_msg(start != NULL, "no %s", from);
	start += strlen(from);
	end = strstr(start, to);
	ck_assert_msg(end != NULL, "no %s", to);
	return strndup(start, (size_t)(end - start));
}

START_TEST(html)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_HTML });
	CLEANUP_FREE char *policy = between(bytes, "Content-Security-Policy\" content=\"", "\">");
	CLEANUP_FREE char *style = between(bytes, "<style>", "</style>");
	CLEANUP_FREE char *body = between(bytes, "</head>", "<script>");
	htmlDocPtr document =
		htmlReadMemory(bytes, (int)strlen(bytes), NULL, NULL,
			       HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);

	check_inert(body); /* all that is not of the program itself */
	ck_assert_ptr_nonnull(document);
	ck_assert_double_eq(number(document, "count(//noscript//td[1])"), 8);
	ck_assert_double_eq(number(document, "count(//script)"), 2);
	ck_assert_double_eq(number(document, "count(//script[@type='application/json'])"), 1);
	ck_assert_double_eq(number(document, "count(//style)"), 1);
	ck_assert_double_eq(number(document, "count(//*[@src or @href or @style])"), 0);
	ck_assert_ptr_eq(strstr(policy, "default-src 'none'; style-src 'sha256-"), policy);
	ck_assert_ptr_nonnull(strstr(policy, page_style.hash));
	ck_assert_ptr_nonnull(strstr(policy, page_script.hash));
	ck_assert_ptr_null(strstr(policy, "unsafe"));
	ck_assert_uint_eq(count_of(bytes, "<script"), 2);
	ck_assert_uint_eq(strlen(style), page_style.length);
	ck_assert(!memcmp(style, page_style.bytes, page_style.length));
	xmlFreeDoc(document);
}
END_TEST

/* The hostile cell's strings come out of the data as they are, and never were markup. */
START_TEST(html_data)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_HTML });
	CLEANUP_FREE char *text = between(bytes, "id=\"data\">", "</script>");
	json_t *data = json_loads(text, 0, NULL), *cells, *cell, *found = NULL;
	size_t i;

	ck_assert_ptr_nonnull(data);
	ck_assert_ptr_null(strpbrk(text, "<>&'"));
	cells = json_object_get(json_array_get(json_object_get(data, "runs"), 0), "cells");
	ck_assert_uint_eq(json_array_size(cells), 8);
	json_array_foreach(cells, i, cell) if (strstr(json_string_value(json_array_get(cell, 8)),
						      "script")) found = cell;
	ck_assert_ptr_nonnull(found);
	ck_assert_str_eq(json_string_value(json_array_get(found, 8)),
			 "\\x1b[2J<script>alert(1)</script>&\"'|`\\x0a# not ok");
	/* Eight cells of equal CPUs and hosts, but for what their verdicts bring along. */
	ck_assert_uint_eq(json_array_size(json_object_get(data, "hosts")), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(data, "lists")), 4);
	json_decref(data);
}
END_TEST

START_TEST(markdown)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_MARKDOWN });

	check_inert(bytes);
	ck_assert_ptr_eq(strstr(bytes, "### quirklab: not well\n"), bytes);
	ck_assert_ptr_null(strstr(bytes, "<script"));
	ck_assert_ptr_nonnull(strstr(bytes, "| **fail** | fail | GenuineIntel 6:85:4 | "));
	ck_assert_ptr_nonnull(
		strstr(bytes, "| mismatch | mismatch | GenuineIntel 6:85:4 | fsrs |\n"));
	ck_assert_ptr_null(strstr(bytes, "| pass"));
	/* Each row of the table has its four cells: no bar of a guest's gets through. */
	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
		size_t bars = 0;

		for (char *at = line; *line == '|' && *at; at++)
			bars += *at == '|' && (at == line || at[-1] != '\\');
		ck_assert(bars == 0 || bars == 5);
	}
}
END_TEST

START_TEST(table_plain)
{
	CLEANUP_FREE char *bytes = report((struct report_options){ .format = FORMAT_TABLE });
	const char *last;

	check_inert(bytes);
	ck_assert_ptr_nonnull(strstr(bytes, "GenuineIntel  1 pass  2 fail  1 mismatch"));
	ck_assert_ptr_nonnull(strstr(bytes, "\n  + pass "));
	ck_assert_ptr_nonnull(strstr(bytes, "\n  X fail "));
	ck_assert_ptr_nonnull(
		strstr(bytes, "      memset@llc\n        expected mov\n        says     movnti\n"));
	bytes[strlen(bytes) - 1] = '\0';
	last = strrchr(bytes, '\n');
	ck_assert_ptr_eq(strstr(last, "\n8 cells: 1 pass, "), last);
}
END_TEST

START_TEST(table_in_colour)
{
	CLEANUP_FREE char *bytes = report(
		(struct report_options){ .format = FORMAT_TABLE, .colour = true, .utf8 = true });

	ck_assert_ptr_nonnull(strstr(bytes, "\033[31;1m\xe2\x9c\x97 fail"));
	ck_assert_ptr_null(strstr(bytes, "\033[2J"));
	/* Whatever is switched on is switched off again. */
	ck_assert_uint_eq(count_of(bytes, "\033["), 2 * count_of(bytes, "\033[0m"));
}
END_TEST

START_TEST(formats_have_names)
{
	enum report_format format;

	for (int i = 0; i < FORMATS; i++) {
		ck_assert(report_format_find(report_format_name((enum report_format)i), &format));
		ck_assert_int_eq(format, i);
	}
	ck_assert(!report_format_find("xml", &format));
}
END_TEST

START_TEST(a_report_that_cannot_be_written_is_an_error)
{
	struct report_options options = { .format = FORMAT_JUNIT, .planned = 0, .width = 80 };
	struct summary summary = { 0 };
	struct error err = { 0 };
	FILE *out = fopen("/dev/full", "we");

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(reporter_close(reporter_open(&options, out), &summary, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "junit"));
	fclose(out);
}
END_TEST

/* --- the progress line
 * ----------------------------------------------------------------------------- */

static unsigned narrow(void)
{
	return 20;
}

static unsigned wide(void)
{
	return 80;
}

static char *show_progress(unsigned (*width)(void), bool colour)
{
	char *bytes = NULL;
	size_t length;
	FILE *out = open_memstream(&bytes, &length);
	struct progress *progress = progress_open(out, 100, 10, colour, width);

	progress_cell(progress, VERDICT_PASS);
	progress_hide(progress);
	progress_cell(progress, VERDICT_FAIL);
	progress_close(progress);
	progress_close(NULL);
	fclose(out);
	return bytes;
}

START_TEST(the_progress_line)
{
	CLEANUP_FREE char *bytes = show_progress(wide, false);

	ck_assert_ptr_eq(strstr(bytes, "\r\033[K10/100"), bytes);
	ck_assert_ptr_nonnull(strstr(bytes, "\r\033[K12/100  0:00 left  1 pass  1 fail"));
	/* Nothing of it stays. */
	ck_assert_str_eq(strrchr(bytes, '\r'), "\r\033[K");
	ck_assert_ptr_null(strchr(bytes, '\n'));
}
END_TEST

START_TEST(the_progress_line_fits)
{
	CLEANUP_FREE char *bytes = show_progress(narrow, true);

	for (char *part = strtok(bytes, "\r"); part; part = strtok(NULL, "\r")) {
		size_t columns = 0;

		for (char *at = part; *at; at++) {
			if (*at == '\033')
				at += strcspn(at, "Km");
			else
				columns++;
		}
		ck_assert_uint_lt(columns, 20);
	}
}
END_TEST

Suite *suite_report(void)
{
	Suite *suite = suite_create("report");
	TCase *record = tcase_create("record"), *summary = tcase_create("summary"),
	      *formats = tcase_create("formats"), *progress = tcase_create("progress");

	tcase_add_test(record, a_record_is_what_the_contract_says);
	tcase_add_test(record, what_is_written_is_read_alike);
	tcase_add_test(record, names_of_a_program_are_no_paths_of_a_record);
	tcase_add_test(record, hostile_strings_are_inert_in_a_record);
	tcase_add_test(record, what_is_no_record_is_refused);
	tcase_add_test(record, bounds_of_a_record_hold);
	suite_add_tcase(suite, record);
	tcase_add_test(summary, the_summary_of_the_contract);
	tcase_add_test(summary, the_summary_counts_what_never_ran);
	tcase_add_test(summary, reasons_are_named_once_and_bounded);
	suite_add_tcase(suite, summary);
	tcase_add_test(formats, tap);
	tcase_add_test(formats, tap_quotes_a_reason);
	tcase_add_test(formats, tap_of_a_run_that_was_cut_short);
	tcase_add_test(formats, json_lines);
	tcase_add_test(formats, junit);
	tcase_add_test(formats, html);
	tcase_add_test(formats, html_data);
	tcase_add_test(formats, markdown);
	tcase_add_test(formats, table_plain);
	tcase_add_test(formats, table_in_colour);
	tcase_add_test(formats, formats_have_names);
	tcase_add_test(formats, a_report_that_cannot_be_written_is_an_error);
	suite_add_tcase(suite, formats);
	tcase_add_test(progress, the_progress_line);
	tcase_add_test(progress, the_progress_line_fits);
	suite_add_tcase(suite, progress);
	return suite;
}
