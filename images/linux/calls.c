// SPDX-License-Identifier: MIT
/* Looks for E8 bytes: 15 MB of text in a few tenths of a second, also under an emulator. */
#include <string.h>

#include "images/linux/calls.h"

#define OPCODE_CALL 0xE8

/* The range of all callees: most calls lead somewhere else. */
static void bounds(const struct callee *callees, size_t count, uint64_t *low, uint64_t *high)
{
	size_t i;

	*low = UINT64_MAX;
	*high = 0;
	for (i = 0; i < count; i++) {
		if (!callees[i].address)
			continue;
		if (callees[i].address < *low)
			*low = callees[i].address;
		if (callees[i].address > *high)
			*high = callees[i].address;
	}
}

void calls_count(struct callee *callees, size_t count, uint64_t address, const uint8_t *code,
		 size_t length)
{
	const uint8_t *at = code, *end;
	uint64_t low, high, target;
	int32_t distance;
	size_t i;

	if (length < CALL_BYTES)
		return;
	end = code + length - CALL_BYTES + 1;
	bounds(callees, count, &low, &high);
	while (at < end && (at = memchr(at, OPCODE_CALL, (size_t)(end - at)))) {
		memcpy(&distance, at + 1, sizeof(distance));
		at++;
		target = address + (uint64_t)(at - code) + CALL_BYTES - 1 +
			 (uint64_t)(int64_t)distance;
		if (target < low || target > high)
			continue;
		for (i = 0; i < count; i++)
			if (callees[i].address == target)
				callees[i].calls++;
	}
}

void inlined_count(struct inlined *inlined, uint64_t address, const uint8_t *code, size_t length)
{
	const uint8_t *at = code, *end = code + length;

	while ((at = memmem(at, (size_t)(end - at), inlined->code, INLINE_BYTES))) {
		if (!inlined->places++)
			inlined->first = address + (uint64_t)(at - code);
		at++;
	}
}
