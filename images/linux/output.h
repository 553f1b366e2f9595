/* SPDX-License-Identifier: MIT */
/* What a program writes: all of it where that is little, else the lines with a verdict first. */
#ifndef QUIRKLAB_IMAGES_LINUX_OUTPUT_H
#define QUIRKLAB_IMAGES_LINUX_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "tests/dispatch/report.h"

enum output_stream { OUTPUT_STANDARD = 1, OUTPUT_ERRORS = 2 };

struct output;
/* NULL: no memory. */
struct output *output_new(void);
void output_free(struct output *output); /* NULL is allowed */

/* In the order in which it was written; keeps at most two times REPORT_OUTPUT_MAX. */
void output_add(struct output *output, enum output_stream stream, const void *bytes, size_t length);
/* How many bytes there were. */
uint64_t output_written(const struct output *output);
/* Sends them as REPORT_OUTPUT, at most REPORT_OUTPUT_MAX; returns how many were left out. */
uint64_t output_send(struct output *output, struct report *report);

#endif
