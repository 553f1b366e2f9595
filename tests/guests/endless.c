// SPDX-License-Identifier: MIT
/* Good signs of progress for ever, and no end. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	(void)info;
	guest_begin();
	guest_start();
	for (;;)
		guest_frame(REPORT_BEAT, NULL, 0);
}
