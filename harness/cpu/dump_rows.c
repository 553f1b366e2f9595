/* SPDX-License-Identifier: MIT */
/*
 * Old dumps repeat a leaf without the number of its subleaf, and leave out subleaves that are all
 * zero. What the lines of a leaf say of themselves decides which subleaves they are; where they do
 * not agree with each other, a line may be lost, and none of them counts.
 *
 * Leaves and registers: Intel SDM vol. 2A (CPUID), vol. 1 chapter 13 (states of XSAVE); AMD APM
 * vol. 3 appendix E.
 */
#include <string.h>

#include "harness/cpu/read.h"

#define NO_NUMBER UINT32_MAX

struct rows {
	struct dump_leaf *row[ROWS_MAX];
	uint32_t number[ROWS_MAX]; /* what is found out; NO_NUMBER: left out */
	unsigned count;
	bool trace_cache; /* a Pentium 4: its first level has no instruction cache that shows */
};

/* Each returns whether the lines are what they should be. */
typedef bool judge_rows(struct rows *rows);

/* The leaf's lines tell their number themselves, in ECX bits 7:0. */
static bool numbered_in_ecx(struct rows *rows)
{
	for (unsigned i = 0; i < rows->count; i++) {
		rows->number[i] = rows->row[i]->reg[CPUID_ECX] & 0xFF;
		if (i && rows->number[i] <= rows->number[i - 1])
			return false;
	}
	return true;
}

static bool in_order(struct rows *rows)
{
	for (unsigned i = 0; i < rows->count; i++)
		rows->number[i] = i;
	return true;
}

/* Subleaf 0 has the highest subleaf in EAX. */
static bool counted(struct rows *rows)
{
	return in_order(rows) && rows->row[0]->reg[CPUID_EAX] <= 0x20 &&
	       rows->count <= rows->row[0]->reg[CPUID_EAX] + 1;
}

/* As counted; of subleaf 0 EBX is never empty, and of the others it nearly is. */
static bool structured(struct rows *rows)
{
	for (unsigned i = 1; i < rows->count; i++)
		if (rows->row[i]->reg[CPUID_EBX] > 0xF)
			return false;
	/* Subleaf 1 that is all zero has no line: then the third is behind the first. */
	if (rows->count > 1 && rows->count <= rows->row[0]->reg[CPUID_EAX])
		rows->count = 1;
	return counted(rows) && rows->row[0]->reg[CPUID_EAX] <= 7 && rows->row[0]->reg[CPUID_EBX];
}

/* Caches come as data, instruction, unified, from the first level on. */
static bool caches(struct rows *rows)
{
	unsigned before = 0;

	in_order(rows);
	for (unsigned i = 0; i < rows->count; i++) {
		uint32_t reg = rows->row[i]->reg[CPUID_EAX];
		unsigned type = reg & 0x1F, level = reg >> 5 & 7, now = level * 4 + type;

		if (!type)
			return i > 0 && i + 1 == rows->count;
		if (type > 3 || now <= before || level > before / 4 + 1)
			return false;
		if ((!i && now != 5) || (i == 1 && now != 6 && !rows->trace_cache))
			return false;
		before = now;
	}
	return true;
}

/* The states that subleaf 0 (XCR0) and subleaf 1 (XSS) say there are. */
static uint64_t states_of(const struct rows *rows, bool has_flags)
{
	const uint32_t *first = rows->row[0]->reg;
	uint64_t states = (uint64_t)first[CPUID_EDX] << 32 | first[CPUID_EAX];

	if (has_flags)
		states |=
			(uint64_t)rows->row[1]->reg[CPUID_EDX] << 32 | rows->row[1]->reg[CPUID_ECX];
	return states & ~3ull;
}

/* Subleaf 1 holds flags, of which XSAVEOPT is always on; where it is, EAX of others is a size. */
static bool are_state_flags(const uint32_t *reg)
{
	return reg[CPUID_EAX] & 1 && reg[CPUID_EAX] <= 0x3F && !(reg[CPUID_ECX] & 0xFF) &&
	       (!reg[CPUID_EBX] || reg[CPUID_EBX] >= 0x240);
}

