// SPDX-License-Identifier: MIT
/* harness/plan: the plan, the results directory, and, with guests that are only acted, the
 * schedule. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/rack.h"
#include "harness/plan/groups.h"
#include "harness/plan/plan.h"
#include "harness/plan/shards.h"
#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

Suite *suite_plan(void);

static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
}

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

/* count CPUs cpu-0, cpu-1 ... of one family; those from `models` on are libvirt models. */
static void make_cpus(struct cpu_list *list, size_t count, size_t models)
{
	for (size_t i = 0; i < count; i++) {
		struct cpu *cpu = cpu_list_add(list);

		snprintf(cpu->name, sizeof(cpu->name), "cpu-%zu", i);
		strcpy(cpu->vendor, "GenuineIntel");
		cpu->family = 6;
		cpu->model = (unsigned)i;
		cpu->identity_known = true;
		if (i < models)
			continue;
		cpu->origin = CPU_MODEL;
		cpu->libvirt_model = xstrdup("qemu64");
	}
}

static void make_plan(struct plan *plan, struct cpu_list *list, size_t count)
{
	struct plan_options options = { .image = GUEST_BARE, .subject = "dispatch" };

	make_cpus(list, count, count);
	ck_assert_int_eq(plan_make(plan, list, &options, NULL), 0);
}

/* --- the plan ------------------------------------------------------------------------------------
 */

