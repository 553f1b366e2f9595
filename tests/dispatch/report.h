/* SPDX-License-Identifier: MIT */
/*
 * Writing the report of one CPU: frames of images/protocol.h and the table of strings.
 */
#ifndef QUIRKLAB_DISPATCH_REPORT_H
#define QUIRKLAB_DISPATCH_REPORT_H

#include "images/protocol.h"
#include "tests/dispatch/selftest.h"

#define REPORT_STRINGS_KEPT 64 /* names and reasons of one run: about 40 */

struct report {
	const struct selftest_platform *platform;
	size_t used; /* bytes in payload */
	uint8_t payload[REPORT_PAYLOAD_MAX];
	const char *strings[REPORT_STRINGS_KEPT];
	unsigned string_count, strings_sent;
};

void report_begin(struct report *report, const struct selftest_platform *platform);

/* Append to the payload; what does not fit is dropped, so ask report_room first. */
void report_u8(struct report *report, uint8_t value);
void report_u16(struct report *report, uint16_t value);
void report_u32(struct report *report, uint32_t value);
void report_u64(struct report *report, uint64_t value);
void report_bytes(struct report *report, const void *bytes, size_t length);
void report_text(struct report *report, const char *text); /* u8 length, then at most 255 bytes */

/* Sends the payload so far as one frame where bytes more would not fit. */
void report_room(struct report *report, enum report_kind kind, size_t bytes);
void report_send(struct report *report, enum report_kind kind); /* an empty payload too */

/* The number of a string; report_send_strings must send it before a frame that names it. NULL, and
 * a string too many: REPORT_NO_STRING. */
uint8_t report_string(struct report *report, const char *text);
void report_send_strings(struct report *report);

#endif
