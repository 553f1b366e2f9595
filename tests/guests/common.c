// SPDX-License-Identifier: MIT
/* The hostile guests' ports and frames. */
#include "tests/guests/guest.h"

#include "images/bare/exception.h"

static void send_report(void *context, const void *bytes, size_t length)
{
	(void)context;
	serial_write(SERIAL_REPORT, bytes, length);
}

struct selftest_platform guest_platform = { .send = send_report, .version = "" };

void guest_begin(void)
{
	serial_init(SERIAL_CONSOLE);
	serial_init(SERIAL_REPORT);
}

void guest_frame(unsigned kind, const void *payload, size_t length)
{
	selftest_send_frame(&guest_platform, kind, payload, length);
}

void guest_start(void)
{
	/* No version, MISC_ENABLE unread. */
	static const uint8_t start[1 + 4];

	guest_frame(REPORT_START, start, sizeof(start));
}

_Noreturn void guest_failed(unsigned vector)
{
	static const uint8_t one[2] = { 1 };

	if (vector != VECTOR_DF)
		guest_frame(REPORT_END, one, sizeof(one));
	halt();
}
