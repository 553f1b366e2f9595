/* SPDX-License-Identifier: MIT */
/* The kernel's kcpuid -r: "0x00000001: EAX=0x000506a3, EBX=...", or "0x00000004: subleafs:" and
 * then a line with the decimal number of each. Leaves that are all zero are not printed. */
#include "harness/cpu/read.h"

static enum line_kind scan_header(const char *at, struct leaf_line *out)
{
	uint32_t number;

	at = scan_word(at, "CPU");
	at = at ? scan_decimal(scan_blanks(at), &number) : NULL;
	if (!at || *at != ':')
		return LINE_OTHER;
	out->number = number;
	return LINE_CPU;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "EAX=0x", "EBX=0x", "ECX=0x", "EDX=0x" };
	const char *end;

	at = scan_blanks(at);
	if (*at == 'C' || *at == 'c')
		return scan_header(at, out);
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		at = scan_hex(at + 2, 8, 8, &out->leaf.leaf);
		if (!at || *at != ':')
			return LINE_OTHER;
		out->context = out->leaf.leaf;
		if (scan_word(scan_blanks(at + 1), "subleafs"))
			return LINE_OTHER;
		out->leaf.subleaf = 0;
	} else {
		at = scan_decimal(at, &out->leaf.subleaf);
		if (!at || *at != ':' || !scan_word(scan_blanks(at + 1), "EAX="))
			return LINE_OTHER;
		out->leaf.leaf = out->context;
	}
	out->registers = scan_registers(at + 1, words, " ,", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_kcpuid = {
	.name = "kcpuid -r output",
	.marks = { "EAX=0x" },
	.lines = &format,
};
