/* SPDX-License-Identifier: MIT */
/* Formats that have a leaf a line: the loop that they share, and lines that a paste has wrapped. */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <string.h>

#define JOINED_MAX 512

static const char *const register_names[] = { "eax", "ebx", "ecx", "edx" };

static bool is_mark(char c, const char *marks)
{
	for (; *marks; marks++)
		if (c == *marks)
			return true;
	return false;
}

unsigned scan_registers(const char *at, const char *const words[4], const char *marks,
			uint32_t reg[4], const char **end)
{
	unsigned count = 0;

	for (; at && count < 4; count++) {
		while (is_mark(*at, marks))
			at++;
		at = scan_word(at, words[count]);
		at = at ? scan_hex(at, 8, 8, &reg[count]) : NULL;
		if (!at)
			break;
	}
	*end = at;
	return count;
}

/* The line and the next as one, if that makes a whole leaf; without and with a blank between them.
 */
static bool join(const struct line *line, const struct line *next, const struct leaf_format *format,
		 uint32_t context, struct leaf_line *out)
{
	static const char *const between[] = { "", " " };
	size_t a = (size_t)(line->end - line->at), b = (size_t)(next->end - next->at);
	struct leaf_line other = { .context = context };

	if (a + b + 2 > JOINED_MAX || format->scan(next->at, &other) != LINE_OTHER)
		return false;
	for (size_t i = 0; i < 2; i++) {
		char joined[JOINED_MAX];
		size_t gap = strlen(between[i]);

		memcpy(joined, line->at, a);
		memcpy(joined + a, between[i], gap);
		memcpy(joined + a + gap, next->at, b);
		joined[a + gap + b] = '\0';
		*out = (struct leaf_line){ .context = context };
		if (format->scan(joined, out) == LINE_LEAF)
			return true;
	}
	return false;
}

static void add(struct reading *reading, struct leaf_line *read)
{
	if (read->leaf.subleaf == SUBLEAF_BY_PLACE) {
		/* A second leaf 0 is the next CPU's, so it must not be counted as a subleaf. */
		read->leaf.subleaf = read->leaf.leaf ? reading_place(reading, &read->leaf) : 0;
	}
	reading_leaf(reading, &read->leaf, read->registers);
}

/* A number that ends where the text does may go on in the original. */
static bool doubtful_end(const struct dump_text *text, const struct line *line,
			 const struct leaf_line *read)
{
	const char *last = line->end;

	if (line->end != text->bytes + text->length || !read->leaf.reg[CPUID_EDX])
		return false;
	return last > line->at && isxdigit((unsigned char)last[-1]);
}

void read_leaf_lines(struct reading *reading, const struct dump_text *text,
		     const struct leaf_format *format)
{
	struct line line = { 0 };
	uint32_t context = 0;

	while (line_next(text, &line)) {
		struct leaf_line read = { .number = -1, .context = context }, joined;
		struct line next = line;
		enum line_kind kind = format->scan(line.at, &read);

		context = read.context;
		if (kind == LINE_CPU)
			reading_cpu(reading, read.number);
		if (kind == LINE_LEAF && format->any_width && doubtful_end(text, &line, &read)) {
			read.registers = 3;
			kind = LINE_CUT;
		} else if (kind == LINE_CUT && line_next(text, &next) &&
			   join(&line, &next, format, context, &joined)) {
			reading_warn(reading, line.number, "wrapped: read together with line %u",
				     next.number);
			read = joined;
			kind = LINE_LEAF;
			line = next;
		}
		if (kind == LINE_LEAF)
			read.registers = 4;
		else if (kind == LINE_CUT)
			reading_warn(reading, line.number,
				     "leaf 0x%x is cut off or damaged at %s: its registers from "
				     "there on "
				     "are unknown",
				     read.leaf.leaf, register_names[read.registers & 3]);
		if (kind == LINE_LEAF || (kind == LINE_CUT && read.registers))
			add(reading, &read);
	}
}
