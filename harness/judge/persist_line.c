// SPDX-License-Identifier: MIT
/* A line of a program into a replay. Every byte comes from the guest, and is bounded. */
#include "harness/judge/persist.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

#define CODE_MAX	  1024 /* distinct instructions of a line */
#define INSTRUCTION_BYTES 15
#define REGISTERS	  16
#define ALL_REGISTERS	  0xFFFF

struct code {
	uint64_t address;
	uint8_t bytes[INSTRUCTION_BYTES];
	uint8_t length;
};

struct reading {
	const char *at, *end;
	uint64_t registers[REGISTERS];
	unsigned known; /* a bit for each register that was told */
	size_t code_count, last;
	struct code code[CODE_MAX];
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_next(struct reading *reading, char c)
{
	if (reading->at == reading->end || *reading->at != c)
		return false;
	reading->at++;
	return true;
}

/* One to sixteen digits. */
static bool read_hex(struct reading *reading, uint64_t *out)
{
	const char *begin = reading->at;

	*out = 0;
	while (reading->at < reading->end && digit_of(*reading->at) >= 0) {
		if (reading->at - begin == 16)
			return false;
		*out = *out << 4 | (uint64_t)digit_of(*reading->at++);
	}
	return reading->at > begin;
}

/* Decimal, or hex behind 0x, and the blank behind it. */
static bool read_number(struct reading *reading, uint64_t *out)
{
	const bool hex = reading->end - reading->at > 2 && !memcmp(reading->at, "0x", 2);
	const char *begin;

	if (hex) {
		reading->at += 2;
		return read_hex(reading, out) && is_next(reading, ' ');
	}
	begin = reading->at;
	for (*out = 0; reading->at < reading->end && isdigit((unsigned char)*reading->at);) {
		if (reading->at - begin == 18)
			return false;
		*out = *out * 10 + (uint64_t)(*reading->at++ - '0');
	}
	return reading->at > begin && is_next(reading, ' ');
}

static bool read_code(struct reading *reading, struct code *code)
{
	while (reading->end - reading->at >= 2) {
		const int high = digit_of(reading->at[0]), low = digit_of(reading->at[1]);

		if (high < 0 || low < 0)
			break;
		if (code->length == INSTRUCTION_BYTES)
			return false;
		code->bytes[code->length++] = (uint8_t)(high << 4 | low);
		reading->at += 2;
	}
	return code->length;
}

/* The instruction of that address; most follow the last. NULL: the line has not told it. */
static const struct code *find_code(struct reading *reading, uint64_t address)
{
	size_t i = reading->last + 1;

	if (i >= reading->code_count || reading->code[i].address != address)
		for (i = 0; i < reading->code_count && reading->code[i].address != address;)
			i++;
	if (i == reading->code_count)
		return NULL;
	reading->last = i;
	return &reading->code[i];
}

static bool read_step(struct reading *reading, struct persist *persist)
{
	const struct code *code;
	uint64_t address, value;

	if (!read_hex(reading, &address))
		return false;
	if (is_next(reading, ':')) {
		struct code *added = &reading->code[reading->code_count];

		if (find_code(reading, address) || reading->code_count == CODE_MAX)
			return false;
		*added = (struct code){ .address = address };
		if (!read_code(reading, added))
			return false;
		reading->code_count++;
	}
	while (is_next(reading, ',')) {
		const int number = reading->at < reading->end ? digit_of(*reading->at) : -1;

		reading->at += number >= 0;
		if (number < 0 || !is_next(reading, '=') || !read_hex(reading, &value))
			return false;
		reading->registers[number] = value;
		reading->known |= 1u << number;
	}
	code = find_code(reading, address);
	if (!code || reading->known != ALL_REGISTERS)
		return false;
	persist_step(persist, address, code->bytes, code->length, reading->registers);
	return reading->at == reading->end || *reading->at == ' ';
}

/* Why a call that did not return is not followed; NULL: no such word. */
static const char *read_end(struct reading *reading)
{
	static const char *const ends[][2] = {
		{ "returned ", "" },
		{ "faulted ", "not seen to its return: an instruction faulted" },
		{ "limit ", "not seen to its return: it has more steps than are followed" },
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t length = strlen(ends[i][0]);

		if ((size_t)(reading->end - reading->at) < length ||
		    memcmp(reading->at, ends[i][0], length))
			continue;
		reading->at += length;
		return ends[i][1];
	}
	return NULL;
}

static void cleanup_persist(struct persist **persist)
{
	persist_free(*persist);
}

bool persist_line(struct persist_verdict *out, const char *text, size_t length)
{
	__attribute__((cleanup(cleanup_persist))) struct persist *persist = NULL;
	CLEANUP_FREE struct reading *reading = xcalloc(1, sizeof(*reading));
	struct persist_range target, memory;
	const char *end;

	reading->at = text;
	reading->end = text + length;
	while (is_next(reading, ' '))
		;
	end = read_end(reading);
	if (!end || !read_number(reading, &target.from) || !read_number(reading, &target.bytes) ||
	    !read_number(reading, &memory.from) || !read_number(reading, &memory.bytes))
		return false;
	persist = persist_new(target, memory);
	if (!persist)
		return false;
	do {
		if (!read_step(reading, persist))
			return false;
	} while (is_next(reading, ' '));
	persist_end(persist, end, out);
	return true;
}
