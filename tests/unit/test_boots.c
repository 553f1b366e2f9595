// SPDX-License-Identifier: MIT
/* harness/judge/boots.c: what differs between a short boot and a full one is named. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/boots.h"
#include "harness/util/text.h"

Suite *suite_boots(void);

static struct cell_result *sides[2];
static char what[400];

static void make_sides(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct cell_result *side = sides[i] = xcalloc(1, sizeof(*side));
		struct cell_kernel *kernel = side->kernel_seen = xcalloc(1, sizeof(*kernel));

		strcpy(side->picks[0].operation, "memset");
		strcpy(side->picks[0].class, "any");
		strcpy(side->picks[0].row, "memset_erms");
		strcpy(side->picks[0].does, "rep-stosb");
		side->pick_count = 1;
		strcpy(kernel->flags, " fpu erms");
		strcpy(kernel->vulnerabilities[0].name, "mds");
		strcpy(kernel->vulnerabilities[0].text, "Not affected");
		kernel->vulnerability_count = 1;
		strcpy(kernel->sites[0].name, "clear_page_erms");
		kernel->sites[0].count = 32;
		kernel->site_count = 1;
	}
}

static void free_sides(void)
{
	for (size_t i = 0; i < 2; i++) {
		cell_result_free(sides[i]);
		free(sides[i]);
	}
}

static void differ(const char *expected)
{
	ck_assert(!boots_agree(what, sizeof(what), sides[0], sides[1]));
	ck_assert_str_eq(what, expected);
}

START_TEST(alike)
{
	ck_assert(boots_agree(what, sizeof(what), sides[0], sides[1]));
	/* A flag's place in the list is the kernel's; blanks are not. */
	strcpy(sides[1]->kernel_seen->flags, "fpu  erms ");
	ck_assert(boots_agree(what, sizeof(what), sides[0], sides[1]));
}
END_TEST

START_TEST(another_pick)
{
	strcpy(sides[1]->picks[0].row, "memset_orig");
	differ("memset@any: 'memset_erms' after a short boot, 'memset_orig' after a full one");
	strcpy(sides[1]->picks[0].row, "memset_erms");
	strcpy(sides[1]->picks[0].does, "mov");
	differ("memset@any: 'rep-stosb' after a short boot, 'mov' after a full one");
	sides[1]->pick_count = 0;
	differ("how many picks: '1' after a short boot, '0' after a full one");
}
END_TEST

START_TEST(another_flag)
{
	strcpy(sides[0]->kernel_seen->flags, " fpu");
	differ("the flags from here on: '' after a short boot, 'erms' after a full one");
}
END_TEST

START_TEST(another_defence)
{
	strcpy(sides[0]->kernel_seen->vulnerabilities[0].text, "Vulnerable");
	differ("mds: 'Vulnerable' after a short boot, 'Not affected' after a full one");
	sides[0]->kernel_seen->vulnerability_count = 0;
	differ("how many vulnerabilities: '0' after a short boot, '1' after a full one");
}
END_TEST

START_TEST(another_count_of_calls)
{
	sides[1]->kernel_seen->sites[0].count = 31;
	differ("calls of clear_page_erms: '32' after a short boot, '31' after a full one");
}
END_TEST

START_TEST(nothing_shown)
{
	free(sides[1]->kernel_seen);
	sides[1]->kernel_seen = NULL;
	differ("what the kernel showed: 'there' after a short boot, 'not there' after a full one");
}
END_TEST

Suite *suite_boots(void)
{
	Suite *suite = suite_create("boots");
	TCase *compare = tcase_create("compare");

	tcase_add_checked_fixture(compare, make_sides, free_sides);
	tcase_add_test(compare, alike);
	tcase_add_test(compare, another_pick);
	tcase_add_test(compare, another_flag);
	tcase_add_test(compare, another_defence);
	tcase_add_test(compare, another_count_of_calls);
	tcase_add_test(compare, nothing_shown);
	suite_add_tcase(suite, compare);
	return suite;
}
