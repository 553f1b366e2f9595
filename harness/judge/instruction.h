/* SPDX-License-Identifier: MIT */
/* What one instruction of a trace does to memory, decoded from its bytes (Zydis). */
#ifndef QUIRKLAB_HARNESS_JUDGE_INSTRUCTION_H
#define QUIRKLAB_HARNESS_JUDGE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum act_kind {
	ACT_NONE,    /* nothing that a path is known by */
	ACT_STORE,   /* to memory that is not the stack */
	ACT_FLUSH,   /* of a cache line */
	ACT_FENCE,   /* of stores */
	ACT_UNKNOWN, /* no instruction, or not all of its bytes are there */
};

/* Where the instruction leads beside the next one. */
enum act_flow {
	FLOW_ON,     /* nowhere */
	FLOW_JUMP,   /* to `target` only */
	FLOW_BRANCH, /* to `target` or on */
	FLOW_CALL,   /* to `target`, and then on */
	FLOW_END,    /* who knows: a return, an indirect jump, a trap */
};

/* Whether the bytes that are stored or flushed follow from the general registers. */
enum act_reach {
	REACH_NONE, /* nothing in memory is */
	REACH_KNOWN,
	REACH_UNKNOWN, /* by a mask, a vector of addresses, or behind fs or gs */
};

#define ACT_NO_REGISTER (-1)
#define ACT_RIP		16 /* as a base; 0 to 15: the hardware's numbers */

/* What an instruction stores or flushes. */
struct act_memory {
	enum act_reach reach;
	int base, index;
	unsigned scale;
	int64_t displacement;
	unsigned bytes; /* of one round; a flush reaches the line that holds its address */
	unsigned align; /* the address is rounded down to it; 1: not */
	bool narrow;	/* the address has 32 bits */
};

struct act {
	enum act_kind kind;
	unsigned length; /* in bytes; 0 where it is unknown */
	enum act_flow flow;
	char name[16];	   /* "rep-stosb", "mov-ymm", "clwb", "sfence" */
	unsigned width;	   /* ACT_STORE: bytes of one round */
	bool cached;	   /* ACT_STORE: the bytes stay in the cache until something flushes them */
	bool repeats;	   /* ACT_STORE: a rep prefix; each round is one of many */
	uint16_t loads_by; /* a bit for each general register that is the base of what is loaded, */
	uint16_t stores_by;	  /* stored, */
	uint16_t flush_by;	  /* or flushed */
	bool jumps_back;	  /* a direct jump to `target`, an offset at or below its own */
	int64_t target;		  /* of a direct jump, branch or call; an offset like its own */
	struct act_memory memory; /* the stack is memory as well */
	bool counted;		  /* a rep prefix: nothing is done where rcx is 0 */
	bool locked; /* lock, or an exchange with memory: orders stores as a fence does */
};

/* Which general registers hold addresses of the stack, in the hardware's numbering. */
struct stack_registers {
	uint16_t mask;
};

/* Before the first instruction: rsp and, as long as nothing else is put there, rbp. */
#define STACK_REGISTERS_INIT            \
	{                               \
		.mask = 1 << 4 | 1 << 5 \
	}

/* Decodes the instruction in the first of at most `length` bytes, which lie at `offset`, and
 * follows what it does to the registers. */
void instruction_decode(struct act *act, const uint8_t *bytes, size_t length, uint32_t offset,
			struct stack_registers *stack);

/* The first byte of act->memory, which is REACH_KNOWN, of an instruction at `rip`; registers in the
 * hardware's numbering: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15. */
uint64_t act_address(const struct act *act, uint64_t rip, const uint64_t registers[16]);

#endif
