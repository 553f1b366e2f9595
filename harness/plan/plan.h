/* SPDX-License-Identifier: MIT */
/* Which cells a run has, how they share guests, and the results directory that records them. */
#ifndef QUIRKLAB_HARNESS_PLAN_PLAN_H
#define QUIRKLAB_HARNESS_PLAN_PLAN_H

#include "harness/cpu/cpu.h"
#include "harness/guest/guest.h"
#include "harness/judge/cell.h"
#include "harness/judge/judge.h"

/* Whose picks are judged. */
enum subject_kind {
	SUBJECT_DISPATCH, /* our own dispatcher, in any image */
	SUBJECT_KERNEL,	  /* `linux`: the kernel of a Linux image itself */
	SUBJECT_PROGRAM,  /* a program of user space: `glibc` (our probe of it), or the user's */
};

struct plan_options {
	enum guest_image image;
	enum subject_kind kind;
	const char *subject; /* "dispatch", "linux", "glibc", or the program's base name */
	const struct payload
		*payload;   /* SUBJECT_PROGRAM: the program and how to run it; borrowed */
	const char *beside; /* SUBJECT_PROGRAM of the user's: the folder that it is in; else NULL */
	unsigned silence;   /* SUBJECT_PROGRAM: seconds that it may write nothing */
	const char *disk;   /* GUEST_DISK: see struct guest_request */
	const char *disk_name; /* GUEST_DISK: the file, in names and records */
	const char *root;      /* GUEST_DISK: the words with which its kernel finds its root */
	bool full_boot; /* GUEST_DISK: under the image's own init; SUBJECT_KERNEL: no short boot */
	unsigned jobs;	/* guests at once on each connection, 1.. */
	unsigned pack;	/* CPUs of a rack, 1..200; 1: one guest each */
	unsigned shard, shards; /* 1..shards; 0, 0: all */
	double timeout_scale;
	const char *kernel; /* the bare ELF, or the Linux kernel */
	const char
		*unpacked;  /* SUBJECT_KERNEL: the same kernel unpacked, for short boots; or NULL */
	const char *initrd; /* Linux: the initramfs with the agent; else NULL */
	const char *rack_initrd; /* the same for racks (initramfs_write_rack); NULL: initrd */
	const char *words;  /* of the subject's own for the Linux kernel's command line, or NULL */
	const char *nvdimm; /* see struct guest_request */
	const char *append; /* more words for the Linux kernel's command line, or NULL */
	const char *own_kernel,
		*own_libc; /* the user's, by the names given; NULL: this machine's */
};

struct plan_cell {
	const struct cpu *cpu;	  /* borrowed from the list that the plan was made of */
	char name[CELL_NAME_MAX]; /* NAME/IMAGE/SUBJECT */
	bool finished;		  /* a result is there already (--resume) */
};

struct plan {
	struct plan_cell *cells;
	size_t count;
	/* What else makes a guest another one: from the options, borrowed. */
	bool full_boot;
	const char *words, *append, *own_kernel, *own_libc;
};

/* Every CPU of the list once, in order; with shards, those of one of them (shards.h). ERROR_INPUT
 * where two cells share a name. The list has to outlive the plan. */
int plan_make(struct plan *plan, const struct cpu_list *cpus, const struct plan_options *options,
	      struct error *err);
void plan_free(struct plan *plan);
/* The IMAGE of its cells' names. */
const char *plan_image(const struct plan_options *options);

/* --- the results directory: plan.jsonl, results.jsonl, cells/CELL/{console,report,qemu}.log
 * ------- */
struct results;
/* path NULL: ./results/DATE-TIME, and ./results/latest points to it. resume: goes on with path, or
 * latest: reads its plan (ERROR_INPUT where it is not this one), marks finished cells, and cuts a
 * torn last line off. Locked: two runs never share a directory. */
struct results *results_open(const char *path, bool resume, struct plan *plan, struct error *err);
const char *results_path(const struct results *results);
const char *results_run(const struct results *results); /* the run's name, in each record */
/* The finished cells of a resumed run, for the reports: calls each(context, result). */
int results_each(struct results *results, void (*each)(void *, const struct cell_result *),
		 void *context, struct error *err);
/* Appends and syncs. Thread-safe. */
int results_add(struct results *results, const struct cell_result *result, struct error *err);
/* Keeps a guest's three logs for each of its cells (one file, linked where a rack had many), in the
 * cell's folder or, for a try that was not the last, in `part` of it ("try-1", "rack"; else NULL).
 * Thread-safe. */
int results_logs(struct results *results, const char *const *cells, size_t count, const char *part,
		 const struct guest_result *guest, struct error *err);
/* Keeps what a cell's program wrote, as output.log and errors.log beside them. Thread-safe. */
int results_program(struct results *results, const char *cell, const char *part,
		    const struct observed_program *program, struct error *err);
void results_close(struct results *results);

/* --- running it --------------------------------------------------------------------------------
 */
struct schedule_events {
	void *context;
	/* One call at a time, from any thread, in order of finishing. */
	void (*cell)(void *context, const struct cell_result *result);
	/* Asked from any thread before each boot: true ends the run. NULL: never. */
	bool (*stop)(void *context);
};
/*
 * Runs every unfinished cell: packs those that can share a guest (groups.h) into racks, boots them
 * `jobs` at a time on each connection, judges, records. Cells of a rack that died run again alone
 * (their first try); hung, crashed and error cells are retried once. Returns 0 when every planned
 * cell has a result, -1 with ERROR_LAB where the results could not be written or it was
 * interrupted.
 */
int schedule_run(const struct plan *plan, const struct plan_options *options,
		 struct connection *const *connections, size_t connection_count,
		 struct results *results, const struct schedule_events *events, struct error *err);

#endif
