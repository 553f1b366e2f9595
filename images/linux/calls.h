/* SPDX-License-Identifier: MIT */
/* Direct calls in machine code, counted by what they call, and code in place of them. */
#ifndef QUIRKLAB_IMAGES_LINUX_CALLS_H
#define QUIRKLAB_IMAGES_LINUX_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define CALL_BYTES 5 /* E8 and a distance of 32 bits from the next instruction */

struct callee {
	uint64_t address; /* 0: not looked for */
	uint32_t calls;
};

/*
 * Adds the calls that begin in the first length - CALL_BYTES + 1 bytes of code, which lie at
 * `address`. Any E8 counts whose distance leads exactly to a callee, also one within an
 * instruction: that a constant should do so is as good as impossible (one in 2^32 a byte).
 */
void calls_count(struct callee *callees, size_t count, uint64_t address, const uint8_t *code,
		 size_t length);

/* Code that was put in place of a call. */
#define INLINE_BYTES 7

struct inlined {
	uint8_t code[INLINE_BYTES];
	uint64_t first; /* address of the first place; 0: none */
	uint32_t places;
};

/* Adds the places that begin in the first length - INLINE_BYTES + 1 bytes of code, which lie at
 * `address`. */
void inlined_count(struct inlined *inlined, uint64_t address, const uint8_t *code, size_t length);

#endif
