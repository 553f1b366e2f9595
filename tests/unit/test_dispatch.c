// SPDX-License-Identifier: MIT
/* tests/dispatch: who a CPU is, what is chosen for it, what the paths and the witness do. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "images/linux/platform.h"
#include "tests/dispatch/cpuid_report.h"
#include "tests/dispatch/emulate.h"
#include "tests/dispatch/paths.h"
#include "tests/dispatch/state.h"

Suite *suite_dispatch(void);

#define KIB	     1024ULL
#define MIB	     (1024 * KIB)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define REPEAT_BYTE  0x0101010101010101ULL
#define INTEL	     "GenuineIntel"
#define AMD	     "AuthenticAMD"
#define HYGON	     "HygonGenuine"
#define CENTAUR	     "CentaurHauls"
#define ZHAOXIN	     "  Shanghai  "
#define NOBODY	     "NobodyKnows!"

/* --- a CPUID in memory --- */

struct fake_leaf {
	uint32_t leaf, subleaf;
	struct dispatch_registers registers;
};

struct fake {
	struct fake_leaf leaves[32];
	size_t count;
};

static void fake_read(void *context, uint32_t leaf, uint32_t subleaf,
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
static void put(struct fake *fake, uint32_t leaf, uint32_t subleaf, uint32_t eax, uint32_t ebx,
		uint32_t ecx, uint32_t edx)
{
	ck_assert_uint_lt(fake->count, COUNT(fake->leaves));
	fake->leaves[fake->count++] = (struct fake_leaf){ leaf, subleaf, { eax, ebx, ecx, edx } };
}

static uint32_t letters(const char *vendor, unsigned from)
{
	uint32_t word;

	memcpy(&word, vendor + from, sizeof(word));
	return word;
}

/* A CPU with leaves up to 0x1F and 0x8000001F, and leaf 1 EAX as given. */
static struct fake fake_of_signature(const char *vendor, uint32_t eax)
{
	struct fake fake = { .count = 0 };

	put(&fake, 0, 0, 0x1F, letters(vendor, 0), letters(vendor, 8), letters(vendor, 4));
	put(&fake, 1, 0, eax, 8 << 8, 0, 1 << 19); /* CLFLUSH of 64 bytes */
	put(&fake, 0x80000000, 0, 0x8000001F, 0, 0, 0);
	return fake;
}

static uint32_t signature(unsigned family, unsigned model, unsigned stepping)
{
	unsigned base = family < 15 ? family : 15;

	return (family - base) << 20 | (model >> 4) << 16 | base << 8 | (model & 15) << 4 |
	       stepping;
}

static struct fake fake_of(const char *vendor, unsigned family, unsigned model, unsigned stepping)
{
	return fake_of_signature(vendor, signature(family, model, stepping));
}

static struct dispatch_cpu identify(struct fake *fake)
{
	struct dispatch_cpu cpu;

	memset(&cpu, 0xAA, sizeof(cpu)); /* identify sets every field */
	dispatch_identify(&cpu, fake_read, fake, true);
	return cpu;
}

/* --- signatures --- */

START_TEST(signatures)
{
	static const struct {
		uint32_t eax;
		unsigned family, model, stepping;
	} rows[] = {
		{ 0x000306C3, 6, 0x3C, 3 },   /* Haswell */
		{ 0x00050654, 6, 0x55, 4 },   /* Skylake-X */
		{ 0x00A20F10, 25, 0x21, 0 },  /* Vermeer */
		{ 0x00000F4A, 15, 0x04, 10 }, /* Prescott, and AMD K8 */
		{ 0x000107B0, 7, 0x1B, 0 },   /* Zhaoxin: the extended model counts from family 6 */
		{ 0x00010543, 5, 0x04, 3 },   /* and not below */
		{ 0x00100F62, 16, 0x06, 2 },   { 0x000C06F2, 6, 0xCF, 2 },
		{ 0x0FFF0FFF, 270, 0xFF, 15 },
	};
	struct fake fake = fake_of_signature(AMD, rows[_i].eax);
	struct dispatch_cpu cpu = identify(&fake);

	ck_assert_uint_eq(cpu.family, rows[_i].family);
	ck_assert_uint_eq(cpu.model, rows[_i].model);
	ck_assert_uint_eq(cpu.stepping, rows[_i].stepping);
	ck_assert_str_eq(cpu.vendor, AMD);
}
END_TEST
#define SIGNATURES 9

/* --- REP_GOOD --- */

static const struct rep_good_row {
	const char *vendor;
	unsigned family, model, stepping;
	bool want;
} rep_good_rows[] = {
	{ INTEL, 5, 2, 0, false },     { INTEL, 6, 12, 15, false },
	{ INTEL, 6, 13, 0, true }, /* Pentium M, Dothan */
	{ INTEL, 6, 0x8F, 8, true },   { INTEL, 15, 0, 0, true },
	{ INTEL, 15, 6, 1, true }, /* kvm64 */
	{ INTEL, 18, 1, 0, true },     { INTEL, 19, 1, 0, true },
	{ AMD, 5, 8, 0, false },       { AMD, 6, 8, 0, false },
	{ AMD, 15, 4, 7, false },				 /* 0xF47 */
	{ AMD, 15, 4, 8, true },				 /* 0xF48, revision C */
	{ AMD, 15, 4, 15, true },      { AMD, 15, 5, 0, false }, /* 0xF50 */
	{ AMD, 15, 5, 7, false },      { AMD, 15, 5, 8, true },
	{ AMD, 15, 0x23, 2, true }, /* 0x20F32 */
	{ AMD, 16, 2, 0, true },       { AMD, 25, 1, 1, true },
	{ HYGON, 24, 0, 1, true },     { CENTAUR, 6, 14, 15, false },
	{ CENTAUR, 6, 15, 0, true },   { CENTAUR, 7, 0, 0, true },
	{ CENTAUR, 5, 15, 0, false },  { ZHAOXIN, 5, 15, 0, false },
	{ ZHAOXIN, 6, 0, 0, true },    { ZHAOXIN, 7, 0x5B, 0, true },
	{ NOBODY, 6, 0x8F, 0, false },
};

START_TEST(rep_good)
{
	const struct rep_good_row *row = &rep_good_rows[_i];
	struct fake fake = fake_of(row->vendor, row->family, row->model, row->stepping);

	ck_assert_msg(identify(&fake).rep_good == row->want, "%s %u:%u:%u", row->vendor,
		      row->family, row->model, row->stepping);
}
END_TEST

START_TEST(fast_strings_off)
{
	static const struct {
		const char *vendor;
		unsigned family, model;
		bool rep_good, erms;
	} rows[] = {
		{ INTEL, 6, 13, false, false },	  { INTEL, 19, 1, false, false },
		{ INTEL, 6, 12, false, true }, /* the bit is not looked at there */
		{ AMD, 25, 1, true, true },    /* nor there */
		{ ZHAOXIN, 7, 0x3B, true, true },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		struct fake fake = fake_of(rows[i].vendor, rows[i].family, rows[i].model, 0);
		struct dispatch_cpu cpu;

		put(&fake, 7, 0, 0, 1 << 9, 0, 0);
		dispatch_identify(&cpu, fake_read, &fake, false);
		ck_assert_msg(cpu.rep_good == rows[i].rep_good, "row %zu", i);
		ck_assert_msg(cpu.erms == rows[i].erms, "row %zu", i);
	}
}
END_TEST

/* --- feature bits --- */

START_TEST(features)
{
	static const struct {
		uint32_t leaf, subleaf, ebx, edx, eax;
		size_t offset;
	} rows[] = {
		{ 7, 0, 1 << 9, 0, 0, offsetof(struct dispatch_cpu, erms) },
		{ 7, 0, 1 << 23, 0, 0, offsetof(struct dispatch_cpu, clflushopt) },
		{ 7, 0, 1 << 24, 0, 0, offsetof(struct dispatch_cpu, clwb) },
		{ 7, 0, 0, 1 << 4, 0, offsetof(struct dispatch_cpu, fsrm) },
		{ 7, 1, 0, 0, 1 << 11, offsetof(struct dispatch_cpu, fsrs) },
		{ 0x80000008, 0, 1 << 0, 0, 0, offsetof(struct dispatch_cpu, clzero) },
	};
	size_t i, k;

	for (i = 0; i < COUNT(rows); i++) {
		struct fake fake = fake_of(INTEL, 6, 0x8F, 0);
		struct dispatch_cpu cpu;

		put(&fake, 7, 0, 1, 0, 0, 0);
		put(&fake, rows[i].leaf, rows[i].subleaf, rows[i].eax ? rows[i].eax : 1,
		    rows[i].ebx, 0, rows[i].edx);
		cpu = identify(&fake);
		for (k = 0; k < COUNT(rows); k++)
			ck_assert_msg(*((bool *)&cpu + rows[k].offset) == (k == i),
				      "bit %zu set, bit %zu read", i, k);
	}
}
END_TEST

/* A leaf that the maximum does not name answers with something else: it must not be believed. */
START_TEST(maximum_leaves)
{
	struct fake fake = fake_of(INTEL, 6, 0x8F, 0);
	struct dispatch_cpu cpu;

	put(&fake, 4, 0, 0x63, 15 << 22 | 63, 8191, 0);
	put(&fake, 7, 0, 0, ~0U, ~0U, ~0U);
	put(&fake, 7, 1, ~0U, ~0U, ~0U, ~0U);
	put(&fake, 0x80000008, 0, ~0U, ~0U, ~0U, ~0U);
	cpu = identify(&fake);
	ck_assert(cpu.erms && cpu.clzero);
	ck_assert_msg(!cpu.fsrs, "subleaf 1, where subleaf 0 has none");

	put(&fake, 0, 0, 6, letters(INTEL, 0), letters(INTEL, 8), letters(INTEL, 4));
	put(&fake, 0x80000000, 0, 0x80000007, 0, 0, 0);
	cpu = identify(&fake);
	ck_assert(!cpu.erms && !cpu.fsrm && !cpu.clwb && !cpu.clflushopt && !cpu.clzero);
	ck_assert_uint_eq(cpu.llc_bytes, 8 * MIB);

	put(&fake, 0, 0, 3, letters(INTEL, 0), letters(INTEL, 8), letters(INTEL, 4));
	put(&fake, 0x80000000, 0, 0x16, 0, 0, 0); /* no extended range: an old Intel's answer */
	cpu = identify(&fake);
	ck_assert(!cpu.clzero);

	put(&fake, 0, 0, 0, letters(INTEL, 0), letters(INTEL, 8), letters(INTEL, 4));
	cpu = identify(&fake);
	ck_assert_uint_eq(cpu.family, 0);
	ck_assert_uint_eq(cpu.line_bytes, 64);
}
END_TEST

/* Linux 6.12 and later: FSRM stands for FSRS on AuthenticAMD, and only there. */
START_TEST(fsrs_of_fsrm)
{
	static const struct {
		const char *vendor;
		bool want;
	} rows[] = { { AMD, true }, { HYGON, false }, { INTEL, false }, { ZHAOXIN, false } };
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		struct fake fake = fake_of(rows[i].vendor, 25, 1, 0);

		put(&fake, 7, 0, 0, 0, 0, 1 << 4);
		ck_assert_msg(identify(&fake).fsrs == rows[i].want, "%s", rows[i].vendor);
	}
}
END_TEST

