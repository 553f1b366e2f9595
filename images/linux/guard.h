/* SPDX-License-Identifier: MIT */
/* A call that a signal handler can leave: the assembler half of platform.c. */
#ifndef QUIRKLAB_IMAGES_LINUX_GUARD_H
#define QUIRKLAB_IMAGES_LINUX_GUARD_H

#include <stdint.h>

#define GUARD_TRAP_FLAG 0x100UL /* RFLAGS.TF */

/*
 * Saves the callee-saved registers on the stack and the stack pointer in *rsp, or-s flags into
 * RFLAGS and calls function(argument). Returns 0. The first single step is reported at the
 * function's first instruction, the last one at guard_returned.
 */
int guard_call(uint64_t *rsp, void (*function)(void *), void *argument, uint64_t flags);

/* Addresses, not functions: where the guarded function returns to; and where a handler that has
 * restored RSP from *rsp goes on, to make guard_call return 1. */
extern const char guard_returned[], guard_escaped[];

#endif
