/* SPDX-License-Identifier: MIT */
/* What the suites of tests/dispatch share: made-up CPUs, and this machine's. */
#ifndef QUIRKLAB_UNIT_DISPATCH_FIXTURE_H
#define QUIRKLAB_UNIT_DISPATCH_FIXTURE_H

#include <check.h>
#include <string.h>

#include "tests/dispatch/dispatch.h"
#include "tests/unit/vendors.h"

#define KIB	     1024ULL
#define MIB	     (1024 * KIB)
#define PAGE	     4096
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The hardware's numbering. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* --- a CPUID in memory --- */

struct fake_leaf {
	uint32_t leaf, subleaf;
	struct dispatch_registers registers;
};

struct fake {
	struct fake_leaf leaves[32];
	size_t count;
};

static inline void fake_read(void *context, uint32_t leaf, uint32_t subleaf,
			     struct dispatch_registers *out)
{
	const struct fake *fake = context;
	size_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < fake->count; i++)
		if (fake->leaves[i].leaf == leaf && fake->leaves[i].subleaf == subleaf)
			*out = fake->leaves[i].registers;
}

/* Sets a leaf; a later one of the same number wins. */
static inline void put(struct fake *fake, uint32_t leaf, uint32_t subleaf, uint32_t eax,
		       uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	ck_assert_uint_lt(fake->count, COUNT(fake->leaves));
	fake->leaves[fake->count++] = (struct fake_leaf){ leaf, subleaf, { eax, ebx, ecx, edx } };
}

static inline uint32_t letters(const char *vendor, unsigned from)
{
	uint32_t word;

	memcpy(&word, vendor + from, sizeof(word));
	return word;
}

/* Leaf 4 and 0x8000001D: EBX of a cache with that many ways, one partition, lines of 64. */
#define WAYS(ways)	    (((uint32_t)(ways)-1) << 22 | 63)
#define DATA(level)	    ((level) << 5 | 1)
#define INSTRUCTIONS(level) ((level) << 5 | 2)
#define UNIFIED(level)	    ((level) << 5 | 3)

/* --- CPUs by their bits --- */

enum { E = 1, R = 2, Z = 4, S = 8, O = 16, Q = 32, L128 = 64 }; /* of cpu_with */

static const struct dispatch_quirk_row bad_row = { .name = "bad", .quirks = DISPATCH_NT_BAD };

/* LLC 1 MiB. Q: a row with NT_BAD matches. */
static inline struct dispatch_cpu cpu_with(unsigned bits)
{
	return (struct dispatch_cpu){
		.erms = bits & E,
		.rep_good = bits & R,
		.clzero = bits & Z,
		.fsrs = bits & S,
		.clflushopt = bits & O,
		.line_bytes = bits & L128 ? 128 : 64,
		.llc_bytes = MIB,
		.row = bits & Q ? &bad_row : NULL,
	};
}

static inline struct dispatch_cpu host_cpu(void)
{
	struct dispatch_cpu cpu;

	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL, true);
	return cpu;
}

/* --- checks --- */

/* length and offset are those of the case, for the message. */
static inline void assert_bytes(const uint8_t *got, const uint8_t *want, size_t count,
				const char *name, size_t offset, size_t length)
{
	size_t i = 0;

	if (!memcmp(got, want, count)) /* an assertion is a system call: not one for each byte */
		return;
	while (got[i] == want[i])
		i++;
	ck_abort_msg("%s offset %zu length %zu: byte %zu", name, offset, length, i);
}

/* A test, or one for each of rows rows. */
static inline void add(Suite *suite, const char *name, const TTest *test, size_t rows)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 60);
	if (rows)
		tcase_add_loop_test(tcase, test, 0, (int)rows);
	else
		tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

#endif