START_TEST(line_size)
{
	struct fake fake = fake_of(INTEL, 6, 0x8F, 0);

	ck_assert_uint_eq(identify(&fake).line_bytes, 64);
	put(&fake, 1, 0, 0x806F0, 16 << 8, 0, 1 << 19);
	ck_assert_uint_eq(identify(&fake).line_bytes, 128);
	put(&fake, 1, 0, 0x806F0, 16 << 8, 0, 0); /* no CLFLUSH: the field means nothing */
	ck_assert_uint_eq(identify(&fake).line_bytes, 64);
}
END_TEST

/* --- the last-level cache --- */

/* Leaf 4 and 0x8000001D: EBX of a cache with that many ways, one partition, lines of 64. */
#define WAYS(ways)	    (((uint32_t)(ways)-1) << 22 | 63)
#define DATA(level)	    ((level) << 5 | 1)
#define INSTRUCTIONS(level) ((level) << 5 | 2)
#define UNIFIED(level)	    ((level) << 5 | 3)

static void put_caches(struct fake *fake, uint32_t leaf)
{
	put(fake, leaf, 0, DATA(1), WAYS(8), 63, 0); /* 32 KiB */
	put(fake, leaf, 1, INSTRUCTIONS(1), WAYS(8), 63, 0);
	put(fake, leaf, 2, UNIFIED(3), WAYS(16), 16383, 0);	 /* 16 MiB, before the L2 */
	put(fake, leaf, 3, UNIFIED(2), WAYS(16), 1023, 0);	 /* 1 MiB */
	put(fake, leaf, 4, INSTRUCTIONS(4), WAYS(16), 32767, 0); /* holds no data */
}

START_TEST(llc_by_leaf_4)
{
	static const struct {
		const char *vendor;
		uint64_t want;
	} rows[] = {
		{ INTEL, 16 * MIB },   { ZHAOXIN, 16 * MIB },
		{ CENTAUR, 16 * MIB }, { AMD, 8 * MIB }, /* not their leaf: unknown */
		{ NOBODY, 8 * MIB },			 /* no rule */
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		struct fake fake = fake_of(rows[i].vendor, 6, 0x8F, 0);

		put_caches(&fake, 4);
		ck_assert_msg(identify(&fake).llc_bytes == rows[i].want, "%s", rows[i].vendor);
	}
}
END_TEST

START_TEST(llc_of_amd)
{
	struct fake fake = fake_of(AMD, 23, 1, 0);

	put(&fake, 0x80000006, 0, 0, 0, 512 << 16, 12 << 18); /* L2 512 KiB, L3 12 x 512 KiB */
	put_caches(&fake, 0x8000001D);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 6 * MIB); /* no TOPOEXT */
	put(&fake, 0x80000001, 0, 0, 0, 1 << 22, 0);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 16 * MIB);
	put(&fake, 0x80000001, 0, 0, 0, 0, 0);
	put(&fake, 0x80000006, 0, 0, 0, 512 << 16, 0);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 512 * KIB);
	put(&fake, 0x80000006, 0, 0, 0, 0, 0);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 8 * MIB);
	put(&fake, 0, 0, 1, letters(HYGON, 0), letters(HYGON, 8), letters(HYGON, 4));
	put(&fake, 0x80000006, 0, 0, 0, 0, 16 << 18);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 8 * MIB);
	put(&fake, 0x80000006, 0, 0, 0, 0, 17 << 18);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 17 * 512 * KIB);
	put(&fake, 0x80000000, 0, 0x80000005, 0, 0, 0); /* the leaf is not there */
	ck_assert_uint_eq(identify(&fake).llc_bytes, 8 * MIB);
}
END_TEST

/* Partitions and odd numbers of ways count: 36 MiB = 12 x 2 x 64 x 24576. */
START_TEST(llc_by_all_factors)
{
	struct fake fake = fake_of(INTEL, 6, 0x55, 7);

	put(&fake, 4, 0, UNIFIED(3), 11 << 22 | 1 << 12 | 63, 24575, 0);
	ck_assert_uint_eq(identify(&fake).llc_bytes, 36 * MIB);
}
END_TEST

/* --- quirk rows --- */

START_TEST(quirk_rows)
{
	static const struct {
		unsigned model;
		const char *name;
	} rows[] = {
		{ 0x4D, NULL },	       { 0x4E, "skylake-l" }, { 0x4F, NULL }, { 0x54, NULL },
		{ 0x55, "skylake-x" }, { 0x56, NULL },	      { 0x5D, NULL }, { 0x5E, "skylake" },
		{ 0x5F, NULL },	       { 0x6A, NULL },	      { 0x8F, NULL }, { 0x05, NULL },
		{ 0x0E, NULL },	       { 0xFF, NULL },
	};
	static const char *const others[] = { AMD, HYGON, CENTAUR, ZHAOXIN, NOBODY };
	static const unsigned families[] = { 5, 7, 15, 18, 19, 21 };
	unsigned stepping;
	size_t i, k;

	for (i = 0; i < COUNT(rows); i++) {
		for (stepping = 0; stepping < 16; stepping++) {
			struct fake fake = fake_of(INTEL, 6, rows[i].model, stepping);
			struct dispatch_cpu cpu = identify(&fake);

			ck_assert_pstr_eq(cpu.row ? cpu.row->name : NULL, rows[i].name);
		}
		for (k = 0; k < COUNT(others); k++) {
			struct fake fake = fake_of(others[k], 6, rows[i].model, 4);

			ck_assert_ptr_null(identify(&fake).row);
		}
		for (k = 0; k < COUNT(families); k++) {
			struct fake fake = fake_of(INTEL, families[k], rows[i].model, 4);

			ck_assert_ptr_null(identify(&fake).row);
		}
	}
}
END_TEST

/* A row has what a reader needs, and a name that reports can use. */
START_TEST(quirk_table)
{
	size_t i;

	ck_assert_uint_eq(dispatch_quirks.count, 3);
	for (i = 0; i < dispatch_quirks.count; i++) {
		const struct dispatch_quirk_row *row = &dispatch_quirks.rows[i];

		ck_assert_uint_eq(row->quirks, DISPATCH_NT_BAD);
		ck_assert_uint_eq(strlen(row->vendor), 12);
		ck_assert_uint_ge(row->model_count, 1);
		ck_assert_uint_le(row->model_count, COUNT(row->models));
		ck_assert_uint_eq(row->stepping_min, 0);
		ck_assert_uint_eq(row->stepping_max, 15);
		ck_assert_uint_gt(strlen(row->reason), 20);
		ck_assert_uint_gt(strlen(row->source), 20);
		ck_assert_uint_eq(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
				  strlen(row->name));
	}
}
END_TEST

/* --- choices --- */

enum { E = 1, R = 2, Z = 4, S = 8, O = 16, Q = 32, L128 = 64 }; /* bits of a choice row */

static const struct dispatch_quirk_row bad_row = { .name = "bad", .quirks = DISPATCH_NT_BAD };
static const struct dispatch_quirk_row mild_row = { .name = "mild", .quirks = 0 };

/* LLC 1 MiB. Q: a row with NT_BAD matches. */
static struct dispatch_cpu cpu_with(unsigned bits)
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

static const struct choice_row {
	enum dispatch_operation operation;
	unsigned bits;
	uint64_t size;
	enum dispatch_path path;
	bool by_row;
	const char *reason;
} choice_rows[] = {
	/* clear_page: ERMS, REP_GOOD, else mov; nothing else matters */
	{ DISPATCH_CLEAR_PAGE, E | R, 4096, DISPATCH_REP_STOSB, false, "ERMS: rep stosb" },
	{ DISPATCH_CLEAR_PAGE, E, 4096, DISPATCH_REP_STOSB, false, NULL },
	{ DISPATCH_CLEAR_PAGE, R, 4096, DISPATCH_REP_STOSQ, false,
	  "REP_GOOD without ERMS: rep stosq" },
	{ DISPATCH_CLEAR_PAGE, 0, 4096, DISPATCH_MOV, false, "neither ERMS nor REP_GOOD: mov" },
	{ DISPATCH_CLEAR_PAGE, Z | S | O | Q, 4096, DISPATCH_MOV, false, NULL },
	/* clear_extent below the LLC: the same */
	{ DISPATCH_CLEAR_EXTENT, E | R | Z, MIB - 1, DISPATCH_REP_STOSB, false, NULL },
	{ DISPATCH_CLEAR_EXTENT, E | Q, MIB - 1, DISPATCH_REP_STOSB, false, "ERMS: rep stosb" },
	{ DISPATCH_CLEAR_EXTENT, R, MIB - 1, DISPATCH_REP_STOSQ, false, NULL },
	{ DISPATCH_CLEAR_EXTENT, S, MIB - 1, DISPATCH_MOV, false, NULL },
	/* and from the LLC on */
	{ DISPATCH_CLEAR_EXTENT, E | R | Z, MIB, DISPATCH_CLZERO, false,
	  "extent >= LLC and CLZERO: clzero" },
	{ DISPATCH_CLEAR_EXTENT, E | Z | Q, MIB, DISPATCH_CLZERO, false, NULL },
	{ DISPATCH_CLEAR_EXTENT, E | R, MIB, DISPATCH_MOVNTI, false,
	  "extent >= LLC and no NT_BAD row: movnti" },
	{ DISPATCH_CLEAR_EXTENT, 0, 2 * MIB, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_CLEAR_EXTENT, E | R | Q, MIB, DISPATCH_REP_STOSB, true,
	  "NT_BAD row, falls back to ERMS: rep stosb" },
	{ DISPATCH_CLEAR_EXTENT, R | Q, 2 * MIB, DISPATCH_REP_STOSQ, true,
	  "NT_BAD row, falls back to REP_GOOD: rep stosq" },
	{ DISPATCH_CLEAR_EXTENT, Q, MIB, DISPATCH_MOV, true, NULL },
	/* memset: FSRS, not ERMS; never clzero */
	{ DISPATCH_MEMSET, S, MIB - 1, DISPATCH_REP_STOSB, false, "FSRS: rep stosb" },
	{ DISPATCH_MEMSET, E | R | Z, MIB - 1, DISPATCH_MOV, false, "no FSRS: mov" },
	{ DISPATCH_MEMSET, E | R | S | Z, MIB, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_MEMSET, S | Q, MIB, DISPATCH_REP_STOSB, true,
	  "NT_BAD row, falls back to FSRS: rep stosb" },
	{ DISPATCH_MEMSET, E | R | Z | Q, 2 * MIB, DISPATCH_MOV, true, "NT_BAD row, no FSRS: mov" },
	{ DISPATCH_MEMSET, S | Q, MIB - 1, DISPATCH_REP_STOSB, false, NULL },
	/* memcpy_flushcache: always */
	{ DISPATCH_MEMCPY_FLUSHCACHE, 0, 64, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE, E | R | Z | S | O, 2 * MIB, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE, O | Q, 4096, DISPATCH_MOVNTI, false, NULL },
	/* the only writer: from 768 bytes on, CLFLUSHOPT, 64-byte lines */
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, O, 767, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, O, 768, DISPATCH_CLFLUSHOPT_COPY, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, O | Q, 4096, DISPATCH_CLFLUSHOPT_COPY, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, O | L128, 768, DISPATCH_MOVNTI, false, NULL },
	{ DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, E | R | S, 768, DISPATCH_MOVNTI, false, NULL },
};

