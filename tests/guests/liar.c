// SPDX-License-Identifier: MIT
/*
 * Lies: frames whose length or CRC is false, and frames that are whole but whose contents point
 * beyond the payload, the strings, the traces and the code. Then it claims a good end.
 */
#include "tests/guests/guest.h"

#define RAW(...) raw((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define FRAME(kind, ...)                                    \
	guest_frame(kind, (const uint8_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint8_t[]){ __VA_ARGS__ }))
#define HEADER(kind, low, high) \
	REPORT_MAGIC_0, REPORT_MAGIC_1, REPORT_VERSION, (kind), (low), (high), 0, 0

static void raw(const uint8_t *bytes, size_t length)
{
	serial_write(SERIAL_REPORT, bytes, length);
}

static void false_frames(void)
{
	/* Longer than any payload may be, and longer than what follows. */
	RAW(HEADER(REPORT_STRINGS, 0xff, 0xff), 1, 'x');
	RAW(HEADER(REPORT_STRINGS, 0x00, 0x08), 1, 'x');
	/* A wrong CRC, another version, a kind that is none. */
	RAW(HEADER(REPORT_DONE, 1, 0), 1, 0xde, 0xad, 0xbe, 0xef);
	RAW(REPORT_MAGIC_0, REPORT_MAGIC_1, REPORT_VERSION + 1, REPORT_DONE, 1, 0, 0, 0, 1, 0, 0, 0,
	    0);
	RAW(REPORT_MAGIC_0, REPORT_MAGIC_0, REPORT_MAGIC_1, REPORT_MAGIC_0);
	FRAME(77, 1, 2, 3);
}

static void false_contents(void)
{
	/* A CPU that the guest does not have. */
	guest_platform.cpu = 999;
	FRAME(REPORT_DONE, 1);
	guest_platform.cpu = 0;

	/* A string longer than the payload, after two good ones. */
	FRAME(REPORT_STRINGS, 10, 'c', 'l', 'e', 'a', 'r', '_', 'p', 'a', 'g', 'e', 2, '4', 'k');
	FRAME(REPORT_STRINGS, 200, 'm', 'o', 'v');
	/* A leaf with four registers, of which one and a half come; one without its number. */
	FRAME(REPORT_CPUID, 0x0f, 1, 1, 2, 3, 4, 5, 6);
	FRAME(REPORT_CPUID, 0x1f);
	/* Code beyond the most that there may be, an offset alone, half an offset. */
	FRAME(REPORT_CODE, 0xfe, 0xff, 0x90, 0x90, 0x90, 0x90);
	FRAME(REPORT_CODE, 0xff, 0x1f, 0x90, 0x90, 0x90, 0x90);
	FRAME(REPORT_CODE, 0, 0);
	FRAME(REPORT_CODE, 0);
	/* Strings that were never sent. */
	FRAME(REPORT_PICKS, 0, 1, 200, 201, 202, 0, 16, 0, 0, 0, 0, 0, 0, REPORT_EXECUTABLE_YES, 0);
	/* More traces than two, which then are missing. */
	FRAME(REPORT_PICKS, 0, 1, 0, 255, 1, 0, 16, 0, 0, 0, 0, 0, 0, REPORT_EXECUTABLE_YES, 9);
	/* More steps than a trace may have, and than come. */
	FRAME(REPORT_PICKS, 0, 1, 0, 255, 1, 0, 16, 0, 0, 0, 0, 0, 0, REPORT_EXECUTABLE_YES, 1,
	      REPORT_TRACE_RETURNED, 255, 0x10, 0x00, 0x40, 0x11);
	/* The same as a trace that does not exist. */
	FRAME(REPORT_PICKS, 0, 1, 0, 255, 1, 0, 16, 0, 0, 0, 0, 0, 0, REPORT_EXECUTABLE_YES, 1,
	      REPORT_TRACE_SAME, 200);
	/* Steps beyond the code image, and one that walks past its end; a kind of end that is none.
	 */
	FRAME(REPORT_PICKS, 0, 1, 0, 255, 1, 0, 16, 0, 0, 0, 0, 0, 0, 77, 1, 99, 3, 0x10, 0xf8,
	      0x1f, 0x7f, 0x80 | 0x10, 0xf0, 0xff, 0xff);
	/* A size of 2^64 - 1. */
	FRAME(REPORT_PICKS, 0, 1, 0, 255, 1, 255, 255, 255, 255, 255, 255, 255, 255,
	      REPORT_EXECUTABLE_YES, 0);
	/* More failures than cases; half an entry. */
	FRAME(REPORT_CHECKS, 0, 1, 1, 1, 0, 0, 0, 255, 255, 255, 255, 250, 0, 0, 0, 0, 0, 0);
	FRAME(REPORT_CHECKS, 0, 1, 1);
	/* Empty where something has to be. */
	guest_frame(REPORT_FAULT, NULL, 0);
	guest_frame(REPORT_DONE, NULL, 0);
}

void guest_main(const struct pvh_start_info *info)
{
	(void)info;
	guest_begin();
	guest_start();
	false_frames();
	guest_start();
	false_contents();
	FRAME(REPORT_DONE, 1);
	FRAME(REPORT_END, 0xff, 0xff);
	halt();
}
