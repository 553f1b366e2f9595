/* SPDX-License-Identifier: MIT */
/* A cell and its verdict: the record that every report is made from (CONTRACT, Results). */
#ifndef QUIRKLAB_HARNESS_JUDGE_CELL_H
#define QUIRKLAB_HARNESS_JUDGE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "harness/cpu/cpu.h"

enum verdict {
	VERDICT_PASS,
	VERDICT_FAIL,
	VERDICT_MISMATCH,
	VERDICT_SKIP,
	VERDICT_HUNG,
	VERDICT_CRASHED,
	VERDICT_ERROR,
	VERDICTS
};
const char *verdict_name(enum verdict verdict);
bool verdict_find(const char *name, enum verdict *verdict);

struct pick {
	char operation[32], class[16];
	uint64_t size;
	bool size_known;
	/* Paths, or the names that a program's own dispatcher has for them; "" means null. */
	char expected[48], says[48];
	char does[192];
	char row[64];	    /* quirk row's name; "" null */
	char reason[256];   /* in words, from the dispatcher */
	uint8_t executable; /* enum report_executable */
	enum verdict verdict;
	char why[256];	      /* of the verdict, "" for pass */
	char depends[32][16]; /* mismatch: the names that differ */
	size_t depends_count;
	uint8_t trace[2]; /* what was witnessed: indices into the result's traces */
	size_t trace_count;
};

#define CELL_PICKS_MAX	64
#define CELL_TRACES_MAX (2 * CELL_PICKS_MAX)

/* What a kernel that is itself the subject said and showed; printable. */
#define CELL_FACTS_MAX 48
struct cell_kernel {
	char flags[4096]; /* words and blanks, as /proc/cpuinfo has them */
	struct cell_fact {
		char name[64], text[256];
	} vulnerabilities[CELL_FACTS_MAX];
	size_t vulnerability_count;
	struct {
		char name[64];	/* of a routine */
		uint32_t count; /* places of the kernel's text that call it */
	} sites[CELL_FACTS_MAX];
	size_t site_count;
	char options[256];  /* of its command line, those that choose a mitigation; "" none */
	char microcode[16]; /* revision; "" unsaid */
	char boot[8]; /* short, full, both: short, and a full one showed the same; "" unsaid */
};

/* What a program that is the subject said and how it ended; printable. */
#define CELL_VALUES_MAX 64
#define CELL_NOTES_MAX	16
struct cell_program {
	char version[64];
	struct cell_fact values[CELL_VALUES_MAX];
	size_t value_count;
	char notes[CELL_NOTES_MAX][256];
	size_t note_count;
	uint8_t how, code; /* enum report_exit, as REPORT_EXIT has them */
	uint64_t written, left_out;
	bool tap; /* it spoke TAP or KTAP: the tests are counted */
	unsigned passed, failed, skipped, todo;
};

#define CELL_NAME_MAX (CPU_NAME_MAX + 128)

struct cell_result {
	char run[64];
	char cell[CELL_NAME_MAX]; /* NAME/IMAGE/SUBJECT */
	char name[CPU_NAME_MAX];
	char spec[256]; /* as struct cpu has it */
	char vendor[13];
	char uarch[64]; /* of the catalogue; "" unknown */
	unsigned family, model, stepping;
	char *edits[16];
	size_t edit_count;
	char image[64], subject[64];
	char accel[8]; /* tcg, kvm, none */
	unsigned pack;
	enum verdict verdict;
	char reason[512]; /* "" : null; pass and fail may have none */
	unsigned tries;
	struct pick picks[CELL_PICKS_MAX];
	size_t pick_count;
	char **traces; /* lines of trace.h; owned, like the list */
	size_t trace_count;
	struct cpu_difference difference;
	struct feature_set forced, unavailable; /* as realise.h has them */
	struct cell_kernel *kernel_seen;	/* NULL: the kernel is not the subject; owned */
	struct cell_program *program_seen;	/* NULL: no program is; owned */
	char *difference_names; /* storage behind difference where it was read from a file; owned */
	const char *folder; /* of results that has this cell's logs; NULL: none. Borrowed, and not
			       part of the record. */
	char qemu[32], libvirt[32], kernel[64], libc[32]; /* versions, "" unknown */
	struct {
		double create, guest, destroy, total;
	} seconds;
};

void cell_result_free(struct cell_result *result);

#endif
