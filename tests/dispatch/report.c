/* SPDX-License-Identifier: MIT */
/*
 * Frames of the report: header, payload, CRC.
 */
#include "tests/dispatch/report.h"

/* CRC-32 as zlib's (polynomial 0xEDB88320, reflected), four bits a step: a table of 16 words is
 * quick enough for 2 KB a CPU and small in a guest. */
static uint32_t crc_update(uint32_t crc, const void *bytes, size_t length)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
		0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
		0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
	};
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < length; i++) {
		crc = nibble[(crc ^ byte[i]) & 15] ^ crc >> 4;
		crc = nibble[(crc ^ byte[i] >> 4) & 15] ^ crc >> 4;
	}
	return crc;
}

void selftest_send_frame(const struct selftest_platform *platform, unsigned kind,
			 const void *payload, size_t length)
{
	const uint8_t header[REPORT_HEADER_SIZE] = {
		REPORT_MAGIC_0,		REPORT_MAGIC_1,
		REPORT_VERSION,		(uint8_t)kind,
		(uint8_t)length,	(uint8_t)(length >> 8),
		(uint8_t)platform->cpu, (uint8_t)(platform->cpu >> 8),
	};
	uint32_t crc = ~0U;
	uint8_t tail[REPORT_CRC_SIZE];

	crc = crc_update(crc, header, sizeof(header));
	crc = ~crc_update(crc, payload, length);
	for (unsigned i = 0; i < sizeof(tail); i++)
		tail[i] = (uint8_t)(crc >> (8 * i));
	platform->send(platform->context, header, sizeof(header));
	if (length)
		platform->send(platform->context, payload, length);
	platform->send(platform->context, tail, sizeof(tail));
}

void report_begin(struct report *report, const struct selftest_platform *platform)
{
	report->platform = platform;
	report->used = 0;
	report->string_count = 0;
	report->strings_sent = 0;
}

static void append(struct report *report, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes && report->used < sizeof(report->payload); i++)
		report->payload[report->used++] = (uint8_t)(value >> (8 * i));
}

void report_u8(struct report *report, uint8_t value)
{
	append(report, value, 1);
}

void report_u16(struct report *report, uint16_t value)
{
	append(report, value, 2);
}

void report_u32(struct report *report, uint32_t value)
{
	append(report, value, 4);
}

void report_u64(struct report *report, uint64_t value)
{
	append(report, value, 8);
}

void report_bytes(struct report *report, const void *bytes, size_t length)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < length; i++)
		append(report, byte[i], 1);
}

static size_t text_length(const char *text)
{
	size_t length = 0;

	while (length < 255 && text[length])
		length++;
	return length;
}

void report_text(struct report *report, const char *text)
{
	size_t length = text_length(text);

	report_u8(report, (uint8_t)length);
	report_bytes(report, text, length);
}

void report_send(struct report *report, enum report_kind kind)
{
	selftest_send_frame(report->platform, kind, report->payload, report->used);
	report->used = 0;
}

void report_room(struct report *report, enum report_kind kind, size_t bytes)
{
	if (report->used && bytes > sizeof(report->payload) - report->used)
		report_send(report, kind);
}

static bool same_text(const char *a, const char *b)
{
	if (a == b)
		return true;
	for (; *a == *b; a++, b++)
		if (!*a)
			return true;
	return false;
}

uint8_t report_string(struct report *report, const char *text)
{
	unsigned i;

	if (!text)
		return REPORT_NO_STRING;
	for (i = 0; i < report->string_count; i++)
		if (same_text(report->strings[i], text))
			return (uint8_t)i;
	if (i == REPORT_STRINGS_KEPT)
		return REPORT_NO_STRING;
	report->strings[report->string_count++] = text;
	return (uint8_t)i;
}

void report_send_strings(struct report *report)
{
	for (; report->strings_sent < report->string_count; report->strings_sent++) {
		const char *text = report->strings[report->strings_sent];

		report_room(report, REPORT_STRINGS, 1 + text_length(text));
		report_text(report, text);
	}
	if (report->used)
		report_send(report, REPORT_STRINGS);
}