/* x87 and SSE are always there; pairs and triples are whole; the size has room for AVX. */
static bool are_states(const uint32_t *reg)
{
	uint32_t mask = reg[CPUID_EAX];

	return (mask & 3) == 3 && (!(mask & 8) == !(mask & 0x10)) &&
	       (!(mask & 0xE0) || (mask & 0xE0) == 0xE0) && reg[CPUID_ECX] >= 0x240 &&
	       (!(mask & 4) || reg[CPUID_ECX] >= 0x340) &&
	       (!(mask & 0x18) || reg[CPUID_ECX] >= 0x440) && reg[CPUID_ECX] >= reg[CPUID_EBX];
}

/* The one whose size and place are the same everywhere. */
static bool is_avx(const uint32_t *reg)
{
	return reg[CPUID_EAX] == 0x100 && reg[CPUID_EBX] == 0x240;
}

static bool states(struct rows *rows)
{
	bool has_flags = rows->count > 1 && are_state_flags(rows->row[1]->reg);
	unsigned first = has_flags ? 2 : 1, number = 2;
	uint64_t left;

	in_order(rows);
	if (!are_states(rows->row[0]->reg))
		return false;
	left = states_of(rows, has_flags);
	if ((unsigned)__builtin_popcountll(left) != rows->count - first)
		left = 0;
	for (unsigned i = first; i < rows->count; i++) {
		while (left && !(left >> number & 1))
			number++;
		rows->number[i] = left ? number : is_avx(rows->row[i]->reg) ? 2 : NO_NUMBER;
		left &= ~(1ull << number);
	}
	return true;
}

/* Subleaf 0 of SGX: features, and sizes in EDX; subleaf 1: what an enclave may have. */
static bool enclaves(struct rows *rows)
{
	const uint32_t *first = rows->row[0]->reg;

	return in_order(rows) && first[CPUID_EDX] && !first[CPUID_ECX];
}

static const struct {
	uint32_t leaf;
	judge_rows *judge;
} judges[] = {
	{ 0x4, caches },
	{ 0x7, structured },
	{ 0xB, numbered_in_ecx },
	{ 0xD, states },
	{ 0xF, in_order },
	{ 0x10, in_order },
	{ 0x12, enclaves },
	{ 0x14, counted },
	{ 0x17, counted },
	{ 0x18, counted },
	{ 0x1B, in_order },
	{ 0x1D, counted },
	{ 0x1F, numbered_in_ecx },
	{ 0x20, counted },
	{ 0x23, in_order },
	{ 0x24, counted },
	{ 0x8000001D, caches },
	{ 0x80000020, in_order },
	{ 0x80000026, numbered_in_ecx },
};

static judge_rows *judge_of(uint32_t leaf)
{
	for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++)
		if (judges[i].leaf == leaf)
			return judges[i].judge;
	return NULL;
}

static struct row_leaf *row_leaf_of(struct reading *reading, uint32_t leaf)
{
	size_t count = reading->row_leaf_count;

	if (count && reading->rows[count - 1].leaf == leaf)
		return &reading->rows[count - 1];
	for (size_t i = 0; i < count; i++)
		if (reading->rows[i].leaf == leaf)
			return &reading->rows[i];
	if (count == ROW_LEAVES_MAX)
		return NULL;
	reading->rows[reading->row_leaf_count++] = (struct row_leaf){ .leaf = leaf };
	return &reading->rows[count];
}

static const struct dump_leaf *last_row(const struct reading *reading, uint32_t leaf)
{
	for (size_t i = reading->leaf_count; i-- > 0;)
		if (reading->leaves[i].leaf == leaf)
			return &reading->leaves[i];
	return NULL;
}

