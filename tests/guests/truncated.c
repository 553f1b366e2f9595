// SPDX-License-Identifier: MIT
/* A good start, then half a frame, then nothing more. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	/* The header promises 64 bytes, 5 come. */
	static const uint8_t half[] = {
		REPORT_MAGIC_0,
		REPORT_MAGIC_1,
		REPORT_VERSION,
		REPORT_STRINGS,
		64,
		0,
		0,
		0,
		4,
		'h',
		'a',
		'l',
		'f',
	};

	(void)info;
	guest_begin();
	guest_start();
	serial_write(SERIAL_REPORT, half, sizeof(half));
	halt();
}
