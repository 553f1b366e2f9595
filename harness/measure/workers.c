// SPDX-License-Identifier: MIT
/* Pinned threads that run a path over their own memory, all at once. */
#include "harness/measure/workers.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/measure/noise.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

#define HUGE_PAGE (2UL << 20)

/* A slice is thrown away where its thread did not run for more than this share of the time. */
#define LOST_MOST 0.02
/* Threads that did not begin together, by more than this share of the slice, did not run together.
 */
#define LATE_MOST 0.05

static void work(const struct measured_path *path, uint8_t *to, const uint8_t *from, size_t bytes)
{
	size_t unit = path->unit && path->unit < bytes ? path->unit : bytes;

	for (size_t done = 0; done < bytes; done += unit)
		path->work(to + done, from ? from + done : NULL, unit);
}

/* Waits for the others without sleeping, so that all go on within a microsecond. */
static void meet(struct measure *measure)
{
	atomic_fetch_add(&measure->ready, 1);
	while (atomic_load(&measure->ready) < measure->threads)
		__builtin_ia32_pause();
}

static void run(struct worker *worker)
{
	struct measure *measure = worker->measure;
	const struct unseen *unseen = &measure->unseen;
	size_t skipped = measure->bytes - unseen->bytes;
	struct noise_mark mark;
	double before = noise_pace();

	for (size_t i = 0; i < unseen->rounds; i++)
		work(measure->path, worker->to + skipped,
		     worker->from ? worker->from + skipped : NULL, unseen->bytes);
	noise_begin(&mark, worker->cpu);
	meet(measure);
	worker->begin = clock_seconds();
	for (size_t i = 0; i < measure->rounds; i++)
		work(measure->path, worker->to, worker->from, measure->bytes);
	worker->end = clock_seconds();
	noise_end(&worker->noise, &mark);
	worker->pace = fmin(before, noise_pace());
}

static void *serve(void *argument)
{
	struct worker *worker = argument;
	struct measure *measure = worker->measure;

	for (;;) {
		pthread_barrier_wait(&measure->gate);
		if (measure->over)
			return NULL;
		if (worker < measure->workers + measure->threads)
			run(worker);
		pthread_barrier_wait(&measure->gate);
	}
}

/* --- opening
 * -------------------------------------------------------------------------------------- */

/* Written to, as a page of zeroes would else stand for all. */
static int fill(struct measure *measure, struct error *err)
{
	const struct measure_options *options = &measure->options;

	for (size_t done = 0; done < measure->memory_bytes; done += HUGE_PAGE) {
		size_t left = measure->memory_bytes - done;

		if (options->stop && options->stop(options->context))
			return error_set(err, ERROR_LAB, "interrupted");
		memset(measure->memory + done, 0x5a, left < HUGE_PAGE ? left : HUGE_PAGE);
	}
	return 0;
}

