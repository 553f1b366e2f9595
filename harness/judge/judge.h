/* SPDX-License-Identifier: MIT */
/*
 * Observed against expected. Knows the golden picks (cpu-models/expect/), decodes the witness
 * (Zydis) and says what each call really did; shares no code with the dispatcher.
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_JUDGE_H
#define QUIRKLAB_HARNESS_JUDGE_JUDGE_H

#include "harness/cpu/cpu.h"
#include "harness/guest/observation.h"
#include "harness/judge/cell.h"
#include "harness/judge/rules.h"

/* The golden picks of one subject: expect/SUBJECT[-VERSION].tsv, plus models.tsv for `dispatch`.
 * Those of another subject have libvirt's models as rows of their own (`model:NAME`). */
struct expectations;
/* version: what the guest reports ("6.1.0-57"), or NULL; the file with the longest version prefix
 * is taken. *out is NULL with return 0 where no file fits: every cell is then a skip. */
int expectations_read(struct expectations **out, const char *subject, const char *version,
		      struct error *err);
/* The file that would be taken; NULL with return 0 where none fits. The caller frees it. */
int expectations_file(char **path, const char *subject, const char *version, struct error *err);
/* Reads every version's file of the subject: a broken one is told before anything boots. */
int expectations_check(const char *subject, struct error *err);
/* The same for a program of the user's in the folder `beside` (NULL: the lab's own probe): its own
 * expect/SUBJECT[-VERSION].tsv there go first. */
int expectations_read_program(struct expectations **out, const char *beside, const char *subject,
			      const char *version, struct error *err);
int expectations_check_program(const char *beside, const char *subject, struct error *err);
/* Whether the word is a path (CONTRACT, operations and paths): a claim about what stores. Any other
 * is the name of an implementation. */
bool expectations_is_path(const char *word);
void expectations_free(struct expectations *expectations);
size_t expectations_columns(const struct expectations *expectations);
const char *expectations_column(const struct expectations *expectations,
				size_t column); /* OP@CLASS */
/* What a column depends on: names of bits and identity fields, separated by commas; "" for none. */
const char *expectations_depends(const struct expectations *expectations, size_t column);
/* The expected path, or NULL where the table says nothing of this CPU: it has no row, the cell is
 * empty, or the CPU is not the row's any more (edits, a signature or a dump of the user's). */
const char *expectations_pick(const struct expectations *expectations, const struct cpu *cpu,
			      const char *operation, const char *class);

/* The rules of a kernel's defences, mitigations.tsv; NULL where the subject is no kernel, or there
 * is no such file. Owned by the expectations. */
const struct rules *expectations_rules(const struct expectations *expectations);

/* The known fault that makes the pick of this CPU another one than the expected, with its
 * reference; NULL for none. */
const char *expectations_known(const struct expectations *expectations, const struct cpu *cpu,
			       const char *operation, const char *class);

/* What one call did: the class of its main store, and what follows it. */
struct deed {
	char path[32];	 /* "movnti"; "" where nothing was stored; "movnti|mov" where two traces
			    differ */
	char text[192];	 /* "movnti; head/tail mov + clwb; sfence" */
	bool returned;	 /* the call was seen to its return */
	bool fence_last; /* an sfence (or mfence) after the last store or flush */
	bool cached;	 /* there are cached stores beside the main ones: a head or a tail */
	bool weak;    /* there are stores past the cache or clzero, in the main path or beside it */
	bool flushes; /* every cached store is followed by a flush instruction */
	char flush[16]; /* what flushes head and tail: clwb, clflushopt, clflush, "mixed", or "" */
};
void witness_decode(struct deed *out, const struct observation *observation,
		    const struct observed_pick *pick);

/* Judges one CPU's observation. Fills picks, difference, verdict and reason of *result; identity,
 * image, subject and times are the caller's. */
void judge(struct cell_result *result, const struct cpu *asked,
	   const struct observation *observation, const struct expectations *expectations);

/* Fills verdict and reason of a CPU whose guest ended before it had reported. */
struct guest_result;
void judge_death(struct cell_result *result, const struct guest_result *guest);

/* Expected paths from elsewhere than the golden table, for a CPU that it has no row for. */
struct given_pick {
	const char *operation, *class, *path; /* static storage or the caller's */
};
struct given_picks {
	struct given_pick list[CELL_PICKS_MAX];
	size_t count;
};
/* The same against these. What a pick depends on is still what the expectations say. */
void judge_given(struct cell_result *result, const struct cpu *asked,
		 const struct observation *observation, const struct expectations *expectations,
		 const struct given_picks *given);

#endif
