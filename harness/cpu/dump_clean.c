/* SPDX-License-Identifier: MIT */
/* Dirt on a text: encodings, line ends, marks of quotation, time stamps, colours, what a web page
 * has for signs. Tabs become blanks. All in place. */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <string.h>

enum byte_order { BYTES, WIDE_LITTLE, WIDE_BIG };

/* UTF-16 by its mark, or, without one, by a NUL in every second of the first bytes. */
static enum byte_order byte_order(const unsigned char *bytes, size_t length)
{
	size_t even = 0, odd = 0, looked = length < 32 ? length / 2 * 2 : 32;

	if (length >= 2 && bytes[0] == 0xFF && bytes[1] == 0xFE)
		return WIDE_LITTLE;
	if (length >= 2 && bytes[0] == 0xFE && bytes[1] == 0xFF)
		return WIDE_BIG;
	for (size_t i = 0; i + 1 < looked; i += 2) {
		even += !bytes[i] && bytes[i + 1];
		odd += bytes[i] && !bytes[i + 1];
	}
	if (looked >= 8 && odd == looked / 2)
		return WIDE_LITTLE;
	return looked >= 8 && even == looked / 2 ? WIDE_BIG : BYTES;
}

/* What is no ASCII is in no field that is read: '?', but for the blank that does not break. */
static void narrow(struct dump_text *text, enum byte_order order)
{
	unsigned char *bytes = (unsigned char *)text->bytes;
	size_t to = 0;

	for (size_t i = 0; i + 1 < text->length; i += 2) {
		unsigned low = bytes[i + (order == WIDE_BIG)],
			 high = bytes[i + (order == WIDE_LITTLE)];
		unsigned unit = high << 8 | low;

		if (unit != 0xFEFF)
			bytes[to++] = unit == 0xA0 ? ' ' : unit < 0x80 ? (unsigned char)unit : '?';
	}
	text->length = to;
}

/* "> > text": behind the marks of quotation. Of XML a '>' at the start of a line is a part. */
static const char *skip_quotes(const char *at, const char *end)
{
	const char *from = at;

	for (;;) {
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (at == end || *at != '>')
			return from;
		at++;
		from = at < end && *at == ' ' ? at + 1 : at;
		at = from;
	}
}

/* "[   12.345678] text", as the kernel's log has it. */
static const char *skip_stamp(const char *at, const char *end)
{
	const char *start = at;
	bool point = false, digit = false;

	if (at == end || *at != '[')
		return start;
	for (at++; at < end && (isdigit((unsigned char)*at) || *at == ' ' || *at == '.'); at++) {
		point |= *at == '.';
		digit |= isdigit((unsigned char)*at) != 0;
	}
	if (!point || !digit || at == end || *at != ']')
		return start;
	return at + 1 < end && at[1] == ' ' ? at + 2 : at + 1;
}

/* Behind an escape sequence: ESC [ parameters letter. */
static const char *skip_escape(const char *at, const char *end)
{
	at++;
	if (at == end || *at != '[')
		return at;
	for (at++; at < end && (isdigit((unsigned char)*at) || *at == ';' || *at == '?'); at++)
		;
	return at < end ? at + 1 : at;
}

static bool is_xml(const struct dump_text *text)
{
	size_t i = 0;

	while (i < text->length && isspace((unsigned char)text->bytes[i]))
		i++;
	return i < text->length && text->bytes[i] == '<';
}

/* Bytes that pass through unchanged in the middle of a line. */
static bool plain(unsigned char c)
{
	return c >= ' ' && c < 0x7F;
}

#define EACH_BYTE(value) (0x0101010101010101ULL * (value))

/* Eight bytes at once, all from ' ' to '~': no high bit, none below ' ', none 0x7F. */
static bool plain_8(const char *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return !((bytes | (bytes - EACH_BYTE(' ')) | (bytes + EACH_BYTE(1))) & EACH_BYTE(0x80));
}

