// SPDX-License-Identifier: MIT
/* A growable string, allocation that aborts, and the one way to make foreign bytes printable. */
#include "harness/util/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_abort(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void *xmalloc(size_t size)
{
	return or_abort(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return or_abort(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
	return or_abort(realloc(old, size ? size : 1));
}

char *xstrdup(const char *string)
{
	return or_abort(strdup(string));
}

char *xasprintf(const char *format, ...)
{
	char *string;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&string, format, arguments);
	va_end(arguments);
	if (length < 0)
		abort();
	return string;
}

/* Makes room for `more` bytes and a NUL behind what is there. */
static void text_reserve(struct text *text, size_t more)
{
	size_t wanted;

	if (__builtin_add_overflow(text->length, more, &wanted) || wanted > SIZE_MAX / 2 - 1)
		abort();
	wanted++;
	if (wanted <= text->room)
		return;
	while (text->room < wanted)
		text->room = text->room ? 2 * text->room : 256;
	text->bytes = xrealloc(text->bytes, text->room);
}

void text_add(struct text *text, const void *bytes, size_t length)
{
	text_reserve(text, length);
	if (length)
		memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
	text->bytes[text->length] = '\0';
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list arguments, again;
	int length;

	va_start(arguments, format);
	va_copy(again, arguments);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		abort();
	text_reserve(text, (size_t)length);
	vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
	va_end(again);
	text->length += (size_t)length;
}

void text_add_word(struct text *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-+=./:,@%";

	if (*word && !word[strspn(word, plain)]) {
		text_addf(text, "%s", word);
		return;
	}
	text_addf(text, "'");
	for (; *word; word++)
		text_addf(text, *word == '\'' ? "'\\''" : "%c", *word);
	text_addf(text, "'");
}

const char *text_string(const struct text *text)
{
	return text->bytes ? text->bytes : "";
}

void text_free(struct text *text)
{
	free(text->bytes);
	*text = (struct text){ 0 };
}

char *text_printable(char *out, size_t room, const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;
	size_t used = 0;

	if (!room)
		return out;
	for (size_t i = 0; i < length; i++) {
		bool plain = from[i] >= ' ' && from[i] < 0x7f;

		if (used + (plain ? 1 : 4) >= room)
			break;
		if (plain) {
			out[used++] = (char)from[i];
		} else {
			out[used++] = '\\';
			out[used++] = 'x';
			out[used++] = digits[from[i] >> 4];
			out[used++] = digits[from[i] & 15];
		}
	}
	out[used] = '\0';
	return out;
}

#define NAME_MOST 64

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

size_t name_distance(const char *a, const char *b)
{
	size_t length_a = strnlen(a, NAME_MOST), length_b = strnlen(b, NAME_MOST);
	/* Rows of the table of distances between prefixes: two back, one back, this one. */
	size_t older[NAME_MOST + 1] = { 0 }, old[NAME_MOST + 1], now[NAME_MOST + 1];

	for (size_t j = 0; j <= length_b; j++)
		old[j] = j;
	for (size_t i = 1; i <= length_a; i++) {
		now[0] = i;
		for (size_t j = 1; j <= length_b; j++) {
			size_t best = old[j - 1] + !same_letter(a[i - 1], b[j - 1]);

			if (old[j] + 1 < best)
				best = old[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
			    same_letter(a[i - 2], b[j - 1]) && older[j - 2] + 1 < best)
				best = older[j - 2] + 1;
			now[j] = best;
		}
		memcpy(older, old, sizeof(old));
		memcpy(old, now, sizeof(now));
	}
	return old[length_b];
}
