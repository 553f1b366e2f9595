/* SPDX-License-Identifier: MIT */
/* The thread dumps of a CPU-Z text report: a leaf and four registers with 0x, tabs between them.
 * Subleaves have no number; "CPU Thread N" stands before each. */
#include "harness/cpu/read.h"

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "0x", "0x", "0x", "0x" };
	const char *end;
	uint32_t number;

	at = scan_blanks(at);
	end = scan_word(at, "CPU Thread ");
	if (end && scan_decimal(end, &number)) {
		out->number = number;
		return LINE_CPU;
	}
	at = scan_word(at, "0x");
	at = at ? scan_hex(at, 8, 8, &out->leaf.leaf) : NULL;
	if (!at || *scan_blanks(at) != '0')
		return LINE_OTHER;
	out->leaf.subleaf = SUBLEAF_BY_PLACE;
	out->registers = scan_registers(at, words, " ", out->leaf.reg, &end);
	/* A sixth column: another table. */
	if (out->registers == 4 && *scan_blanks(end) && *scan_blanks(end) != '\n')
		return LINE_OTHER;
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_cpuz = {
	.name = "CPU-Z report",
	.marks = { "0x00000000 ", "0x80000000 " },
	.lines = &format,
};
