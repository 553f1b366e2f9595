// SPDX-License-Identifier: MIT
/*
 * An example of a library's test that the lab can judge: a dispatcher of one operation, `fill`,
 * with three paths. It speaks TAP, says its picks and lets them be witnessed. `lie` as an argument
 * makes it claim the path that it did not take.
 */
#include "tests/subjects/quirklab.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdlib.h>

#define LARGE (1024 * 1024UL)
#define SMALL 4096UL

/* --- the library ---------------------------------------------------------------------------------
 */

static void fill_mov(void *to, uint64_t word, size_t bytes)
{
	__asm__ volatile("1: mov %1, (%0)\n"
			 "   add $8, %0\n"
			 "   sub $8, %2\n"
			 "   jnz 1b\n"
			 : "+r"(to), "+r"(word), "+r"(bytes)
			 :
			 : "memory", "cc");
}

static void fill_rep_stosb(void *to, uint64_t word, size_t bytes)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+a"(word), "+c"(bytes) : : "memory");
}

static void fill_movnti(void *to, uint64_t word, size_t bytes)
{
	__asm__ volatile("1: movnti %1, (%0)\n"
			 "   add $8, %0\n"
			 "   sub $8, %2\n"
			 "   jnz 1b\n"
			 "   sfence\n"
			 : "+r"(to), "+r"(word), "+r"(bytes)
			 :
			 : "memory", "cc");
}

static const struct path {
	const char *name;
	void (*fill)(void *to, uint64_t word, size_t bytes);
} mov = { "mov", fill_mov }, rep_stosb = { "rep-stosb", fill_rep_stosb },
  movnti = { "movnti", fill_movnti };

struct cpu {
	bool erms;    /* leaf 7 EBX bit 9 */
	bool slow_nt; /* Intel family 6 model 0x55: made up for this example */
};

static struct cpu identify(void)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
	struct cpu cpu = { 0 };
	bool intel;

	__get_cpuid(0, &eax, &ebx, &ecx, &edx);
	intel = ebx == signature_INTEL_ebx;
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		cpu.slow_nt = intel && (eax & 0x0FFF0FF0) == 0x00050650;
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		cpu.erms = ebx >> 9 & 1;
	return cpu;
}

/* The table: the first row that fits. */
static const struct row {
	const char *name;
	bool large, erms, slow_nt; /* what it asks for */
	const struct path *path;
} rows[] = {
	{ "slow-nt", true, true, true, &rep_stosb },
	{ "large", true, false, false, &movnti },
	{ "erms", false, true, false, &rep_stosb },
	{ "default", false, false, false, &mov },
};

static const struct row *choose(const struct cpu *cpu, size_t bytes)
{
	const struct row *row = rows;

	while ((row->large && bytes < LARGE) || (row->erms && !cpu->erms) ||
	       (row->slow_nt && !cpu->slow_nt))
		row++;
	return row;
}

static void fill(const struct cpu *cpu, void *to, uint64_t word, size_t bytes)
{
	choose(cpu, bytes)->path->fill(to, word, bytes);
}

/* --- its test ------------------------------------------------------------------------------------
 */

struct call {
	struct cpu cpu;
	const struct path *path; /* NULL: the dispatcher's choice */
	uint64_t *to;
	size_t bytes;
};

#define WORD 0x5A5A5A5A5A5A5A5A

static void call_fill(void *argument)
{
	const struct call *call = argument;

	if (call->path)
		call->path->fill(call->to, WORD, call->bytes);
	else
		fill(&call->cpu, call->to, WORD, call->bytes);
}

static bool filled(const struct call *call)
{
	for (size_t i = 0; i < call->bytes / 8; i++)
		if (call->to[i] != WORD)
			return false;
	return true;
}

static void test(unsigned number, const char *pick, struct call *call, bool lie)
{
	const struct row *row = choose(&call->cpu, call->bytes);
	const char *says = row->path->name;

	if (lie)
		says = row->path == &mov ? rep_stosb.name : mov.name;
	ql_pick(pick, says, row->name);
	/* The path itself: how it was chosen is left out. A large call is left after some rounds,
	 * and its path run to the end on less. */
	ql_witness(pick, call->bytes, (void (*)(void))row->path->fill, call_fill, call);
	if (call->bytes > QL_WHOLE_MOST) {
		struct call whole = *call;

		whole.path = row->path;
		whole.bytes = SMALL;
		ql_trace(pick, call->bytes, (void (*)(void))row->path->fill, call_fill, &whole, 0);
	}
	memset(call->to, 0, call->bytes);
	call_fill(call);
	printf("%sok %u - %s fills\n", filled(call) ? "" : "not ", number, pick);
}

int main(int argc, char **argv)
{
	const bool lie = argc > 1 && !strcmp(argv[1], "lie");
	struct call call = { .cpu = identify(), .to = aligned_alloc(64, LARGE) };
	char word[24];

	if (!call.to)
		return 1;
	printf("TAP version 14\n1..2\n");
	ql_version("1.0");
	snprintf(word, sizeof(word), "%lu", LARGE);
	ql_value("large", word);
	call.bytes = SMALL;
	test(1, "fill@4k", &call, lie);
	call.bytes = LARGE;
	test(2, "fill@1m", &call, false);
	free(call.to);
	return 0;
}
