// SPDX-License-Identifier: MIT
/* harness/measure: what may be said of few samples, and that runs are made and disturbed ones
 * thrown away. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "harness/measure/measure.h"
#include "harness/measure/noise.h"
#include "harness/util/clock.h"

Suite *suite_measure(void);

/* --- statistics
 * ------------------------------------------------------------------------------------
 */

START_TEST(mean_median_and_population_stddev)
{
	static const double odd[] = { 9, 1, 5 }, even[] = { 4, 2, 4, 4, 5, 5, 7, 9 };
	struct statistics statistics;

	statistics_of(&statistics, odd, 3);
	ck_assert_double_eq(statistics.median, 5);
	ck_assert_double_eq(statistics.least, 1);
	ck_assert_double_eq(statistics.most, 9);
	/* The textbook's eight numbers: mean 5, squares 32, 32 / 8 = 4. */
	statistics_of(&statistics, even, 8);
	ck_assert_double_eq_tol(statistics.mean, 5, 1e-12);
	ck_assert_double_eq_tol(statistics.stddev, 2, 1e-12);
	ck_assert_double_eq(statistics.median, 4.5);
}
END_TEST

/* The reference is 1 throughout, so each sample stands for as many equal ratios as there are
 * references: the interval's ends show how many were left out. */
static bool compare_with_ones(struct comparison *out, size_t count, double confidence)
{
	double samples[STATISTICS_SAMPLES_MAX], ones[STATISTICS_SAMPLES_MAX];

	for (size_t i = 0; i < count; i++) {
		samples[i] = (double)(count - i);
		ones[i] = 1;
	}
	return statistics_compare(out, samples, count, ones, count, confidence);
}

/*
 * Critical values of U, two-sided, from the published tables of the Mann-Whitney test: 8 and 8 at
 * 0.05: 13; 10 and 10 at 0.01: 16; 5 and 5 at 0.01: 0. One more than that is left out at each end:
 * the 14th of 64 ratios is 2, the 17th of 100 is 2, the first of 25 is 1.
 */
START_TEST(the_interval_is_that_of_the_published_tables)
{
	struct comparison comparison;

	ck_assert(compare_with_ones(&comparison, 8, 0.95));
	ck_assert_double_eq(comparison.low, 2);
	ck_assert_double_eq(comparison.high, 7);
	ck_assert(compare_with_ones(&comparison, 10, 0.99));
	ck_assert_double_eq(comparison.low, 2);
	ck_assert_double_eq(comparison.high, 9);
	ck_assert_double_eq(comparison.ratio, 5.5);
	ck_assert(compare_with_ones(&comparison, 5, 0.99));
	ck_assert_double_eq(comparison.low, 1);
	ck_assert_double_eq(comparison.high, 5);
}
END_TEST

/* 2 / C(8, 4) = 0.029 of all orders are as extreme as can be, which is more than 0.01. */
START_TEST(four_and_four_are_too_few)
{
	struct comparison comparison;

	ck_assert(!compare_with_ones(&comparison, 4, 0.99));
	ck_assert(compare_with_ones(&comparison, 4, 0.97));
}
END_TEST

