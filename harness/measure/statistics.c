// SPDX-License-Identifier: MIT
/* Few samples, and what may be said of them: Mann and Whitney's test and its interval. */
#include "harness/measure/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

static int ascending(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double quantile(const double *sorted, size_t count, double share)
{
	double place = share * (double)(count - 1);
	size_t below = (size_t)place, above = below + 1 < count ? below + 1 : below;

	return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

void statistics_of(struct statistics *out, const double *samples, size_t count)
{
	double sorted[STATISTICS_SAMPLES_MAX], squares = 0;

	memcpy(sorted, samples, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), ascending);
	*out = (struct statistics){ .count = count,
				    .median = quantile(sorted, count, 0.5),
				    .least = sorted[0],
				    .most = sorted[count - 1] };
	for (size_t i = 0; i < count; i++)
		out->mean += samples[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (samples[i] - out->mean) * (samples[i] - out->mean);
	out->stddev = sqrt(squares / (double)count);
}

double statistics_quantile(double *samples, size_t count, double share)
{
	qsort(samples, count, sizeof(*samples), ascending);
	return quantile(samples, count, share);
}

/*
 * How many of the ratios, from either end, the interval leaves out: the largest k with
 * 2 P(U < k) <= 1 - confidence. U's distribution when nothing differs: ways[u] orders of count and
 * other samples have U = u. Adding one sample at a time, it is the coefficients of the Gaussian
 * binomial, the product of (1 - q^(other + i)) / (1 - q^i).
 */
static size_t left_out(size_t count, size_t other, double confidence)
{
	size_t most = count * other;
	CLEANUP_FREE double *ways = xcalloc(most + 1, sizeof(*ways));
	double all = 0, tail = 0;

	ways[0] = 1;
	for (size_t i = 1; i <= count; i++) {
		for (size_t u = most; u >= other + i; u--)
			ways[u] -= ways[u - other - i];
		for (size_t u = i; u <= most; u++)
			ways[u] += ways[u - i];
	}
	for (size_t u = 0; u <= most; u++)
		all += ways[u];
	for (size_t k = 0; k <= most; k++) {
		tail += ways[k];
		if (2 * tail > (1 - confidence) * all)
			return k;
	}
	return most;
}

bool statistics_compare(struct comparison *out, const double *samples, size_t count,
			const double *reference, size_t reference_count, double confidence)
{
	size_t pairs = count * reference_count, k = 0;
	CLEANUP_FREE double *ratios = xcalloc(pairs + 1, sizeof(*ratios));
	size_t out_of = left_out(count, reference_count, confidence);

	if (!pairs || !out_of)
		return false;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < reference_count; j++)
			ratios[k++] = samples[i] / reference[j];
	qsort(ratios, pairs, sizeof(*ratios), ascending);
	*out = (struct comparison){ .ratio = quantile(ratios, pairs, 0.5),
				    .low = ratios[out_of - 1],
				    .high = ratios[pairs - out_of],
				    .overlap = ratios[0] <= 1 && ratios[pairs - 1] >= 1 };
	return true;
}

const char *conclusion_name(enum conclusion conclusion)
{
	static const char *const names[CONCLUSIONS] = {
		[CONCLUSION_GOOD] = "good",
		[CONCLUSION_BAD] = "bad",
		[CONCLUSION_SAME] = "no difference",
		[CONCLUSION_UNCERTAIN] = "uncertain",
		[CONCLUSION_NOISY] = "noisy, no conclusion",
	};

	return names[conclusion];
}

enum conclusion statistics_conclude(const struct comparison *comparison, double margin)
{
	if (!comparison->overlap && comparison->low > 1 + margin)
		return CONCLUSION_GOOD;
	if (!comparison->overlap && comparison->high < 1 - margin)
		return CONCLUSION_BAD;
	if (comparison->low > 1 - margin && comparison->high < 1 + margin)
		return CONCLUSION_SAME;
	return CONCLUSION_UNCERTAIN;
}
