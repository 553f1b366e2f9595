/* SPDX-License-Identifier: MIT */
/* xen-cpuid -p: "  00000004:00000001 -> 00000122:01c0003f:0000003f:00000000"; subleaf ffffffff:
 * there is none. The first policy is the machine's own; those behind it are what Xen lets guests
 * see. */
#include "harness/cpu/read.h"

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "", "", "", "" };
	const char *end;

	at = scan_hex(scan_blanks(at), 8, 8, &out->leaf.leaf);
	at = at && *at == ':' ? scan_hex(at + 1, 8, 8, &out->leaf.subleaf) : NULL;
	at = at ? scan_word(scan_blanks(at), "->") : NULL;
	if (!at)
		return LINE_OTHER;
	if (out->leaf.subleaf == 0xFFFFFFFFu)
		out->leaf.subleaf = 0;
	out->registers = scan_registers(at, words, " :", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static int read_xen(struct reading *reading, const struct dump_text *text, struct error *err)
{
	static const struct leaf_format format = { .scan = scan };
	struct dump_text first = *text;
	struct line line = { 0 };
	unsigned policies = 0;

	(void)err;
	while (line_next(text, &line) && policies < 2) {
		if (!line_find(&line, " policy:") || ++policies < 2)
			continue;
		first.length = (size_t)(line.at - text->bytes);
		reading_warn(reading, line.number,
			     "the first policy is read; those from here on are left "
			     "out");
	}
	read_leaf_lines(reading, &first, &format);
	return 0;
}

const struct dump_reader reader_xen = {
	.name = "xen-cpuid -p output",
	.marks = { " -> " },
	.read = read_xen,
};
