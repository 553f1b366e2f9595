// SPDX-License-Identifier: MIT
/* Errors as values: one printable line each. */
#include "harness/util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Characters beyond ASCII, in UTF-8, that steer a terminal or turn the text around them. */
static const struct {
	unsigned char lead[2];
	unsigned lead_length;
	unsigned char first, last;
} steering[] = {
	{ { 0xc2 }, 1, 0x80, 0x9f },	   /* U+0080..9F: control characters */
	{ { 0xd8 }, 1, 0x9c, 0x9c },	   /* U+061C: Arabic letter mark */
	{ { 0xe2, 0x80 }, 2, 0x8b, 0x8f }, /* U+200B..F: invisible, and marks of direction */
	{ { 0xe2, 0x80 }, 2, 0xa8, 0xae }, /* U+2028..E: lines, embeddings, overrides */
	{ { 0xe2, 0x81 }, 2, 0xa0, 0xaf }, /* U+2060..F: invisible, isolates */
	{ { 0xef, 0xbb }, 2, 0xbf, 0xbf }, /* U+FEFF */
};

/* How many bytes of such a character begin here; 0: none. */
static unsigned steers(const unsigned char *text)
{
	for (size_t i = 0; i < sizeof(steering) / sizeof(*steering); i++) {
		unsigned length = steering[i].lead_length;

		if (!strncmp((const char *)text, (const char *)steering[i].lead, length) &&
		    text[length] >= steering[i].first && text[length] <= steering[i].last)
			return length + 1;
	}
	return 0;
}

/* A message may quote a file, a guest or an argument: keep it one line and inert. */
static void make_inert(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		unsigned length = *c < ' ' || *c == 0x7f ? 1 : steers(c);

		memset(c, '?', length);
	}
}

int error_set(struct error *err, enum error_kind kind, const char *format, ...)
{
	va_list arguments;

	if (!err)
		return -1;
	err->kind = kind;
	va_start(arguments, format);
	vsnprintf(err->text, sizeof(err->text), format, arguments);
	va_end(arguments);
	make_inert(err->text);
	return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char before[sizeof(err->text)];
	char whole[2 * sizeof(err->text) + 2];
	va_list arguments;

	if (!err)
		return -1;
	va_start(arguments, format);
	vsnprintf(before, sizeof(before), format, arguments);
	va_end(arguments);
	snprintf(whole, sizeof(whole), "%s: %s", before, err->text);
	memcpy(err->text, whole, sizeof(err->text) - 1);
	err->text[sizeof(err->text) - 1] = '\0';
	make_inert(err->text);
	return -1;
}
