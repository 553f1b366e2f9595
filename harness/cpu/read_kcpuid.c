/* SPDX-License-Identifier: MIT */
/* The kernel's kcpuid -r: "0x00000001: EAX=0x000506a3, EBX=...", or "0x00000004: subleafs:" and
 * then a line with the decimal number of each. Leaves that are all zero are not printed. */
#include "harness/cpu/read.h"

static enum line_kind scan_answers(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "EAX=0x", "EBX=0x", "ECX=0x", "EDX=0x" };
	const char *end;

	out->registers = scan_registers(at, words, " ,", out->leaf.reg, &end);
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

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

/*
 * The context is the leaf whose subleaves the lines are, and the lowest number that can be next: a
 * lower one is of another leaf, whose own line is lost.
 */
#define IN_SUBLEAVES (1u << 30)

static uint32_t subleaves_of(uint32_t leaf, uint32_t next)
{
	return IN_SUBLEAVES | (leaf & 0x80000000u) | (leaf & 0xFFFF) << 8 | next;
}

static enum line_kind scan_subleaf(const char *at, struct leaf_line *out)
{
	uint32_t context = out->context;

	at = scan_decimal(at, &out->leaf.subleaf);
	if (!at || *at != ':' || !scan_word(scan_blanks(at + 1), "EAX="))
		return LINE_OTHER;
	out->context = 0;
	if (!(context & IN_SUBLEAVES) || out->leaf.subleaf < (context & 0xFF) ||
	    out->leaf.subleaf >= 0xFF)
		return LINE_OTHER;
	out->leaf.leaf = (context & 0x80000000u) | (context >> 8 & 0xFFFF);
	out->context = subleaves_of(out->leaf.leaf, out->leaf.subleaf + 1);
	return scan_answers(at + 1, out);
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	at = scan_blanks(at);
	if (*at == 'C' || *at == 'c')
		return scan_header(at, out);
	if (at[0] != '0' || (at[1] | 0x20) != 'x')
		return scan_subleaf(at, out);
	out->context = 0;
	at = scan_hex(at + 2, 8, 8, &out->leaf.leaf);
	if (!at || *at != ':')
		return LINE_OTHER;
	if (scan_word(scan_blanks(at + 1), "subleafs")) {
		out->context = subleaves_of(out->leaf.leaf, 0);
		return LINE_OTHER;
	}
	out->leaf.subleaf = 0;
	return scan_answers(at + 1, out);
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_kcpuid = {
	.name = "kcpuid -r output",
	.marks = { "EAX=0x" },
	.lines = &format,
};