START_TEST(choices)
{
	const struct choice_row *row = &choice_rows[_i];
	struct dispatch_cpu cpu = cpu_with(row->bits);
	struct dispatch_choice choice = dispatch_choose(&cpu, row->operation, row->size);

	ck_assert_str_eq(dispatch_path_name(choice.path), dispatch_path_name(row->path));
	ck_assert_ptr_eq(choice.row, row->by_row ? &bad_row : NULL);
	ck_assert_ptr_nonnull(choice.reason);
	if (row->reason)
		ck_assert_str_eq(choice.reason, row->reason);
}
END_TEST

/* A row without the quirk decides nothing. */
START_TEST(row_without_quirk)
{
	struct dispatch_cpu cpu = cpu_with(E);
	struct dispatch_choice choice;

	cpu.row = &mild_row;
	choice = dispatch_choose(&cpu, DISPATCH_CLEAR_EXTENT, MIB);
	ck_assert_uint_eq(choice.path, DISPATCH_MOVNTI);
	ck_assert_ptr_null(choice.row);
}
END_TEST

/* Opt-out: what no row names gets what its bits say. */
START_TEST(unknown_cpu)
{
	struct fake fake = fake_of(NOBODY, 6, 0x55, 4);
	struct dispatch_cpu cpu;

	put(&fake, 7, 0, 1, 1 << 9, 0, 0);
	cpu = identify(&fake);
	ck_assert_uint_eq(dispatch_choose(&cpu, DISPATCH_CLEAR_PAGE, 4096).path,
			  DISPATCH_REP_STOSB);
	ck_assert_uint_eq(dispatch_choose(&cpu, DISPATCH_CLEAR_EXTENT, 8 * MIB).path,
			  DISPATCH_MOVNTI);
	ck_assert_uint_eq(dispatch_choose(&cpu, DISPATCH_MEMSET, 8 * MIB).path, DISPATCH_MOVNTI);
	ck_assert_uint_eq(dispatch_choose(&cpu, DISPATCH_MEMSET, 8 * MIB - 1).path, DISPATCH_MOV);
}
END_TEST

START_TEST(classes)
{
	static const struct {
		const char *operation, *class;
		uint64_t size; /* on a CPU with 6 MiB */
	} rows[] = {
		{ "clear_page", "4k", 4096 },
		{ "clear_extent", "4k", 4096 },
		{ "clear_extent", "half", 3 * MIB },
		{ "clear_extent", "llc", 6 * MIB },
		{ "clear_extent", "2llc", 12 * MIB },
		{ "memset", "4k", 4096 },
		{ "memset", "half", 3 * MIB },
		{ "memset", "llc", 6 * MIB },
		{ "memset", "2llc", 12 * MIB },
		{ "memcpy_flushcache", "64", 64 },
		{ "memcpy_flushcache", "4k", 4096 },
		{ "memcpy_flushcache_single", "767", 767 },
		{ "memcpy_flushcache_single", "768", 768 },
		{ "memcpy_flushcache_single", "4k", 4096 },
	};
	const struct dispatch_class nonsense = { DISPATCH_MEMSET, "9k" };
	size_t i;

	ck_assert_uint_eq(dispatch_class_count, COUNT(rows));
	for (i = 0; i < COUNT(rows); i++) {
		const struct dispatch_class *class = &dispatch_classes[i];

		ck_assert_str_eq(dispatch_operation_name(class->operation), rows[i].operation);
		ck_assert_str_eq(class->name, rows[i].class);
		ck_assert_uint_eq(dispatch_class_size(class, 6 * MIB), rows[i].size);
	}
	ck_assert_uint_eq(dispatch_class_size(&nonsense, MIB), 0);
	ck_assert_str_eq(dispatch_operation_name(DISPATCH_OPERATIONS), "unknown");
	ck_assert_str_eq(dispatch_path_name(DISPATCH_PATHS), "unknown");
}
END_TEST

/* --- paths --- */

static struct dispatch_cpu host_cpu(void)
{
	struct dispatch_cpu cpu;

	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL, true);
	return cpu;
}

#define PAGE 4096
/* Three pages between two that must not be touched. */
#define BUFFER (3 * PAGE)

static uint8_t *buffer_new(void)
{
	uint8_t *pages =
		mmap(NULL, BUFFER + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + PAGE, BUFFER, PROT_READ | PROT_WRITE), 0);
	return pages + PAGE;
}

static const struct set_row {
	const char *name;
	path_set_fn *set;
	bool clears_only, needs_clzero;
} set_rows[] = {
	{ "mov", path_set_mov, false, false },
	{ "rep-stosb", path_set_rep_stosb, false, false },
	{ "rep-stosq", path_set_rep_stosq, false, false },
	{ "movnti", path_set_movnti, false, false },
	{ "clzero", path_clear_clzero, true, true },
};

static const struct copy_row {
	const char *name;
	path_copy_fn *copy;
	bool needs_clflushopt, needs_clwb;
} copy_rows[] = {
	{ "movnti, clflush", path_copy_movnti_clflush, false, false },
	{ "movnti, clflushopt", path_copy_movnti_clflushopt, true, false },
	{ "movnti, clwb", path_copy_movnti_clwb, false, true },
	{ "clflushopt, clflushopt", path_copy_clflushopt_clflushopt, true, false },
	{ "clflushopt, clwb", path_copy_clflushopt_clwb, true, true },
};

static void assert_bytes(const uint8_t *got, const uint8_t *want, size_t count, const char *name,
			 size_t offset, size_t length)
{
	size_t i = 0;

	if (!memcmp(got, want, count)) /* an assertion is a system call: not one for each byte */
		return;
	while (got[i] == want[i])
		i++;
	ck_abort_msg("%s offset %zu length %zu: byte %zu", name, offset, length, i);
}

/* The buffer as it must look, and as it does, after length bytes at offset. */
static void check_set(const struct set_row *row, uint8_t *buffer, size_t offset, size_t length,
		      uint8_t byte)
{
	static uint8_t want[BUFFER];
	size_t i;

	for (i = 0; i < BUFFER; i++)
		buffer[i] = want[i] = (uint8_t)(i * 11 + 5);
	for (i = 0; i < length; i++)
		want[offset + i] = byte;
	row->set(buffer + offset, byte * REPEAT_BYTE, length);
	assert_bytes(buffer, want, BUFFER, row->name, offset, length);
}

static void check_copy(const struct copy_row *row, uint8_t *to, const uint8_t *from, size_t offset,
		       size_t from_offset, size_t length)
{
	static uint8_t want[BUFFER];
	size_t i;

	for (i = 0; i < BUFFER; i++)
		to[i] = want[i] = (uint8_t)(i * 11 + 5);
	for (i = 0; i < length; i++)
		want[offset + i] = from[from_offset + i];
	row->copy(to + offset, from + from_offset, length);
	assert_bytes(to, want, BUFFER, row->name, offset, length);
}

/* Every head and tail of a line; then lengths about a page. */
static const size_t long_lengths[] = { 191, 256, 767, 768, 769, 4095, 4096, 4097, 2 * PAGE };

START_TEST(set_paths)
{
	const struct set_row *row = &set_rows[_i];
	uint8_t *buffer = buffer_new();
	size_t offset, length, i;

	if (row->needs_clzero && !host_cpu().clzero)
		return; /* witnessed under emulation below */
	for (offset = 0; offset < 66; offset += offset < 10 ? 1 : 11)
		for (length = 0; length < 140; length++)
			check_set(row, buffer, offset, length, row->clears_only ? 0 : 0xC3);
	for (offset = 0; offset < 66; offset += 13)
		for (i = 0; i < COUNT(long_lengths); i++)
			check_set(row, buffer, offset, long_lengths[i], 0);
	/* up to the last byte before a page that must not be touched */
	for (length = 0; length < 140; length++)
		check_set(row, buffer, BUFFER - length, length, 0);
	munmap(buffer - PAGE, BUFFER + 2 * PAGE);
}
END_TEST