/* Moves a run of plain bytes down over what was dropped before it. */
static void move_plain(char **to, const char **at, const char *end)
{
	const char *from = *at;

	for (;;) {
		if (end - *at >= 8 && plain_8(*at))
			*at += 8;
		else if (*at < end && plain((unsigned char)**at))
			*at += 1;
		else
			break;
	}
	if (*to != from)
		memmove(*to, from, (size_t)(*at - from));
	*to += *at - from;
}

static const struct {
	const char *name;
	char letter;
} entities[] = {
	{ "&lt;", '<' },   { "&gt;", '>' },  { "&quot;", '"' }, { "&apos;", '\'' },
	{ "&#39;", '\'' }, { "&#34;", '"' }, { "&nbsp;", ' ' }, { "&#160;", ' ' },
	{ "&#9;", '\t' },  { "&amp;", '&' },
};

/* A paste of a page's source. XML has such names as well, and keeps them for its own reader. */
static void decode_entities(struct dump_text *text)
{
	const char *at = memchr(text->bytes, '&', text->length);
	const char *end = text->bytes + text->length;
	char *to = text->bytes + (at ? at - text->bytes : 0);

	if (!at || text_find(text, "<cpu") || text_find(text, "<domain"))
		return;
	while (at < end) {
		size_t length = 0;

		for (size_t i = 0; *at == '&' && i < sizeof(entities) / sizeof(entities[0]); i++) {
			length = strlen(entities[i].name);
			if ((size_t)(end - at) >= length && !memcmp(at, entities[i].name, length)) {
				*to++ = entities[i].letter;
				break;
			}
			length = 0;
		}
		if (!length)
			*to++ = *at;
		at += length ? length : 1;
	}
	text->length = (size_t)(to - text->bytes);
	*to = '\0';
}

/* Letters of UTF-8 that are a blank, or nothing at all, in every font; 0 bytes for others. */
static size_t invisible(const char *at, const char *end, bool *blank)
{
	static const struct {
		const char *bytes;
		size_t length;
		bool blank;
	} letters[] = {
		{ "\xC2\xA0", 2, true },
		{ "\xE2\x80\xAF", 3, true },
		{ "\xE2\x80\x8B", 3, false },
		{ "\xEF\xBB\xBF", 3, false },
	};

	for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if ((size_t)(end - at) >= letters[i].length &&
		    !memcmp(at, letters[i].bytes, letters[i].length)) {
			*blank = letters[i].blank;
			return letters[i].length;
		}
	return 0;
}

int text_clean(struct dump_text *text)
{
	enum byte_order order = byte_order((const unsigned char *)text->bytes, text->length);
	const char *at, *end;
	size_t strange = 0;
	bool line_start = true, xml;
	char *to;

	if (order != BYTES)
		narrow(text, order);
	decode_entities(text);
	xml = is_xml(text);
	at = to = text->bytes;
	end = text->bytes + text->length;
	while (at < end) {
		unsigned char c = (unsigned char)*at;
		bool blank = false;
		size_t unseen = c < 0x80 ? 0 : invisible(at, end, &blank);

		if (unseen) {
			if (blank)
				*to++ = ' ';
			at += unseen;
		} else if (line_start) {
			line_start = false;
			if (!xml && (c == '>' || c == ' ' || c == '\t'))
				at = skip_quotes(at, end);
			if (at < end && *at == '[')
				at = skip_stamp(at, end);
		} else if (plain(c)) {
			move_plain(&to, &at, end);
		} else if (c == '\n' || c == '\r') {
			at += c == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 1;
			*to++ = '\n';
			line_start = true;
		} else if (c == 0x1B) {
			at = skip_escape(at, end);
		} else if (c == '\t') {
			*to++ = ' ';
			at++;
		} else {
			strange += c < ' ' && c != '\f' && c != '\v' && c != '\b';
			*to++ = c < 0x80 ? (c == '\f' || c == '\v' ? ' ' : '?') : *at;
			at++;
		}
	}
	text->length = (size_t)(to - text->bytes);
	*to = '\0';
	return strange * 16 > text->length ? -1 : 0;
}
