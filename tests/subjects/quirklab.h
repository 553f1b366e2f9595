/* SPDX-License-Identifier: MIT */
/*
 * For the test program of a library that picks by CPU: says what was picked, and shows what a call
 * really executes, in the lines that `quirklab run --subject PROGRAM` judges (quirklab(1), "A
 * program as the subject"). One header, no library: include it in one file, before any other.
 * C11 or C++11, x86-64, Linux.
 *
 *	ql_version("1.2");
 *	ql_pick("memset@4k", "rep-stosb", "erms");
 *	ql_witness("memset@4k", 4096, NULL, call_memset, &buffer);
 */
#ifndef QUIRKLAB_H
#define QUIRKLAB_H

#ifndef __x86_64__
#error "quirklab.h: single steps are those of x86-64"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the registers of a signal's context */
#endif

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define QL_UNUSED __attribute__((unused))

/* Calls of at most so many bytes are followed to their return; larger ones are left after
 * QL_ROUNDS of a loop. */
#define QL_WHOLE_MOST 4096
#define QL_ROUNDS     4

/* --- lines ---------------------------------------------------------------------------------------
 * A pick is OP or OP@CLASS: memset@4k. At once on standard output, in case that a crash is next.
 */

/* What is tested: chooses expect/NAME-VERSION.tsv. */
static QL_UNUSED void ql_version(const char *text)
{
	printf("QL version %s\n", text);
	fflush(stdout);
}

/* What the dispatcher says that it takes: a path (rep-stosb, movnti, mov-ymm ...), which a witness
 * must bear out, or an implementation's own name. row: why, or NULL. */
static QL_UNUSED void ql_pick(const char *pick, const char *path, const char *row)
{
	printf("QL pick %s %s%s%s\n", pick, path, row ? " " : "", row ? row : "");
	fflush(stdout);
}

/* A threshold, a tunable: goes into the record. */
static QL_UNUSED void ql_value(const char *name, const char *word)
{
	printf("QL value %s %s\n", name, word);
	fflush(stdout);
}

/* This CPU, or this build, does not have it. */
static QL_UNUSED void ql_skip(const char *pick, const char *why)
{
	printf("QL skip %s %s\n", pick, why);
	fflush(stdout);
}

static QL_UNUSED void ql_note(const char *text)
{
	printf("QL note %s\n", text);
	fflush(stdout);
}

/* --- the witness ---------------------------------------------------------------------------------
 */

#define QL_STEPS_MAX	128   /* distinct instructions of a trace */
#define QL_COUNT_MAX	20000 /* all of them: 4 KiB byte by byte, and some */
#define QL_TOLD_MAX	7     /* a line tells no more rounds */
#define QL_BYTES	15    /* an instruction has no more */
#define QL_TRAP_FLAG	0x100 /* RFLAGS.TF */
#define QL_VECTOR_DEBUG 1
#define QL_VECTOR_INT3	3
#define QL_SEEN_MAX	512	    /* distinct instructions of a persist line */
#define QL_STACK_BYTES	(64 * 1024) /* a frame has up to 11 KiB with AMX state */

enum ql_end { QL_RETURNED, QL_ABANDONED, QL_FAULTED, QL_LIMIT };
enum ql_state { QL_IDLE, QL_BEFORE, QL_INSIDE };

struct ql_step {
	uint64_t address;
	unsigned rounds;
	unsigned length;
	unsigned char bytes[QL_BYTES];
};

/* A signal's handler has no argument of ours. One thread at a time. */
static struct {
	volatile enum ql_state state;
	enum ql_end end;
	uint64_t entry, return_rip, return_rsp;
	unsigned rounds; /* of a loop after which the call is left; 0: never */
	unsigned count, repeats;
	struct ql_step *last;
	unsigned step_count;
	unsigned steps_most;
	struct ql_step steps[QL_SEEN_MAX];
	char *stream, *stream_end; /* of a persist line: where the next step goes; NULL: none */
	uint64_t registers[16];
	sigjmp_buf escape;
} ql;