START_TEST(copy_paths)
{
	const struct copy_row *row = &copy_rows[_i];
	const struct dispatch_cpu cpu = host_cpu();
	uint8_t *to = buffer_new(), *from = buffer_new();
	size_t offset, length, i;

	if ((row->needs_clflushopt && !cpu.clflushopt) || (row->needs_clwb && !cpu.clwb))
		return;
	for (i = 0; i < BUFFER; i++)
		from[i] = (uint8_t)(i * 7 + i / 256 + 3);
	for (offset = 0; offset < 66; offset += offset < 10 ? 1 : 11)
		for (length = 0; length < 140; length++)
			check_copy(row, to, from, offset, (offset * 3 + length) % 17, length);
	for (offset = 0; offset < 66; offset += 13)
		for (i = 0; i < COUNT(long_lengths); i++)
			check_copy(row, to, from, offset, i, long_lengths[i]);
	for (length = 0; length < 140; length++)
		check_copy(row, to, from, BUFFER - length, BUFFER - length, length);
	munmap(to - PAGE, BUFFER + 2 * PAGE);
	munmap(from - PAGE, BUFFER + 2 * PAGE);
}
END_TEST

/* The operations do what their names say, at extents on both sides of the LLC. */
START_TEST(operations)
{
	struct dispatch_cpu cpu = host_cpu();
	uint8_t *to = buffer_new(), *from = buffer_new();
	size_t i, length;

	cpu.llc_bytes = 2048;
	memset(from, 0x77, BUFFER);
	for (i = 0; i < 2; i++) {
		length = i ? 3000 : 1000;
		memset(to, 0x11, BUFFER);
		dispatch_clear_extent(&cpu, to + 5, length);
		ck_assert_uint_eq(to[4], 0x11);
		ck_assert_uint_eq(to[5] | to[5 + length / 2] | to[4 + length], 0);
		ck_assert_uint_eq(to[5 + length], 0x11);
		dispatch_memset(&cpu, to + 5, 0x1234, length); /* one byte of it, as memset */
		ck_assert_uint_eq(to[5], 0x34);
		ck_assert_uint_eq(to[4 + length], 0x34);
		ck_assert_uint_eq(to[5 + length], 0x11);
		dispatch_memcpy_flushcache(&cpu, to + 5, from + 1, length);
		dispatch_memcpy_flushcache_single(&cpu, to + 5 + length, from, 800);
		dispatch_commit();
		ck_assert_uint_eq(to[4], 0x11);
		ck_assert(!memcmp(to + 5, from, length + 800));
		ck_assert_uint_eq(to[5 + length + 800], 0x11);
	}
	dispatch_clear_page(&cpu, to + PAGE);
	ck_assert_uint_eq(to[PAGE] | to[2 * PAGE - 1], 0);
	ck_assert_uint_eq(to[2 * PAGE], 0x11);
}
END_TEST

START_TEST(flush_of_heads)
{
	struct dispatch_cpu cpu = { .clwb = true, .clflushopt = true };

	ck_assert_uint_eq(path_flush_of(&cpu), PATH_CLWB);
	cpu.clwb = false;
	ck_assert_uint_eq(path_flush_of(&cpu), PATH_CLFLUSHOPT);
	cpu.clflushopt = false;
	ck_assert_uint_eq(path_flush_of(&cpu), PATH_CLFLUSH);
}
END_TEST

/* --- emulation --- */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Memory below 4 GiB, so that 32-bit addresses reach it too. */
static uint8_t *low_page(void)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	memset(page, 0x5A, PAGE);
	return page;
}

static const struct emulated_row {
	uint8_t code[16];
	unsigned length; /* 0: not emulated */
	int base, index; /* registers that hold the page, and 2; -1: none */
	unsigned reg;	 /* movdiri: holds the value; movdir64b: the destination */
	unsigned at;	 /* offset in the page of what is written */
	unsigned bytes;	 /* that many */
} emulated_rows[] = {
	/* clzero; addr32 clzero: rAX may be anywhere in the line */
	{ { 0x0F, 0x01, 0xFC }, 3, RAX, -1, 0, 0, 64 },
	{ { 0x67, 0x0F, 0x01, 0xFC }, 4, RAX, -1, 0, 0, 64 },
	/* movdiri (%rbx), %rcx and %ecx; 8(%rbx); 0x100(%rbx) */
	{ { 0x48, 0x0F, 0x38, 0xF9, 0x0B }, 5, RBX, -1, RCX, 0, 8 },
	{ { 0x0F, 0x38, 0xF9, 0x0B }, 4, RBX, -1, RCX, 0, 4 },
	{ { 0x48, 0x0F, 0x38, 0xF9, 0x4B, 0x08 }, 6, RBX, -1, RCX, 8, 8 },
	{ { 0x48, 0x0F, 0x38, 0xF9, 0x8B, 0, 1, 0, 0 }, 9, RBX, -1, RCX, 0x100, 8 },
	/* (%rbx,%rsi,4); 8(%rbx,%r14,8), %r15; (%r12), (%r13), both need a longer form */
	{ { 0x48, 0x0F, 0x38, 0xF9, 0x0C, 0xB3 }, 6, RBX, RSI, RCX, 8, 8 },
	{ { 0x4E, 0x0F, 0x38, 0xF9, 0x7C, 0xF3, 0x08 }, 7, RBX, R14, R15, 24, 8 },
	{ { 0x49, 0x0F, 0x38, 0xF9, 0x0C, 0x24 }, 6, R12, -1, RCX, 0, 8 },
	{ { 0x49, 0x0F, 0x38, 0xF9, 0x4D, 0x00 }, 6, R13, -1, RCX, 0, 8 },
	/* addr32 (%ebx) */
	{ { 0x67, 0x48, 0x0F, 0x38, 0xF9, 0x0B }, 6, RBX, -1, RCX, 0, 8 },
	/* movdir64b (%rsi), %rdi: the line at RSI to that at RDI; 0x40(%rsi); addr32 */
	{ { 0x66, 0x0F, 0x38, 0xF8, 0x3E }, 5, RSI, -1, RDI, 0x400, 64 },
	{ { 0x66, 0x0F, 0x38, 0xF8, 0x7E, 0x40 }, 6, RSI, -1, RDI, 0x400, 64 },
	{ { 0x67, 0x66, 0x0F, 0x38, 0xF8, 0x3E }, 6, RSI, -1, RDI, 0x400, 64 },
	/* ud2; movdiri and movdir64b of a register; pause-like prefixes; a store */
	{ { 0x0F, 0x0B }, 0, RAX, -1, 0, 0, 0 },
	{ { 0x48, 0x0F, 0x38, 0xF9, 0xCB }, 0, RBX, -1, RCX, 0, 0 },
	{ { 0x66, 0x0F, 0x38, 0xF8, 0xFE }, 0, RSI, -1, RDI, 0, 0 },
	{ { 0xF3, 0x0F, 0x01, 0xFC }, 0, RAX, -1, 0, 0, 0 },
	{ { 0x48, 0x89, 0x0B }, 0, RBX, -1, RCX, 0, 0 },
	{ { 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66 }, 0, RAX, -1, 0, 0, 0 },
};

START_TEST(emulated_instructions)
{
	const struct emulated_row *row = &emulated_rows[_i];
	const bool line = row->bytes == 64 && row->base == RSI; /* movdir64b */
	const bool clears = row->bytes == 64 && row->base == RAX;
	uint8_t *page = low_page(), want[PAGE];
	struct selftest_registers before, registers;
	unsigned i;

	memset(&registers, 0, sizeof(registers));
	registers.rip = (uint64_t)row->code;
	registers.general[row->base] = (uint64_t)page + (clears ? 17 : 0);
	if (row->index >= 0)
		registers.general[row->index] = 2;
	if (line)
		for (i = 0; i < 256; i++)
			page[i] = (uint8_t)(i * 3);
	memcpy(want, page, PAGE);
	registers.general[row->reg] |= line ? (uint64_t)page + row->at : 0;
	if (!line && !clears && row->bytes) {
		registers.general[row->reg] = 0x1122334455667788;
		memcpy(want + row->at, &registers.general[row->reg], row->bytes);
	}
	if (line)
		memcpy(want + row->at, page + (row->code[4] == 0x7E ? 64 : 0), 64);
	if (clears)
		memset(want, 0, 64);
	before = registers;
	ck_assert_int_eq(emulate(&registers), row->length != 0);
	ck_assert_uint_eq(registers.rip, before.rip + row->length);
	ck_assert(!memcmp(registers.general, before.general, sizeof(before.general)));
	assert_bytes(page, want, PAGE, "emulated", (size_t)_i, row->bytes);
	munmap(page, PAGE);
}
END_TEST

/* RIP-relative: counted from the end of the instruction. */
START_TEST(emulated_rip_relative)
{
	static const uint8_t code[] = { 0x48, 0x0F, 0x38, 0xF9, 0x0D, 0x40, 0, 0, 0 };
	uint8_t *page = low_page();
	struct selftest_registers registers;

	memset(&registers, 0, sizeof(registers));
	memcpy(page, code, sizeof(code));
	registers.rip = (uint64_t)page;
	registers.general[RCX] = 0x0102030405060708;
	ck_assert(emulate(&registers));
	ck_assert(!memcmp(page + 9 + 0x40, &registers.general[RCX], 8));
}
END_TEST

/* movdir64b wants its destination aligned: the CPU raises #GP, and so nothing is emulated. */
START_TEST(emulated_misaligned)
{
	static const uint8_t code[] = { 0x66, 0x0F, 0x38, 0xF8, 0x3E };
	uint8_t *page = low_page();
	struct selftest_registers registers;

	memset(&registers, 0, sizeof(registers));
	registers.rip = (uint64_t)code;
	registers.general[RSI] = (uint64_t)page;
	registers.general[RDI] = (uint64_t)page + 8;
	ck_assert(!emulate(&registers));
	ck_assert_uint_eq(registers.rip, (uint64_t)code);
}
END_TEST

