// SPDX-License-Identifier: MIT
/* quirklab bench: plans the measurements, makes them while there is time, and hands them on. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/paths.h"
#include "lab/bench.h"
#include "lab/interrupt.h"
#include "lab/outputs.h"

#define SLICE_SECONDS 0.003 /* what is shorter is repeated: many bursts of noise are as long */
#define WARM_SECONDS  0.3   /* until a CPU that slept has its frequency */
#define RUNS_LEAST    5

enum {
	OPT_EVIDENCE = OPTION_LONG,
	OPT_SUGGEST,
	OPT_SECONDS,
	OPT_RUNS,
	OPT_THREADS,
	OPT_SIZE,
	OPT_OPERATION,
	OPT_PAGES,
	OPT_PMEM,
	OPT_JSON,
	OPT_HTML,
};

const struct option_row bench_option_rows[] = {
	{ OPT_SUGGEST, "suggest", NULL, "print the quirk row that follows, or why none is needed" },
	{ OPT_EVIDENCE, "evidence", NULL, "add the measurements to cpu-models/evidence.tsv" },
	{ OPT_SECONDS, "seconds", "S", "how long it may take (60)" },
	{ OPT_RUNS, "runs", "N", "runs of each path, 5..64 (5)" },
	{ OPT_THREADS, "threads", "N", "measure with exactly so many (1, 2, 4 ... all CPUs)" },
	{ OPT_SIZE, "size", "BYTES",
	  "an extent, with K, M or G; repeatable\n"
	  "(4 KiB, 1 MiB, an eighth and three halves of the\n"
	  "last-level cache)" },
	{ OPT_OPERATION, "op", "OP",
	  "memset, clear_page, clear_extent, copy, memcpy_flushcache or flush; repeatable" },
	{ OPT_PMEM, "pmem", "PATH",
	  "memcpy_flushcache and flush into this file on a DAX file system, or DAX device" },
	{ OPT_PAGES, "pages", "KIND", "huge: where the kernel grants them (the default); small" },
	{ OPT_JSON, "json", NULL, "as JSON, with every run" },
	{ OPT_HTML, "html", "FILE", "plots by extent and by threads as well, as one HTML file" },
	{ 0 },
};

struct bench_options {
	bool evidence, suggest, json;
	unsigned seconds, runs, threads; /* threads 0: 1, 2, 4 ... */
	size_t sizes[BENCH_SIZES_MAX];
	size_t size_count;
	const char *operations[BENCH_OPERATIONS_MAX];
	size_t operation_count;
	bool own_sizes; /* of the user; else the defaults */
	unsigned pages; /* enum measure_pages */
	const char *pmem, *html;
};

struct bench {
	struct bench_options options;
	struct bench_operation operations[BENCH_OPERATIONS_MAX];
	size_t operation_count;
	unsigned threads[BENCH_THREADS_MAX];
	size_t thread_count;
	struct bench_group *groups;
	size_t group_count;
	struct bench_result result;
	double started; /* seconds of CLOCK_MONOTONIC */
};

/* --- options
 * ---------------------------------------------------------------------------------------- */

static int parse_size(size_t *out, const char *text, struct error *err)
{
	static const char suffixes[] = "KMG";
	char *end;
	unsigned long long size = strtoull(text, &end, 0);
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;

	if (suffix && !end[1]) {
		unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

		size = size <= SIZE_MAX >> shift ? size << shift : 0;
		end++;
	}
	if (*end || text[0] < '0' || text[0] > '9' || size < 4096 || size % 4096 ||
	    size > 1ULL << 40)
		return error_set(err, ERROR_INPUT,
				 "--size '%s': whole pages were expected, from 4K on, such as 64K, "
				 "32M or 1G",
				 text);
	*out = size;
	return 0;
}

static int add_operation(struct bench_options *options, const char *name, struct error *err)
{
	static const char *const names[] = { "memset", "clear_page",	    "clear_extent",
					     "copy",   "memcpy_flushcache", "flush",
					     NULL };
	unsigned which;

	if (parse_word(&which, name, names, "op", err) < 0)
		return -1;
	for (size_t i = 0; i < options->operation_count; i++)
		if (!strcmp(options->operations[i], names[which]))
			return 0;
	options->operations[options->operation_count++] = names[which];
	return 0;
}

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const pages[] = { "huge", "small", NULL };
	struct bench_options *options = state;

	switch (key) {
	case OPT_EVIDENCE:
		options->evidence = true;
		return 0;
	case OPT_SUGGEST:
		options->suggest = true;
		return 0;
	case OPT_JSON:
		options->json = true;
		return 0;
	case OPT_SECONDS:
		return parse_number(&options->seconds, argument, 1, 86400, "--seconds", err);
	case OPT_RUNS:
		return parse_number(&options->runs, argument, RUNS_LEAST, STATISTICS_SAMPLES_MAX,
				    "--runs", err);
	case OPT_THREADS:
		return parse_number(&options->threads, argument, 1, MEASURE_THREADS_MAX,
				    "--threads", err);
	case OPT_SIZE:
		if (options->size_count == BENCH_SIZES_MAX)
			return error_set(err, ERROR_INPUT, "--size: at most %d of them",
					 BENCH_SIZES_MAX);
		options->own_sizes = true;
		return parse_size(&options->sizes[options->size_count++], argument, err);
	case OPT_HTML:
		options->html = argument;
		return 0;
	case OPT_PMEM:
		options->pmem = argument;
		return 0;
	case OPT_OPERATION:
		return add_operation(options, argument, err);
	default:
		return parse_word(&options->pages, argument, pages, "pages", err);
	}
}

