/* SPDX-License-Identifier: MIT */
/* Formats that have a leaf a line: the loop that they share, and lines that a paste has wrapped. */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <string.h>

#define JOINED_MAX 512
#define PIECES_MAX 5 /* of one line */

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

/* A piece that no scanner knows by itself: what a wrap leaves of a line. */
static bool is_piece(const struct line *line, const struct leaf_format *format, uint32_t context)
{
	struct leaf_line other = { .context = context };

	return scan_blanks(line->at) < line->end && format->scan(line->at, &other) == LINE_OTHER;
}

/* The next line that is not empty: some pastes have an empty one behind each. */
static bool next_piece(const struct dump_text *text, struct line *line, size_t *passed)
{
	while (line_next(text, line)) {
		++*passed;
		if (scan_blanks(line->at) < line->end)
			return true;
	}
	return false;
}

/* The pieces as one line; bit i of `gaps`: a blank behind piece i. */
static bool put_together(char joined[JOINED_MAX], const struct line pieces[], size_t count,
			 unsigned gaps)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length = (size_t)(pieces[i].end - pieces[i].at);

		if (used + length + 2 > JOINED_MAX)
			return false;
		memcpy(joined + used, pieces[i].at, length);
		used += length;
		if (gaps >> i & 1 && i + 1 < count)
			joined[used++] = ' ';
	}
	joined[used] = '\n';
	joined[used + 1] = '\0';
	return true;
}

static bool same_leaf_line(const struct leaf_line *a, const struct leaf_line *b)
{
	return !memcmp(&a->leaf, &b->leaf, sizeof(a->leaf));
}

/* What a wrap leaves of numbers: then the number before it may have lost its end. */
static bool goes_on(const struct dump_text *text, const struct line *line,
		    const struct leaf_format *format, uint32_t context)
{
	struct line next = *line;
	size_t passed = 0;
	bool digit = false;

	if (!next_piece(text, &next, &passed) || !is_piece(&next, format, context))
		return false;
	for (const char *at = next.at; at < next.end; at++) {
		if (!isxdigit((unsigned char)*at) && *at != ' ' && *at != ',')
			return false;
		digit |= *at != ' ';
	}
	return digit;
}

/*
 * The line and those behind it as one, if that makes a whole leaf in one way only; a wrap breaks a
 * line at a blank, which it drops, or anywhere. What goes on behind a line as long as the longest
 * is of the same number; behind another one, nothing is sure. Returns how many lines there were,
 * empty ones too, 0 for none.
 */
static size_t join(const struct dump_text *text, const struct line *line,
		   const struct leaf_format *format, uint32_t context, size_t longest,
		   struct leaf_line *out)
{
	struct line pieces[PIECES_MAX] = { *line };
	char joined[JOINED_MAX];
	size_t passed = 1;

	for (size_t count = 2; count <= PIECES_MAX; count++) {
		unsigned found = 0;

		pieces[count - 1] = pieces[count - 2];
		if (!next_piece(text, &pieces[count - 1], &passed) ||
		    !is_piece(&pieces[count - 1], format, context))
			return 0;
		for (unsigned gaps = 0; gaps < 1u << (count - 1); gaps++) {
			struct leaf_line read = { .number = -1, .context = context };

			if (!put_together(joined, pieces, count, gaps))
				return 0;
			if (format->scan(joined, &read) != LINE_LEAF ||
			    (found && same_leaf_line(&read, out)))
				continue;
			*out = read;
			found++;
		}
		if (!found)
			continue;
		if (!format->any_width || !goes_on(text, &pieces[count - 1], format, context))
			return found == 1 ? passed : 0;
		if ((size_t)(pieces[count - 1].end - pieces[count - 1].at) < longest)
			return 0;
	}
	return 0;
}

