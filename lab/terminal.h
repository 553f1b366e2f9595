/* SPDX-License-Identifier: MIT */
/* What a stream of the program can show. */
#ifndef QUIRKLAB_LAB_TERMINAL_H
#define QUIRKLAB_LAB_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

struct terminal {
	bool interactive; /* a terminal that can move its cursor: TERM is set and is not dumb */
	bool colour;	  /* interactive, and NO_COLOR is empty or unset */
	bool utf8;	  /* by the locale */
};

struct terminal terminal_of(FILE *stream);
/* Columns: COLUMNS, else what the terminal on stderr or stdout says, else 80. */
unsigned terminal_width(void);

#endif
