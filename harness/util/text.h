/* SPDX-License-Identifier: MIT */
/* A growable string. Running out of memory aborts: a lab that cannot allocate a line cannot report.
 */
#ifndef QUIRKLAB_HARNESS_UTIL_TEXT_H
#define QUIRKLAB_HARNESS_UTIL_TEXT_H

#include <stddef.h>

struct text {
	char *bytes;   /* NUL-terminated once anything was added; NULL before. Owned. */
	size_t length; /* in bytes, without the NUL */
	size_t room;
};

void text_add(struct text *text, const void *bytes, size_t length);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *
text_string(const struct text *text); /* "" for an empty one; valid until the next add */
void text_free(struct text *text);

#define CLEANUP_TEXT __attribute__((cleanup(text_free)))

/* Adds one word of a shell's command line, in quotes where it needs them. */
void text_add_word(struct text *text, const char *word);

/* Allocation that aborts on failure. */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *string);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Writes at most room - 1 bytes of what a guest, a file or a user sent so that it is inert on a
 * terminal and in every report: bytes outside printable ASCII become \xHH. Returns out.
 */
char *text_printable(char *out, size_t room, const void *bytes, size_t length);

/* How far apart two names are, whatever their capitals: the fewest letters put in, left out,
 * changed or swapped with a neighbour. Of names of more than 64 bytes the first 64 count. */
size_t name_distance(const char *a, const char *b);

#endif
