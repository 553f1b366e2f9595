/* SPDX-License-Identifier: MIT */
/*
 * The probe of a C library, glibc: which memset, memcpy, memmove, strlen and memchr it resolved on
 * this CPU, by name, its thresholds, and what its memset, memcpy and memmove really do below, at
 * and above each of them. Prints QL lines (harness/judge/program.h).
 *
 * It is loaded by the library that it probes, of whatever version: only old versions of symbols
 * are bound. Names come from __libc_ifunc_impl_list, a symbol that glibc keeps for its
 * own tests; where a library has it no more, the witness alone speaks. Thresholds come from
 * `ld.so --list-diagnostics`, which exists since 2.33.
 */
#include "tests/subjects/quirklab.h"

#include <elf.h>
#include <link.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The start of a program of older versions: crt1.o binds __libc_start_main of 2.34. It calls what
 * initialises the program only where it is given. */
__asm__(".symver __libc_start_main, __libc_start_main@GLIBC_2.2.5\n"
	".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rdx, %r9\n"  /* the loader's own end */
	"	popq %rsi\n"	   /* argc */
	"	movq %rsp, %rdx\n" /* argv */
	"	andq $-16, %rsp\n"
	"	pushq %rax\n"
	"	pushq %rsp\n"
	"	xorl %r8d, %r8d\n"
	"	xorl %ecx, %ecx\n"
	"	leaq main(%rip), %rdi\n"
	"	call *__libc_start_main@GOTPCREL(%rip)\n"
	"	hlt\n");

/* glibc, include/ifunc-impl-list.h: the implementations of a function, and whether this CPU can run
 * each. */
struct implementation {
	const char *name;
	void (*function)(void);
	bool usable;
};
__asm__(".symver __libc_ifunc_impl_list, __libc_ifunc_impl_list@GLIBC_PRIVATE");
extern size_t __libc_ifunc_impl_list(const char *name, struct implementation *list, size_t room)
	__attribute__((weak));
extern const char *gnu_get_libc_version(void);

#define IMPLEMENTATIONS_MAX 64
#define MIB		    (UINT64_C(1) << 20)
#define LARGE		    (64 * MIB)
/* A threshold beyond this is one that no call is to reach: SIZE_MAX, for instance. */
#define REACHABLE (UINT64_C(64) << 30)

/* --- names --------------------------------------------------------------------------------------
 */

static const struct {
	const char *name;
	void (*function)(void); /* where the loader resolved it to */
} functions[] = {
	{ "memset", (void (*)(void))memset },	{ "memcpy", (void (*)(void))memcpy },
	{ "memmove", (void (*)(void))memmove }, { "strlen", (void (*)(void))strlen },
	{ "memchr", (void (*)(void))memchr },
};

static void print_names(void)
{
	struct implementation list[IMPLEMENTATIONS_MAX];

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const char *name = functions[i].name, *resolved = NULL;
		size_t count = 0;

		if (__libc_ifunc_impl_list)
			count = __libc_ifunc_impl_list(name, list, IMPLEMENTATIONS_MAX);
		for (size_t j = 0; j < count && !resolved; j++)
			if (list[j].function == functions[i].function)
				resolved = list[j].name;
		if (resolved)
			printf("QL pick %s@ifunc %s\n", name, resolved);
		else
			printf("QL skip %s@ifunc the library does not name what it picked\n", name);
	}
}

/* --- thresholds ---------------------------------------------------------------------------------
 */

static int find_loader(struct dl_phdr_info *info, size_t size, void *out)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char **path = out;

	(void)size;
	if (!slash || strncmp(slash, "/ld", 3))
		return 0;
	*path = info->dlpi_name;
	return 1;
}

/* What the loader says of this CPU; NULL: it has no such option. */
static char *diagnostics(void)
{
	const char *loader = "/lib64/ld-linux-x86-64.so.2", *tunables = getenv("GLIBC_TUNABLES");
	char option[] = "--list-diagnostics", tuned[1024];
	char *argv[] = { option, option, NULL }, *environment[] = { NULL, NULL };
	int fd = (int)syscall(SYS_memfd_create, "diagnostics", 0), status = 0;
	posix_spawn_file_actions_t actions;
	char *text = NULL;
	off_t length;
	pid_t pid;

	dl_iterate_phdr(find_loader, &loader);
	if (tunables &&
	    snprintf(tuned, sizeof(tuned), "GLIBC_TUNABLES=%s", tunables) < (int)sizeof(tuned))
		environment[0] = tuned;
	if (fd < 0 || posix_spawn_file_actions_init(&actions))
		return NULL;
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
	if (posix_spawn(&pid, loader, &actions, NULL, argv, environment) == 0 &&
	    waitpid(pid, &status, 0) == pid && status == 0) {
		length = lseek(fd, 0, SEEK_END);
		text = length > 0 ? calloc(1, (size_t)length + 1) : NULL;
		if (text && pread(fd, text, (size_t)length, 0) != length)
			*text = '\0';
	}
	posix_spawn_file_actions_destroy(&actions);
	close(fd);
	return text;
}

/* A number in hex, with 0x. strtoull of newer headers binds a version of 2.38. */
static uint64_t hex(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	const char *digit;

	for (text += 2; *text && (digit = strchr(digits, *text)); text++)
		value = value << 4 | (uint64_t)(digit - digits);
	return value;
}

