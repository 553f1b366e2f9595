/* SPDX-License-Identifier: MIT */
/* Six numbers a line: leaf, subleaf, EAX, EBX, ECX, EDX; decimal with commas as archspec has them,
 * or eight digits behind 0x with tabs as `quirklab cpuid --to tsv` writes them. */
#include "harness/cpu/read.h"

#include <string.h>

/* In a line with commas a blank separates nothing: "329 379" may be one number or two. */
static const char *skip_separator(const char *at, bool commas)
{
	const char *behind = scan_blanks(at);

	if (*behind == ',' || *behind == ';')
		return behind == at ? scan_blanks(at + 1) : NULL;
	return commas ? NULL : behind;
}

static const char *next_number(const char *at, bool commas, uint32_t *number)
{
	at = skip_separator(at, commas);
	if (!at || commas)
		return at ? scan_number(at, number) : NULL;
	at = scan_word(at, "0x");
	return at ? scan_hex(at, 8, 8, number) : NULL;
}

/* Whether the line ends before the last of the six numbers. */
static bool is_part(const char *at)
{
	size_t separators = 0;

	for (; *at && *at != '\n'; at++)
		separators += *at == ',' || *at == ';';
	return separators < 5;
}

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	const char *start = at;
	size_t plain = strcspn(at, ",;\n");
	bool commas = at[plain] == ',' || at[plain] == ';';

	at = scan_blanks(at);
	at = commas ? scan_number(at, &out->leaf.leaf) : next_number(at, false, &out->leaf.leaf);
	at = at ? next_number(at, commas, &out->leaf.subleaf) : NULL;
	if (!at)
		return LINE_OTHER;
	for (out->registers = 0; out->registers < 4; out->registers++) {
		at = next_number(at, commas, &out->leaf.reg[out->registers]);
		if (!at)
			break;
	}
	if (at && (!*scan_blanks(at) || strchr("\n,;", *scan_blanks(at))))
		return LINE_LEAF;
	/* The number before may have lost its end. */
	out->registers -= out->registers > 0;
	out->part = is_part(start);
	return LINE_CUT;
}

static const struct leaf_format format = { .scan = scan, .any_width = true };

const struct dump_reader reader_csv = {
	.name = "table of leaves",
	.marks = { "0, 0, ", "0,0,", "subleaf", "0x00000000 " },
	.lines = &format,
};