/* The bytes from there on; of the next page only what there is of it. */
static QL_UNUSED unsigned ql_read_code(unsigned char *to, uint64_t address)
{
	const uint64_t page = 4096, left = page - address % page;
	struct iovec local, remote;
	ssize_t got;

	if (left >= QL_BYTES) {
		memcpy(to, (const void *)address, QL_BYTES);
		return QL_BYTES;
	}
	memcpy(to, (const void *)address, left);
	local.iov_base = to + left;
	remote.iov_base = (void *)(address + left);
	local.iov_len = remote.iov_len = QL_BYTES - left;
	got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return (unsigned)(left + (got > 0 ? (uint64_t)got : 0));
}

/* The step of that address, a new one where there is none; NULL: no room. Most follow the last. */
static QL_UNUSED struct ql_step *ql_find(uint64_t address)
{
	struct ql_step *step = ql.last ? ql.last + 1 : ql.steps;

	if (step < ql.steps + ql.step_count && step->address == address)
		return step;
	for (step = ql.steps; step < ql.steps + ql.step_count; step++)
		if (step->address == address)
			return step;
	if (ql.step_count == ql.steps_most)
		return NULL;
	ql.step_count++;
	step->address = address;
	step->rounds = 0;
	step->length = ql_read_code(step->bytes, address);
	return step;
}

/*
 * A rep that has shown what it is: does the rest of it at once, and leaves its last round to the
 * CPU. Forward ones of the four forms that memory routines have.
 */
static QL_UNUSED void ql_finish_rep(const struct ql_step *step, greg_t *registers)
{
	const unsigned char *code = step->bytes;
	uint64_t rounds = (uint64_t)registers[REG_RCX];
	unsigned wide, width;

	if (rounds < 2 || step->length < 3 || code[0] != 0xF3 || registers[REG_EFL] & 0x400)
		return;
	wide = code[1] == 0x48; /* REX.W */
	width = code[1 + wide] & 1 ? (wide ? 8 : 4) : 1;
	for (rounds--; rounds; rounds--, registers[REG_RCX]--) {
		void *to = (void *)registers[REG_RDI];

		if ((code[1 + wide] & 0xFE) == 0xA4) { /* movs */
			memcpy(to, (const void *)registers[REG_RSI], width);
			registers[REG_RSI] += width;
		} else if ((code[1 + wide] & 0xFE) == 0xAA) { /* stos */
			memcpy(to, &registers[REG_RAX], width);
		} else {
			return;
		}
		registers[REG_RDI] += width;
	}
}

/* A number in hex; the caller has made sure of the room. */
static QL_UNUSED void ql_stream_hex(uint64_t value)
{
	int shift = 60;

	while (shift && !(value >> shift & 15))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*ql.stream++ = "0123456789abcdef"[value >> shift & 15];
}

/* The step and the registers that have changed, in the hardware's numbering. False: no room. */
static QL_UNUSED int ql_stream_step(const struct ql_step *step, const greg_t *registers)
{
	static const int order[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15 };
	const int first = ql.count == 1;
	unsigned i;

	if (ql.stream_end - ql.stream < 512)
		return 0;
	*ql.stream++ = ' ';
	ql_stream_hex(step->address);
	if (step->rounds == 1)
		*ql.stream++ = ':';
	for (i = 0; step->rounds == 1 && i < step->length; i++) {
		ql_stream_hex(step->bytes[i] >> 4);
		ql_stream_hex(step->bytes[i] & 15);
	}
	for (i = 0; i < 16; i++) {
		const uint64_t value = (uint64_t)registers[order[i]];

		if (!first && value == ql.registers[i])
			continue;
		ql.registers[i] = value;
		*ql.stream++ = ',';
		ql_stream_hex(i);
		*ql.stream++ = '=';
		ql_stream_hex(value);
	}
	return 1;
}

/* Stops to look; the call goes on by itself. */
static QL_UNUSED void ql_let_go(enum ql_end end, greg_t *registers)
{
	ql.end = end;
	ql.state = QL_IDLE;
	registers[REG_EFL] &= ~(greg_t)QL_TRAP_FLAG;
}

static QL_UNUSED void ql_leave(enum ql_end end)
{
	ql.end = end;
	ql.state = QL_IDLE;
	siglongjmp(ql.escape, 1);
}

