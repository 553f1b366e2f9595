/* SPDX-License-Identifier: MIT */
/*
 * A dump says more of a CPU than its signature and its bits. What of that a hypervisor can be told:
 * the highest leaf of each range, the brand string, the width of physical addresses.
 */
#ifndef QUIRKLAB_HARNESS_CPU_REALISE_DUMP_H
#define QUIRKLAB_HARNESS_CPU_REALISE_DUMP_H

#include "harness/cpu/dump.h"
#include "harness/cpu/realise.h"

/*
 * Presents `cpu`, which is the dump's CPU, perhaps with edits or with the expected row's name.
 * notes gets a line for each thing that is presented otherwise than the dump says, and why.
 */
int realise_dump(struct realised *out, const struct cpu *cpu, const struct dump_cpu *dump,
		 enum realise_guest guest, const struct hypervisor *hypervisor, struct text *notes,
		 struct error *err);

#endif
