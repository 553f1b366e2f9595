// SPDX-License-Identifier: MIT
/* Boots and says nothing. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	(void)info;
	halt();
}