/* The instruction at RIP is next. */
static QL_UNUSED void ql_on_step(greg_t *registers)
{
	const uint64_t rip = (uint64_t)registers[REG_RIP], rsp = (uint64_t)registers[REG_RSP];
	struct ql_step *step;

	if (ql.state == QL_BEFORE) {
		if (rip != ql.entry) {
			if (++ql.count > QL_COUNT_MAX)
				ql_let_go(QL_LIMIT, registers);
			return;
		}
		ql.state = QL_INSIDE;
		ql.return_rip = *(const uint64_t *)rsp;
		ql.return_rsp = rsp + 8;
		ql.count = 0;
	}
	if (rip == ql.return_rip && rsp == ql.return_rsp) {
		ql_let_go(QL_RETURNED, registers);
		return;
	}
	step = ++ql.count > QL_COUNT_MAX ? NULL : ql_find(rip);
	if (!step) {
		ql_let_go(QL_LIMIT, registers);
		return;
	}
	if (ql.rounds && step->rounds >= ql.rounds)
		ql_leave(QL_ABANDONED);
	step->rounds++;
	ql.repeats = step == ql.last ? ql.repeats + 1 : 0;
	ql.last = step;
	if (ql.stream && !ql_stream_step(step, registers))
		ql_let_go(QL_LIMIT, registers);
	if (!ql.stream && !ql.rounds && ql.repeats == QL_ROUNDS)
		ql_finish_rep(step, registers);
}

static QL_UNUSED void ql_on_signal(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (info->si_code <= 0) /* somebody sent it */
		return;
	if (number == SIGTRAP && registers[REG_TRAPNO] == QL_VECTOR_INT3) {
		/* ql_trace's own, before and after the call. */
		if (ql.state == QL_BEFORE && !(registers[REG_EFL] & QL_TRAP_FLAG))
			registers[REG_EFL] |= QL_TRAP_FLAG;
		else
			registers[REG_EFL] &= ~(greg_t)QL_TRAP_FLAG;
		return;
	}
	if (number == SIGTRAP) {
		if (ql.state == QL_IDLE)
			registers[REG_EFL] &= ~(greg_t)QL_TRAP_FLAG;
		else
			ql_on_step(registers);
		return;
	}
	if (ql.state == QL_IDLE) {
		signal(number, SIG_DFL); /* it comes again, and then counts */
		return;
	}
	ql_leave(QL_FAULTED);
}

static const char *const ql_ends[] QL_UNUSED = { "returned", "abandoned", "faulted", "limit" };

/* Of an instruction as much as the next one that was seen leaves. */
static QL_UNUSED unsigned ql_length(const struct ql_step *step)
{
	unsigned length = step->length, i;

	for (i = 0; i < ql.step_count; i++) {
		const uint64_t distance = ql.steps[i].address - step->address;

		if (distance && distance < length)
			length = (unsigned)distance;
	}
	return length;
}

/* Addresses count from the lowest one: the same program gives the same line. */
static QL_UNUSED void ql_print(const char *pick, unsigned long long size)
{
	uint64_t lowest = UINT64_MAX;
	unsigned i, byte;

	for (i = 0; i < ql.step_count; i++)
		if (ql.steps[i].address < lowest)
			lowest = ql.steps[i].address;
	printf("QL trace %s %llu %s", pick, size, ql_ends[ql.end]);
	for (i = 0; i < ql.step_count; i++) {
		const struct ql_step *step = &ql.steps[i];
		const unsigned length = ql_length(step);

		printf(" %llx:%u:", (unsigned long long)(step->address - lowest),
		       step->rounds > QL_TOLD_MAX ? QL_TOLD_MAX : step->rounds);
		for (byte = 0; byte < length; byte++)
			printf("%02x", step->bytes[byte]);
	}
	printf("\n");
	fflush(stdout);
}

