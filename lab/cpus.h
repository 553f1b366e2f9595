/* SPDX-License-Identifier: MIT */
/* The CPUs that the SPECs of a command line mean. */
#ifndef QUIRKLAB_LAB_CPUS_H
#define QUIRKLAB_LAB_CPUS_H

#include "harness/cpu/spec.h"
#include "harness/guest/connection.h"

/* Whether a SPEC is the word "models", so that the connection's models are needed. */
bool cpus_want_models(char *const *specs, size_t count);

/*
 * Appends what the SPECs mean: those of spec_parse, and the words catalogue, unknown and models
 * (of the connection, or, where that is NULL, of models.tsv). No SPEC: catalogue and unknown. A CPU
 * that two SPECs mean alike is taken once.
 */
int cpus_collect(struct cpu_list *list, const struct cpu_tables *tables, char *const *specs,
		 size_t count, struct connection *connection, struct error *err);

/* ERROR_INPUT where a CPU is a model that libvirt does not have on this connection. */
int cpus_check_models(const struct cpu_list *list, struct connection *connection,
		      struct error *err);

/* The order of two struct cpu, for qsort: vendor, family, model, stepping, name. */
int cpus_compare(const void *left, const void *right);
void cpus_sort(struct cpu_list *list);

#endif
