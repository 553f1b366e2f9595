/* SPDX-License-Identifier: MIT */
/* The tests of google/cpu_features: "{{0x00000007, 0}, Leaf{0x00000000, 0x029C67AF, ...}}," with a
 * CPU in each TEST_F. */
#include "harness/cpu/read.h"

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "0x", "0x", "0x", "0x" };
	const char *end;

	at = scan_blanks(at);
	if (scan_word(at, "TEST_F(")) {
		out->number = -1;
		return LINE_CPU;
	}
	while (*at == '{' || *at == '(' || *at == ' ')
		at++;
	at = scan_word(at, "0x");
	at = at ? scan_hex(at, 1, 8, &out->leaf.leaf) : NULL;
	at = at ? scan_word(scan_blanks(at), ",") : NULL;
	at = at ? scan_number(scan_blanks(at), &out->leaf.subleaf) : NULL;
	at = at ? scan_word(scan_blanks(at), "}") : NULL;
	at = at ? scan_word(scan_blanks(at), ",") : NULL;
	if (!at)
		return LINE_OTHER;
	end = scan_word(scan_blanks(at), "Leaf{");
	if (!end)
		return LINE_CUT;
	out->registers = scan_registers(end, words, " ,", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_cpu_features = {
	.name = "cpu_features test",
	.marks = { "Leaf{" },
	.lines = &format,
};