/* --- what is measured
 * ------------------------------------------------------------------------------- */

/* Small ones, then around the last-level cache: what a quirk row is about. */
static void default_sizes(struct bench_options *options, uint64_t llc)
{
	const size_t sizes[] = { 4096, 1 << 20, llc / 8, llc + llc / 2 };
	size_t last = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i] / 4096 * 4096;

		if (size <= last)
			continue;
		options->sizes[options->size_count++] = last = size;
	}
}

static int choose_threads(struct bench *bench, struct error *err)
{
	unsigned cpus = bench->result.machine.cpus;

	if (bench->options.threads > cpus)
		return error_set(err, ERROR_INPUT, "--threads %u: %u CPUs may be used",
				 bench->options.threads, cpus);
	if (bench->options.threads) {
		bench->threads[bench->thread_count++] = bench->options.threads;
		return 0;
	}
	if (cpus > MEASURE_THREADS_MAX)
		cpus = MEASURE_THREADS_MAX;
	for (unsigned threads = 1; threads < cpus; threads *= 2)
		bench->threads[bench->thread_count++] = threads;
	bench->threads[bench->thread_count++] = cpus;
	return 0;
}

/* The operations whose stores are meant to survive a power cut. */
static bool is_durable(const char *operation)
{
	return !strcmp(operation, "memcpy_flushcache") || !strcmp(operation, "flush");
}

static void choose_operations(struct bench *bench)
{
	struct bench_operation all[BENCH_OPERATIONS_MAX];
	size_t count = bench_operations(all, &bench->result.machine.cpu);

	for (size_t i = 0; i < count; i++) {
		bool wanted = !bench->options.operation_count;

		for (size_t k = 0; k < bench->options.operation_count; k++)
			wanted |= !strcmp(all[i].name, bench->options.operations[k]);
		if (bench->options.pmem)
			wanted &= is_durable(all[i].name);
		if (wanted)
			bench->operations[bench->operation_count++] = all[i];
	}
}

/* Half of the memory that is free: more would push out what others use. */
static size_t memory_limit(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	size_t kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024 / 2;
}

/* Extents for which there is no memory are left out, and said. */
static int fit_sizes(struct bench *bench, bool reads, struct error *err)
{
	struct bench_options *options = &bench->options;
	size_t threads = bench->threads[bench->thread_count - 1], kept = 0;
	size_t most = memory_limit() / (threads * (reads ? 2 : 1));
	char size[32];

	for (size_t i = 0; i < options->size_count; i++) {
		if (options->sizes[i] <= most) {
			options->sizes[kept++] = options->sizes[i];
			continue;
		}
		bench_size_text(size, sizeof(size), options->sizes[i]);
		fprintf(stderr, "quirklab: no memory for %zu threads with %s each: left out\n",
			threads, size);
	}
	options->size_count = kept;
	if (!kept)
		return error_set(err, ERROR_LAB, "there is no memory for any of the extents");
	return 0;
}

/* Every line of a flushed extent goes to memory, whatever its size: of the default sizes one is
 * enough. */
static bool is_meant(const struct bench *bench, const struct bench_operation *operation,
		     size_t size)
{
	return bench->options.own_sizes || strcmp(operation->name, "flush") ||
	       size == bench->options.size_count / 2;
}

static void plan_groups(struct bench *bench)
{
	size_t room = bench->operation_count * bench->thread_count * bench->options.size_count;

	bench->groups = xcalloc(room + 1, sizeof(*bench->groups));
	bench->result.lines = xcalloc(room * BENCH_PATHS_MAX + 1, sizeof(*bench->result.lines));
	for (size_t o = 0; o < bench->operation_count; o++)
		for (size_t t = 0; t < bench->thread_count; t++)
			for (size_t s = 0; s < bench->options.size_count; s++)
				if (is_meant(bench, &bench->operations[o], s))
					bench->groups[bench->group_count++] = (struct bench_group){
						.operation = &bench->operations[o],
						.bytes = bench->options.sizes[s],
						.threads = bench->threads[t],
					};
}