START_TEST(rep_run_ahead)
{
	static const struct {
		uint8_t code[4];
		unsigned width; /* 0: not a rep of ours */
		bool copies;
	} rows[] = {
		{ { 0xF3, 0xAA }, 1, false },	    /* rep stosb */
		{ { 0xF3, 0x48, 0xAB }, 8, false }, /* rep stosq */
		{ { 0xF3, 0xA4 }, 1, true },	    /* rep movsb */
		{ { 0xF3, 0x48, 0xA5 }, 8, true },  /* rep movsq */
		{ { 0xF3, 0xAB }, 0, false },	    /* rep stosl */
		{ { 0xAA }, 0, false },		    /* stosb */
		{ { 0x67, 0xF3, 0xAA }, 0, false },
		{ { 0xEB, 0xFE }, 0, false }, /* jmp to itself */
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		uint8_t *page = low_page();
		struct selftest_registers registers;
		const unsigned width = rows[i].width;

		memset(&registers, 0, sizeof(registers));
		registers.rip = (uint64_t)rows[i].code;
		registers.general[RCX] = 10;
		registers.general[RDI] = (uint64_t)page;
		registers.general[RSI] = (uint64_t)page + 2048;
		registers.general[RAX] = 0xC3C3C3C3C3C3C3C3;
		memset(page + 2048, 0xC3, 2048);
		ck_assert_uint_eq(emulate_rep(&registers), width ? 9 : 0);
		ck_assert_uint_eq(registers.rip, (uint64_t)rows[i].code);
		ck_assert_uint_eq(registers.general[RCX], width ? 1 : 10);
		ck_assert_uint_eq(registers.general[RDI], (uint64_t)page + 9 * width);
		ck_assert_uint_eq(registers.general[RSI],
				  (uint64_t)page + 2048 + (rows[i].copies ? 9 * width : 0));
		ck_assert_uint_eq(page[9 * width], 0x5A);
		if (width)
			ck_assert_uint_eq(page[9 * width - 1], 0xC3);
		registers.general[RCX] = 1;
		ck_assert_uint_eq(emulate_rep(&registers), 0);
		munmap(page, PAGE);
	}
}
END_TEST

/* --- the report --- */

#define REPORT_ROOM (64 * 1024)

/* What a run sent, its frames taken apart. */
struct sent {
	size_t used, at;
	uint8_t bytes[REPORT_ROOM];
};

static void take(void *context, const void *bytes, size_t length)
{
	struct sent *sent = context;

	ck_assert_uint_le(length, sizeof(sent->bytes) - sent->used);
	memcpy(sent->bytes + sent->used, bytes, length);
	sent->used += length;
}

/* Bit by bit, as the polynomial is written down. */
static uint32_t crc_of(const uint8_t *bytes, size_t length)
{
	uint32_t crc = ~0U;

	while (length--) {
		crc ^= *bytes++;
		for (unsigned i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	return ~crc;
}

struct frame {
	unsigned kind, cpu;
	const uint8_t *payload;
	size_t length;
};

static bool next_frame(struct sent *sent, struct frame *frame)
{
	const uint8_t *head = sent->bytes + sent->at;
	uint32_t crc;

	if (sent->at == sent->used)
		return false;
	ck_assert_uint_le(sent->at + REPORT_HEADER_SIZE + REPORT_CRC_SIZE, sent->used);
	ck_assert(head[0] == 'Q' && head[1] == 'L' && head[2] == REPORT_VERSION);
	frame->kind = head[3];
	frame->length = head[4] | (size_t)head[5] << 8;
	frame->cpu = head[6] | (unsigned)head[7] << 8;
	frame->payload = head + REPORT_HEADER_SIZE;
	ck_assert_uint_le(frame->length, REPORT_PAYLOAD_MAX);
	memcpy(&crc, frame->payload + frame->length, sizeof(crc));
	ck_assert_uint_eq(crc, crc_of(head, REPORT_HEADER_SIZE + frame->length));
	sent->at += REPORT_HEADER_SIZE + frame->length + REPORT_CRC_SIZE;
	ck_assert_uint_le(sent->at, sent->used);
	return true;
}

/* Worked by hand: the CRC is that of zlib's crc32() over the 9 bytes before it. */
START_TEST(frame_bytes)
{
	static struct sent sent;
	const struct selftest_platform platform = { .context = &sent, .send = take, .cpu = 0x0102 };
	const uint8_t want[] = { 'Q', 'L', 1, REPORT_DONE, 1, 0, 2, 1, 1 };
	struct frame frame;

	selftest_send_frame(&platform, REPORT_DONE, "\1", 1);
	ck_assert_uint_eq(sent.used, sizeof(want) + 4);
	ck_assert(!memcmp(sent.bytes, want, sizeof(want)));
	ck_assert_uint_eq(crc_of((const uint8_t *)"123456789", 9),
			  0xCBF43926); /* the usual check */
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.cpu, 0x0102);
	selftest_send_frame(&platform, REPORT_BEAT, NULL, 0);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_BEAT);
	ck_assert_uint_eq(frame.length, 0);
}
END_TEST

START_TEST(strings)
{
	static struct sent sent;
	static struct report report;
	const struct selftest_platform platform = { .context = &sent, .send = take };
	char twin[] = "mov";
	struct frame frame;
	unsigned i;

	report_begin(&report, &platform);
	ck_assert_uint_eq(report_string(&report, "mov"), 0);
	ck_assert_uint_eq(report_string(&report, "movnti"), 1);
	ck_assert_uint_eq(report_string(&report, twin), 0); /* by its text */
	ck_assert_uint_eq(report_string(&report, NULL), REPORT_NO_STRING);
	report_send_strings(&report);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_STRINGS);
	ck_assert_uint_eq(frame.length, 11);
	ck_assert(!memcmp(frame.payload, "\3mov\6movnti", 11));
	report_send_strings(&report);
	ck_assert_msg(!next_frame(&sent, &frame), "nothing new");
	for (i = 2; i < REPORT_STRINGS_KEPT; i++) {
		static char many[REPORT_STRINGS_KEPT][8];

		snprintf(many[i], sizeof(many[i]), "%u", i);
		ck_assert_uint_eq(report_string(&report, many[i]), i);
	}
	ck_assert_uint_eq(report_string(&report, "one too many"), REPORT_NO_STRING);
}
END_TEST

/* --- CPUID in the report --- */

static void report_fake(struct sent *sent, dispatch_cpuid_fn *cpuid, void *context)
{
	static struct report report;
	const struct selftest_platform platform = { .context = sent, .send = take };

	sent->used = sent->at = 0;
	report_begin(&report, &platform);
	cpuid_report(&report, cpuid, context);
}

START_TEST(cpuid_bytes)
{
	static struct sent sent;
	static const uint8_t want[] = {
		/* leaf 0: EAX 4; "Genu" "ntel" "ineI" */
		0x0F, 0, 4, 0, 0, 0, 'G', 'e', 'n', 'u', 'n', 't', 'e', 'l', 'i', 'n', 'e', 'I',
		/* leaf 1: EAX and EDX; 2: nothing; 3: EBX */
		0x09, 1, 0x54, 0x06, 0x05, 0, 0, 0, 8, 0, 0x00, 2, 0x02, 3, 0x78, 0x56, 0x34, 0x12,
		/* leaf 4: a data cache, a unified one; what ends the list is not sent */
		0x01, 4, 0x21, 0, 0, 0, 0x11, 4, 1, 0x43, 0, 0, 0,
		/* 0x80000000: its maximum is itself */
		0x81, 0, 0, 0, 0, 0x80
	};
	struct fake fake = { .count = 0 };
	struct frame frame;

	put(&fake, 0, 0, 4, letters(INTEL, 0), letters(INTEL, 8), letters(INTEL, 4));
	put(&fake, 1, 0, 0x50654, 0, 0, 1 << 19);
	put(&fake, 3, 0, 0, 0x12345678, 0, 0);
	put(&fake, 4, 0, DATA(1), 0, 0, 0);
	put(&fake, 4, 1, UNIFIED(2), 0, 0, 0);
	put(&fake, 4, 3, UNIFIED(3), 0, 0, 0);		/* behind the end of the list */
	put(&fake, 0x40000000, 0, 0x40000000, 0, 0, 0); /* not asked for without a hypervisor */
	put(&fake, 0x80000000, 0, 0x80000000, 0, 0, 0);
	put(&fake, 0xC0000000, 0, 0xC0000000, 0, 0, 0);
	report_fake(&sent, fake_read, &fake);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_CPUID);
	ck_assert_uint_eq(frame.length, sizeof(want));
	assert_bytes(frame.payload, want, sizeof(want), "cpuid", 0, 0);
	ck_assert(!next_frame(&sent, &frame));
}
END_TEST

struct entry {
	uint32_t leaf, subleaf, registers[4];
};

static size_t parse_cpuid(struct sent *sent, struct entry *entries, size_t room)
{
	struct frame frame;
	size_t count = 0;

	while (next_frame(sent, &frame)) {
		const uint8_t *at = frame.payload, *end = at + frame.length;

		while (at < end) {
			const uint8_t head = *at++;
			struct entry entry = { 0 };

			entry.leaf = (uint32_t)(head >> REPORT_CPUID_BASE_SHIFT) << 30 | *at++;
			if (head & REPORT_CPUID_SUBLEAF)
				entry.subleaf = *at++;
			for (unsigned i = 0; i < 4; i++) {
				if (!(head >> i & 1))
					continue;
				memcpy(&entry.registers[i], at, 4);
				at += 4;
			}
			ck_assert(at <= end);
			ck_assert_uint_lt(count, room);
			entries[count++] = entry;
		}
	}
	return count;
}

static unsigned subleaves_of(const struct entry *entries, size_t count, uint32_t leaf,
			     uint32_t *last)
{
	unsigned found = 0;

	for (size_t i = 0; i < count; i++) {
		if (entries[i].leaf != leaf)
			continue;
		found++;
		*last = entries[i].subleaf;
	}
	return found;
}

