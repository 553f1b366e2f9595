// SPDX-License-Identifier: MIT
/*
 * The program behind `--subject pmem`: copies into persistent memory with our dispatcher, as its
 * callers would, and shows each step of it. The guest's memory is emulated (memmap=, or an nvdimm);
 * pmem_map.c finds and maps it.
 */
#include "tests/subjects/quirklab.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tests/dispatch/dispatch.h"
#include "tests/dispatch/paths.h"
#include "tests/subjects/pmem_map.h"

#define ROOM_BYTES (96 * 1024)
#define OLD	   0xA5
#define WORD	   8 /* a path is known by what stores words; less is a head alone */
#define LONG	   1024
#define AROUND	   256 /* bytes in front of and behind a copy that it must leave alone */

static const struct copy {
	enum dispatch_operation operation;
	const char *class;
	unsigned head; /* from a line's beginning to the first byte */
	unsigned bytes;
} copies[] = {
	{ DISPATCH_MEMCPY_FLUSHCACHE, "64", 0, 64 },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "200", 0, 200 },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "5+3", 5, 3 },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "61+200", 61, 200 },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "7+767", 7, 767 },
	{ DISPATCH_MEMCPY_FLUSHCACHE, "4k", 0, 4096 },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "767", 0, 767 },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "768", 0, 768 },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "9+1000", 9, 1000 },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, "4k", 0, 4096 },
};
#define COPIES (sizeof(copies) / sizeof(copies[0]))

struct call {
	const struct dispatch_cpu *cpu;
	const struct copy *copy;
	unsigned char *to;
	const unsigned char *from;
};

/* What a caller does: a copy, and then the one fence for however many copies there were. */
static void copy_and_commit(void *argument)
{
	const struct call *call = argument;

	if (call->copy->operation == DISPATCH_MEMCPY_FLUSHCACHE)
		dispatch_memcpy_flushcache(call->cpu, call->to, call->from, call->copy->bytes);
	else
		dispatch_memcpy_flushcache_single(call->cpu, call->to, call->from,
						  call->copy->bytes);
	dispatch_commit();
}

static bool is_copied(const unsigned char *around, const struct call *call)
{
	const unsigned char *end = call->to + call->copy->bytes;

	for (const unsigned char *at = around; at < call->to; at++)
		if (*at != OLD)
			return false;
	for (const unsigned char *at = end; at < end + AROUND; at++)
		if (*at != OLD)
			return false;
	return !memcmp(call->to, call->from, call->copy->bytes);
}

static void show(const struct copy *copy, const struct dispatch_cpu *cpu,
		 const struct pmem_map *memory, const unsigned char *from, unsigned number)
{
	const struct dispatch_choice choice = dispatch_choose(cpu, copy->operation, copy->bytes);
	const struct call call = { cpu, copy, memory->at + AROUND + copy->head, from };
	static char room[ROOM_BYTES];
	path_copy_fn *path = path_copy[choice.path][path_flush_of(cpu)];
	char pick[48];

	snprintf(pick, sizeof(pick), "%s@%s", dispatch_operation_name(copy->operation),
		 copy->class);
	if (copy->bytes >= WORD) {
		ql_pick(pick, dispatch_path_name(choice.path),
			choice.row ? choice.row->name : NULL);
		/* Of a long one the path alone: all of its steps follow below. */
		ql_trace(pick, copy->bytes, (void (*)(void))path, copy_and_commit, (void *)&call,
			 copy->bytes > LONG ? QL_ROUNDS : 0);
	}
	memset(memory->at, OLD, 2 * AROUND + copy->head + copy->bytes);
	ql_persist(pick, call.to, copy->bytes, memory->at, memory->bytes, copy_and_commit,
		   (void *)&call, room, sizeof(room));
	printf("%sok %u - %s copies these bytes and no others\n",
	       is_copied(memory->at, &call) ? "" : "not ", number, pick);
}

int main(void)
{
	static unsigned char from[4096];
	struct dispatch_cpu cpu;
	struct pmem_map memory;
	char why[256];

	if (pmem_map(&memory, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	/* Eight bytes that are the same take less of a line; the eighth byte tells lines apart. */
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i % 8 ? 0 : i / 8 + 1);
	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL, true);
	printf("TAP version 14\n1..%zu\n", COPIES);
	ql_value("memory", memory.what);
	for (unsigned i = 0; i < COPIES; i++)
		show(&copies[i], &cpu, &memory, from, i + 1);
	return 0;
}