START_TEST(a_cell_for_each_cpu_in_order)
{
	struct plan_options options = { .image = GUEST_LINUX, .subject = "dispatch" };
	struct cpu_list list = { 0 };
	struct plan plan;

	make_cpus(&list, 3, 3);
	ck_assert_int_eq(plan_make(&plan, &list, &options, NULL), 0);
	ck_assert_uint_eq(plan.count, 3);
	ck_assert_str_eq(plan.cells[0].name, "cpu-0/linux/dispatch");
	ck_assert_str_eq(plan.cells[2].name, "cpu-2/linux/dispatch");
	ck_assert_ptr_eq(plan.cells[1].cpu, &list.cpus[1]);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(shards_are_a_partition)
{
	struct cpu_list list = { 0 };
	unsigned seen[10] = { 0 };

	make_cpus(&list, 10, 10);
	for (unsigned shard = 1; shard <= 3; shard++) {
		struct plan_options options = { .subject = "dispatch",
						.shard = shard,
						.shards = 3 };
		struct plan plan;

		ck_assert_int_eq(plan_make(&plan, &list, &options, NULL), 0);
		ck_assert_uint_eq(plan.count, shard == 1 ? 4 : 3);
		for (size_t i = 0; i < plan.count; i++)
			seen[plan.cells[i].cpu->model]++;
		plan_free(&plan);
	}
	for (size_t i = 0; i < 10; i++)
		ck_assert_uint_eq(seen[i], 1);
	cpu_list_free(&list);
}
END_TEST

/* 5 + 2, 4 + 3, 3 + 3: by hand, the dearest first, each to the shard that has the least. */
START_TEST(shards_cost_alike)
{
	static const double costs[] = { 3, 2, 5, 3, 4, 3 };
	static const unsigned expected[] = { 3, 1, 1, 3, 2, 2 };
	unsigned shard[6];

	shards_divide(shard, costs, 6, 3);
	for (size_t i = 0; i < 6; i++)
		ck_assert_uint_eq(shard[i], expected[i]);
}
END_TEST

START_TEST(equal_costs_are_dealt_round)
{
	static const double costs[] = { 1, 1, 1, 1, 1 };
	unsigned shard[5];

	shards_divide(shard, costs, 5, 2);
	for (size_t i = 0; i < 5; i++)
		ck_assert_uint_eq(shard[i], i % 2 + 1);
}
END_TEST

static int read_costs(double *costs, const struct cpu_list *list, const char *text,
		      struct error *err)
{
	CLEANUP_FREE char *path = in_folder("costs.tsv");
	int result;

	ck_assert_int_eq(file_write(path, text, strlen(text), NULL), 0);
	setenv("QUIRKLAB_MODELS", folder, 1);
	result = shards_costs(costs, list, "bare", "dispatch", err);
	unsetenv("QUIRKLAB_MODELS");
	return result;
}

/* A CPU's own row goes before that of libvirt's models, and that before the row of all; the rows of
 * other images and subjects are not meant. */
START_TEST(costs_by_name_kind_and_all)
{
	struct cpu_list list = { 0 };
	double costs[3];

	make_cpus(&list, 3, 2); /* the last one is a model of libvirt's */
	ck_assert_int_eq(read_costs(costs, &list,
				    "image\tsubject\tname\tseconds\n"
				    "linux\tdispatch\t*\t9\n"
				    "bare\tlinux\tcpu-1\t8\n"
				    "bare\tdispatch\tcpu-1\t0.5\n"
				    "bare\tdispatch\t*\t0.25\n"
				    "bare\tdispatch\tmodel:*\t3\n",
				    NULL),
			 0);
	ck_assert_double_eq(costs[0], 0.25);
	ck_assert_double_eq(costs[1], 0.5);
	ck_assert_double_eq(costs[2], 3);
	cpu_list_free(&list);
}
END_TEST

START_TEST(broken_costs_are_refused)
{
	static const char *const wrong[] = { "0", "-1", "x", "", "1s", "inf", "nan" };
	struct cpu_list list = { 0 };
	double costs[1];

	make_cpus(&list, 1, 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CLEANUP_FREE char *text = xasprintf("image\tsubject\tname\tseconds\n"
						    "bare\tdispatch\t*\t%s\n",
						    wrong[i]);
		struct error err = { 0 };

		ck_assert_int_eq(read_costs(costs, &list, text, &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_ptr_nonnull(strstr(err.text, "costs.tsv:2: seconds"));
	}
	cpu_list_free(&list);
}
END_TEST

START_TEST(more_shards_than_cells_leave_empty_plans)
{
	struct plan_options options = { .subject = "dispatch", .shard = 5, .shards = 5 };
	struct cpu_list list = { 0 };
	struct plan plan;

	make_cpus(&list, 4, 4);
	ck_assert_int_eq(plan_make(&plan, &list, &options, NULL), 0);
	ck_assert_uint_eq(plan.count, 0);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(two_cpus_of_one_name_are_refused)
{
	struct plan_options options = { .subject = "dispatch" };
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	struct plan plan;

	make_cpus(&list, 3, 3);
	strcpy(list.cpus[2].name, "cpu-0");
	ck_assert_int_eq(plan_make(&plan, &list, &options, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "'cpu-0'"));
	cpu_list_free(&list);
}
END_TEST

START_TEST(a_name_cannot_lead_out_of_the_results)
{
	static const char *const names[] = { "..", ".hidden", "a/b" };
	struct plan_options options = { .subject = "dispatch" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct cpu_list list = { 0 };
		struct error err = { 0 };
		struct plan plan;

		make_cpus(&list, 1, 1);
		strcpy(list.cpus[0].name, names[i]);
		ck_assert_int_eq(plan_make(&plan, &list, &options, &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		cpu_list_free(&list);
	}
}
END_TEST

/* A CPU that has the bits, or not, by name ("-smep"). */
static void add_bits(struct cpu *cpu, const char *const *bits)
{
	for (; *bits; bits++) {
		const char *name = **bits == '-' ? *bits + 1 : *bits;
		int index = feature_find(name);

		ck_assert_msg(index >= 0, "no bit is named %s", name);
		feature_put(&cpu->known, index, true);
		feature_put(&cpu->on, index, **bits != '-');
	}
}

/*
 * A program's CPUs share a Linux guest where the kernel sees the same: whatever the dispatch bits
 * and avx2 are. Not those of another vendor, with SMEP, with XSAVE, nor a libvirt model. rtm is
 * never presented to a Linux guest, so that it divides nothing; avx512f is neither. One with
 * MONITOR boots alone.
 */
START_TEST(groups_of_linux)
{
	static const char *const bits[][4] = { { "erms", NULL },
					       { "clwb", "avx2", NULL },
					       { "smep", NULL },
					       { "xsave", "xsaveopt", NULL },
					       { "rtm", "avx512f", NULL },
					       { NULL },
					       { "erms", NULL },
					       { "monitor", NULL },
					       { NULL } };
	static const unsigned expected[] = { 1, 1, 2, 3, 1, 4, 0, 0, 0 };
	const struct hypervisor hypervisor = { .qemu_version = 7002 };
	const struct hypervisor *const hypervisors[] = { &hypervisor };
	struct plan_options options = {
		.image = GUEST_LINUX, .kind = SUBJECT_PROGRAM, .subject = "p", .pack = 32
	};
	CLEANUP_FREE unsigned *group = xcalloc(9, sizeof(*group));
	struct cpu_list list = { 0 };
	struct plan plan = { 0 };
	struct error err = { 0 };

	make_cpus(&list, 9, 8);
	for (size_t i = 0; i < 9; i++) {
		strcpy(list.cpus[i].vendor, i == 5 ? "AuthenticAMD" : "GenuineIntel");
		add_bits(&list.cpus[i], bits[i]);
	}
	ck_assert_int_eq(plan_make(&plan, &list, &options, &err), 0);
	plan.cells[6].finished = true;
	ck_assert_uint_eq(groups_make(group, &plan, &options, hypervisors, 1), 4);
	for (size_t i = 0; i < 9; i++)
		ck_assert_msg(group[i] == expected[i], "cell %zu is in group %u", i, group[i]);
	/* All bare ones can share a guest; a kernel that is itself the subject shares none. */
	options.image = GUEST_BARE;
	ck_assert_uint_eq(groups_make(group, &plan, &options, hypervisors, 1), 1);
	options.image = GUEST_LINUX;
	options.kind = SUBJECT_KERNEL;
	ck_assert_uint_eq(groups_make(group, &plan, &options, hypervisors, 1), 0);
	options.kind = SUBJECT_PROGRAM;
	options.pack = 1;
	ck_assert_uint_eq(groups_make(group, &plan, &options, hypervisors, 1), 0);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(groups_name_bits)
{
	for (size_t i = 0; rack_linux_bits[i]; i++)
		ck_assert_msg(feature_find(rack_linux_bits[i]) >= 0, "no bit is named %s",
			      rack_linux_bits[i]);
}
END_TEST

/* 100 and 7 at 32: 4 and 1 guests; with two workers the larger group makes one more. */
START_TEST(groups_divide)
{
	const size_t sizes[] = { 7, 100 };
	size_t guests[2];

	groups_split(guests, sizes, 2, 32, 16, 1);
	ck_assert_uint_eq(guests[0], 1);
	ck_assert_uint_eq(guests[1], 4);
	groups_split(guests, sizes, 2, 32, 16, 2);
	ck_assert_uint_eq(guests[0], 1);
	ck_assert_uint_eq(guests[1], 5);
	/* No guest of fewer than 25: there are 5 for 4 workers. */
	groups_split(guests, sizes, 2, 32, 25, 4);
	ck_assert_uint_eq(guests[1], 4);
}
END_TEST

/* Of one group; a guest costs as much as 4 CPUs. */
static size_t split_one(size_t cells, size_t pack, size_t workers)
{
	size_t guests = 77;

	groups_split(&guests, &cells, 1, pack, 4, workers);
	return guests;
}

START_TEST(racks_divide_evenly)
{
	/* 280 cells at 32 are 9 racks; with two workers 10, so that neither waits for the other. */
	ck_assert_uint_eq(split_one(280, 32, 1), 9);
	ck_assert_uint_eq(split_one(280, 32, 2), 10);
	ck_assert_uint_eq(split_one(280, 32, 4), 12);
	ck_assert_uint_eq(split_one(20, 32, 2), 2);
	ck_assert_uint_eq(split_one(5, 32, 2),
			  1); /* two racks of 2 and 3 cost more than one of 5 */
	ck_assert_uint_eq(split_one(40, 32, 64), 10);
	ck_assert_uint_eq(split_one(1, 32, 2), 1);
	ck_assert_uint_eq(split_one(0, 32, 2), 0);
	ck_assert_uint_eq(split_one(33, 32, 1), 2);
}
END_TEST

/* --- the results directory
 * ------------------------------------------------------------------------ */

static struct cell_result *make_result(const char *run, const char *cell, enum verdict verdict)
{
	struct cell_result *result = xcalloc(1, sizeof(*result));

	snprintf(result->run, sizeof(result->run), "%s", run);
	snprintf(result->cell, sizeof(result->cell), "%s", cell);
	strcpy(result->name, "cpu-0");
	strcpy(result->vendor, "GenuineIntel");
	strcpy(result->image, "bare");
	strcpy(result->subject, "dispatch");
	result->verdict = verdict;
	result->tries = 1;
	return result;
}

static void add_result(struct results *results, const char *cell)
{
	CLEANUP_FREE struct cell_result *result =
		make_result(results_run(results), cell, VERDICT_PASS);

	ck_assert_int_eq(results_add(results, result, NULL), 0);
}

static size_t count_lines(const char *path)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t length, lines = 0;

	ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &length, NULL), 0);
	for (size_t i = 0; i < length; i++)
		lines += bytes[i] == '\n';
	ck_assert(length == 0 || bytes[length - 1] == '\n');
	return lines;
}

START_TEST(the_plan_is_there_before_any_result)
{
	CLEANUP_FREE char *path = in_folder("a/b"), *plan_path = in_folder("a/b/plan.jsonl");
	struct cpu_list list = { 0 };
	struct results *results;
	struct plan plan;

	make_plan(&plan, &list, 3);
	results = results_open(path, false, &plan, NULL);
	ck_assert_ptr_nonnull(results);
	ck_assert_uint_eq(count_lines(plan_path), 3);
	ck_assert_str_eq(results_path(results), path);
	ck_assert_uint_gt(strlen(results_run(results)), 0);
	results_close(results);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(a_dated_folder_and_latest)
{
	struct cpu_list list = { 0 };
	struct results *first, *second;
	struct plan plan;
	char link[64] = "";

	ck_assert_int_eq(chdir(folder), 0);
	make_plan(&plan, &list, 1);
	first = results_open(NULL, false, &plan, NULL);
	second = results_open(NULL, false, &plan, NULL); /* within the same second */
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_nonnull(second);
	ck_assert_str_ne(results_path(first), results_path(second));
	ck_assert_int_gt(readlink("results/latest", link, sizeof(link) - 1), 0);
	ck_assert_str_eq(link, strchr(results_path(second), '/') + 1);
	results_close(first);
	results_close(second);
	ck_assert_int_eq(chdir("/"), 0);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(two_runs_never_share_a_folder)
{
	CLEANUP_FREE char *path = in_folder("r");
	struct cpu_list list = { 0 };
	struct results *results;
	struct error err = { 0 };
	struct plan plan;

	make_plan(&plan, &list, 1);
	results = results_open(path, false, &plan, NULL);
	ck_assert_ptr_null(results_open(path, true, &plan, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "another run"));
	results_close(results);
	/* Nor one after the other, unless it is said. */
	ck_assert_ptr_null(results_open(path, false, &plan, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "--resume"));
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

static void count_results(void *context, const struct cell_result *result)
{
	(void)result;
	++*(size_t *)context;
}

START_TEST(a_torn_line_is_cut_and_the_rest_resumed)
{
	CLEANUP_FREE char *path = in_folder("r"), *records = in_folder("r/results.jsonl");
	struct cpu_list list = { 0 };
	struct results *results;
	struct plan plan;
	size_t count = 0;
	char run[64];
	FILE *file;

	make_plan(&plan, &list, 3);
	results = results_open(path, false, &plan, NULL);
	strcpy(run, results_run(results));
	add_result(results, "cpu-1/bare/dispatch");
	results_close(results);
	file = fopen(records, "ae");
	fputs("{\"schema\":1,\"run\":\"to", file);
	fclose(file);

	results = results_open(path, true, &plan, NULL);
	ck_assert_ptr_nonnull(results);
	ck_assert_str_eq(results_run(results), run);
	ck_assert(!plan.cells[0].finished);
	ck_assert(plan.cells[1].finished);
	ck_assert_int_eq(results_each(results, count_results, &count, NULL), 0);
	ck_assert_uint_eq(count, 1);
	add_result(results, "cpu-0/bare/dispatch");
	results_close(results);
	ck_assert_uint_eq(count_lines(records), 2);

	/* Nothing of the torn line is left in front of what came after it. */
	results = results_open(path, true, &plan, NULL);
	ck_assert_ptr_nonnull(results);
	ck_assert(plan.cells[0].finished);
	ck_assert(!plan.cells[2].finished);
	results_close(results);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(another_plan_is_not_resumed)
{
	CLEANUP_FREE char *path = in_folder("r");
	struct cpu_list list = { 0 }, other_list = { 0 };
	struct plan plan, other;
	struct error err = { 0 };

	make_plan(&plan, &list, 3);
	make_plan(&other, &other_list, 3);
	results_close(results_open(path, false, &plan, NULL));
	/* The same name with another bit is another cell. */
	feature_put(&other_list.cpus[1].on, feature_find("erms"), true);
	ck_assert_ptr_null(results_open(path, true, &other, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "plan.jsonl:2:"));
	plan_free(&plan);
	plan_free(&other);
	cpu_list_free(&list);
	cpu_list_free(&other_list);
}
END_TEST

/* Cells that ran in guests of another kind are no part of this run. */
START_TEST(another_way_to_boot_is_not_resumed)
{
	CLEANUP_FREE char *path = in_folder("r");
	const struct plan_options short_boot = { .image = GUEST_LINUX, .subject = "linux" };
	struct plan_options others[] = { short_boot, short_boot, short_boot, short_boot,
					 short_boot };
	struct cpu_list list = { 0 };
	struct results *same;
	struct plan plan;

	others[0].full_boot = true;
	others[1].append = "nopti";
	others[2].words = "memmap=16M!16M";
	others[3].own_kernel = "/boot/vmlinuz-other";
	others[4].own_libc = "other.deb";
	make_plan(&plan, &list, 1);
	plan_free(&plan);
	ck_assert_int_eq(plan_make(&plan, &list, &short_boot, NULL), 0);
	results_close(results_open(path, false, &plan, NULL));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct error err = { 0 };
		struct plan other;

		ck_assert_int_eq(plan_make(&other, &list, &others[i], NULL), 0);
		ck_assert_ptr_null(results_open(path, true, &other, &err));
		ck_assert_ptr_nonnull(strstr(err.text, "plan.jsonl:1: the plan of another run"));
		plan_free(&other);
	}
	same = results_open(path, true, &plan, NULL);
	ck_assert_ptr_nonnull(same);
	results_close(same);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(what_is_no_record_is_named_by_its_line)
{
	CLEANUP_FREE char *path = in_folder("r"), *records = in_folder("r/results.jsonl");
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	struct results *results;
	struct plan plan;
	FILE *file;

	make_plan(&plan, &list, 2);
	results = results_open(path, false, &plan, NULL);
	add_result(results, "cpu-1/bare/dispatch");
	results_close(results);
	file = fopen(records, "ae");
	fputs("{\"schema\":2}\n", file);
	fclose(file);
	ck_assert_ptr_null(results_open(path, true, &plan, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "results.jsonl:2"));
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

/* A record may be there once, of this run and its plan: anything else would be counted as a cell.
 */
START_TEST(records_that_are_none_of_the_run)
{
	static const struct {
		const char *run, *cell, *error; /* NULL: the run's own name */
	} rows[] = {
		{ NULL, "cpu-1/bare/dispatch", "r/results.jsonl:2: a second record of" },
		{ NULL, "cpu-9/bare/dispatch", "r/results.jsonl:2: the plan has no cell" },
		{ "20000101-000000", "cpu-0/bare/dispatch", "r/results.jsonl:2: the record of an" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_FREE char *path = in_folder("r");
		CLEANUP_FREE struct cell_result *stray = NULL;
		struct cpu_list list = { 0 };
		struct error err = { 0 };
		struct results *results;
		struct plan plan;

		make_plan(&plan, &list, 2);
		results = results_open(path, false, &plan, NULL);
		ck_assert_ptr_nonnull(results);
		add_result(results, "cpu-1/bare/dispatch");
		stray = make_result(rows[i].run ? rows[i].run : results_run(results), rows[i].cell,
				    VERDICT_PASS);
		ck_assert_int_eq(results_add(results, stray, NULL), 0);
		results_close(results);
		ck_assert_ptr_null(results_open(path, true, &plan, &err));
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_ptr_nonnull(strstr(err.text, rows[i].error));
		ck_assert_int_eq(folder_remove(path, NULL), 0);
		plan_free(&plan);
		cpu_list_free(&list);
	}
}
END_TEST

START_TEST(nothing_to_resume)
{
	CLEANUP_FREE char *path = in_folder("r");
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	struct plan plan;

	make_plan(&plan, &list, 1);
	ck_assert_ptr_null(results_open(path, true, &plan, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_int_ne(access(path, F_OK), 0);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(a_full_disk_keeps_whole_records)
{
	CLEANUP_FREE char *path = in_folder("r"), *records = in_folder("r/results.jsonl");
	CLEANUP_FREE struct cell_result *result = make_result("1", "cpu-1/bare/dispatch", 0);
	struct rlimit limit;
	struct cpu_list list = { 0 };
	struct results *results;
	struct error err = { 0 };
	struct plan plan;
	struct stat st;

	make_plan(&plan, &list, 2);
	results = results_open(path, false, &plan, NULL);
	add_result(results, "cpu-0/bare/dispatch");
	ck_assert_int_eq(stat(records, &st), 0);
	/* A size limit in the middle of the next record stands for the full disk. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = (rlim_t)st.st_size + 100;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(results_add(results, result, &err), -1);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "results.jsonl"));
	results_close(results);
	ck_assert_uint_eq(count_lines(records), 1);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

START_TEST(a_rack_keeps_one_copy_of_its_logs)
{
	static const char *const cells[] = { "cpu-0/bare/dispatch", "cpu-1/bare/dispatch" };
	CLEANUP_FREE char *path = in_folder("r");
	CLEANUP_FREE char *one = in_folder("r/cells/cpu-0/bare/dispatch/console.log");
	CLEANUP_FREE char *two = in_folder("r/cells/cpu-1/bare/dispatch/console.log");
	CLEANUP_FREE char *try = in_folder("r/cells/cpu-0/bare/dispatch/try-1/report.log");
	struct guest_result guest = { 0 };
	struct cpu_list list = { 0 };
	struct stat first, second;
	struct results *results;
	struct plan plan;

	make_plan(&plan, &list, 2);
	results = results_open(path, false, &plan, NULL);
	text_addf(&guest.console, "hello");
	ck_assert_int_eq(results_logs(results, cells, 2, NULL, &guest, NULL), 0);
	ck_assert_int_eq(stat(one, &first), 0);
	ck_assert_int_eq(stat(two, &second), 0);
	ck_assert_uint_eq(first.st_ino, second.st_ino);
	/* One cell's next log leaves its neighbour's alone. */
	text_addf(&guest.console, ", again");
	ck_assert_int_eq(results_logs(results, cells, 1, NULL, &guest, NULL), 0);
	ck_assert_int_eq(results_logs(results, cells, 1, "try-1", &guest, NULL), 0);
	ck_assert_int_eq(stat(one, &first), 0);
	ck_assert_int_eq(stat(two, &second), 0);
	ck_assert_int_eq(first.st_size, 12);
	ck_assert_int_eq(second.st_size, 5);
	ck_assert_int_eq(access(try, F_OK), 0);
	text_free(&guest.console);
	results_close(results);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

/* A guest whose cells are tried again is in no record: its folder says how it ended. */
START_TEST(how_an_earlier_guest_ended_is_kept)
{
	static const char *const cells[] = { "cpu-0/bare/dispatch" };
	CLEANUP_FREE char *path = in_folder("r");
	CLEANUP_FREE char *end = in_folder("r/cells/cpu-0/bare/dispatch/rack/end.log");
	CLEANUP_FREE char *last = in_folder("r/cells/cpu-0/bare/dispatch/end.log");
	CLEANUP_FREE char *quiet = in_folder("r/cells/cpu-0/bare/dispatch/full/end.log");
	struct guest_result guest = { .reason = "libvirt refuses" }, finished = { 0 };
	struct cpu_list list = { 0 };
	struct results *results;
	struct plan plan;
	struct stat st;

	make_plan(&plan, &list, 1);
	results = results_open(path, false, &plan, NULL);
	ck_assert_int_eq(results_logs(results, cells, 1, "rack", &guest, NULL), 0);
	ck_assert_int_eq(results_logs(results, cells, 1, "full", &finished, NULL), 0);
	ck_assert_int_eq(results_logs(results, cells, 1, NULL, &guest, NULL), 0);
	ck_assert_int_eq(stat(end, &st), 0);
	ck_assert_int_eq(st.st_size, sizeof("libvirt refuses\n") - 1);
	ck_assert_int_lt(access(last, F_OK), 0);
	ck_assert_int_lt(access(quiet, F_OK), 0);
	results_close(results);
	plan_free(&plan);
	cpu_list_free(&list);
}
END_TEST

/* --- the schedule, with acted guests (the linker puts these in place of the real ones)
 * ------------- */

struct act {
	enum guest_end end; /* what a guest with a bad CPU ends with */
	unsigned bad_model; /* the CPU that is bad; 999: none */
	unsigned bad_times; /* how many of its guests end badly */
	unsigned guests, racks, alone, most_at_once, at_once;
	size_t largest;
	const char *flags[2]; /* of a kernel after a full boot, after a short one; NULL: it is no
				 subject */
	pthread_mutex_t lock;
};
static struct act *act;

void __real_guest_boot(struct connection *connection, const struct guest_request *request,
		       struct guest_result *result);
void __wrap_guest_boot(struct connection *connection, const struct guest_request *request,
		       struct guest_result *result);
const struct hypervisor *__real_connection_hypervisor(const struct connection *connection);
const struct hypervisor *__wrap_connection_hypervisor(const struct connection *connection);
const char *__real_connection_qemu_text(const struct connection *connection);
const char *__wrap_connection_qemu_text(const struct connection *connection);
const char *__real_connection_libvirt_text(const struct connection *connection);
const char *__wrap_connection_libvirt_text(const struct connection *connection);

const struct hypervisor *__wrap_connection_hypervisor(const struct connection *connection)
{
	static const struct hypervisor hypervisor = { .qemu_version = 7002,
						      .libvirt_version = 9000000 };

	return act ? &hypervisor : __real_connection_hypervisor(connection);
}

const char *__wrap_connection_qemu_text(const struct connection *connection)
{
	return act ? "7.2" : __real_connection_qemu_text(connection);
}

const char *__wrap_connection_libvirt_text(const struct connection *connection)
{
	return act ? "9.0" : __real_connection_libvirt_text(connection);
}

static uint32_t crc32(const uint8_t *bytes, size_t length)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	return ~crc;
}

static void feed(struct report_reader *reader, uint8_t kind, uint16_t cpu, const void *payload,
		 uint16_t length)
{
	uint8_t frame[64] = { 'Q', 'L', REPORT_VERSION, kind, (uint8_t)length, 0, (uint8_t)cpu, 0 };
	uint32_t crc;

	memcpy(frame + REPORT_HEADER_SIZE, payload, length);
	crc = crc32(frame, REPORT_HEADER_SIZE + length);
	memcpy(frame + REPORT_HEADER_SIZE + length, &crc, sizeof(crc));
	ck_assert_uint_eq(report_feed(reader, frame, REPORT_HEADER_SIZE + length + 4), 1);
}

static void act_flags(struct report_reader *reader, uint16_t cpu, const char *flags)
{
	uint8_t fact[48] = { REPORT_FACT_FLAGS, 0 };

	snprintf((char *)fact + 2, sizeof(fact) - 2, "%s", flags);
	feed(reader, REPORT_FACT, cpu, fact, (uint16_t)(2 + strlen(flags)));
}

/* A CPU that reports its vendor and its signature, and nothing else; or its kernel's FLAGS. */
static void act_cpu(struct report_reader *reader, uint16_t cpu, const char *flags)
{
	static const uint8_t start[] = { 0, 0, 0, 0, 0 }, done[] = { 1 };
	static const uint8_t leaf1[] = { 0x01, 1, 0x50, 0x06, 0x05, 0x00 };
	static const uint8_t leaf0[] = { 0x0f, 0,   13,	 0,   0,   0,	'G', 'e', 'n',
					 'u',  'n', 't', 'e', 'l', 'i', 'n', 'e', 'I' };

	feed(reader, REPORT_START, cpu, start, sizeof(start));
	feed(reader, REPORT_CPUID, cpu, leaf0, sizeof(leaf0));
	feed(reader, REPORT_CPUID, cpu, leaf1, sizeof(leaf1));
	if (flags)
		act_flags(reader, cpu, flags);
	feed(reader, REPORT_DONE, cpu, done, sizeof(done));
}

/* model=N among a CPU's properties */
static unsigned model_of(const struct realised *cpu)
{
	for (size_t i = 0; i < cpu->property_count; i++)
		if (!strcmp(cpu->property[i].name, "model"))
			return (unsigned)strtoul(cpu->property[i].value, NULL, 0);
	return 998;
}

void __wrap_guest_boot(struct connection *connection, const struct guest_request *request,
		       struct guest_result *result)
{
	const bool brief = request->cmdline && strstr(request->cmdline, "initcall_blacklist=");
	uint16_t count[2] = { 0 };

	if (!act) {
		__real_guest_boot(connection, request, result);
		return;
	}
	pthread_mutex_lock(&act->lock);
	act->guests++;
	act->racks += request->rack;
	act->alone += !request->rack;
	act->largest = request->cpu_count > act->largest ? request->cpu_count : act->largest;
	act->at_once++;
	act->most_at_once = act->at_once > act->most_at_once ? act->at_once : act->most_at_once;
	pthread_mutex_unlock(&act->lock);
	usleep(2000);

	memset(result, 0, sizeof(*result));
	result->reader = report_reader_new(request->cpu_count + 1);
	result->create = result->guest = (double)request->cpu_count;
	result->end = GUEST_FINISHED;
	pthread_mutex_lock(&act->lock);
	for (size_t i = 0; i < request->cpu_count && result->end == GUEST_FINISHED; i++) {
		if (model_of(request->cpus[i]) == act->bad_model && act->bad_times) {
			act->bad_times--;
			result->end = act->end;
			strcpy(result->reason, "acted");
		} else {
			act_cpu(result->reader, (uint16_t)(request->rack ? i + 1 : 0),
				act->flags[brief]);
		}
	}
	if (result->end == GUEST_FINISHED)
		feed(result->reader, REPORT_END, 0, count, 2);
	act->at_once--;
	pthread_mutex_unlock(&act->lock);
}

struct audience {
	size_t cells, stop_after;
	unsigned tries[64], pack[64];
	enum verdict verdict[64];
	char reason[64][64];
	double total[64];
	char boot[64][8];
};

static void on_cell(void *context, const struct cell_result *result)
{
	struct audience *audience = context;

	audience->cells++;
	audience->tries[result->model] = result->tries;
	audience->pack[result->model] = result->pack;
	audience->verdict[result->model] = result->verdict;
	snprintf(audience->reason[result->model], 64, "%.60s", result->reason);
	audience->total[result->model] = result->seconds.total;
	if (result->kernel_seen)
		strcpy(audience->boot[result->model], result->kernel_seen->boot);
}

static bool on_stop(void *context)
{
	const struct audience *audience = context;

	return audience->stop_after && audience->cells >= audience->stop_after;
}

/* Runs `count` cells in a new results folder; returns what schedule_run did. */
static int play(struct act *actors, struct audience *audience, size_t count, size_t models,
		struct plan_options options, struct error *err)
{
	CLEANUP_FREE char *path = in_folder("r"), *records = in_folder("r/results.jsonl");
	const struct schedule_events events = { audience, on_cell, on_stop };
	struct connection *connections[] = { NULL };
	struct cpu_list list = { 0 };
	struct results *results;
	struct plan plan;
	int result;

	options.subject = "dispatch";
	options.timeout_scale = 1;
	make_cpus(&list, count, models);
	ck_assert_int_eq(plan_make(&plan, &list, &options, NULL), 0);
	results = results_open(path, false, &plan, NULL);
	ck_assert_ptr_nonnull(results);
	pthread_mutex_init(&actors->lock, NULL);
	act = actors;
	result = schedule_run(&plan, &options, connections, 1, results, &events, err);
	act = NULL;
	results_close(results);
	ck_assert_uint_eq(count_lines(records), audience->cells);
	plan_free(&plan);
	cpu_list_free(&list);
	return result;
}

START_TEST(racks_carry_all_cells)
{
	struct act actors = { .bad_model = 999 };
	struct audience audience = { 0 };
	struct error err = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 20, 20,
			      (struct plan_options){ .jobs = 2, .pack = 8 }, &err),
			 0);
	ck_assert_uint_eq(audience.cells, 20);
	ck_assert_uint_eq(actors.racks, 4); /* 3 would do, 4 keep both workers busy */
	ck_assert_uint_eq(actors.alone, 0);
	ck_assert_uint_eq(actors.largest, 5);
	ck_assert_uint_le(actors.most_at_once, 2);
	ck_assert_uint_eq(audience.pack[7], 5);
	/* create + guest are 5 s each for the rack: 2 s for each of its cells. */
	ck_assert_double_eq_tol(audience.total[7], 2, 1e-9);
}
END_TEST

START_TEST(pack_of_one_gives_everybody_a_guest)
{
	struct act actors = { .bad_model = 999 };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 6, 6,
			      (struct plan_options){ .jobs = 3, .pack = 1 }, NULL),
			 0);
	ck_assert_uint_eq(actors.alone, 6);
	ck_assert_uint_eq(actors.racks, 0);
	ck_assert_uint_eq(audience.pack[0], 1);
}
END_TEST

START_TEST(libvirt_models_boot_alone)
{
	struct act actors = { .bad_model = 999 };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 10, 8,
			      (struct plan_options){ .jobs = 1, .pack = 32 }, NULL),
			 0);
	ck_assert_uint_eq(audience.cells, 10);
	ck_assert_uint_eq(actors.racks, 1);
	ck_assert_uint_eq(actors.largest, 8);
	ck_assert_uint_eq(actors.alone, 2);
}
END_TEST

START_TEST(a_rack_that_dies_is_no_verdict)
{
	struct act actors = { .end = GUEST_CRASHED, .bad_model = 3, .bad_times = 1 };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 8, 8,
			      (struct plan_options){ .jobs = 1, .pack = 8 }, NULL),
			 0);
	ck_assert_uint_eq(audience.cells, 8);
	ck_assert_uint_eq(actors.racks, 1);
	ck_assert_uint_eq(actors.alone, 5); /* those that the rack had not reported: 3 to 7 */
	ck_assert_uint_eq(audience.pack[2], 8);
	ck_assert_uint_eq(audience.pack[3], 1);
	ck_assert_uint_eq(audience.tries[3], 1); /* alone is its first try */
	ck_assert_int_ne(audience.verdict[3], VERDICT_CRASHED);
}
END_TEST

START_TEST(only_the_one_that_kills_racks_is_blamed)
{
	struct act actors = { .end = GUEST_CRASHED, .bad_model = 3, .bad_times = 99 };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 8, 8,
			      (struct plan_options){ .jobs = 2, .pack = 8 }, NULL),
			 0);
	ck_assert_uint_eq(audience.cells, 8);
	ck_assert_int_eq(audience.verdict[3], VERDICT_CRASHED);
	ck_assert_str_eq(audience.reason[3], "acted");
	ck_assert_uint_eq(audience.tries[3], 2);
	for (size_t i = 0; i < 8; i++)
		if (i != 3)
			ck_assert_int_ne(audience.verdict[i], VERDICT_CRASHED);
}
END_TEST

START_TEST(a_hang_is_tried_twice_and_told)
{
	struct act actors = { .end = GUEST_HUNG, .bad_model = 0, .bad_times = 99 };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 1, 1,
			      (struct plan_options){ .jobs = 1, .pack = 1 }, NULL),
			 0);
	ck_assert_uint_eq(actors.guests, 2);
	ck_assert_int_eq(audience.verdict[0], VERDICT_HUNG);
	ck_assert_uint_eq(audience.tries[0], 2);
	ck_assert_uint_eq(audience.cells, 1);
}
END_TEST

START_TEST(the_second_try_may_be_well)
{
	struct act actors = { .end = GUEST_ERROR, .bad_model = 0, .bad_times = 1 };
	struct audience audience = { 0 };
	CLEANUP_FREE char *log = in_folder("r/cells/cpu-0/bare/dispatch/try-1/console.log");

	ck_assert_int_eq(play(&actors, &audience, 1, 1,
			      (struct plan_options){ .jobs = 1, .pack = 1 }, NULL),
			 0);
	ck_assert_int_ne(audience.verdict[0], VERDICT_ERROR);
	ck_assert_uint_eq(audience.tries[0], 2);
	ck_assert_int_eq(access(log, F_OK), 0);
}
END_TEST

START_TEST(stopping_keeps_what_is_there)
{
	struct act actors = { .bad_model = 999 };
	struct audience audience = { .stop_after = 2 };
	struct error err = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 10, 10,
			      (struct plan_options){ .jobs = 1, .pack = 1 }, &err),
			 -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_uint_eq(audience.cells, 2);
	ck_assert_ptr_nonnull(strstr(err.text, "8 cells have no result"));
}
END_TEST

