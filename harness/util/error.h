/* SPDX-License-Identifier: MIT */
/*
 * Errors as values. A function that can fail returns 0 or -1 (or a pointer or NULL) and fills the
 * caller's struct error with one line that names the file, the line or the CPU, and what was
 * expected. Nothing in harness/ prints.
 */
#ifndef QUIRKLAB_HARNESS_UTIL_ERROR_H
#define QUIRKLAB_HARNESS_UTIL_ERROR_H

/* Whose fault it is; lab/ turns it into an exit status (CONTRACT: 2 usage, 3 the lab's own). */
enum error_kind {
	ERROR_NONE,
	ERROR_INPUT, /* a bad argument or a bad input file: exit status 2 */
	ERROR_LAB,   /* the lab could not work: exit status 3 */
};

struct error {
	enum error_kind kind;
	char text[1024]; /* one line, no newline, always terminated */
};

/* Fills *err (which may be NULL) and returns -1. Control characters in the result become '?'. */
int error_set(struct error *err, enum error_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "PREFIX: " before the text that is there, and returns -1. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
