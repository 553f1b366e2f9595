/* SPDX-License-Identifier: MIT */
/*
 * One CPU's file of hwloc-gather-cpuid: "5 4 0 1 0 => 122 1c0003f 3f 0", all hexadecimal without
 * leading zeros: which inputs matter (1: EAX, 4: ECX), the four inputs, the four answers.
 */
#include "harness/cpu/read.h"

#include <stddef.h>

#define ECX_MATTERS 4u

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	uint32_t mask, in[4];
	ptrdiff_t gap = 0;

	at = scan_hex(scan_blanks(at), 1, 2, &mask);
	for (int i = 0; at && i < 4; i++)
		at = scan_hex(scan_blanks(at), 1, 8, &in[i]);
	at = at ? scan_word(scan_blanks(at), "=>") : NULL;
	if (!at)
		return LINE_OTHER;
	out->leaf.leaf = in[0];
	out->leaf.subleaf = mask & ECX_MATTERS ? in[2] : 0;
	for (out->registers = 0; out->registers < 4; out->registers++) {
		const char *number = scan_blanks(at);

		/* Where a digit became a blank, there are two. */
		if (out->registers == 1)
			gap = number - at;
		at = out->registers < 2 || number - at == gap
			     ? scan_hex(number, 1, 8, &out->leaf.reg[out->registers])
			     : NULL;
		if (!at) {
			/* The number before may have lost its end. */
			out->registers -= out->registers > 0;
			return LINE_CUT;
		}
	}
	/* Five answers: a number fell into two. */
	if (*scan_blanks(at) && *scan_blanks(at) != '\n') {
		out->registers = 0;
		return LINE_CUT;
	}
	return LINE_LEAF;
}

void hwloc_read_cpu(struct reading *reading, const struct dump_text *text)
{
	static const struct leaf_format format = { .scan = scan, .any_width = true, .sign = "=>" };

	read_leaf_lines(reading, text, &format);
}

static int read_hwloc(struct reading *reading, const struct dump_text *text, struct error *err)
{
	(void)err;
	hwloc_read_cpu(reading, text);
	return 0;
}

const struct dump_reader reader_hwloc = {
	.name = "hwloc-gather-cpuid file",
	.marks = { " => " },
	.read = read_hwloc,
};
