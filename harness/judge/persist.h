/* SPDX-License-Identifier: MIT */
/*
 * Whether what a call stored in persistent memory is durable at its end: the replay of each
 * instruction that it executed, with the registers that address memory.
 *
 * No emulator models a cache that forgets, so data that reads back proves nothing. The rules are
 * those of the manuals (Intel SDM volume 1, 10.4.6.2; volume 2, CLFLUSH, CLFLUSHOPT, CLWB,
 * SFENCE, MOVDIR64B; volume 3A, 12.3.1):
 *
 *   stored through the cache    lost, until the line is flushed after the store
 *   clwb, clflushopt            durable from the next fence on
 *   clflush                     durable at once: it is ordered with stores and other flushes
 *   movnti, movntdq, movdiri,
 *   movdir64b, clzero           past the cache: durable from the next fence on
 *   sfence, mfence, lock, xchg  a fence
 */
#ifndef QUIRKLAB_HARNESS_JUDGE_PERSIST_H
#define QUIRKLAB_HARNESS_JUDGE_PERSIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERSIST_BYTES_MAX (64 * 1024) /* of a call */

struct persist_range {
	uint64_t from, bytes;
};

struct persist;
/* target: what the call has to store, 1 to PERSIST_BYTES_MAX bytes. memory: the persistent memory
 * around it. NULL where they are no such ranges. */
struct persist *persist_new(struct persist_range target, struct persist_range memory);
void persist_free(struct persist *persist); /* NULL is allowed */

/* The next instruction, in the first of at most `length` bytes, with the registers before it, in
 * the hardware's numbering. */
void persist_step(struct persist *persist, uint64_t rip, const uint8_t *bytes, size_t length,
		  const uint64_t registers[16]);

struct persist_verdict {
	bool durable;	/* each byte was stored, and survives a loss of power after the last step */
	char path[32];	/* the class of the stores that stored most there; "" none */
	char does[160]; /* "movnti/mov; clwb; sfence: durable" */
	/* "" where durable, else the first byte that is not, and why, or a store elsewhere. */
	char why[224];
};
/* cut: why it is not known to be the call's end; "" it is. */
void persist_end(const struct persist *persist, const char *cut, struct persist_verdict *out);

/*
 * The same from the words of a line, behind its OP@CLASS:
 *
 *   END TO LENGTH MEMORY BYTES STEP...
 *
 * END: returned, faulted or limit. TO, LENGTH: the target. MEMORY, BYTES: the memory around it.
 * STEP, in hex: ADDRESS[:BYTES][,REGISTER=VALUE]...: BYTES of an instruction where the line has its
 * address for the first time; the registers that are not what they were before the step above, in
 * the hardware's numbering (0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp ... f r15); of the first step all
 * sixteen. False where it is no such line.
 */
bool persist_line(struct persist_verdict *out, const char *text, size_t length);

#endif
