/* SPDX-License-Identifier: MIT */
/*
 * libcpuid's raw dumps (cpuid_tool --save) and its *.test files: "intel_fn4[1]=00000122 01c0003f
 * ...". They are arrays of fixed sizes, written whole: an element of a list of subleaves that is
 * all zero is no answer, it was not asked for.
 */
#include "harness/cpu/read.h"

#include <string.h>

static const struct {
	const char *name;
	uint32_t leaf;
	bool subleaves; /* the index is a subleaf, else it is added to the leaf */
} arrays[] = {
	{ "basic_cpuid[", 0x0, false },
	{ "ext_cpuid[", 0x80000000u, false },
	{ "intel_fn4[", 0x4, true },
	{ "intel_fn11[", 0xB, true },
	{ "intel_fn12h[", 0x12, true },
	{ "intel_fn14h[", 0x14, true },
	{ "amd_fn8000001dh[", 0x8000001Du, true },
	{ "amd_fn80000026h[", 0x80000026u, true },
};

static enum line_kind scan_header(const char *at, struct leaf_line *out)
{
	uint32_t number;

	while (*at == '_')
		at++;
	at = scan_word(scan_blanks(at), "Logical CPU #");
	if (!at || !scan_decimal(at, &number))
		return LINE_OTHER;
	out->number = number;
	return LINE_CPU;
}

static bool any_bit(const struct leaf_line *line)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < line->registers; i++)
		bits |= line->leaf.reg[i];
	return bits;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "", "", "", "" };
	const char *end = NULL;
	uint32_t index;
	size_t i;

	at = scan_blanks(at);
	if (*at == '_')
		return scan_header(at, out);
	for (i = 0; i < sizeof(arrays) / sizeof(arrays[0]) && !end; i++)
		end = scan_word(at, arrays[i].name);
	end = end ? scan_decimal(end, &index) : NULL;
	end = end && index < 256 ? scan_word(end, "]=") : NULL;
	if (!end)
		return LINE_OTHER;
	i--;
	out->leaf.leaf = arrays[i].leaf + (arrays[i].subleaves ? 0 : index);
	out->leaf.subleaf = arrays[i].subleaves ? index : 0;
	out->registers = scan_registers(end, words, " ", out->leaf.reg, &end);
	if (arrays[i].subleaves && !any_bit(out))
		return LINE_MORE;
	return out->registers < 4 ? LINE_CUT : LINE_LEAF;
}

static const struct leaf_format format = { .scan = scan, .arrays = true };

const struct dump_reader reader_libcpuid = {
	.name = "libcpuid raw dump",
	.marks = { "basic_cpuid[" },
	.lines = &format,
};
