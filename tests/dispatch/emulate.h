/* SPDX-License-Identifier: MIT */
/* Instructions that a CPU advertises and the accelerator lacks, done in software. */
#ifndef QUIRKLAB_DISPATCH_EMULATE_H
#define QUIRKLAB_DISPATCH_EMULATE_H

#include "tests/dispatch/selftest.h"

/* Does the clzero, movdiri or movdir64b at RIP and moves RIP behind it; false for any other
 * instruction, with nothing changed. Touches memory as the instruction would. */
bool emulate(struct selftest_registers *registers);

/* The rest of a string instruction (rep stos, rep movs; direction flag clear), but for its last
 * iteration: returns how many iterations it did, 0 where RIP is at something else. */
uint64_t emulate_rep(struct selftest_registers *registers);

#endif
