/* SPDX-License-Identifier: MIT */
/*
 * What each CPU of the guest has of its own: descriptors, stacks, and the guarded call under way.
 * GS points to it.
 */
#ifndef QUIRKLAB_BARE_CPU_H
#define QUIRKLAB_BARE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/dispatch/selftest.h"

/* Interrupt stacks, so that no exception touches the red zone or a stack pointer under test, and
 * one inside the handler of another keeps the first one's frame. Numbered from 1. */
enum cpu_ist {
	IST_DB = 1,
	IST_DF,
	IST_UD,
	IST_GP,
	IST_PF,
	IST_OTHER,
};
#define IST_COUNT IST_OTHER

#define CPU_STACK_BYTES 32768
#define CPU_IST_BYTES	16384

/* Intel SDM volume 3A, figure 8-11: the 64-bit task state segment. */
struct cpu_tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3;
	uint16_t io_map;
} __attribute__((packed));

/* A call that survives exceptions (exception.c). */
struct guard {
	uint64_t stack;	       /* the stack pointer to go back to; guarded_enter fills it */
	struct selftest *test; /* asked what to do, or NULL: every exception ends the call */
};

struct cpu {
	struct cpu *self; /* first: read through GS */
	struct guard *guard;
	bool handling;	 /* inside a handler of a guarded call's exception */
	bool over;	 /* its turn in the rack is over: it must stay silent */
	uint16_t number; /* APIC id in a rack, 0 in a guest of one CPU */
	struct selftest_platform platform;
	uint64_t gdt[5];
	struct cpu_tss tss;
	uint8_t ist[IST_COUNT][CPU_IST_BYTES] __attribute__((aligned(16)));
	uint8_t stack[CPU_STACK_BYTES] __attribute__((aligned(16)));
};

static inline struct cpu *this_cpu(void)
{
	struct cpu *cpu;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
	return cpu;
}

/* On the CPU itself, in memory of any content: descriptors, exceptions, and the state that its
 * features allow to be enabled. */
void cpu_init(struct cpu *cpu, uint16_t number);

#endif
