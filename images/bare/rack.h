/* SPDX-License-Identifier: MIT */
/* The rack: one guest with many CPUs, each of another identity, tested one after another. */
#ifndef QUIRKLAB_BARE_RACK_H
#define QUIRKLAB_BARE_RACK_H

/* A page below 1 MiB that neither the firmware nor the loader needs any more. */
#define TRAMPOLINE 0x8000

/* xAPIC ids are 8 bits and 255 means all CPUs. */
#define RACK_CPUS_MAX 254

#ifndef __ASSEMBLER__
#include "images/bare/cpu.h"

/* Runs on each CPU of the rack, on its own stack, with exceptions set up. own_text: false where
 * the memory did not do for the text of this CPU's features (text.c): it must not be tested then.
 */
typedef void rack_test_fn(struct cpu *cpu, bool own_text);

/* On the boot CPU: prepares for CPUs with the APIC ids 1 to last, and starts the first. Returns
 * where none could be started. */
void rack_start(unsigned last, rack_test_fn *test);

/* Starts the next CPU after number that answers: then never returns, this CPU halts. Returns where
 * there is no other. */
void rack_next(unsigned number);
#endif
#endif
