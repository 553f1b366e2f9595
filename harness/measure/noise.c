// SPDX-License-Identifier: MIT
/* Whether a thread had its CPU for itself: its own clock, /proc/stat's steal, and a known amount of
 * work. */
#include "harness/measure/noise.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PACE_SECONDS 0.00007
#define PACES	     3
#define PACE_ROUNDS  4096

static double seconds_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The eighth figure of the CPU's line, in ticks. */
static double stolen_seconds(int cpu)
{
	FILE *file = fopen("/proc/stat", "re");
	double stolen = -1;
	char line[512];

	if (!file)
		return -1;
	while (stolen < 0 && fgets(line, sizeof(line), file)) {
		unsigned long long ticks[8];
		int number;

		if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &number,
			   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
			   &ticks[6], &ticks[7]) == 9 &&
		    number == cpu)
			stolen = (double)ticks[7] / (double)sysconf(_SC_CLK_TCK);
	}
	fclose(file);
	return stolen;
}

void noise_begin(struct noise_mark *mark, int cpu)
{
	mark->cpu = cpu;
	mark->stolen = stolen_seconds(cpu);
	mark->thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
	mark->wall = seconds_of(CLOCK_MONOTONIC);
}

void noise_end(struct noise *out, const struct noise_mark *mark)
{
	double wall = seconds_of(CLOCK_MONOTONIC) - mark->wall;
	double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID) - mark->thread;
	double stolen = stolen_seconds(mark->cpu);

	*out = (struct noise){ .seconds = wall };
	if (wall <= 0)
		return;
	if (thread < wall)
		out->lost = (wall - thread) / wall;
	if (stolen > mark->stolen && mark->stolen >= 0)
		out->stolen = (stolen - mark->stolen) / wall;
}

static double pace(void)
{
	double begin = seconds_of(CLOCK_MONOTONIC), end;
	uint64_t rounds = 0, sum = 0;

	do {
		for (int i = 0; i < PACE_ROUNDS; i++)
			__asm__ volatile("add $1, %0" : "+r"(sum));
		rounds += PACE_ROUNDS;
		end = seconds_of(CLOCK_MONOTONIC);
	} while (end - begin < PACE_SECONDS);
	return (double)rounds / (end - begin);
}

/* A frequency shows in each of them, an interrupt in one. */
double noise_pace(void)
{
	double best = 0;

	for (int i = 0; i < PACES; i++)
		best = fmax(best, pace());
	return best;
}
