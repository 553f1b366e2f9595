/* SPDX-License-Identifier: MIT */
/* Where the results of a run are told: the reports that were asked for, and the progress line. */
#ifndef QUIRKLAB_LAB_OUTPUTS_H
#define QUIRKLAB_LAB_OUTPUTS_H

#include "lab/run_options.h"

struct outputs;

/* Whether the file of an option can be written, without writing it. NULL: standard output. */
int output_check(const char *option, const char *path, struct error *err);
/* Opens where a report of --output goes: path, or standard output (NULL). */
FILE *output_open(const char *path, struct error *err);
/* Closes it, where it is no standard output. written: what the report's writer returned, with err
 * set where that is -1. Returns 0, or -1 where the report is not whole. */
int output_close(FILE *file, const char *path, int written, struct error *err);
/* Whether every file that was asked for can be written, without writing it. */
int outputs_check(const struct run_options *options, struct error *err);
/* Opens the reports of a run; without one on standard output, the default. about: its cells, its
 * folder, what is asked of all reports; the rest follows from each output. */
struct outputs *outputs_open(const struct run_options *options, const struct report_options *about,
			     struct error *err);
/* A cell that an earlier run had finished: in the reports, not in the rate of the progress line. */
void outputs_earlier(struct outputs *outputs, const struct cell_result *result);
/* Shows the progress line, where there is a terminal. */
void outputs_start(struct outputs *outputs);
void outputs_cell(struct outputs *outputs, const struct cell_result *result);
/* Ends all reports and frees *outputs; the last line of the run is its summary. */
int outputs_close(struct outputs *outputs, struct summary *summary, struct error *err);

#endif
