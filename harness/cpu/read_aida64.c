/* SPDX-License-Identifier: MIT */
/*
 * AIDA64, EVEREST, InstLatx64:  "CPUID 00000004: 00000122-01C0003F-0000003F-00000000 [SL 01] [L1I:
 * 32 KB]". Twenty years of them differ in separators, headers and in whether subleaves have their
 * number; that number is hexadecimal.
 */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <string.h>

/* Headers of a logical CPU: what stands before its number. */
static const char *const headers[] = {
	"------[ CPUID Registers / Logical CPU #",
	"------[ Logical CPU #",
	"CPUID Registers (CPU #",
	"CPU#",
};

static enum line_kind scan_header(const char *at, struct leaf_line *out)
{
	uint32_t number;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const char *behind = scan_word(at, headers[i]);

		if (!behind || !scan_decimal(behind, &number))
			continue;
		out->number = number;
		return LINE_CPU;
	}
	/* "CPU 0:" and nothing behind it */
	at = scan_word(at, "CPU ");
	at = at ? scan_decimal(scan_blanks(at), &number) : NULL;
	if (!at || *at != ':' || (*scan_blanks(at + 1) && *scan_blanks(at + 1) != '\n'))
		return LINE_OTHER;
	out->number = number;
	return LINE_CPU;
}

/* " [SL 01] [L1I: 32 KB]": behind the registers. A wrap may have put it into the next line. */
static enum line_kind scan_subleaf(const char *at, struct leaf_line *out)
{
	static const char mark[] = "[SL ";
	const char *number = scan_word(at, mark);

	out->open = !*at || *at == '\n';
	if (*at != '[')
		return LINE_LEAF;
	if (number) {
		number = scan_hex(number, 2, 2, &out->leaf.subleaf);
		if (number && *number == ']')
			return LINE_LEAF;
	} else {
		/* Another remark, unless it is the beginning of that one, or a damaged one. */
		size_t length = strcspn(at, "\n]"), alike = 0;

		for (size_t i = 0; i < 4 && i < length; i++)
			alike += toupper((unsigned char)at[i]) == mark[i];
		if (length > 6 || (at[length] == ']' ? length < 6 || alike < 3 : alike < length))
			return LINE_LEAF;
	}
	out->leaf.subleaf = SUBLEAF_BY_PLACE;
	return LINE_CUT;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "", "", "", "" };
	const char *end;

	at = scan_blanks(at);
	if (*at != 'C' && *at != 'c' && *at != '-')
		return LINE_OTHER;
	end = scan_word(at, "CPUID ");
	end = end ? scan_hex(end, 8, 8, &out->leaf.leaf) : NULL;
	if (!end)
		return scan_header(at, out);
	out->leaf.subleaf = SUBLEAF_BY_PLACE;
	out->registers = scan_registers(end, words, " :-", out->leaf.reg, &end);
	if (out->registers < 4)
		return LINE_CUT;
	return scan_subleaf(scan_blanks(end), out);
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_aida64 = {
	.name = "AIDA64 report",
	.marks = { "CPUID 0", "CPUID 8" },
	.lines = &format,
};
