// SPDX-License-Identifier: MIT
/* Runs the Check suites: unit [SUITE...]. The last line is Check's own. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(name) Suite *suite_##name(void);
#include UNIT_SUITES
#undef SUITE

static const struct {
	const char *name;
	Suite *(*make)(void);
} suites[] = {
#define SUITE(name) { #name, suite_##name },
#include UNIT_SUITES
#undef SUITE
};
#define SUITES (sizeof(suites) / sizeof(*suites))

static int add(SRunner *runner, const char *name)
{
	for (size_t i = 0; i < SUITES; i++) {
		if (name && strcmp(suites[i].name, name))
			continue;
		srunner_add_suite(runner, suites[i].make());
		if (name)
			return 0;
	}
	if (!name)
		return 0;
	fprintf(stderr, "unit: no suite '%s'; there are:", name);
	for (size_t i = 0; i < SUITES; i++)
		fprintf(stderr, " %s", suites[i].name);
	fprintf(stderr, "\n");
	return -1;
}

static void print_failures(SRunner *runner)
{
	int count = srunner_ntests_failed(runner);
	TestResult **results = srunner_failures(runner);

	for (int i = 0; i < count; i++)
		printf("%s:%d: %s: %s\n", tr_lfile(results[i]), tr_lno(results[i]),
		       tr_tcname(results[i]), tr_msg(results[i]));
	free(results);
}

int main(int argc, char **argv)
{
	SRunner *runner = srunner_create(NULL);
	int failed = 0;

	if (argc < 2)
		failed = add(runner, NULL);
	for (int i = 1; i < argc && failed == 0; i++)
		failed = add(runner, argv[i]);
	if (failed < 0) {
		srunner_free(runner);
		return 2;
	}
	srunner_run_all(runner, CK_SILENT);
	print_failures(runner);
	fflush(stdout);
	srunner_print(runner, CK_MINIMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
