/* SPDX-License-Identifier: MIT */
/*
 * The grammar of a CPU on the command line (SPEC):
 *
 *   NAME | [VENDOR/]FAMILY:MODEL[:STEPPING] | model:LIBVIRT-NAME | PATH     then  (,EDIT)*
 *   EDIT: +BIT | -BIT | family= model= stepping= vendor= level= VALUE
 */
#ifndef QUIRKLAB_HARNESS_CPU_SPEC_H
#define QUIRKLAB_HARNESS_CPU_SPEC_H

#include "harness/cpu/cpu.h"

/* Everything that a SPEC can name. The lists are borrowed. */
struct cpu_tables {
	struct cpu_list known;	/* the catalogue, then the unknown CPUs, each in file order */
	struct cpu_list models; /* models.tsv, origin CPU_MODEL */
};

int cpu_tables_read(struct cpu_tables *tables, struct error *err);
void cpu_tables_free(struct cpu_tables *tables);

/*
 * Appends to list every CPU that SPEC means, edits applied (the name then ends with the edits, as
 * "skylake-x,+fsrs"). A signature that no row has gives one CPU of origin CPU_SIGNATURE; it needs a
 * vendor then. ERROR_INPUT with a near name as a hint ("no CPU 'skylake-y': do you mean
 * skylake-x?").
 */
int spec_parse(struct cpu_list *list, const char *spec, const struct cpu_tables *tables,
	       struct error *err);

/* Whether the whole SPEC, without edits, means a file that is there. */
bool spec_is_path(const char *spec, const struct cpu_tables *tables);

#endif