static bool is_interrupted(void *context)
{
	(void)context;
	return interrupt_signal() != 0;
}

static int measure_machine(struct bench *bench, struct error *err)
{
	struct measure_options options = { .sample_seconds = SLICE_SECONDS,
					   .warm_seconds = WARM_SECONDS,
					   .stop = is_interrupted };
	const struct bench_effort effort = {
		.runs = bench->options.runs,
		.end = bench->started + bench->options.seconds,
	};
	struct bench_pmem pmem = { 0 };
	struct measure *measure;

	for (size_t o = 0; o < bench->operation_count; o++)
		for (size_t p = 0; p < bench->operations[o].path_count; p++)
			options.reads |= bench->operations[o].paths[p].reads;
	if (fit_sizes(bench, options.reads, err) < 0)
		return -1;
	for (size_t s = 0; s < bench->options.size_count; s++)
		if (bench->options.sizes[s] > options.bytes)
			options.bytes = bench->options.sizes[s];
	options.threads = bench->threads[bench->thread_count - 1];
	options.pages = bench->options.pages;
	options.cache = bench->result.machine.cpu.llc_bytes;
	bench->result.runs = bench->options.runs;
	plan_groups(bench);
	if (bench->options.pmem &&
	    bench_map_pmem(&pmem, bench->options.pmem, options.threads * options.bytes, err) < 0)
		return -1;
	options.memory = pmem.memory;
	measure = measure_open(&options, err);
	if (!measure) {
		bench_unmap_pmem(&pmem);
		return -1;
	}
	bench->result.huge = measure_huge(measure);
	bench_measure(&bench->result, measure, bench->groups, bench->group_count, &effort);
	measure_close(measure);
	bench_unmap_pmem(&pmem);
	bench->result.seconds = clock_seconds() - bench->started;
	bench->result.interrupted = interrupt_signal() != 0;
	if (!bench->result.line_count && !bench->result.interrupted)
		return error_set(err, ERROR_LAB, "--seconds %u: no time to measure anything",
				 bench->options.seconds);
	return 0;
}

/* --- the command
 * ------------------------------------------------------------------------------------ */

static int hand_on(struct bench *bench, struct error *err)
{
	CLEANUP_TEXT struct text row = { 0 }, crossover = { 0 };
	CLEANUP_FREE char *path = path_models("evidence.tsv");
	size_t added;

	if (bench->options.json)
		bench_print_json(&bench->result);
	else
		bench_print(stdout, &bench->result);
	bench_crossover(&crossover, &bench->result);
	if (crossover.length && !bench->options.json)
		printf("\n%s", text_string(&crossover));
	if (bench->options.suggest) {
		bench_suggest(&row, &bench->result);
		fprintf(bench->options.json ? stderr : stdout, "\n%s", text_string(&row));
	}
	if (bench->options.html && bench_write_html(bench->options.html, &bench->result, err) < 0)
		return -1;
	if (!bench->options.evidence || interrupt_signal())
		return 0;
	if (bench_write_evidence(path, &bench->result, &added, err) < 0)
		return -1;
	fprintf(stderr, "quirklab: %zu rows added to %s\n", added, path);
	return 0;
}

int command_bench(struct lab *lab, const struct command *command, int argc, char **argv)
{
	CLEANUP_FREE struct bench *bench = xcalloc(1, sizeof(*bench));
	static const size_t no_guests;
	struct error err = { 0 };
	int first, status = STATUS_OK;

	(void)lab;
	bench->options = (struct bench_options){ .seconds = 60, .runs = RUNS_LEAST };
	bench->started = clock_seconds();
	first = options_parse(command->options, true, argc, argv, each_option, &bench->options,
			      &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (first < argc) {
		error_set(&err, ERROR_INPUT, "bench: '%s': only options were expected",
			  argv[first]);
		return lab_fail(&err);
	}
	interrupt_catch(NULL, &no_guests);
	if (output_check("--html", bench->options.html, &err) < 0 ||
	    bench_machine_read(&bench->result.machine, &err) < 0 ||
	    choose_threads(bench, &err) < 0) {
		status = lab_fail(&err);
	} else {
		choose_operations(bench);
		if (!bench->options.size_count)
			default_sizes(&bench->options, bench->result.machine.cpu.llc_bytes);
		if (measure_machine(bench, &err) < 0 || hand_on(bench, &err) < 0)
			status = lab_fail(&err);
	}
	interrupt_forget();
	if (interrupt_signal()) {
		if (status == STATUS_OK)
			fprintf(stderr, "quirklab: interrupted\n");
		status = 128 + interrupt_signal();
	}
	for (size_t i = 0; i < bench->result.line_count; i++)
		measured_free(&bench->result.lines[i].measured);
	free(bench->result.lines);
	free(bench->groups);
	return status;
}
