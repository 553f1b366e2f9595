/* SPDX-License-Identifier: MIT */
/* Six numbers a line: leaf, subleaf, EAX, EBX, ECX, EDX; decimal with commas as archspec has them,
 * or 0x-hexadecimal with tabs as `quirklab cpuid --to tsv` writes them. */
#include "harness/cpu/read.h"

static const char *skip_separator(const char *at)
{
	at = scan_blanks(at);
	return *at == ',' || *at == ';' ? scan_blanks(at + 1) : at;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	at = scan_number(scan_blanks(at), &out->leaf.leaf);
	at = at ? scan_number(skip_separator(at), &out->leaf.subleaf) : NULL;
	if (!at)
		return LINE_OTHER;
	for (out->registers = 0; out->registers < 4; out->registers++) {
		at = scan_number(skip_separator(at), &out->leaf.reg[out->registers]);
		if (!at) {
			/* The number before may have lost its end. */
			out->registers -= out->registers > 0;
			return LINE_CUT;
		}
	}
	return LINE_LEAF;
}

static const struct leaf_format format = { .scan = scan, .any_width = true };

const struct dump_reader reader_csv = {
	.name = "table of leaves",
	.marks = { "0, 0, ", "0,0,", "leaf\tsubleaf\teax", "0x00000000\t0x00000000\t" },
	.lines = &format,
};