START_TEST(an_interrupted_guest_has_no_record)
{
	struct act actors = { .end = GUEST_INTERRUPTED, .bad_model = 1, .bad_times = 1 };
	struct audience audience = { 0 };
	struct error err = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 3, 3,
			      (struct plan_options){ .jobs = 1, .pack = 1 }, &err),
			 -1);
	ck_assert_uint_eq(audience.cells, 1);
	ck_assert_uint_eq(actors.guests, 2);
}
END_TEST

static const struct plan_options kernel_options = {
	.jobs = 2, .pack = 1, .image = GUEST_LINUX, .kind = SUBJECT_KERNEL
};

/* The cells 0 and 32 of 33 are booted in full as well. */
START_TEST(a_sample_of_short_boots_is_compared)
{
	struct act actors = { .bad_model = 999, .flags = { " fpu erms", " fpu erms" } };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 33, 33, kernel_options, NULL), 0);
	ck_assert_uint_eq(actors.guests, 35);
	for (size_t i = 0; i < 33; i++) {
		ck_assert_str_eq(audience.boot[i], i % 32 ? "short" : "both");
		ck_assert_int_ne(audience.verdict[i], VERDICT_ERROR);
		ck_assert_uint_eq(audience.tries[i], 1);
	}
	/* Two guests, each of a second to create and one to run. */
	ck_assert_double_eq(audience.total[32], 4);
	ck_assert_double_eq(audience.total[31], 2);
}
END_TEST

