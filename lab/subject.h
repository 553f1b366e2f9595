/* SPDX-License-Identifier: MIT */
/* Whose picks a run judges: one of our own subjects by its name, or a program of the user's. */
#ifndef QUIRKLAB_LAB_SUBJECT_H
#define QUIRKLAB_LAB_SUBJECT_H

#include "harness/guest/payload.h"
#include "harness/plan/plan.h"

struct subject;
struct subject_row {
	const char *name, *help;
	enum subject_kind kind;
	/* Of a program of ours: fills the payload, and words for the kernel's command line. */
	int (*pack)(const struct subject *subject, struct error *err);
	const char *words; /* NULL: none */
};
/* The last has no name of its own: it stands for any program. */
extern const struct subject_row subject_rows[];
extern const size_t subject_row_count;

#define SUBJECT_NAME_MAX 48

struct subject {
	enum subject_kind kind;
	char name[SUBJECT_NAME_MAX];
	const char *libc; /* of glibc: another than this machine's, or NULL; borrowed */
	const struct subject_row *row; /* NULL: a program of the user's */
	const char *kernel;	       /* that boots, or NULL: the newest; borrowed */
	const char *path;	       /* of the user's program or folder, else NULL; borrowed */
	char *beside;		 /* the folder that its expectations are beside, or NULL; owned */
	struct payload *payload; /* owned; NULL until subject_pack */
};

/* What a word of the command line means. ERROR_INPUT: neither a name nor a file. */
int subject_find(struct subject *subject, const char *word, struct error *err);
/* Makes the payload of a program. arguments end with NULL; NULL: none. seconds: how long it may
 * write nothing. */
int subject_pack(struct subject *subject, const char *const *arguments, unsigned seconds,
		 struct error *err);
void subject_free(struct subject *subject);

#endif
