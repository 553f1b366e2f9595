/* SPDX-License-Identifier: MIT */
/*
 * What the parts of `quirklab diff` share. A side is what BASE or HEAD means: a tree whose
 * dispatcher is built and asked, or the records of a run. Both become the same: CPUs with their
 * picks by stepping, and, of trees, what signatures get that no table names.
 */
#ifndef QUIRKLAB_LAB_DIFF_H
#define QUIRKLAB_LAB_DIFF_H

#include "harness/cpu/spec.h"
#include "harness/util/text.h"
#include "lab/lab.h"

enum side_kind {
	SIDE_TREE,    /* sources: a git revision, or the work tree */
	SIDE_RECORDS, /* a run that is over */
	SIDE_KERNEL,  /* is run as a subject, then records */
	SIDE_LIBC,
};

/* Strings that live as long as their pool; equal ones are one pointer. */
struct strings {
	void *tree;
};
const char *strings_keep(struct strings *strings, const char *bytes, size_t length);
void strings_free(struct strings *strings);

/* All strings are of the diff's pool. */
struct diff_pick {
	const char *operation, *class, *path;
	const char *row, *reason; /* NULL: no row; the source does not say */
	const char *expected;	  /* what the golden table of that side says, or NULL */
	const char *mismatch;	  /* the guest was not that CPU in these bits; NULL: it was */
	uint64_t size;		  /* bytes; 0: not known */
};

/* What the steppings first..last get. */
struct diff_answer {
	unsigned first, last;
	struct diff_pick *picks; /* owned */
	size_t count, room;
};

struct diff_cpu {
	char name[CPU_NAME_MAX];
	char vendor[13];
	unsigned family, model;
	bool agreed_on;		     /* of the tables: a change of it wants an expected pick */
	bool dead;		     /* a record without picks: hung, crashed, error */
	struct diff_answer *answers; /* by stepping; owned */
	size_t count;
};

/* From this signature on (family, model, stepping in one number) a vendor gets this. */
struct diff_jump {
	uint32_t at;
	struct diff_answer answer;
};
#define SWEEP_SIGNATURE(family, model, stepping) \
	((uint32_t)(family) << 12 | (uint32_t)(model) << 4 | (uint32_t)(stepping))
#define SWEEP_FAMILIES 32 /* 0..31: all that vendors have used, and some */

struct diff_sweep {
	struct diff_jump *jumps; /* owned */
	size_t count;
};

/* The vendors that the dispatcher knows, each with most bits off and on. */
#define SWEEP_VENDORS 5
#define SWEEPS	      (2 * SWEEP_VENDORS)
extern const char *const sweep_vendors[SWEEP_VENDORS];

struct diff_side {
	const char *word; /* as the user wrote it */
	enum side_kind kind;
	char *title;	       /* "HEAD~1 (1a2b3c4)"; printable; owned */
	char *tree;	       /* SIDE_TREE: the folder of the sources; owned */
	char *id;	       /* of a revision: the git tree; NULL: the work tree; owned */
	char *build;	       /* its build folder; owned */
	bool locked;	       /* SIDE_TREE: nobody rebuilds or removes what is used here, while */
	int lock;	       /* this file of the build's is open; owned where locked */
	struct diff_cpu *cpus; /* owned, sorted by name */
	size_t count;
	struct diff_sweep sweeps[SWEEPS]; /* SIDE_TREE */
};

enum agreement {
	AGREED,	    /* HEAD's expected pick is the new path */
	NOT_AGREED, /* it is another */
	NOBODY,	    /* there is none, of a CPU that should have one */
	NOT_ASKED,  /* there is none, of a dump or an edited CPU */
};

struct diff_change {
	const struct diff_cpu *cpu; /* HEAD's */
	unsigned first, last;	    /* steppings */
	const struct diff_pick *before, *after;
	enum agreement agreement;
};

/* Signatures that no table names, and that get something else now. */
struct diff_signature {
	const char *vendor;
	unsigned family, model_first, model_last, first, last; /* steppings of each model */
	const struct diff_answer *before, *after;
};

/* What a guest did otherwise than replay says. */
struct diff_surprise {
	char name[CPU_NAME_MAX];
	char *text; /* owned */
};

struct diff {
	struct strings strings;
	struct diff_side base, head;
	struct diff_change
		*changes; /* owned; by vendor, family, model, stepping, name, operation */
	size_t change_count, change_room;
	struct diff_signature *signatures; /* owned */
	size_t signature_count;
	size_t compared, only_base, only_head; /* CPUs */
	size_t not_compared;		       /* picks: a guest was not that CPU, or died */
	size_t changed_cpus;

	bool boots; /* HEAD can be booted, and was asked to be */
	size_t booted, boot_changed, boot_neighbours, boot_sample, boot_mismatches;
	struct diff_surprise *surprises; /* owned */
	size_t surprise_count;
	double seconds;
};

/* What a word means, with its tree unpacked where it is a revision. NULL: the work tree. */
int side_resolve(struct diff_side *side, const char *word, struct error *err);
void side_free(struct diff_side *side);

/* Builds the dispatchers of both sides that are trees, and HEAD's bare image where image is set.
 * What is built once is kept in the user's cache. */
int diff_build(struct diff *diff, bool image, struct error *err);
char *side_image(const struct diff_side *side);	  /* bare.elf; caller frees */
char *side_chooser(const struct diff_side *side); /* caller frees */

/* Asks the dispatchers of trees about each CPU of the list, all its steppings, and about all
 * signatures. agreed: how many from the start of the list are of the tables. */
int diff_ask(struct diff *diff, const struct cpu_list *cpus, size_t agreed, struct error *err);

/* A side that is records, or becomes some by a run of its kernel or libc. */
int side_read_records(struct diff *diff, struct diff_side *side, const char *path,
		      struct error *err);

/* Both sides are filled: what differs. */
void diff_compare(struct diff *diff);
/* Whether something is wrong: a change that nobody agreed on, or a guest that contradicts. */
bool diff_failed(const struct diff *diff);

/* Runs quirklab itself on these CPUs: the records are in folder/results. */
int diff_run(const struct lab *lab, const char *folder, const char *const options[],
	     const char *const names[], size_t name_count, struct error *err);
/* Boots HEAD's image for what changed, its neighbours and a sample; all: for every CPU. folder: for
 * the results. */
int diff_boot(struct diff *diff, const struct lab *lab, const char *folder,
	      const struct cpu_list *cpus, bool all, struct error *err);
/* The CPUs whose picks a kernel or a library can tell apart: the first of each vendor and set of
 * bits. names: room for cpus->count. Returns how many. */
size_t diff_sample(const struct cpu_list *cpus, const char **names);

enum diff_format { DIFF_TEXT, DIFF_MARKDOWN, DIFF_JSON };
void diff_write(struct text *out, const struct diff *diff, enum diff_format format);

void diff_free(struct diff *diff);

#endif