/* How many subleaves of each kind of leaf are sent, and which is the last. */
START_TEST(cpuid_subleaves)
{
	static struct sent sent;
	static struct entry entries[1024];
	static const struct {
		uint32_t leaf, subleaves, last;
	} rows[] = {
		{ 0x07, 3, 2 },	      { 0x0B, 2, 1 },	    { 0x0D, 5, 17 },
		{ 0x0F, 2, 1 },	      { 0x10, 3, 3 },	    { 0x12, 3, 2 },
		{ 0x14, 2, 1 },	      { 0x1A, 1, 0 },	    { 0x1F, 1, 0 },
		{ 0x40000001, 1, 0 }, { 0x80000026, 2, 1 }, { 0x80000020, 2, 1 },
		{ 0xC0000001, 1, 0 },
	};
	struct fake fake = { .count = 0 };
	size_t count, i;
	uint32_t last = 0;

	put(&fake, 0, 0, 0x1F, letters(ZHAOXIN, 0), letters(ZHAOXIN, 8), letters(ZHAOXIN, 4));
	put(&fake, 1, 0, 0x50654, 0, 1U << 31, 0);
	put(&fake, 7, 0, 2, 0, 0, 0);
	put(&fake, 0x0B, 0, 0, 0, 0x100, 0);
	put(&fake, 0x0B, 1, 0, 0, 0x201, 0);
	put(&fake, 0x0B, 2, 0, 0, 2, 77); /* type 0 ends the list, whatever EDX */
	put(&fake, 0x0D, 0, 7, 0, 0, 0);  /* x87, SSE and AVX: 0, 1 and 2 */
	put(&fake, 0x0D, 1, 0, 0, 1 << 11 | 1 << 17, 0);
	put(&fake, 0x0F, 0, 0, 0, 0, 1 << 1);
	put(&fake, 0x10, 0, 0, 1 << 1 | 1 << 3, 0, 0);
	put(&fake, 0x12, 2, 1, 0, 0, 0);
	put(&fake, 0x14, 0, 1, 0, 0, 0);
	put(&fake, 0x40000000, 0, 0x40000001, 0, 0, 0);
	put(&fake, 0x80000000, 0, 0x80000026, 0, 0, 0);
	put(&fake, 0x80000020, 0, 0, 1 << 1, 0, 0);
	put(&fake, 0x80000026, 0, 0, 0, 0x100, 0);
	put(&fake, 0x80000026, 1, 0, 0, 0x200, 0);
	put(&fake, 0xC0000000, 0, 0xC0000001, 0, 0, 0);
	report_fake(&sent, fake_read, &fake);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	for (i = 0; i < COUNT(rows); i++) {
		unsigned found = subleaves_of(entries, count, rows[i].leaf, &last);

		ck_assert_msg(found == rows[i].subleaves && last == rows[i].last,
			      "leaf %x: %u subleaves, last %u", rows[i].leaf, found, last);
	}
}
END_TEST

static void all_ones(void *context, uint32_t leaf, uint32_t subleaf, struct dispatch_registers *out)
{
	(void)context, (void)leaf, (void)subleaf;
	memset(out, 0xFF, sizeof(*out));
}

/* Maxima that come close to no end. */
static void garbage(void *context, uint32_t leaf, uint32_t subleaf, struct dispatch_registers *out)
{
	(void)context;
	*out = (struct dispatch_registers){ leaf | 0xFFFF, leaf * 3 + subleaf, ~subleaf, leaf };
	if (leaf == 0)
		out->ebx = 0x746E6543; /* "Cent" */
}

START_TEST(cpuid_garbage)
{
	static struct sent sent;
	static struct entry entries[8192];
	size_t count;
	uint32_t last;

	report_fake(&sent, all_ones, NULL);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	ck_assert_uint_le(count, 64 * 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 7, &last), 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x3F, &last), 1);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x80000000, &last), 0);
	report_fake(&sent, garbage, NULL);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	ck_assert_uint_le(count, 4 * 64 * 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x8000003F, &last), 1);
	ck_assert_uint_eq(subleaves_of(entries, count, 0xC000003F, &last), 1);
}
END_TEST

/* --- the selftest --- */

/* A report's contents, as far as the tests look at them. */
#define TRACES 32
#define STEPS  128
struct step {
	const uint8_t *code; /* NULL: not known */
	unsigned rounds, flags;
};
struct trace {
	unsigned end, count;
	struct step steps[STEPS];
};
struct pick {
	const char *operation, *class, *path, *row, *reason;
	uint64_t size;
	unsigned executable, trace_count, traces[2];
};
struct tested_path {
	const char *path, *operation, *failed;
	unsigned executable;
	uint32_t cases, failures;
};
struct result {
	char strings[256][256];
	unsigned string_count;
	uint8_t code[REPORT_CODE_MAX + 16];
	struct trace traces[TRACES];
	unsigned trace_count;
	struct pick picks[16];
	unsigned pick_count;
	struct tested_path checks[16];
	unsigned check_count;
	unsigned kinds[16]; /* frames by kind */
	bool done;
};

/* Little-endian numbers off a payload, bounds checked. */
struct cursor {
	const uint8_t *at, *end;
};

static uint64_t number(struct cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;

	ck_assert_uint_ge(cursor->end - cursor->at, bytes);
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*cursor->at++ << (8 * i);
	return value;
}

static const char *string(struct result *result, struct cursor *cursor)
{
	unsigned n = (unsigned)number(cursor, 1);

	if (n == REPORT_NO_STRING)
		return NULL;
	ck_assert_uint_lt(n, result->string_count);
	return result->strings[n];
}

static unsigned parse_trace(struct result *result, struct cursor *cursor)
{
	struct trace *trace = &result->traces[result->trace_count];
	uint16_t offset = 0;
	unsigned i;

	ck_assert_uint_lt(result->trace_count, TRACES);
	trace->end = (unsigned)number(cursor, 1);
	if (trace->end == REPORT_TRACE_SAME) {
		i = (unsigned)number(cursor, 1);
		ck_assert_uint_lt(i, result->trace_count);
		*trace = result->traces[i];
		return result->trace_count++;
	}
	trace->count = (unsigned)number(cursor, 1);
	ck_assert_uint_le(trace->count, STEPS);
	for (i = 0; i < trace->count; i++) {
		unsigned head = (unsigned)number(cursor, 1);

		offset = head & 15 ? (uint16_t)(offset + (head & 15)) : (uint16_t)number(cursor, 2);
		trace->steps[i].rounds = head >> 4 & 7;
		trace->steps[i].flags = head & 0x80 ? (unsigned)number(cursor, 1) : 0;
		trace->steps[i].code = NULL;
		if (offset != REPORT_NO_CODE) {
			ck_assert_uint_lt(offset, REPORT_CODE_MAX);
			trace->steps[i].code = result->code + offset;
		}
	}
	return result->trace_count++;
}

static void parse_frame(struct result *result, const struct frame *frame)
{
	struct cursor cursor = { frame->payload, frame->payload + frame->length };

	ck_assert_uint_lt(frame->kind, COUNT(result->kinds));
	result->kinds[frame->kind]++;
	if (frame->kind == REPORT_CODE) {
		uint64_t offset = number(&cursor, 2);

		ck_assert_uint_le(offset + (uint64_t)(cursor.end - cursor.at), REPORT_CODE_MAX);
		memcpy(result->code + offset, cursor.at, (size_t)(cursor.end - cursor.at));
	}
	while (frame->kind == REPORT_STRINGS && cursor.at < cursor.end) {
		size_t length = number(&cursor, 1);

		ck_assert_uint_ge((size_t)(cursor.end - cursor.at), length);
		memcpy(result->strings[result->string_count++], cursor.at, length);
		cursor.at += length;
	}
	while (frame->kind == REPORT_PICKS && cursor.at < cursor.end) {
		struct pick *pick = &result->picks[result->pick_count++];

		ck_assert_uint_le(result->pick_count, COUNT(result->picks));
		pick->operation = string(result, &cursor);
		pick->class = string(result, &cursor);
		pick->path = string(result, &cursor);
		pick->row = string(result, &cursor);
		pick->reason = string(result, &cursor);
		pick->size = number(&cursor, 8);
		pick->executable = (unsigned)number(&cursor, 1);
		pick->trace_count = (unsigned)number(&cursor, 1);
		ck_assert_uint_le(pick->trace_count, 2);
		for (unsigned i = 0; i < pick->trace_count; i++)
			pick->traces[i] = parse_trace(result, &cursor);
	}
	while (frame->kind == REPORT_CHECKS && cursor.at < cursor.end) {
		struct tested_path *check = &result->checks[result->check_count++];

		ck_assert_uint_le(result->check_count, COUNT(result->checks));
		check->path = string(result, &cursor);
		check->operation = string(result, &cursor);
		check->executable = (unsigned)number(&cursor, 1);
		check->cases = (uint32_t)number(&cursor, 4);
		check->failures = (uint32_t)number(&cursor, 4);
		check->failed = string(result, &cursor);
		number(&cursor, 6);
	}
	if (frame->kind == REPORT_DONE)
		result->done = number(&cursor, 1);
}

static void parse(struct result *result, struct sent *sent)
{
	struct frame frame;

	memset(result, 0, sizeof(*result));
	while (next_frame(sent, &frame)) {
		ck_assert_msg(!result->done, "a frame after REPORT_DONE");
		ck_assert_msg((result->kinds[REPORT_START] > 0) == (frame.kind != REPORT_START) ||
				      frame.kind != REPORT_START,
			      "one REPORT_START, the first frame");
		parse_frame(result, &frame);
	}
}

/* The instructions that the witness must tell apart, by their bytes. */
enum kind {
	K_OTHER,
	K_MOVNTI,
	K_SFENCE,
	K_CLZERO,
	K_STOSB,
	K_STOSQ,
	K_CLWB,
	K_CLFLUSHOPT,
	K_CLFLUSH,
	K_MOV,
	K_KINDS
};

static enum kind kind_of(const uint8_t *code)
{
	if (!code)
		return K_OTHER;
	if ((code[0] & 0xF8) == 0x48 && code[1] == 0x0F && code[2] == 0xC3)
		return K_MOVNTI;
	if (!memcmp(code, "\x0F\xAE\xF8", 3))
		return K_SFENCE;
	if (!memcmp(code, "\x0F\x01\xFC", 3))
		return K_CLZERO;
	if (!memcmp(code, "\xF3\xAA", 2))
		return K_STOSB;
	if (!memcmp(code, "\xF3\x48\xAB", 3))
		return K_STOSQ;
	if (!memcmp(code, "\x66\x0F\xAE", 3) || !memcmp(code, "\x66\x41\x0F\xAE", 4)) {
		uint8_t modrm = code[1] == 0x41 ? code[4] : code[3];

		return (modrm >> 3 & 7) == 6 ? K_CLWB : K_CLFLUSHOPT;
	}
	if (!memcmp(code, "\x41\x0F\xAE\x38", 4) || !memcmp(code, "\x0F\xAE\x3F", 3))
		return K_CLFLUSH;
	/* 8 bytes to memory by RDI, with and without a displacement */
	if ((code[0] & 0xF8) == 0x48 && code[1] == 0x89 && (code[2] & 7) == RDI &&
	    (code[2] >> 6) < 3)
		return K_MOV;
	return K_OTHER;
}

static unsigned rounds_of(const struct trace *trace, enum kind kind)
{
	unsigned most = 0;

	for (unsigned i = 0; i < trace->count; i++)
		if (kind_of(trace->steps[i].code) == kind && trace->steps[i].rounds > most)
			most = trace->steps[i].rounds;
	return most;
}