void reading_row(struct reading *reading, const struct cpuid_leaf *leaf, unsigned registers)
{
	struct cpuid_leaf row = *leaf;
	const struct dump_leaf *last;
	struct row_leaf *rows;

	row.subleaf = 0;
	if (!judge_of(leaf->leaf)) {
		reading_leaf(reading, &row, registers);
		reading->lost_row = false;
		return;
	}
	rows = row_leaf_of(reading, leaf->leaf);
	if (!rows || rows->count == ROWS_MAX)
		return;
	last = rows->count ? last_row(reading, leaf->leaf) : NULL;
	if (last && registers == 4 && !memcmp(last->reg, leaf->reg, sizeof(last->reg))) {
		reading_warn(reading, 0, "leaf 0x%x: a line that is there twice counts once",
			     leaf->leaf);
		return;
	}
	rows->damaged |= registers < 4 || reading->lost_row;
	reading->lost_row = false;
	row.subleaf = ROW_FIRST + rows->count++;
	reading_leaf(reading, &row, 4);
}

void reading_lost_row(struct reading *reading)
{
	size_t count = reading->row_leaf_count;

	reading->lost_row = true;
	/* It may have been of the leaf before as well as of the next. */
	if (count && reading->rows[count - 1].leaf == reading->last_leaf)
		reading->rows[count - 1].damaged = true;
	if (reading->last_leaf == 4 || reading->last_leaf == 0x8000001Du)
		reading->cut_list = reading->last_leaf;
	reading->last_leaf = 0;
}

/* The leaf's lines without a number; whether it has others as well goes into *numbered. */
static void collect(struct reading *reading, const struct row_leaf *leaf, struct rows *rows,
		    bool *numbered)
{
	*numbered = false;
	*rows = (struct rows){ 0 };
	for (size_t i = 0; i < reading->leaf_count; i++) {
		struct dump_leaf *row = &reading->leaves[i];

		if (row->leaf == 1)
			rows->trace_cache = (row->reg[CPUID_EAX] >> 8 & 0xF) == 15;
		if (row->leaf != leaf->leaf)
			continue;
		if (row->subleaf < ROW_FIRST)
			*numbered = true;
		else if (rows->count < ROWS_MAX)
			rows->row[rows->count++] = row;
	}
}

/* A leaf that is there, and empty: nothing speaks of further lines. */
static bool is_empty(struct rows *rows)
{
	const uint32_t *reg = rows->row[0]->reg;

	return rows->count == 1 && in_order(rows) && !(reg[0] | reg[1] | reg[2] | reg[3]);
}

static void settle(struct reading *reading, const struct row_leaf *leaf)
{
	struct rows rows;
	bool numbered, good;
	unsigned all;

	collect(reading, leaf, &rows, &numbered);
	all = rows.count;
	if (!all)
		return;
	good = !leaf->damaged && !numbered && (is_empty(&rows) || judge_of(leaf->leaf)(&rows));
	if (!good)
		reading_warn(reading, 0,
			     "leaf 0x%x: %s, and lines have no number of their subleaf: unknown",
			     leaf->leaf,
			     leaf->damaged ? "a line of it is damaged"
			     : numbered	   ? "some lines have the number of their subleaf"
					   : "a line of it seems to be missing");
	else if (rows.count < all)
		reading_warn(reading, 0,
			     "leaf 0x%x is repeated without the number of its subleaf: all but the "
			     "first are unknown",
			     leaf->leaf);
	else if (all > 1)
		reading_warn(reading, 0,
			     "leaf 0x%x is repeated without the number of its subleaf: numbered by "
			     "what the lines say and by their order",
			     leaf->leaf);
	for (unsigned i = 0; i < all; i++)
		rows.row[i]->subleaf = good && i < rows.count ? rows.number[i] : NO_NUMBER;
}

void reading_settle_rows(struct reading *reading)
{
	size_t kept = 0;

	for (size_t i = 0; i < reading->row_leaf_count; i++)
		settle(reading, &reading->rows[i]);
	for (size_t i = 0; reading->row_leaf_count && i < reading->leaf_count; i++)
		if (reading->leaves[i].subleaf != NO_NUMBER)
			reading->leaves[kept++] = reading->leaves[i];
	if (reading->row_leaf_count) {
		reading->leaf_count = kept;
		reading->sorted = false;
	}
	reading->row_leaf_count = 0;
	reading->lost_row = false;
}
