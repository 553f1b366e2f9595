/* SPDX-License-Identifier: MIT */
/* Lines of a text, and scanners of what stands in them. */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool same_letter(char a, char b)
{
	return a == b || ((a ^ b) == 0x20 && isalpha((unsigned char)a));
}

bool line_next(const struct dump_text *text, struct line *line)
{
	const char *end = text->bytes + text->length;
	const char *at = line->at ? line->end + 1 : text->bytes;
	const char *newline;

	if (at >= end)
		return false;
	newline = memchr(at, '\n', (size_t)(end - at));
	line->at = at;
	line->end = newline ? newline : end;
	line->number++;
	return true;
}

size_t text_cut_width(const struct dump_text *text)
{
	struct line line = { 0 }, first = { 0 };
	size_t longest = 0;
	bool two = false;

	while (line_next(text, &line)) {
		size_t length = (size_t)(line.end - line.at);

		if (length > longest) {
			longest = length;
			first = line;
			two = false;
		} else if (length && length == longest) {
			two |= strncmp(first.at, line.at, 5) != 0; /* "flags", "bugs ", "vmx f" */
		}
	}
	return two ? longest : 0;
}

const char *text_find(const struct dump_text *text, const char *word)
{
	/* Most texts have no '<' and no '"': then one fast pass is all. */
	const char *at = memchr(text->bytes, *word, text->length);

	return at ? memmem(at, (size_t)(text->bytes + text->length - at), word, strlen(word))
		  : NULL;
}

const char *line_find(const struct line *line, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = line->at; (size_t)(line->end - at) >= length; at++)
		if (same_letter(*at, *word) && !strncasecmp(at, word, length))
			return at;
	return NULL;
}

const char *scan_blanks(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

const char *scan_word(const char *at, const char *word)
{
	for (; *word; word++) {
		const char *behind = *word == ' ' ? scan_blanks(at) : at + same_letter(*at, *word);

		if (behind == at)
			return NULL;
		at = behind;
	}
	return at;
}

static unsigned hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

const char *scan_hex(const char *at, unsigned least, unsigned most, uint32_t *value)
{
	unsigned count = 0, digit;

	*value = 0;
	for (; (digit = hex_digit(*at)) < 16; at++, count++) {
		if (count == most)
			return NULL;
		*value = *value << 4 | digit;
	}
	return count < least ? NULL : at;
}

const char *scan_decimal(const char *at, uint32_t *value)
{
	uint64_t sum = 0;
	const char *start = at;

	for (; *at >= '0' && *at <= '9'; at++) {
		sum = sum * 10 + (uint64_t)(*at - '0');
		if (sum > UINT32_MAX)
			return NULL;
	}
	*value = (uint32_t)sum;
	return at == start ? NULL : at;
}

const char *scan_number(const char *at, uint32_t *value)
{
	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		return scan_hex(at + 2, 1, 8, value);
	return scan_decimal(at, value);
}

const char *scan_whole_number(const char *at, uint32_t *value)
{
	at = scan_number(at, value);
	return at && (*at == '\n' || *at == ' ') ? at : NULL;
}

bool scan_last_number(const char *at, uint32_t *value)
{
	at = scan_number(at, value);
	return at && *scan_blanks(at) == '\n';
}

const char *scan_key(const char *at, const char *key, char mark)
{
	at = scan_word(scan_blanks(at), key);
	if (!at)
		return NULL;
	at = scan_blanks(at);
	return *at == mark ? scan_blanks(at + 1) : NULL;
}
