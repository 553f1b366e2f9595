/* SPDX-License-Identifier: MIT */
/* quirklab bench: every path of the dispatcher that this machine's CPU can execute, measured. */
#ifndef QUIRKLAB_LAB_BENCH_H
#define QUIRKLAB_LAB_BENCH_H

#include <stdio.h>
#include "harness/measure/measure.h"
#include "harness/util/text.h"
#include "lab/lab.h"
#include "tests/dispatch/dispatch.h"

#define BENCH_SIZES_MAX	  16
#define BENCH_THREADS_MAX 16 /* different numbers of threads */
#define BENCH_PATHS_MAX	  16 /* of one operation */

/* What a difference must exceed, whatever its certainty, and that certainty. */
#define BENCH_MARGIN	       0.05
#define BENCH_CONFIDENCE       0.99
#define BENCH_CONFIDENCE_NOISY 0.999 /* of what is said where the machine was not quiet */

/* One operation: its paths that this CPU can execute; the first is the reference, the one that the
 * dispatcher takes where nothing speaks for another. */
struct bench_operation {
	const char *name;
	struct measured_path paths[BENCH_PATHS_MAX];
	size_t path_count;
};
#define BENCH_OPERATIONS_MAX 8

/* The operations with what this CPU can execute; returns how many. */
size_t bench_operations(struct bench_operation *out, const struct dispatch_cpu *cpu);

struct bench_machine {
	struct dispatch_cpu cpu;
	char brand[49], kernel[65], hypervisor[13]; /* hypervisor: "" for none */
	unsigned cpus;				    /* that this process may use */
};

/* One line of the table: a path with one extent and number of threads. */
struct bench_line {
	struct measured measured;
	struct statistics statistics; /* count 0: no run was good */
	bool reference;
	bool compared; /* the fields below are valid */
	struct comparison comparison;
	enum conclusion conclusion;
	bool open; /* after its first runs it was noisy or uncertain */
};

struct bench_result {
	struct bench_machine machine;
	double huge; /* share of the memory in huge pages */
	unsigned runs;
	double seconds;	  /* that it took */
	bool late;	  /* not everything was measured: --seconds was over, */
	bool interrupted; /* or a signal came, maybe after all of it */
	struct bench_line *lines;
	size_t line_count;
};

/* Whether the times of this machine mean anything, and who it is. ERROR_LAB under an emulator. */
int bench_machine_read(struct bench_machine *machine, struct error *err);

/* What is measured together: the paths of one operation, with one extent and number of threads. */
struct bench_group {
	const struct bench_operation *operation;
	size_t bytes;
	unsigned threads;
	unsigned more;		  /* passes over what was open after the first runs, and */
	double spent;		  /* seconds of them */
	struct bench_line *lines; /* one for each path, in the result */
};

struct bench_effort {
	unsigned runs;
	double end; /* when all has to be done; seconds of CLOCK_MONOTONIC */
};

/* Measures the groups into the lines of the result, which has room for all paths of all. */
void bench_measure(struct bench_result *result, struct measure *measure, struct bench_group *groups,
		   size_t count, const struct bench_effort *effort);

/* Compares the lines of one group (the same operation, extent and threads) with its reference. */
void bench_compare(struct bench_line *lines, size_t count);

void bench_size_text(char *out, size_t room, size_t bytes); /* "4 KiB", "260 MiB" */

void bench_print(FILE *out, const struct bench_result *result);
/* The plots and the table as one file, whole or not at all. */
int bench_write_html(const char *path, const struct bench_result *result, struct error *err);
void bench_print_json(const struct bench_result *result);

/* Where flushing wins or loses against movnti, by the number of writers; nothing where it was not
 * measured. */
void bench_crossover(struct text *out, const struct bench_result *result);

/* A DAX mapping, for durable stores. */
struct bench_pmem {
	void *memory;
	size_t bytes;
};
/* ERROR_INPUT where the path is no DAX file or device, or too small. */
int bench_map_pmem(struct bench_pmem *pmem, const char *path, size_t bytes, struct error *err);
void bench_unmap_pmem(struct bench_pmem *pmem);

/* The quirk row that follows from the measurements, or why none does, in C and words. */
void bench_suggest(struct text *out, const struct bench_result *result);

/* Adds the measurements to evidence.tsv, whole or not at all. *added: how many rows. */
int bench_write_evidence(const char *path, const struct bench_result *result, size_t *added,
			 struct error *err);

#endif
