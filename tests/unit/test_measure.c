// SPDX-License-Identifier: MIT
/* harness/measure: what may be said of few samples, and that runs are made and disturbed ones
 * thrown away. */
#include <check.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

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

START_TEST(quantiles_lie_between_samples)
{
	double one[] = { 3 }, four[] = { 8, 2, 6, 4 }, five[] = { 5, 1, 4, 2, 3 };

	ck_assert_double_eq(statistics_quantile(one, 1, 0.75), 3);
	ck_assert_double_eq_tol(statistics_quantile(four, 4, 0.75), 6.5, 1e-12);
	ck_assert_double_eq(statistics_quantile(five, 5, 0.75), 4);
	ck_assert_double_eq(statistics_quantile(five, 5, 1), 5);
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

#define CELLS_MOST 2

static void point_to(struct measured **to, struct measured *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = &cells[i];
}

static bool make_pass(struct measure *measure, struct measured *cells, size_t count,
		      const struct measure_stop *stop)
{
	struct measured *pointers[CELLS_MOST];

	point_to(pointers, cells, count);
	return measure_pass(measure, pointers, count, stop);
}

static void sum_up(struct measured *cells, size_t count, unsigned runs)
{
	struct measured *pointers[CELLS_MOST];

	point_to(pointers, cells, count);
	measure_sum(pointers, count, runs);
}

/* Until each cell has its runs, or so many passes were made. */
static void measure_all(struct measure *measure, struct measured *cells, size_t count,
			unsigned runs, unsigned passes_most)
{
	for (unsigned pass = 0; pass < passes_most; pass++) {
		bool enough = true;

		ck_assert(make_pass(measure, cells, count, NULL));
		sum_up(cells, count, runs);
		for (size_t i = 0; i < count; i++)
			enough &= cells[i].runs == runs && !cells[i].noisy;
		if (enough)
			return;
	}
}

START_TEST(every_round_is_made_unit_by_unit)
{
	static const struct measured_path path = {
		.operation = "op", .path = "path", .work = count_call, .unit = 4096
	};
	struct measure_options options = {
		.threads = 1, .bytes = 65536, .pages = MEASURE_PAGES_SMALL, .sample_seconds = 1e-9
	};
	struct measured cell = { .path = &path, .bytes = 65536, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	measure_all(measure, &cell, 1, 5, 50);
	measure_close(measure);
	/* 16 units a round; the first slice finds how many rounds make one, here 1, and how many
	 * slices a pass, here 1. Each pass is two rounds, the first of which is not counted. */
	ck_assert_uint_eq(cell.slice_count, cell.passes);
	ck_assert_uint_eq(calls, 2 * 16 * (1 + cell.passes));
	ck_assert_uint_eq(last_bytes, 4096);
	ck_assert_uint_ge(cell.passes, 5);
	ck_assert(cell.runs == 5 || cell.noisy);
	for (size_t i = 0; i < cell.runs; i++)
		ck_assert_double_gt(cell.gb_per_s[i], 0);
	measured_free(&cell);
}
END_TEST

static size_t unseen_bytes;

static void count_bytes(void *to, const void *from, size_t bytes)
{
	(void)to;
	(void)from;
	unseen_bytes = calls++ ? unseen_bytes : bytes;
}

/* Of what is larger than the cache, the part that may still be there; else all, and as often as
 * the caches need unless the path goes past them. */
START_TEST(what_is_not_counted_fills_the_cache)
{
	static const struct {
		size_t bytes, cache, rounds, each;
		bool past_cache;
	} rows[] = {
		{ 65536, 16384, 1, 16384, false },
		{ 65536, 16384, 1, 16384, true },
		{ 16384, 65536, 4, 16384, false },
		{ 16384, 65536, 1, 16384, true },
		{ 65536, 98304, 1, 65536, false },
		{ 65536, 0, 1, 65536, false }, /* nobody says how large it is */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct measured_path path = { .work = count_bytes,
						    .past_cache = rows[i].past_cache };
		struct measure_options options = { .threads = 1,
						   .bytes = 65536,
						   .cache = rows[i].cache,
						   .sample_seconds = 1e-12 };
		struct measured cell = { .path = &path, .bytes = rows[i].bytes, .threads = 1 };
		struct measure *measure = measure_open(&options, NULL);

		ck_assert_ptr_nonnull(measure);
		calls = 0;
		ck_assert(make_pass(measure, &cell, 1, NULL));
		measure_close(measure);
		/* To find out how long it takes, then for the slice: what is not counted, and one
		 * round. */
		ck_assert_uint_eq(calls, 2 * (rows[i].rounds + 1));
		ck_assert_uint_eq(unseen_bytes, rows[i].each);
		measured_free(&cell);
	}
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

/* One slice in five or ten is slow, which no run shows. Noise only makes it slower, so on a busy
 * machine most runs show what the path does, if not all. */
START_TEST(a_run_is_as_fast_as_most_of_its_slices)
{
	static const struct measured_path path = { .work = mostly_fast };
	struct measure_options options = { .threads = 1, .bytes = 4096, .sample_seconds = 0.001 };
	struct measured cell = { .path = &path, .bytes = 4096, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);
	size_t fast = 0;

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	measure_all(measure, &cell, 1, 5, 50);
	measure_close(measure);
	ck_assert_uint_ge(cell.passes, 5);
	for (size_t i = 0; i < cell.runs; i++) {
		ck_assert_double_le(cell.gb_per_s[i], 4096 / 0.001 * 1e-9);
		fast += cell.gb_per_s[i] > 4096 / 0.003 * 1e-9;
	}
	ck_assert(cell.noisy || 2 * fast > cell.runs);
	measured_free(&cell);
}
END_TEST

static void sleep_a_little(void *to, const void *from, size_t bytes)
{
	(void)to;
	(void)from;
	(void)bytes;
	usleep(1000);
}

/* What sleeps has lost the CPU: three times as many slices as are wanted, none of which counts. */
START_TEST(disturbed_slices_are_made_again)
{
	static const struct measured_path path = { .work = sleep_a_little };
	struct measure_options options = { .threads = 1, .bytes = 4096, .sample_seconds = 0.002 };
	struct measured cell = { .path = &path, .bytes = 4096, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	measure_all(measure, &cell, 1, 1, 1);
	measure_close(measure);
	/* One on a machine so busy that a slice took twice as long as it should. */
	ck_assert_uint_eq(cell.slice_count, cell.per_pass > 1 ? 3 * cell.per_pass : 1);
	for (size_t i = 0; i < cell.slice_count; i++)
		ck_assert(cell.slices[i].lost);
	ck_assert(cell.noisy);
	ck_assert_uint_eq(cell.disturbed, 1);
	measured_free(&cell);
}
END_TEST

/* --- runs out of slices
 * ------------------------------------------------------------------------------------
 */

/* Two slices a pass, 2 and 4 GB/s more than ten times the pass; pace 1. */
static void fill_cell(struct measured *cell, struct measured_slice *slices, unsigned passes)
{
	for (unsigned pass = 0; pass < passes; pass++) {
		struct measured_slice slice = { .gb_per_s = 10 * pass + 2,
						.pace = 1,
						.pass = pass };

		slices[2 * pass] = slice;
		slice.gb_per_s += 2;
		slices[2 * pass + 1] = slice;
	}
	*cell = (struct measured){ .passes = passes,
				   .per_pass = 2,
				   .rounds = 1,
				   .slices = slices,
				   .slice_count = 2 * passes };
}

/* Passes 0 and 5 make run 0: of 2, 4, 52 and 54 the upper quartile is 52.5. */
START_TEST(passes_belong_to_the_runs_in_turn)
{
	struct measured_slice slices[14];
	struct measured cell;

	fill_cell(&cell, slices, 7);
	sum_up(&cell, 1, 5);
	ck_assert(!cell.noisy);
	ck_assert_uint_eq(cell.runs, 5);
	ck_assert_uint_eq(cell.disturbed, 0);
	ck_assert_double_eq_tol(cell.gb_per_s[0], 52.5, 1e-9);
	ck_assert_double_eq_tol(cell.gb_per_s[1], 62.5, 1e-9);
	ck_assert_double_eq_tol(cell.gb_per_s[2], 23.5, 1e-9);
	ck_assert_double_eq_tol(cell.gb_per_s[4], 43.5, 1e-9);
}
END_TEST

/* Pass 1 lost both slices, pass 2 one, pass 3 ran both on a slow CPU: 1 and 3 are thrown away, and
 * of 2 the other slice counts. What is slow shows in another cell's pace. */
START_TEST(disturbed_passes_are_thrown_away)
{
	struct measured_slice slices[14], other[14];
	struct measured cells[2];

	fill_cell(&cells[0], slices, 7);
	fill_cell(&cells[1], other, 7);
	slices[2].lost = slices[3].lost = slices[5].lost = true;
	slices[6].pace = slices[7].pace = 0.7;
	sum_up(cells, 2, 5);
	ck_assert(!cells[0].noisy);
	ck_assert_uint_eq(cells[0].disturbed, 2);
	ck_assert_uint_eq(cells[0].runs, 5);
	ck_assert_double_eq_tol(cells[0].gb_per_s[1], 22, 1e-9);
	ck_assert_double_eq_tol(cells[0].gb_per_s[2], 43.5, 1e-9);
	ck_assert_double_eq_tol(cells[0].gb_per_s[4], 63.5, 1e-9);
	ck_assert_uint_eq(cells[1].disturbed, 0);
	/* All the same if the best pace was the other cell's. */
	for (size_t i = 0; i < 14; i++)
		slices[i].pace = 0.7;
	sum_up(cells, 2, 5);
	ck_assert(cells[0].noisy);
	ck_assert_uint_eq(cells[0].disturbed, 7);
	ck_assert(!cells[1].noisy);
}
END_TEST

/* Until there was time for as many passes as runs, nothing is noisy. */
START_TEST(what_was_cut_short_is_not_noisy)
{
	struct measured_slice slices[8];
	struct measured cell;

	fill_cell(&cell, slices, 4);
	slices[0].lost = slices[1].lost = true;
	sum_up(&cell, 1, 5);
	ck_assert(!cell.noisy);
	ck_assert_uint_eq(cell.runs, 3);
	ck_assert_double_eq_tol(cell.gb_per_s[0], 13.5, 1e-9);
}
END_TEST

/* Four quiet passes of seven are too few for five runs: then all seven are shown as they were. */
START_TEST(what_is_noisy_shows_every_pass)
{
	double passes[STATISTICS_SAMPLES_MAX];
	struct measured_slice slices[14];
	struct measured cell;

	fill_cell(&cell, slices, 7);
	for (size_t i = 0; i < 6; i++)
		slices[i].lost = true;
	sum_up(&cell, 1, 5);
	ck_assert(cell.noisy);
	ck_assert_uint_eq(cell.disturbed, 3);
	ck_assert_uint_eq(cell.runs, 7);
	ck_assert_uint_eq(measure_passes(passes, &cell, true), 4);
	ck_assert_double_eq_tol(passes[0], 33.5, 1e-9);
	ck_assert_double_eq_tol(passes[3], 63.5, 1e-9);
	ck_assert_uint_eq(measure_passes(passes, &cell, false), 7);
	for (size_t i = 0; i < 7; i++) {
		ck_assert_double_eq_tol(cell.gb_per_s[i], 10 * (double)i + 3.5, 1e-9);
		ck_assert_double_eq(passes[i], cell.gb_per_s[i]);
	}
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

/* A pass is one slice here, of two rounds: "aabb" and "bbaa" are the two orders of a pass, nine of
 * which are made at least, and the seed is always the same. */
START_TEST(the_order_of_the_paths_changes)
{
	static const struct measured_path paths[] = { { .work = note_a }, { .work = note_b } };
	struct measure_options options = { .threads = 1, .bytes = 4096, .sample_seconds = 1e-9 };
	struct measured cells[] = { { .path = &paths[0], .bytes = 4096, .threads = 1 },
				    { .path = &paths[1], .bytes = 4096, .threads = 1 } };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	measure_all(measure, cells, 2, 9, 1); /* with rounds that say how many make a slice */
	sequence_length = 0;
	measure_all(measure, cells, 2, 9, 50);
	measure_close(measure);
	sequence[sequence_length] = '\0';
	ck_assert_ptr_nonnull(strstr(sequence, "aaaa"));
	ck_assert_ptr_nonnull(strstr(sequence, "bbbb"));
	measured_free(&cells[0]);
	measured_free(&cells[1]);
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
	static const struct measure_stop stop = { .asked = at_once };
	struct measured cell = { .path = &path, .bytes = 4096, .threads = 1 };
	struct measure *measure = measure_open(&options, NULL);

	ck_assert_ptr_nonnull(measure);
	calls = 0;
	ck_assert(!make_pass(measure, &cell, 1, &stop));
	sum_up(&cell, 1, 5);
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
	tcase_add_test(statistics, quantiles_lie_between_samples);
	tcase_add_test(statistics, the_interval_is_that_of_the_published_tables);
	tcase_add_test(statistics, four_and_four_are_too_few);
	tcase_add_test(statistics, conclusions);
	tcase_add_test(statistics, overlap_is_seen);
	suite_add_tcase(suite, statistics);
	tcase_add_test(statistics, passes_belong_to_the_runs_in_turn);
	tcase_add_test(statistics, disturbed_passes_are_thrown_away);
	tcase_add_test(statistics, what_was_cut_short_is_not_noisy);
	tcase_add_test(statistics, what_is_noisy_shows_every_pass);
	tcase_add_test(runs, every_round_is_made_unit_by_unit);
	tcase_add_test(runs, what_is_not_counted_fills_the_cache);
	tcase_add_test(runs, a_run_is_as_fast_as_most_of_its_slices);
	tcase_add_test(runs, disturbed_slices_are_made_again);
	tcase_add_test(runs, the_order_of_the_paths_changes);
	tcase_add_test(runs, it_stops_when_it_is_told_to);
	tcase_add_test(runs, taking_memory_stops_when_it_is_told_to);
	tcase_add_test(runs, more_threads_than_cpus_are_refused);
	tcase_set_timeout(runs, 60); /* a busy machine */
	suite_add_tcase(suite, runs);
	return suite;
}