/* The value of a line `x86.cpu_features.NAME=0x..`; false: there is none. */
static bool diagnosed(uint64_t *value, const char *text, const char *name)
{
	char line[96];
	const char *at;

	snprintf(line, sizeof(line), "\nx86.cpu_features.%s=", name);
	at = text ? strstr(text, line) : NULL;
	if (at)
		*value = hex(at + strlen(line));
	return at;
}

static void print_preferences(const char *text)
{
	static const char prefix[] = "\nx86.cpu_features.preferred.";

	for (const char *at = text; at && (at = strstr(at, prefix));) {
		int length;

		at += sizeof(prefix) - 1;
		length = (int)strcspn(at, "=\n");
		/* I586 and I686 say nothing of an x86-64. */
		if (at[length] == '=' && hex(at + length + 1) && *at != 'I')
			printf("QL value preferred.%.*s 1\n", length, at);
	}
}

/* --- the witness --------------------------------------------------------------------------------
 */

enum operation { SET, COPY, MOVE }; /* the first of the functions above */

static const struct threshold {
	const char *class, *name;
	bool set, copy; /* of memset; of memcpy and memmove */
} thresholds[] = {
	{ "stosb", "rep_stosb_threshold", true, false },
	{ "nt", "memset_non_temporal_threshold", true, false },
	{ "movsb", "rep_movsb_threshold", false, true },
	{ "stop", "rep_movsb_stop_threshold", false, true },
	{ "nt", "non_temporal_threshold", false, true },
};
#define THRESHOLDS (sizeof(thresholds) / sizeof(thresholds[0]))

/* One memory for all calls; what they do not reach is never there. */
static struct {
	unsigned char *to, *from;
} memory;

static void map_memory(uint64_t most)
{
	/* The source lies at another place of its page: copies look at that. */
	const uint64_t page = 4096, half = 2048, room = (most + 2 * page) & ~(page - 1);
	unsigned char *both = mmap(NULL, 2 * room, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (both == MAP_FAILED)
		return;
	memory.to = both;
	memory.from = both + room + half;
}

static void call_set(void *size)
{
	memset(memory.to, 1, *(const size_t *)size);
}

static void call_copy(void *size)
{
	memcpy(memory.to, memory.from, *(const size_t *)size);
}

static void call_move(void *size)
{
	memmove(memory.to, memory.from, *(const size_t *)size);
}

/* The calls that were traced. memcpy and memmove are one piece of code in all but the oldest. */
#define CALLS_MAX 64
static struct call {
	void (*function)(void);
	uint64_t size;
	char pick[48];
} traced[CALLS_MAX];
static unsigned traced_count;

/* One call, unless it was made before. */
static void witness(enum operation operation, const char *class, const char *sign, uint64_t size)
{
	static void (*const calls[])(void *size) = { call_set, call_copy, call_move };
	struct call *call = &traced[traced_count];

	call->function = functions[operation].function;
	call->size = size;
	snprintf(call->pick, sizeof(call->pick), "%s@%s%s", functions[operation].name, class, sign);
	for (const struct call *other = traced; other < call; other++) {
		if (other->function != call->function || other->size != size)
			continue;
		printf("QL trace %s %lu same %s\n", call->pick, (unsigned long)size, other->pick);
		return;
	}
	if (ql_trace(call->pick, size, call->function, calls[operation], &call->size, QL_ROUNDS) ==
		    0 &&
	    traced_count + 1 < CALLS_MAX)
		traced_count++;
}

/* Below it, at it, and above it. One that no call is to reach is tried with the largest size. */
static void witness_threshold(enum operation operation, const char *class, uint64_t threshold)
{
	static const char *const signs[] = { "-", "", "+" };

	for (unsigned i = 0; i < 3; i++)
		witness(operation, class, signs[i],
			threshold > REACHABLE ? LARGE : threshold - 1 + i);
}

static void witness_all(enum operation operation, const char *text)
{
	witness(operation, "64", "", 64);
	witness(operation, "4k", "", 4096);
	for (size_t i = 0; i < THRESHOLDS; i++) {
		uint64_t value;

		if ((operation == SET ? thresholds[i].set : thresholds[i].copy) &&
		    diagnosed(&value, text, thresholds[i].name))
			witness_threshold(operation, thresholds[i].class, value);
	}
	witness(operation, "64m", "", LARGE);
}

int main(void)
{
	char *text = diagnostics();
	uint64_t value, most = LARGE;

	printf("QL version %s\n", gnu_get_libc_version());
	print_names();
	if (!text)
		printf("QL note this library's loader does not list its thresholds\n");
	for (size_t i = 0; i < THRESHOLDS; i++) {
		if (!diagnosed(&value, text, thresholds[i].name))
			continue;
		printf("QL value %s 0x%lx\n", thresholds[i].name, (unsigned long)value);
		if (value <= REACHABLE && value > most)
			most = value;
	}
	print_preferences(text);
	map_memory(most);
	for (enum operation operation = SET; memory.to && operation <= MOVE; operation++)
		witness_all(operation, text);
	free(text);
	return memory.to ? 0 : 1;
}
