// SPDX-License-Identifier: MIT
/* Single steps and exceptions in user space: signals turned into the selftests' handlers. */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "images/linux/guard.h"
#include "images/linux/platform.h"
#include "tests/dispatch/selftest.h"

#define VECTOR_DEBUG 1 /* #DB, Intel SDM volume 3, table 6-1 */

/* Room for several frames, each up to 11 KiB with AMX state (one step, and a fault in its handler).
 */
#define SIGNAL_STACK_BYTES (96 * 1024)

/* The first five are exceptions; the rest would end a process without a word. */
static const int signals[] = { SIGTRAP, SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGSYS };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* ucontext's index of each register, in the hardware's numbering. */
static const uint8_t greg_of[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				     REG_RSI, REG_RDI, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

/* Signal handlers have no argument of ours: the call under way is state of the process. */
struct guard {
	struct selftest *test; /* NULL: no guarded call is under way */
	uint64_t rsp;
};
static struct guard guard;
static volatile sig_atomic_t handling; /* a selftest handler runs: an exception now is its own */
static platform_fatal_fn *on_fatal;
static struct sigaction old_actions[SIGNALS];
static stack_t old_stack;
static uint8_t signal_stack[SIGNAL_STACK_BYTES] __attribute__((aligned(64)));

static void die(int number, const siginfo_t *info, const greg_t *gregs)
{
	struct platform_fault fault = { .signal = number, .exception = info->si_code > 0 };

	if (fault.exception) {
		fault.vector = (unsigned)gregs[REG_TRAPNO];
		fault.error_code = (uint64_t)gregs[REG_ERR];
		fault.rip = (uint64_t)gregs[REG_RIP];
		fault.address = (uint64_t)gregs[REG_CR2];
	}
	if (on_fatal)
		on_fatal(&fault);
	/* An exception comes again when the instruction is tried again; the rest is sent again. */
	signal(number, SIG_DFL);
	if (!fault.exception || number == SIGTRAP)
		raise(number);
}

static void escape(greg_t *gregs)
{
	gregs[REG_RSP] = (greg_t)guard.rsp;
	gregs[REG_RIP] = (greg_t)(uintptr_t)guard_escaped;
	gregs[REG_EFL] &= ~(greg_t)GUARD_TRAP_FLAG;
}

/* si_code above zero: raised by the kernel on behalf of the CPU, so that the vector is valid. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct selftest_registers registers;
	enum selftest_action action;
	unsigned vector = (unsigned)gregs[REG_TRAPNO];
	size_t i;

	if (info->si_code <= 0 || !guard.test || handling) {
		die(number, info, gregs);
		return;
	}
	if (vector == VECTOR_DEBUG && gregs[REG_RIP] == (greg_t)(uintptr_t)guard_returned) {
		gregs[REG_EFL] &= ~(greg_t)GUARD_TRAP_FLAG;
		return;
	}
	for (i = 0; i < 16; i++)
		registers.general[i] = (uint64_t)gregs[greg_of[i]];
	registers.rip = (uint64_t)gregs[REG_RIP];
	registers.rflags = (uint64_t)gregs[REG_EFL];
	handling = 1;
	if (vector == VECTOR_DEBUG)
		action = selftest_on_step(guard.test, &registers);
	else
		action = selftest_on_fault(guard.test, &registers, vector, (uint64_t)gregs[REG_ERR],
					   (uint64_t)gregs[REG_CR2]);
	handling = 0;
	switch (action) {
	case SELFTEST_RESUME:
		for (i = 0; i < 16; i++)
			gregs[greg_of[i]] = (greg_t)registers.general[i];
		gregs[REG_RIP] = (greg_t)registers.rip;
		gregs[REG_EFL] = (greg_t)registers.rflags;
		return;
	case SELFTEST_ESCAPE:
		escape(gregs);
		return;
	case SELFTEST_UNKNOWN:
		break;
	}
	die(number, info, gregs);
}

int platform_install(platform_fatal_fn *fatal)
{
	const stack_t stack = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action;
	size_t i;

	/*
	 * SA_NODEFER: an exception whose signal is blocked kills at once, and would end PID 1, and
	 * with it the kernel, without a word. A second frame goes below the first one on the same
	 * stack.
	 */
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_signal;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	on_fatal = fatal;
	handling = 0;
	guard.test = NULL;
	if (sigaltstack(&stack, &old_stack) < 0)
		return -1;
	for (i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i], &action, &old_actions[i]) < 0)
			return -1;
	return 0;
}

void platform_remove(void)
{
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &old_actions[i], NULL);
	sigaltstack(&old_stack, NULL);
}

int platform_guarded_call(struct selftest *test, void (*function)(void *), void *argument,
			  bool single_step)
{
	const struct guard outer = guard;
	int escaped;

	guard.test = test;
	escaped = guard_call(&guard.rsp, function, argument, single_step ? GUARD_TRAP_FLAG : 0);
	guard = outer;
	return escaped;
}
