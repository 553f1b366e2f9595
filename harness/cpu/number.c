/* SPDX-License-Identifier: MIT */
/* Numbers as a table or a user writes them. */
#include "harness/cpu/number.h"

#include <ctype.h>
#include <string.h>

static int digit_of(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *found = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return found ? (int)(found - digits) : 16;
}

bool number_read(const char *text, uint64_t most, uint64_t *value)
{
	unsigned base = 10;
	uint64_t sum = 0;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)digit_of(*text);

		if (digit >= base || __builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, digit, &sum) || sum > most)
			return false;
	}
	*value = sum;
	return true;
}
