/* SPDX-License-Identifier: MIT */
/* x86info -r: "eax in: 0x00000001, eax = 000506a3 ebx = 00100800 ecx = ... edx = ...", subleaf 0
 * only. */
#include "harness/cpu/read.h"

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "eax = ", "ebx = ", "ecx = ", "edx = " };
	const char *end;

	at = scan_word(scan_blanks(at), "eax in: 0x");
	at = at ? scan_hex(at, 8, 8, &out->leaf.leaf) : NULL;
	if (!at)
		return LINE_OTHER;
	out->leaf.subleaf = 0;
	out->registers = scan_registers(at, words, " ,", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_x86info = {
	.name = "x86info -r output",
	.marks = { "eax in: 0x" },
	.lines = &format,
};