static void add(struct reading *reading, struct leaf_line *read)
{
	if (read->leaf.subleaf == SUBLEAF_BY_PLACE)
		reading_row(reading, &read->leaf, read->registers);
	else
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

/* "[SL 01]" in a line of its own. */
static bool remark_follows(const struct line *line)
{
	return *line->end == '\n' && *scan_blanks(line->end + 1) == '[';
}

static size_t longest_line(const struct dump_text *text)
{
	struct line line = { 0 };
	size_t longest = 0;

	while (line_next(text, &line))
		if ((size_t)(line.end - line.at) > longest)
			longest = (size_t)(line.end - line.at);
	return longest;
}

/* A row of a dump of which even the leaf cannot be read. */
static bool is_damaged_row(const struct line *line, const struct leaf_format *format)
{
	size_t words = 0;

	if (*scan_blanks(line->at) == '#') /* a comment, which may explain the format */
		return false;
	if (format->sign)
		return line_find(line, format->sign) != NULL;
	if (line->end - line->at < 35)
		return false;
	for (const char *at = line->at; at < line->end;) {
		size_t length = 0;

		if (at[0] == '0' && (at[1] | 0x20) == 'x')
			at += 2;
		while (isxdigit((unsigned char)at[length]))
			length++;
		words += length == 8;
		at += length;
		while (at < line->end && isalnum((unsigned char)*at))
			at++;
		while (at < line->end && !isalnum((unsigned char)*at))
			at++;
	}
	return words >= 4;
}

static void warn_of_cut(struct reading *reading, const struct line *line,
			const struct leaf_line *read)
{
	if (read->registers < 4)
		reading_warn(reading, line->number,
			     "leaf 0x%x is cut off or damaged at %s: its registers from there on "
			     "are unknown",
			     read->leaf.leaf, register_names[read->registers & 3]);
	else
		reading_warn(reading, line->number,
			     "leaf 0x%x: the number of its subleaf is cut off or damaged: left out",
			     read->leaf.leaf);
}

void read_leaf_lines(struct reading *reading, const struct dump_text *text,
		     const struct leaf_format *format)
{
	struct line line = { 0 };
	uint32_t context = 0;
	size_t longest = format->any_width ? longest_line(text) : 0;
	struct leaf_line last = { 0 };
	unsigned last_number = 0;
	bool broken = false; /* the line before is no whole row */

	reading->arrays = format->arrays;
	while (line_next(text, &line)) {
		struct leaf_line read = { .number = -1, .context = context }, joined = { 0 };
		enum line_kind kind = format->scan(line.at, &read);
		size_t lines = 0;

		if (kind == LINE_CPU)
			reading_cpu(reading, read.number);
		if (kind == LINE_MORE)
			reading->last_leaf = 0;
		if (kind == LINE_OTHER && is_damaged_row(&line, format)) {
			reading_warn(reading, line.number,
				     "looks like a leaf of CPUID, and cannot be read: left out");
			reading_lost_row(reading);
		}
		if (kind == LINE_LEAF && format->any_width && doubtful_end(text, &line, &read)) {
			read.registers = 3;
			kind = LINE_CUT;
		} else if (kind == LINE_LEAF && format->any_width &&
			   goes_on(text, &line, format, read.context)) {
			/* Sure where a wrap is seen to have broken it: no line is longer, and what
			 * is behind it is not the beginning of a last one. */
			struct line behind = line;

			if ((size_t)(line.end - line.at) == longest && line_next(text, &behind) &&
			    line_next(text, &behind))
				lines = join(text, &line, format, context, longest, &joined);
			read.registers = 3;
			kind = LINE_CUT;
		} else if (kind == LINE_CUT ||
			   (kind == LINE_LEAF && read.open && remark_follows(&line))) {
			lines = join(text, &line, format, context, longest, &joined);
		}
		context = read.context;
		if (lines) {
			reading_warn(reading, line.number, "wrapped: read together with line %u",
				     line.number + (unsigned)lines - 1);
			read = joined;
			kind = LINE_LEAF;
			while (--lines)
				line_next(text, &line);
		}
		/* A row of any width that is cut may be what a wrap left of the one before. */
		if (kind == LINE_CUT && read.part && broken)
			read.registers = 0;
		broken = kind == LINE_CUT || (broken && kind == LINE_OTHER);
		if (kind == LINE_LEAF)
			read.registers = 4;
		else if (kind == LINE_CUT)
			warn_of_cut(reading, &line, &read);
		if (kind == LINE_LEAF || (kind == LINE_CUT && read.registers < 4))
			add(reading, &read);
		if (kind == LINE_LEAF || kind == LINE_CUT) {
			last = read;
			last_number = kind == LINE_LEAF ? line.number : 0;
		}
	}
	if (format->any_width && last_number)
		reading_end_of_lines(reading, &last, last_number);
}
