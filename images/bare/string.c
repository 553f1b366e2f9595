// SPDX-License-Identifier: MIT
/* The memory functions that compilers call on their own, in freestanding code too. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
int memcmp(const void *a, const void *b, size_t length);

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(length) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t length)
{
	char *t = to;
	const char *f = from;

	if (t <= f || t >= f + length)
		return memcpy(to, from, length);
	while (length--)
		t[length] = f[length];
	return to;
}

void *memset(void *to, int byte, size_t length)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(length) : "a"(byte) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t length)
{
	const unsigned char *p = a, *q = b;

	for (; length; length--, p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}
