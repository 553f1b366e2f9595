// SPDX-License-Identifier: MIT
/* Floods the console with text, NULs and terminal escapes; the report stays empty. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	/* ECMA-48: clear the screen, red, set the title, switch the character set, a C1 control, an
	 * incomplete sequence. */
	static const char text[] = "kernel panic - not syncing: not really\r\n"
				   "\033[2J\033[H\033[31mred\033]0;title\007\016\2331m"
				   "\0\0\0\0<b>&amp;</b>\xff\xfe\xc3(\033[";

	(void)info;
	guest_begin();
	for (;;)
		serial_write(SERIAL_CONSOLE, text, sizeof(text));
}