/* The call in single steps, from entry's first instruction on. 0, or -1: no signals of ours. */
static QL_UNUSED int ql_step_through(void (*entry)(void), void (*call)(void *), void *argument,
				     unsigned rounds)
{
	static const int signals[] = { SIGTRAP, SIGILL, SIGSEGV, SIGBUS, SIGFPE };
	static unsigned char memory[QL_STACK_BYTES] __attribute__((aligned(64)));
	enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };
	struct sigaction action, old_actions[SIGNALS];
	stack_t stack, old_stack;
	sigset_t open, old_mask;
	int i;

	memset(&stack, 0, sizeof(stack));
	stack.ss_sp = memory;
	stack.ss_size = sizeof(memory);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = ql_on_signal;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigemptyset(&action.sa_mask);
	sigemptyset(&open);
	if (sigaltstack(&stack, &old_stack) < 0)
		return -1;
	for (i = 0; i < SIGNALS; i++) {
		sigaddset(&open, signals[i]); /* an exception whose signal is blocked kills */
		sigaction(signals[i], &action, &old_actions[i]);
	}
	sigprocmask(SIG_UNBLOCK, &open, &old_mask);
	ql.entry = entry ? (uint64_t)(uintptr_t)entry : (uint64_t)(uintptr_t)call;
	ql.rounds = rounds;
	ql.steps_most = ql.stream ? QL_SEEN_MAX : QL_STEPS_MAX;
	ql.end = QL_LIMIT;
	ql.count = ql.repeats = ql.step_count = 0;
	ql.last = NULL;
	if (sigsetjmp(ql.escape, 1) == 0) {
		ql.state = QL_BEFORE;
		__asm__ volatile("int3" ::: "memory"); /* the handler sets the trap flag */
		call(argument);
		__asm__ volatile("int3" ::: "memory");
	}
	ql.state = QL_IDLE;
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	for (i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &old_actions[i], NULL);
	sigaltstack(&old_stack, NULL);
	return 0;
}

/* 0 where the call was seen at all. */
static QL_UNUSED int ql_was_seen(const char *pick)
{
	if (ql.step_count)
		return 0;
	printf("QL note %s: the function was not called\n", pick);
	fflush(stdout);
	return -1;
}

/*
 * Calls call(argument) in single steps and prints the trace of `entry`, from its first instruction
 * to its return: the function that was picked, or NULL for call() itself. rounds: the call is left
 * as soon as an instruction is to be executed once more than so often: what it was at stays half
 * done, and it must hold no lock; 0: it is followed to its return. size goes into the line.
 *
 * A second trace of the same pick, of the same call scaled down and followed to its return, shows
 * tail and fence. A function that the loader resolves at its first call is to be called once
 * before.
 *
 * For the time of the call SIGTRAP, SIGILL, SIGSEGV, SIGBUS and SIGFPE have handlers of this
 * header, on a signal stack of its own. Returns 0, or -1 where nothing could be traced.
 */
static QL_UNUSED int ql_trace(const char *pick, unsigned long long size, void (*entry)(void),
			      void (*call)(void *), void *argument, unsigned rounds)
{
	if (ql_step_through(entry, call, argument, rounds) < 0 || ql_was_seen(pick) < 0)
		return -1;
	ql_print(pick, size);
	return 0;
}

/* The same, followed to the return where size is at most QL_WHOLE_MOST. */
static QL_UNUSED int ql_witness(const char *pick, unsigned long long size, void (*entry)(void),
				void (*call)(void *), void *argument)
{
	return ql_trace(pick, size, entry, call, argument, size > QL_WHOLE_MOST ? QL_ROUNDS : 0);
}

/*
 * Whether what call(argument) stores in persistent memory is durable at its end, flushes and fence
 * included: tells every step of it, with the registers. to, length: what it has to store, at most
 * 64 KiB; memory, bytes: the whole mapping. room: for the line, some 10 bytes for each that a loop
 * of moves copies by eight; a `rep` is told byte by byte. Several lines of one pick: the first that
 * is not durable counts. Returns 0, or -1 where nothing could be traced.
 */
static QL_UNUSED int ql_persist(const char *pick, const void *to, size_t length, const void *memory,
				size_t bytes, void (*call)(void *), void *argument, char *room,
				size_t room_bytes)
{
	int result;

	ql.stream = room;
	ql.stream_end = room + room_bytes;
	result = ql_step_through(NULL, call, argument, 0);
	if (!result)
		result = ql_was_seen(pick);
	if (!result) {
		printf("QL persist %s %s 0x%llx %zu 0x%llx %zu", pick, ql_ends[ql.end],
		       (unsigned long long)(uintptr_t)to, length,
		       (unsigned long long)(uintptr_t)memory, bytes);
		fwrite(room, 1, (size_t)(ql.stream - room), stdout);
		printf("\n");
		fflush(stdout);
	}
	ql.stream = NULL;
	return result;
}

#endif