/* Buffers, present before the first run. */
static int take_memory(struct measure *measure, struct error *err)
{
	const struct measure_options *options = &measure->options;
	size_t buffers = (size_t)options->threads * (options->reads ? 2 : 1);
	int advice = options->pages == MEASURE_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
	void *memory;

	/* One huge page between neighbours, and a page and a line, so that they do not compete for
	 * the same sets of a cache. */
	measure->stride = (options->bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	measure->memory_bytes = buffers * measure->stride + HUGE_PAGE;
	memory = mmap(NULL, measure->memory_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return error_set(err, ERROR_LAB, "%zu MiB of memory for the runs: %s",
				 measure->memory_bytes >> 20, strerror(errno));
	measure->memory = memory;
	madvise(memory, measure->memory_bytes, advice);
	return fill(measure, err);
}

static int start_worker(struct measure *measure, unsigned number, struct error *err)
{
	struct worker *worker = &measure->workers[number];
	uintptr_t first = ((uintptr_t)measure->memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	pthread_attr_t attributes;
	cpu_set_t set;
	char name[24];
	int code;

	worker->measure = measure;
	worker->to = (uint8_t *)first + number * measure->stride;
	if (measure->options.memory)
		worker->to = (uint8_t *)measure->options.memory + number * measure->options.bytes;
	if (measure->options.reads)
		worker->from =
			(uint8_t *)first + (measure->options.threads + number) * measure->stride;
	CPU_ZERO(&set);
	CPU_SET(worker->cpu, &set);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	code = pthread_create(&worker->thread, &attributes, serve, worker);
	pthread_attr_destroy(&attributes);
	if (code)
		return error_set(err, ERROR_LAB, "no thread on CPU %d: %s", worker->cpu,
				 strerror(code));
	snprintf(name, sizeof(name), "measure-%d", worker->cpu);
	pthread_setname_np(worker->thread, name);
	measure->started++;
	return 0;
}

/* On the CPUs that this process may use, one thread each. */
static int find_cpus(struct measure *measure, struct error *err)
{
	unsigned number = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return error_set(err, ERROR_LAB, "which CPUs may be used: %s", strerror(errno));
	if ((unsigned)CPU_COUNT(&allowed) < measure->options.threads)
		return error_set(err, ERROR_LAB, "%u threads were asked for, %d CPUs may be used",
				 measure->options.threads, CPU_COUNT(&allowed));
	for (int cpu = 0; number < measure->options.threads; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			measure->workers[number++].cpu = cpu;
	return 0;
}

static int start_workers(struct measure *measure, struct error *err)
{
	pthread_barrier_init(&measure->gate, NULL, measure->options.threads + 1);
	measure->gates = true;
	for (unsigned i = 0; i < measure->options.threads; i++)
		if (start_worker(measure, i, err) < 0)
			return -1;
	return 0;
}

struct measure *measure_open(const struct measure_options *options, struct error *err)
{
	struct measure *measure = xcalloc(1, sizeof(*measure));

	measure->options = *options;
	measure->random = 0x5eed;
	measure->workers = xcalloc(options->threads, sizeof(*measure->workers));
	if (find_cpus(measure, err) == 0 && take_memory(measure, err) == 0 &&
	    start_workers(measure, err) == 0)
		return measure;
	measure_close(measure);
	return NULL;
}

void measure_close(struct measure *measure)
{
	if (!measure)
		return;
	measure->over = true;
	if (measure->gates && measure->started == measure->options.threads) {
		pthread_barrier_wait(&measure->gate);
		for (unsigned i = 0; i < measure->started; i++)
			pthread_join(measure->workers[i].thread, NULL);
	} else {
		/* Those that were started wait for ever for those that were not. */
		for (unsigned i = 0; i < measure->started; i++)
			pthread_cancel(measure->workers[i].thread);
	}
	if (measure->gates && measure->started == measure->options.threads)
		pthread_barrier_destroy(&measure->gate);
	if (measure->memory)
		munmap(measure->memory, measure->memory_bytes);
	free(measure->workers);
	free(measure);
}

double measure_huge(const struct measure *measure)
{
	CLEANUP_FREE char *line = NULL;
	uintptr_t from, to, ours = (uintptr_t)measure->memory;
	FILE *file = fopen("/proc/self/smaps", "re");
	size_t room = 0, huge = 0, kib;
	bool inside = false;

	if (!file)
		return 0;
	while (getline(&line, &room, file) > 0) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from < ours + measure->memory_bytes && to > ours;
		else if (inside && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
			huge += kib << 10;
	}
	fclose(file);
	return (double)huge / (double)measure->memory_bytes;
}

/* --- running
 * -------------------------------------------------------------------------------------- */

double workers_run(struct measure *measure, const struct measured *cell, size_t rounds,
		   const struct unseen *unseen)
{
	double begin, end;

	measure->path = cell->path;
	measure->bytes = cell->bytes;
	measure->threads = cell->threads;
	measure->rounds = rounds;
	measure->unseen = unseen ? *unseen : (struct unseen){ 0 };
	atomic_store(&measure->ready, 0);
	pthread_barrier_wait(&measure->gate);
	pthread_barrier_wait(&measure->gate);
	begin = measure->workers[0].begin;
	end = measure->workers[0].end;
	for (unsigned i = 0; i < cell->threads; i++) {
		const struct worker *worker = &measure->workers[i];

		begin = fmin(begin, worker->begin);
		end = fmax(end, worker->end);
	}
	return end > begin ? end - begin : 1e-9;
}

bool workers_were_disturbed(const struct measure *measure, double seconds)
{
	double first = measure->workers[0].begin, last = first;

	for (unsigned i = 1; i < measure->threads; i++) {
		first = fmin(first, measure->workers[i].begin);
		last = fmax(last, measure->workers[i].begin);
	}
	if (last - first > LATE_MOST * seconds)
		return true;
	for (unsigned i = 0; i < measure->threads; i++) {
		const struct worker *worker = &measure->workers[i];

		if (worker->noise.lost > LOST_MOST || worker->noise.stolen > LOST_MOST)
			return true;
	}
	return false;
}

double workers_pace(const struct measure *measure)
{
	double slowest = measure->workers[0].pace;

	for (unsigned i = 1; i < measure->threads; i++)
		slowest = fmin(slowest, measure->workers[i].pace);
	return slowest;
}
