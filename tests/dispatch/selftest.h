/* SPDX-License-Identifier: MIT */
/*
 * The dispatch selftests of one CPU, shared by the bare and the Linux guest: CPUID dump, choices,
 * the witness, functional checks; reported in the frames of images/protocol.h. Freestanding. What
 * differs between the guests (ports, exceptions) is behind struct selftest_platform.
 */
#ifndef QUIRKLAB_DISPATCH_SELFTEST_H
#define QUIRKLAB_DISPATCH_SELFTEST_H

#include "tests/dispatch/dispatch.h"

/* All general registers at an exception, in the hardware's numbering; both guests fill it from
 * their own frame before a handler runs and write it back after. */
struct selftest_registers {
	uint64_t general[16]; /* rax rcx rdx rbx rsp rbp rsi rdi r8..r15 */
	uint64_t rip;
	uint64_t rflags;
};

/* What a handler tells the platform's exception entry to do. */
enum selftest_action {
	SELFTEST_RESUME,  /* write the registers back and return from the exception */
	SELFTEST_ESCAPE,  /* give up the call: make platform->guarded_call return 1 */
	SELFTEST_UNKNOWN, /* not ours: report a fault */
};

struct selftest;

struct selftest_platform {
	void *context;
	/* Sends bytes of the report, in order, blocking. */
	void (*send)(void *context, const void *bytes, size_t length);
	/*
	 * Calls function(argument) with exceptions routed to selftest_on_step (#DB) and
	 * selftest_on_fault (#UD, #GP, #PF). single_step: with the trap flag set from just before
	 * the call on. Returns 0 when the call returned, 1 when a handler answered SELFTEST_ESCAPE
	 * (the stack and the callee-saved registers are then as before the call, the trap flag
	 * clear).
	 */
	int (*guarded_call)(struct selftest *test, void (*function)(void *), void *argument,
			    bool single_step);
	uint8_t *arena;	    /* memory for buffers, page-aligned */
	size_t arena_bytes; /* at least SELFTEST_ARENA_MIN; calls at a larger extent point here too
			       and are abandoned after some rounds */
	uint16_t cpu;	    /* number in the frame header */
	uint32_t misc_enable; /* enum report_misc_enable */
	const char *version;  /* for REPORT_START, "" for none */
};

#define SELFTEST_ARENA_MIN (64 * 1024)

/* The state of one run, struct selftest, is selftest.c's own; the caller provides the memory. */
extern const size_t selftest_bytes;

/* Runs everything for this CPU and reports it, from REPORT_START to REPORT_DONE. memory points to
 * selftest_bytes of 16-aligned memory. Returns how many functional checks failed. */
unsigned selftest_run(void *memory, const struct selftest_platform *platform);

/* To be called by the platform's exception entries while a guarded call is under way. */
enum selftest_action selftest_on_step(struct selftest *test, struct selftest_registers *registers);
enum selftest_action selftest_on_fault(struct selftest *test, struct selftest_registers *registers,
				       unsigned vector, uint64_t error_code, uint64_t address);

/* Sends one frame; for the guests' own frames (REPORT_FAULT, REPORT_BEAT, REPORT_END). */
void selftest_send_frame(const struct selftest_platform *platform, unsigned kind,
			 const void *payload, size_t length);

#endif
