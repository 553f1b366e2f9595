/* SPDX-License-Identifier: MIT */
/* Six numbers a line: leaf, subleaf, EAX, EBX, ECX, EDX; decimal with commas as archspec has them,
 * or 0x-hexadecimal with tabs as `quirklab cpuid --to tsv` writes them. */
#include "harness/cpu/read.h"

#include <string.h>

/* In a line with commas a blank separates nothing: "329 379" may be one number or two. */
static const char *skip_separator(const char *at, bool commas)
{
	at = scan_blanks(at);
	if (*at == ',' || *at == ';')
		return scan_blanks(at + 1);
	return commas ? NULL : at;
}

static const char *next_number(const char *at, bool commas, uint32_t *number)
{
	at = skip_separator(at, commas);
	return at ? scan_number(at, number) : NULL;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	size_t plain = strcspn(at, ",;\n");
	bool commas = at[plain] == ',' || at[plain] == ';';

	at = scan_number(scan_blanks(at), &out->leaf.leaf);
	at = at ? next_number(at, commas, &out->leaf.subleaf) : NULL;
	if (!at)
		return LINE_OTHER;
	for (out->registers = 0; out->registers < 4; out->registers++) {
		at = next_number(at, commas, &out->leaf.reg[out->registers]);
		if (!at)
			break;
	}
	if (at && (!commas || !*scan_blanks(at) || strchr("\r\n,;", *scan_blanks(at))))
		return LINE_LEAF;
	/* The number before may have lost its end. */
	out->registers -= out->registers > 0;
	return LINE_CUT;
}

static const struct leaf_format format = { .scan = scan, .any_width = true };

const struct dump_reader reader_csv = {
	.name = "table of leaves",
	.marks = { "0, 0, ", "0,0,", "leaf\tsubleaf\teax", "0x00000000\t0x00000000\t" },
	.lines = &format,
};