START_TEST(conclusions)
{
	static const struct {
		double ratio, low, high;
		bool overlap;
		enum conclusion conclusion;
	} rows[] = {
		{ 1.20, 1.06, 1.30, false, CONCLUSION_GOOD },
		{ 1.20, 1.06, 1.30, true, CONCLUSION_UNCERTAIN }, /* never from overlapping runs */
		{ 1.20, 1.04, 1.30, false, CONCLUSION_UNCERTAIN },
		{ 0.80, 0.70, 0.94, false, CONCLUSION_BAD },
		{ 0.80, 0.70, 0.94, true, CONCLUSION_UNCERTAIN },
		{ 0.80, 0.70, 0.96, false, CONCLUSION_UNCERTAIN },
		{ 1.00, 0.96, 1.04, true, CONCLUSION_SAME },
		{ 1.00, 0.92, 1.04, true, CONCLUSION_UNCERTAIN },
		{ 0.93, 0.92, 0.96, false, CONCLUSION_UNCERTAIN }, /* some would call it bad */
		{ 1.03, 1.02, 1.04, false, CONCLUSION_SAME },
		{ 1.00, 0.85, 1.08, true, CONCLUSION_UNCERTAIN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct comparison comparison = { rows[i].ratio, rows[i].low, rows[i].high,
						 rows[i].overlap };

		ck_assert_msg(statistics_conclude(&comparison, 0.05) == rows[i].conclusion,
			      "row %zu", i);
	}
}
END_TEST

START_TEST(overlap_is_seen)
{
	static const double low[] = { 1, 2, 3, 4, 5 }, touching[] = { 5, 6, 7, 8, 9 },
			    high[] = { 6, 7, 8, 9, 10 };
	struct comparison comparison;

	ck_assert(statistics_compare(&comparison, high, 5, low, 5, 0.99));
	ck_assert(!comparison.overlap);
	ck_assert(statistics_compare(&comparison, touching, 5, low, 5, 0.99));
	ck_assert(comparison.overlap);
}
END_TEST

/* --- measuring
 * ------------------------------------------------------------------------------------
 */

static size_t calls, last_bytes;

static void count_call(void *to, const void *from, size_t bytes)
{
	(void)from;
	memset(to, 1, 64);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	last_bytes = bytes;
}

START_TEST(every_run_is_made_unit_by_unit)
{
	static const struct measured_path path = {
		.operation = "op", .path = "path", .work = count_call, .unit = 4096
	};
	struct measure_options options = {
		.threads = 1, .bytes = 65536, .pages = MEASURE_PAGES_SMALL, .sample_seconds = 1e-9
	};
	static const struct measure_effort effort = { .runs = 5, .slices = 1 };
	struct measured cell = { .path = &path, .bytes = 65536, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	ck_assert_int_eq(measure_cells(measure, &cell, 1, &effort, NULL), 0);
	measure_close(measure);
	/* 16 units a round; the first run finds how many rounds make one, here 1. Each run is two
	 * rounds, the first of which is not counted. */
	ck_assert_uint_eq(calls, 2 * 16 * (1 + cell.runs + cell.disturbed));
	ck_assert_uint_eq(last_bytes, 4096);
	ck_assert(cell.runs == 5 || cell.noisy);
	for (size_t i = 0; i < cell.runs; i++)
		ck_assert_double_gt(cell.gb_per_s[i], 0);
}
END_TEST

/* A millisecond each, but every tenth call ten of them. */
static void mostly_fast(void *to, const void *from, size_t bytes)
{
	double end = clock_seconds() + (++calls % 10 ? 0.001 : 0.010);

	(void)to;
	(void)from;
	(void)bytes;
	while (clock_seconds() < end)
		;
}

/* One slice in five is slow (each has a round that is not counted), which no run shows. Noise only
 * makes it slower, so on a busy machine most runs show what the path does, if not all. */
START_TEST(a_run_is_the_median_of_its_slices)
{
	static const struct measured_path path = { .work = mostly_fast };
	static const struct measure_effort effort = { .runs = 5, .slices = 3 };
	struct measure_options options = { .threads = 1, .bytes = 4096, .sample_seconds = 0.001 };
	struct measured cell = { .path = &path, .bytes = 4096, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);
	size_t slices, fast = 0;

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	ck_assert_int_eq(measure_cells(measure, &cell, 1, &effort, NULL), 0);
	measure_close(measure);
	/* One, three or five, times three; two calls each; and one slice to find that out. */
	slices = (calls - 2) / 2;
	ck_assert_uint_eq(slices % (3 * (cell.runs + cell.disturbed)), 0);
	ck_assert_uint_eq(slices / (3 * (cell.runs + cell.disturbed)) % 2, 1);
	for (size_t i = 0; i < cell.runs; i++) {
		ck_assert_double_le(cell.gb_per_s[i], 4096 / 0.001 * 1e-9);
		fast += cell.gb_per_s[i] > 4096 / 0.003 * 1e-9;
	}
	ck_assert(cell.noisy || 2 * fast > cell.runs);
}
END_TEST

static char sequence[512];
static size_t sequence_length;

static void note(char who)
{
	if (sequence_length < sizeof(sequence) - 1)
		sequence[sequence_length++] = who;
}

static void note_a(void *to, const void *from, size_t bytes)
{
	mostly_fast(to, from, bytes);
	note('a');
}

static void note_b(void *to, const void *from, size_t bytes)
{
	mostly_fast(to, from, bytes);
	note('b');
}

/* A run is one slice here, of two rounds: "aabb" and "bbaa" are the two orders of a turn, nine of
 * which are made at least, and the seed is always the same. */
START_TEST(the_order_of_the_paths_changes)
{
	static const struct measured_path paths[] = { { .work = note_a }, { .work = note_b } };
	static const struct measure_effort effort = { .runs = 9, .slices = 1 };
	struct measure_options options = { .threads = 1, .bytes = 4096, .sample_seconds = 1e-9 };
	struct measured cells[] = { { .path = &paths[0], .bytes = 4096, .threads = 1 },
				    { .path = &paths[1], .bytes = 4096, .threads = 1 } };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	sequence_length = 0;
	ck_assert_int_eq(measure_cells(measure, cells, 2, &effort, NULL), 0);
	measure_close(measure);
	sequence[sequence_length] = '\0';
	ck_assert_ptr_nonnull(strstr(sequence, "aaaa"));
	ck_assert_ptr_nonnull(strstr(sequence, "bbbb"));
}
END_TEST

static bool at_once(void *context)
{
	(void)context;
	return true;
}

START_TEST(it_stops_when_it_is_told_to)
{
	static const struct measured_path path = {
		.operation = "op", .path = "path", .work = count_call, .reads = true
	};
	struct measure_options options = {
		.threads = 1, .bytes = 4096, .reads = true, .sample_seconds = 1e-9
	};
	static const struct measure_effort effort = { .runs = 5, .slices = 1, .stop = at_once };
	struct measured cell = { .path = &path, .bytes = 4096, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	ck_assert_int_eq(measure_cells(measure, &cell, 1, &effort, NULL), 0);
	measure_close(measure);
	ck_assert_uint_eq(cell.runs, 0);
	ck_assert_uint_eq(calls, 0); /* not even to find how many rounds make a slice */
}
END_TEST

static bool at_third_time(void *context)
{
	unsigned *asked = context;

	return ++*asked == 3;
}

/* Memory that nobody has: it would take for ever. */
START_TEST(taking_memory_stops_when_it_is_told_to)
{
	unsigned asked = 0;
	struct measure_options options = {
		.threads = 1, .bytes = 1ul << 40, .stop = at_third_time, .context = &asked
	};
	struct error err = { 0 };

	ck_assert_ptr_null(measure_open(&options, &err));
	ck_assert_str_eq(err.text, "interrupted");
	ck_assert_uint_eq(asked, 3);
}
END_TEST

START_TEST(more_threads_than_cpus_are_refused)
{
	struct measure_options options = { .threads = MEASURE_THREADS_MAX, .bytes = 4096 };
	struct error err = { 0 };

	ck_assert_ptr_null(measure_open(&options, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "CPUs may be used"));
}
END_TEST

Suite *suite_measure(void)
{
	Suite *suite = suite_create("measure");
	TCase *statistics = tcase_create("statistics"), *runs = tcase_create("runs");

	tcase_add_test(statistics, mean_median_and_population_stddev);
	tcase_add_test(statistics, the_interval_is_that_of_the_published_tables);
	tcase_add_test(statistics, four_and_four_are_too_few);
	tcase_add_test(statistics, conclusions);
	tcase_add_test(statistics, overlap_is_seen);
	suite_add_tcase(suite, statistics);
	tcase_add_test(runs, every_run_is_made_unit_by_unit);
	tcase_add_test(runs, a_run_is_the_median_of_its_slices);
	tcase_add_test(runs, the_order_of_the_paths_changes);
	tcase_add_test(runs, it_stops_when_it_is_told_to);
	tcase_add_test(runs, taking_memory_stops_when_it_is_told_to);
	tcase_add_test(runs, more_threads_than_cpus_are_refused);
	tcase_set_timeout(runs, 60); /* a busy machine */
	suite_add_tcase(suite, runs);
	return suite;
}
