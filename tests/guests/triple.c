// SPDX-License-Identifier: MIT
/* A good start, then a triple fault: the machine resets. */
#include "tests/guests/guest.h"

void guest_main(const struct pvh_start_info *info)
{
	const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) none = { 0, 0 };

	(void)info;
	guest_begin();
	guest_start();
	/* No gate for #UD, none for the double fault that follows. */
	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	halt();
}
