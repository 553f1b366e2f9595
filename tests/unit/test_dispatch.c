// SPDX-License-Identifier: MIT
/* tests/dispatch: who a CPU is, what is chosen for it, what the paths and the emulation do. */
#include <sys/mman.h>

#include "tests/dispatch/emulate.h"
#include "tests/dispatch/paths.h"
#include "tests/unit/dispatch_fixture.h"

Suite *suite_dispatch(void);

#define REPEAT_BYTE 0x0101010101010101ULL

/* --- CPUs by their signature --- */

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
static const struct dispatch_quirk_row mild_row = { .name = "mild", .quirks = 0 };

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
	return suite;
}
