/* SPDX-License-Identifier: MIT */
/* Few samples, and what may be said of them. */
#ifndef QUIRKLAB_HARNESS_MEASURE_STATISTICS_H
#define QUIRKLAB_HARNESS_MEASURE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#define STATISTICS_SAMPLES_MAX 64

struct statistics {
	size_t count;
	double mean, median, least, most;
	double stddev; /* of the population: divided by count */
};
/* count: 1..STATISTICS_SAMPLES_MAX; the order of the samples does not matter. */
void statistics_of(struct statistics *out, const double *samples, size_t count);

/* share: 0..1, such as 0.75 for the upper quartile; between two samples, in proportion. Sorts them;
 * there is at least one. */
double statistics_quantile(double *samples, size_t count, double share);

/* How many times as much as the reference. */
struct comparison {
	double ratio; /* the median of the ratios of all pairs (Hodges and Lehmann's estimate) */
	double low, high; /* its confidence interval */
	bool overlap;	  /* some sample of one lies among those of the other */
};

/*
 * The confidence interval is that of the Mann-Whitney test, from the exact distribution of U: no
 * assumption about the samples but that both sets have the same shape. All samples are above 0.
 * False where there are too few for `confidence` (5 and 5 suffice for 0.99).
 */
bool statistics_compare(struct comparison *out, const double *samples, size_t count,
			const double *reference, size_t reference_count, double confidence);

/* What a comparison allows to say. */
enum conclusion {
	CONCLUSION_GOOD,      /* faster */
	CONCLUSION_BAD,	      /* slower */
	CONCLUSION_SAME,      /* any difference is too small to matter */
	CONCLUSION_UNCERTAIN, /* the runs do not tell */
	CONCLUSION_NOISY,     /* something disturbed the runs */
	CONCLUSIONS
};
const char *conclusion_name(enum conclusion conclusion); /* "good", "bad", "no difference" ... */

/*
 * Faster or slower: the samples do not overlap, and the whole interval is beyond `margin` (0.05:
 * five percent). The same: the whole interval lies within the margin, so that no difference is
 * both, in two measurements. Else uncertain.
 */
enum conclusion statistics_conclude(const struct comparison *comparison, double margin);

#endif
