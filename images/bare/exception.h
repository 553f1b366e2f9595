/* SPDX-License-Identifier: MIT */
/* Exceptions: guarded calls survive them, any other is reported and ends the CPU's run. */
#ifndef QUIRKLAB_BARE_EXCEPTION_H
#define QUIRKLAB_BARE_EXCEPTION_H

#include <stdint.h>

#include "tests/dispatch/selftest.h"

/* Loads the interrupt table, which all CPUs share, on this CPU. */
void exception_init(void);

/* As selftest_platform.guarded_call; without a test every exception makes it return 1. */
int guarded_call(struct selftest *test, void (*function)(void *), void *argument, bool single_step);

/* Reads a model-specific register; false where the CPU raises an exception. */
bool guarded_read_msr(uint32_t msr, uint64_t *value);

/* What to do after an exception that nobody expected has been reported; main.c of a guest defines
 * it. vector says which it was. */
_Noreturn void guest_failed(unsigned vector);

#endif
