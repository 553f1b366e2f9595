/* SPDX-License-Identifier: MIT */
/* What the files of `quirklab repro` share: one CPU, how it is presented, what came of it. */
#ifndef QUIRKLAB_LAB_REPRO_H
#define QUIRKLAB_LAB_REPRO_H

#include "harness/cpu/realise_dump.h"
#include "harness/judge/judge.h"
#include "harness/report/report.h"
#include "lab/cpuid.h"
#include "lab/host_chooser.h"
#include "lab/images.h"
#include "lab/lab.h"

enum repro_action {
	REPRO_BOOT,
	REPRO_PRINT_XML,
	REPRO_PRINT_QEMU,
	REPRO_SHELL,
	REPRO_GDB,
	REPRO_KEEP,
};

struct repro_options {
	enum repro_action action;
	enum guest_image image;
	bool image_given;
	const char *kernel, *emulator;
	enum accelerator accelerator;
	double timeout_scale;
	bool strict;
	const char *against, *operation; /* OP or OP@CLASS, checked */
	bool no_boot;
};

/* Returns as options_parse does. */
int repro_options_parse(struct repro_options *options, int argc, char **argv, struct error *err);

/* --- the CPU (repro_target.c)
 * ---------------------------------------------------------------------- */

struct repro_target {
	struct cpu cpu;	  /* as asked, edits applied */
	struct dump dump; /* its leaves, of the first of its CPUs; of a CPU of a table, its bits */
	bool from_file;
	const struct cpu
		*row; /* of the catalogue, by identity; NULL: none. Borrowed of the tables */
};

/* A SPEC, a file with or without edits, "-" or "host", that means one CPU with an identity. */
int repro_target_read(struct repro_target *target, const char *word,
		      const struct cpu_tables *tables, struct error *err);
void repro_target_free(struct repro_target *target);

/* --- what is expected of it (repro_expected.c)
 * ------------------------------------------------------- */

enum repro_source {
	EXPECTED_TABLE,	 /* the CPU is one of a table */
	EXPECTED_ROW,	 /* the dump is the CPU of a catalogue row in all that a pick depends on */
	EXPECTED_REPLAY, /* what the chooser says on this host of the CPU that was asked for */
};

struct repro_expected {
	enum repro_source source;
	struct given_picks given; /* of EXPECTED_ROW and EXPECTED_REPLAY */
	char differs[256]; /* why it is not the row: the bits and fields, "" where there is no row
			    */
	struct feature_set
		open; /* bits that the source leaves open and that change a pick: taken as off */
};
void repro_expect(struct repro_expected *out, const struct repro_target *target,
		  const struct expectations *expectations);

/* --- the guest (repro_boot.c)
 * ------------------------------------------------------------------------ */

struct repro_guest {
	struct connection *connection;
	struct hypervisor hypervisor; /* asked of QEMU itself */
	struct images images;
	enum guest_image image;
	double timeout_scale;
};

/* The guest of one CPU; it borrows all three. */
struct guest_request repro_request(const struct repro_guest *guest,
				   const struct realised *const *cpu, const char *cmdline);

/* Boots the CPU, a second time where the first is hung, crashed or an error, and judges it. *seen
 * gets the leaves that the guest saw. */
void repro_boot(struct cell_result *result, struct cpuid_dump *seen, struct repro_guest *guest,
		const struct cpu *cpu, const struct realised *realised,
		const struct expectations *expectations, const struct repro_expected *expected);

/* --- a guest for people (repro_people.c)
 * --------------------------------------------------------------- */

/* A name for a domain and for files: the CPU's, without what a path or libvirt would not take. */
char *repro_name(const struct cpu *cpu);
/* --print-xml and --print-qemu, on standard output. */
/* What is presented otherwise than asked, on standard error. */
void repro_print_notes(const struct text *notes);
int repro_print(const struct repro_options *options, struct repro_guest *guest,
		const struct cpu *cpu, const struct realised *realised, struct error *err);

/* --keep: starts it, and says how to reach and to end it. */
int repro_keep(struct repro_guest *guest, const struct cpu *cpu, const struct realised *realised,
	       struct error *err);

/* The guest says on its console what it is and what it picks: images/bare/main.c,
 * images/linux/agent.c. */
#define REPRO_TEXT_WORDS "quirklab_text=1"
/* And it halts at its end, instead of ending its machine. */
#define REPRO_STAY_WORDS REPRO_TEXT_WORDS " quirklab_stay=1"
/* The kernel command line of an image, with more words (""). Caller frees. */
char *repro_cmdline(enum guest_image image, const char *words);

/* --- with a person at it (repro_attend.c)
 * --------------------------------------------------------------- */

/* The initramfs of a guest with a shell. */
int repro_shell_initramfs(const char *path, struct error *err);
/* The shell's console on this terminal, until the guest ends or Ctrl-] is typed. */
int repro_shell(struct repro_guest *guest, const struct realised *realised, struct error *err);
/* Prints how to connect, then the console, until the guest ends. */
int repro_gdb(struct repro_guest *guest, const struct realised *realised, struct error *err);

/* --- what makes the pick another than that of another CPU (repro_against.c)
 * --------------------------- */

struct repro_against {
	const struct repro_target *a, *b;
	const char *operation;	   /* OP or OP@CLASS */
	struct repro_guest *guest; /* NULL: without asking a guest */
	const struct expectations *expectations;
};
/* Prints an answer for each class. *worst: of the guests' verdicts. */
int repro_against(const struct repro_against *against, enum verdict *worst, struct error *err);
/* Whether there is such an operation, and class. */
int repro_check_operation(const char *operation, struct error *err);

/* --- what is told of it (repro_write.c)
 * --------------------------------------------------------------- */

struct repro_story {
	const struct repro_target *target;
	const struct repro_expected *expected;
	const struct repro_guest *guest;
	const struct realised *realised;
	const struct text *notes;
	const struct cell_result *result;
	const struct cpuid_dump *seen;
	const struct expectations *expectations;
	bool verbose;
};
void repro_write(struct text *out, const struct repro_story *story);

#endif