START_TEST(a_short_boot_that_is_unlike_a_full_one_is_an_error)
{
	struct act actors = { .bad_model = 999, .flags = { " fpu erms", " fpu" } };
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 2, 2, kernel_options, NULL), 0);
	ck_assert_uint_eq(actors.guests, 3);
	ck_assert_int_eq(audience.verdict[0], VERDICT_ERROR);
	ck_assert_str_eq(audience.reason[0],
			 "a short boot does not tell what a full one does: the flags f");
	ck_assert_str_eq(audience.boot[0], "short");
	ck_assert_int_ne(audience.verdict[1], VERDICT_ERROR);
}
END_TEST

START_TEST(full_boots_are_not_compared)
{
	struct act actors = { .bad_model = 999, .flags = { " fpu", " erms" } };
	struct audience audience = { 0 };
	struct plan_options options = kernel_options;

	options.full_boot = true;
	ck_assert_int_eq(play(&actors, &audience, 2, 2, options, NULL), 0);
	ck_assert_uint_eq(actors.guests, 2);
	ck_assert_str_eq(audience.boot[0], "full");
}
END_TEST

/* The short boot dies: the second try is full, and there is nothing to compare it with. */
START_TEST(a_second_try_is_full)
{
	struct act actors = {
		.end = GUEST_HUNG, .bad_model = 0, .bad_times = 1, .flags = { " fpu", " fpu" }
	};
	struct audience audience = { 0 };

	ck_assert_int_eq(play(&actors, &audience, 1, 1, kernel_options, NULL), 0);
	ck_assert_uint_eq(actors.guests, 2);
	ck_assert_uint_eq(audience.tries[0], 2);
	ck_assert_str_eq(audience.boot[0], "full");
}
END_TEST

