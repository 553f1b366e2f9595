// SPDX-License-Identifier: MIT
/* Errors as values: one printable line each. */
#include "harness/util/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message may quote a file, a guest or an argument: keep it one line and inert. */
static void make_inert(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
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