/* The store that each path's main loop makes. */
static enum kind main_kind(const char *path)
{
	static const struct {
		const char *path;
		enum kind kind;
	} rows[] = {
		{ "mov", K_MOV },	{ "rep-stosb", K_STOSB }, { "rep-stosq", K_STOSQ },
		{ "movnti", K_MOVNTI }, { "clzero", K_CLZERO },	  { "clflushopt-copy", K_MOV }
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strcmp(rows[i].path, path))
			return rows[i].kind;
	ck_abort_msg("path %s", path);
	return K_OTHER;
}

struct fixture {
	struct selftest *test;
	struct selftest_platform platform;
	struct sent sent;
	struct result result;
};
static struct fixture fixture;

/* Check forks a process for each test: the platform's handlers are that test's alone. */
static void fixture_setup(void)
{
	fixture.test = aligned_alloc(16, (sizeof(struct selftest) + 15) / 16 * 16);
	fixture.platform = (struct selftest_platform){
		.context = &fixture.sent,
		.send = take,
		.guarded_call = platform_guarded_call,
		.arena = aligned_alloc(PAGE, SELFTEST_ARENA_MIN),
		.arena_bytes = SELFTEST_ARENA_MIN,
		.cpu = 5,
		.version = "",
	};
	ck_assert(fixture.test && fixture.platform.arena);
	memset(fixture.test, 0xAA, sizeof(*fixture.test)); /* the run relies on no old state */
	memset(fixture.platform.arena, 0, SELFTEST_ARENA_MIN);
	ck_assert_int_eq(platform_install(NULL), 0);
}

static void fixture_teardown(void)
{
	platform_remove();
	free(fixture.test);
	free(fixture.platform.arena);
}

/* Picks and traces of a made-up CPU. The instructions that this machine lacks are emulated. */
static const struct result *picks_of(const struct dispatch_cpu *cpu)
{
	struct selftest *test = fixture.test;

	fixture.sent.used = fixture.sent.at = 0;
	test->platform = &fixture.platform;
	test->cpu = *cpu;
	test->guarded = false;
	report_begin(&test->report, &fixture.platform);
	selftest_picks(test);
	parse(&fixture.result, &fixture.sent);
	ck_assert_uint_eq(fixture.result.pick_count, 14);
	return &fixture.result;
}

static const struct pick *find_pick(const struct result *result, const char *operation,
				    const char *class)
{
	for (unsigned i = 0; i < result->pick_count; i++)
		if (!strcmp(result->picks[i].operation, operation) &&
		    !strcmp(result->picks[i].class, class))
			return &result->picks[i];
	ck_abort_msg("no pick %s@%s", operation, class);
	return NULL;
}

/* The rules for what any traced pick must show, given what it says. */
static void assert_says_is_does(const struct result *result, const struct pick *pick)
{
	const bool copies = !strncmp(pick->operation, "memcpy", 6);
	const bool fenced =
		!copies && (!strcmp(pick->path, "movnti") || !strcmp(pick->path, "clzero"));
	const struct trace *first = &result->traces[pick->traces[0]];
	const struct trace *last = &result->traces[pick->traces[pick->trace_count - 1]];
	const enum kind kind = main_kind(pick->path);
	const char *const name = pick->operation;

	ck_assert_uint_eq(pick->trace_count, pick->size > 4096 ? 2 : 1);
	ck_assert_uint_eq(last->end, REPORT_TRACE_RETURNED);
	if (pick->trace_count == 2)
		ck_assert_uint_eq(first->end, REPORT_TRACE_ABANDONED);
	ck_assert_msg(rounds_of(first, kind) >= 4 && rounds_of(last, kind) >= 4, "%s@%s: %s", name,
		      pick->class, pick->path);
	ck_assert_msg((rounds_of(last, K_SFENCE) == 1) == fenced, "%s@%s: fence", name,
		      pick->class);
	ck_assert_uint_eq(kind_of(last->steps[last->count - 1].code) == K_OTHER ||
				  kind_of(last->steps[last->count - 1].code) == K_CLWB ||
				  kind_of(last->steps[last->count - 1].code) == K_CLFLUSHOPT ||
				  kind_of(last->steps[last->count - 1].code) == K_CLFLUSH,
			  true);
	for (unsigned other = K_MOVNTI; other < K_KINDS && !copies; other++)
		ck_assert_msg(other == kind || other == K_SFENCE || other == K_MOV ||
				      !rounds_of(last, other),
			      "%s@%s: %s with instruction %u", name, pick->class, pick->path,
			      other);
	ck_assert(!copies || rounds_of(last, K_CLWB) + rounds_of(last, K_CLFLUSHOPT) +
					     rounds_of(last, K_CLFLUSH) >
				     0);
	if (!strcmp(pick->path, "clflushopt-copy"))
		ck_assert_uint_eq(rounds_of(last, K_CLFLUSHOPT), 7);
}

static void assert_all_say_what_they_do(const struct result *result)
{
	for (unsigned i = 0; i < result->pick_count; i++)
		assert_says_is_does(result, &result->picks[i]);
}

/* Made-up CPUs that take every path. O and C are left to what this machine has. */
START_TEST(witnessed_paths)
{
	static const unsigned bits[] = { 0,	    E | R, R,	  E | R | S,	E | R | Q,
					 R | S | Q, Q,	   R | Z, E | R | S | Z };
	const struct dispatch_cpu host = host_cpu();
	struct dispatch_cpu cpu = cpu_with(bits[_i]);
	const struct result *result;

	cpu.clflushopt = host.clflushopt;
	cpu.clwb = host.clwb;
	result = picks_of(&cpu);
	assert_all_say_what_they_do(result);
	if (bits[_i] & Z)
		ck_assert_uint_eq(find_pick(result, "clear_extent", "llc")->executable,
				  host.clzero ? REPORT_EXECUTABLE_YES : REPORT_EXECUTABLE_EMULATED);
	ck_assert_uint_eq(find_pick(result, "clear_page", "4k")->executable, REPORT_EXECUTABLE_YES);
	ck_assert_pstr_eq(find_pick(result, "clear_extent", "llc")->row,
			  (bits[_i] & Q) && !(bits[_i] & Z) ? "bad" : NULL);
	ck_assert_ptr_null(find_pick(result, "clear_extent", "half")->row);
	ck_assert_uint_eq(find_pick(result, "memset", "2llc")->size, 2 * MIB);
}
END_TEST
#define WITNESSED 9

/* The flush of heads and tails is the CPU's best. */
START_TEST(witnessed_flushes)
{
	const struct dispatch_cpu host = host_cpu();
	struct dispatch_cpu cpu = cpu_with(E);
	const struct result *result;
	const struct trace *trace;

	result = picks_of(&cpu);
	trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
	ck_assert_uint_eq(rounds_of(trace, K_CLFLUSH), 1);
	ck_assert_uint_eq(rounds_of(trace, K_CLWB) + rounds_of(trace, K_CLFLUSHOPT), 0);
	if (host.clflushopt) {
		cpu.clflushopt = true;
		result = picks_of(&cpu);
		trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
		ck_assert_uint_eq(rounds_of(trace, K_CLFLUSHOPT), 1);
		ck_assert_uint_eq(rounds_of(trace, K_CLWB) + rounds_of(trace, K_CLFLUSH), 0);
	}
	if (host.clwb) {
		cpu.clwb = true;
		result = picks_of(&cpu);
		trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
		ck_assert_uint_eq(rounds_of(trace, K_CLWB), 1);
		ck_assert_uint_eq(rounds_of(trace, K_CLFLUSHOPT) + rounds_of(trace, K_CLFLUSH), 0);
	}
}
END_TEST

/* The whole run, on this machine's CPU. */
START_TEST(whole_run)
{
	static struct entry entries[1024];
	struct result *result = &fixture.result;
	struct dispatch_registers leaf1;
	struct dispatch_cpu cpu = host_cpu();
	unsigned failures, i;

	ck_assert_uint_eq(selftest_bytes, sizeof(struct selftest));
	failures = selftest_run(fixture.test, &fixture.platform);
	ck_assert_uint_eq(failures, 0);
	ck_assert_uint_le(fixture.sent.used, 4096); /* CONTRACT: at most 4 KiB a CPU */
	parse(result, &fixture.sent);
	ck_assert(result->done);
	ck_assert_uint_eq(result->pick_count, 14);
	assert_all_say_what_they_do(result);
	for (i = 0; i < result->pick_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		uint64_t size = dispatch_class_size(class, cpu.llc_bytes);
		struct dispatch_choice choice = dispatch_choose(&cpu, class->operation, size);

		ck_assert_str_eq(result->picks[i].class, class->name);
		ck_assert_str_eq(result->picks[i].path, dispatch_path_name(choice.path));
		ck_assert_str_eq(result->picks[i].reason, choice.reason);
		ck_assert_uint_eq(result->picks[i].size, size);
	}
	ck_assert_uint_eq(result->check_count, 10);
	for (i = 0; i < result->check_count; i++) {
		const struct tested_path *check = &result->checks[i];

		ck_assert_uint_eq(check->failures, 0);
		ck_assert_ptr_null(check->failed);
		if (!strcmp(check->path, "clzero"))
			ck_assert_uint_eq(check->executable, cpu.clzero
								     ? REPORT_EXECUTABLE_YES
								     : REPORT_EXECUTABLE_EMULATED);
		else if (!strcmp(check->path, "mov") || cpu.clflushopt)
			ck_assert_uint_eq(check->executable, REPORT_EXECUTABLE_YES);
		if (check->executable == REPORT_EXECUTABLE_YES)
			ck_assert_uint_ge(check->cases, 100);
	}
	ck_assert(__builtin_cpu_supports("sse2"));
	dispatch_cpuid_instruction(NULL, 1, 0, &leaf1);
	ck_assert(leaf1.edx >> 26 & 1);
	/* and the CPUID frames alone */
	report_fake(&fixture.sent, dispatch_cpuid_instruction, NULL);
	ck_assert_uint_gt(parse_cpuid(&fixture.sent, entries, COUNT(entries)), 10);
	ck_assert_uint_eq(entries[1].leaf, 1);
	ck_assert_uint_eq(entries[1].registers[0], leaf1.eax);
}
END_TEST

/* A platform without a trap flag, where everything that is tried escapes. */
static int refuse(struct selftest *test, void (*function)(void *), void *argument, bool single_step)
{
	(void)test, (void)function, (void)argument, (void)single_step;
	return 1;
}