Suite *suite_plan(void)
{
	Suite *suite = suite_create("plan");
	TCase *plan = tcase_create("plan"), *costs = tcase_create("costs"),
	      *results = tcase_create("results"), *schedule = tcase_create("schedule");

	tcase_add_test(plan, a_cell_for_each_cpu_in_order);
	tcase_add_test(plan, shards_are_a_partition);
	tcase_add_test(plan, shards_cost_alike);
	tcase_add_test(plan, equal_costs_are_dealt_round);
	tcase_add_test(plan, more_shards_than_cells_leave_empty_plans);
	tcase_add_test(plan, two_cpus_of_one_name_are_refused);
	tcase_add_test(plan, a_name_cannot_lead_out_of_the_results);
	tcase_add_test(plan, racks_divide_evenly);
	tcase_add_test(plan, groups_of_linux);
	tcase_add_test(plan, groups_name_bits);
	tcase_add_test(plan, groups_divide);
	suite_add_tcase(suite, plan);

	tcase_add_checked_fixture(costs, make_folder, remove_folder);
	tcase_add_test(costs, costs_by_name_kind_and_all);
	tcase_add_test(costs, broken_costs_are_refused);
	suite_add_tcase(suite, costs);
	tcase_add_checked_fixture(results, make_folder, remove_folder);
	tcase_add_test(results, the_plan_is_there_before_any_result);
	tcase_add_test(results, a_dated_folder_and_latest);
	tcase_add_test(results, two_runs_never_share_a_folder);
	tcase_add_test(results, a_torn_line_is_cut_and_the_rest_resumed);
	tcase_add_test(results, another_plan_is_not_resumed);
	tcase_add_test(results, another_way_to_boot_is_not_resumed);
	tcase_add_test(results, what_is_no_record_is_named_by_its_line);
	tcase_add_test(results, records_that_are_none_of_the_run);
	tcase_add_test(results, nothing_to_resume);
	tcase_add_test(results, a_full_disk_keeps_whole_records);
	tcase_add_test(results, a_rack_keeps_one_copy_of_its_logs);
	tcase_add_test(results, how_an_earlier_guest_ended_is_kept);
	suite_add_tcase(suite, results);

	tcase_add_checked_fixture(schedule, make_folder, remove_folder);
	tcase_set_timeout(schedule, 30);
	tcase_add_test(schedule, racks_carry_all_cells);
	tcase_add_test(schedule, pack_of_one_gives_everybody_a_guest);
	tcase_add_test(schedule, libvirt_models_boot_alone);
	tcase_add_test(schedule, a_rack_that_dies_is_no_verdict);
	tcase_add_test(schedule, only_the_one_that_kills_racks_is_blamed);
	tcase_add_test(schedule, a_hang_is_tried_twice_and_told);
	tcase_add_test(schedule, the_second_try_may_be_well);
	tcase_add_test(schedule, stopping_keeps_what_is_there);
	tcase_add_test(schedule, an_interrupted_guest_has_no_record);
	tcase_add_test(schedule, a_sample_of_short_boots_is_compared);
	tcase_add_test(schedule, a_short_boot_that_is_unlike_a_full_one_is_an_error);
	tcase_add_test(schedule, full_boots_are_not_compared);
	tcase_add_test(schedule, a_second_try_is_full);
	suite_add_tcase(suite, schedule);
	return suite;
}
