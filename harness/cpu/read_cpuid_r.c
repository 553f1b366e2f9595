/* SPDX-License-Identifier: MIT */
/* The raw output of `cpuid -r` and `cpuid -1r`:
 * "   0x00000004 0x01: eax=0x00000122 ebx=0x01c0003f ecx=0x0000003f edx=0x00000000" behind "CPU
 * 0:". */
#include "harness/cpu/read.h"

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "eax=0x", "ebx=0x", "ecx=0x", "edx=0x" };
	const char *end;
	uint32_t number;

	at = scan_blanks(at);
	if (*at == 'C' || *at == 'c') {
		at = scan_word(at, "CPU");
		if (!at)
			return LINE_OTHER;
		out->number = -1;
		end = scan_decimal(scan_blanks(at), &number);
		if (end)
			out->number = number;
		return *(end ? end : at) == ':' ? LINE_CPU : LINE_OTHER;
	}
	at = scan_word(at, "0x");
	at = at ? scan_hex(at, 8, 8, &out->leaf.leaf) : NULL;
	at = at ? scan_word(scan_blanks(at), "0x") : NULL;
	at = at ? scan_hex(at, 1, 8, &out->leaf.subleaf) : NULL;
	if (!at || *at != ':')
		return LINE_OTHER;
	out->registers = scan_registers(at + 1, words, " ", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_cpuid_r = {
	.name = "cpuid -r output",
	.marks = { "eax=0x" },
	.lines = &format,
};