START_TEST(poor_platforms)
{
	struct result *result = &fixture.result;
	unsigned i;

	fixture.platform.guarded_call = refuse;
	fixture.platform.version = "6.1.0";
	fixture.platform.misc_enable = REPORT_MISC_ENABLE_CLEAR;
	ck_assert_uint_eq(selftest_run(fixture.test, &fixture.platform), 0);
	ck_assert(!memcmp(fixture.sent.bytes + REPORT_HEADER_SIZE,
			  "\5"
			  "6.1.0\2\0\0\0",
			  10));
	parse(result, &fixture.sent);
	ck_assert(result->done);
	ck_assert_uint_eq(result->pick_count, 14);
	for (i = 0; i < result->trace_count; i++) {
		ck_assert_uint_eq(result->traces[i].end, REPORT_TRACE_LIMIT);
		ck_assert_uint_eq(result->traces[i].count, 0);
	}
	ck_assert_uint_eq(result->kinds[REPORT_CODE], 0);
	for (i = 0; i < result->check_count; i++)
		ck_assert_uint_eq(result->checks[i].executable, REPORT_EXECUTABLE_NO);
}
END_TEST

/* --- the witness alone --- */

/* Dispatchers that do what ours never do. */
__attribute__((naked, used)) static void raises_ud(void)
{
	__asm__("movb $1, (%rdi)\n\tnop\n\tud2\n\tret");
}
__attribute__((naked, used)) static void stores_to_null(void)
{
	__asm__("xor %eax, %eax\n\tmovb $1, (%rax)\n\tret");
}
__attribute__((naked, used)) static void jumps_to_nowhere(void)
{
	__asm__("mov $0x1000, %eax\n\tjmp *%rax");
}
__attribute__((naked, used)) static void never_ends(void)
{
	__asm__("1: jmp 1b");
}
__attribute__((naked, used)) static void loops_without_store(void)
{
	__asm__("mov $1000, %ecx\n1: dec %ecx\n\tjnz 1b\n\tret");
}
/* The last byte first, the way of overlapping stores. */
__attribute__((naked, used)) static void stores_last_byte_first(void)
{
	__asm__("movb $1, 99(%rdi)\n\tmovb $1, (%rdi)\n\tret");
}
/* 140 distinct instructions. */
__attribute__((naked, used)) static void is_too_long(void)
{
	__asm__("movb $1, (%rdi)\n\t.rept 140\n\tnop\n\t.endr\n\tret");
}
/* Calls as deep as a return address that looks like its own. */
__attribute__((naked, used)) static void calls_others(void)
{
	__asm__("movb $1, (%rdi)\n\tcall 1f\n\tnop\n\tret\n1:\tcall 2f\n2:\tpop %rax\n\tret");
}

struct odd_call {
	void (*function)(void);
	uint8_t *to;
};

static void make_odd_call(void *argument)
{
	const struct odd_call *call = argument;

	((void (*)(uint8_t *))call->function)(call->to);
	*(volatile uint8_t *)(call->to + 200) = 1; /* the call is not this function's last act */
}

static const struct witness_trace *trace_odd(void (*function)(void), bool abandon, unsigned bytes)
{
	struct selftest *test = fixture.test;
	struct odd_call call = { function, fixture.platform.arena };
	bool returned;

	test->platform = &fixture.platform;
	test->emulated = false;
	witness_begin(&test->witness);
	memset(call.to, SELFTEST_POISON, 256);
	witness_start_trace(&test->witness, &(struct witness_call){
						    .entry = (uint64_t)function,
						    .abandon = abandon,
						    .first = call.to,
						    .last = call.to + bytes - 1,
						    .poison = SELFTEST_POISON,
					    });
	returned = selftest_guarded(test, make_odd_call, &call, true);
	return &test->witness.traces[witness_end_trace(&test->witness, returned)];
}

START_TEST(odd_calls)
{
	static const struct {
		void (*function)(void);
		bool abandon;
		unsigned end, steps, flags_of_last;
	} rows[] = {
		{ raises_ud, false, REPORT_TRACE_FAULTED, 3, REPORT_STEP_FAULTED },
		{ stores_to_null, false, REPORT_TRACE_FAULTED, 2, REPORT_STEP_FAULTED },
		{ jumps_to_nowhere, false, REPORT_TRACE_FAULTED, 3, REPORT_STEP_FAULTED },
		{ never_ends, false, REPORT_TRACE_LIMIT, 1, 0 },
		{ never_ends, true, REPORT_TRACE_ABANDONED, 1, 0 },
		{ loops_without_store, false, REPORT_TRACE_RETURNED, 4, 0 },
		{ loops_without_store, true, REPORT_TRACE_ABANDONED, 3, 0 },
		{ stores_last_byte_first, false, REPORT_TRACE_RETURNED, 3, 0 },
		{ is_too_long, false, REPORT_TRACE_LIMIT, 128, 0 },
		{ calls_others, false, REPORT_TRACE_RETURNED, 7, 0 },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		const struct witness_trace *trace =
			trace_odd(rows[i].function, rows[i].abandon, 100);

		ck_assert_msg(trace->end == rows[i].end && trace->step_count == rows[i].steps,
			      "row %zu: end %u after %u", i, trace->end, trace->step_count);
		ck_assert_uint_eq(trace->steps[trace->step_count - 1].flags, rows[i].flags_of_last);
	}
}
END_TEST

/* Bytes that cannot be read are not sent. */
START_TEST(unreadable_code)
{
	struct selftest *test = fixture.test;
	const struct witness_trace *trace = trace_odd(jumps_to_nowhere, false, 1);
	struct witness *witness = &test->witness;

	fixture.sent.used = fixture.sent.at = 0;
	report_begin(&test->report, &fixture.platform);
	witness_report_code(witness, &test->report);
	ck_assert_uint_eq(witness->instructions[trace->steps[2].instruction].rip, 0x1000);
	ck_assert_uint_eq(witness->instructions[trace->steps[2].instruction].offset,
			  REPORT_NO_CODE);
	ck_assert_uint_eq(witness->instructions[trace->steps[0].instruction].offset, 0);
	ck_assert_uint_eq(witness->instructions[trace->steps[1].instruction].offset, 5);
	witness_report_trace(witness, &test->report, trace);
	/* FAULTED, 3 steps: at 0, once; 5 on, once; no code, once, flags: faulted */
	ck_assert_uint_eq(test->report.used, 2 + 3 + 1 + 4);
	ck_assert(!memcmp(test->report.payload, "\2\3\x10\0\0\x15\x90\xFF\xFF\2", 10));
}
END_TEST

/* Exceptions that belong to no guarded call, or that no test can cause, are not the selftest's. */
START_TEST(foreign_exceptions)
{
	struct selftest *test = fixture.test;
	struct selftest_registers registers;

	memset(&registers, 0, sizeof(registers));
	test->guarded = false;
	ck_assert_uint_eq(selftest_on_step(test, &registers), SELFTEST_UNKNOWN);
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 6, 0, 0), SELFTEST_UNKNOWN);
	test->guarded = true;
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 8, 0, 0), SELFTEST_UNKNOWN);
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 18, 0, 0), SELFTEST_UNKNOWN);
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test, size_t rows)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 60);
	if (rows)
		tcase_add_loop_test(tcase, test, 0, (int)rows);
	else
		tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

static void add_guarded(Suite *suite, const char *name, const TTest *test, size_t rows)
{
	TCase *tcase = tcase_create(name);

	/* A step costs a signal: some 30 us under an emulator, and 10000 of them a run. */
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tcase, test, 0, rows ? (int)rows : 1);
	suite_add_tcase(suite, tcase);
}

Suite *suite_dispatch(void)
{
	Suite *suite = suite_create("dispatch");

	add(suite, "identify/signatures", signatures, SIGNATURES);
	add(suite, "identify/rep_good", rep_good, COUNT(rep_good_rows));
	add(suite, "identify/fast_strings_off", fast_strings_off, 0);
	add(suite, "identify/features", features, 0);
	add(suite, "identify/maximum_leaves", maximum_leaves, 0);
	add(suite, "identify/fsrs_of_fsrm", fsrs_of_fsrm, 0);
	add(suite, "identify/line_size", line_size, 0);
	add(suite, "identify/llc_by_leaf_4", llc_by_leaf_4, 0);
	add(suite, "identify/llc_of_amd", llc_of_amd, 0);
	add(suite, "identify/llc_by_all_factors", llc_by_all_factors, 0);
	add(suite, "quirks/rows", quirk_rows, 0);
	add(suite, "quirks/table", quirk_table, 0);
	add(suite, "choose/choices", choices, COUNT(choice_rows));
	add(suite, "choose/row_without_quirk", row_without_quirk, 0);
	add(suite, "choose/unknown_cpu", unknown_cpu, 0);
	add(suite, "choose/classes", classes, 0);
	add(suite, "paths/set", set_paths, COUNT(set_rows));
	add(suite, "paths/copy", copy_paths, COUNT(copy_rows));
	add(suite, "paths/operations", operations, 0);
	add(suite, "paths/flush_of_heads", flush_of_heads, 0);
	add(suite, "emulate/instructions", emulated_instructions, COUNT(emulated_rows));
	add(suite, "emulate/rip_relative", emulated_rip_relative, 0);
	add(suite, "emulate/misaligned", emulated_misaligned, 0);
	add(suite, "emulate/rep", rep_run_ahead, 0);
	add(suite, "report/frame", frame_bytes, 0);
	add(suite, "report/strings", strings, 0);
	add(suite, "report/cpuid", cpuid_bytes, 0);
	add(suite, "report/cpuid_subleaves", cpuid_subleaves, 0);
	add(suite, "report/cpuid_garbage", cpuid_garbage, 0);
	add_guarded(suite, "witness/paths", witnessed_paths, WITNESSED);
	add_guarded(suite, "witness/flushes", witnessed_flushes, 0);
	add_guarded(suite, "witness/odd_calls", odd_calls, 0);
	add_guarded(suite, "witness/unreadable_code", unreadable_code, 0);
	add_guarded(suite, "selftest/whole_run", whole_run, 0);
	add_guarded(suite, "selftest/poor_platforms", poor_platforms, 0);
	add_guarded(suite, "selftest/foreign_exceptions", foreign_exceptions, 0);
	return suite;
}
