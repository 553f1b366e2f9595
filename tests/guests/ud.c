// SPDX-License-Identifier: MIT
/* Meets an exception that it did not expect: a fault of vector 6, and an end in good order. */
#include "tests/guests/guest.h"

#include "images/bare/cpu.h"

static struct cpu cpu;

void guest_main(const struct pvh_start_info *info)
{
	(void)info;
	guest_begin();
	cpu_init(&cpu, 0);
	cpu.platform = guest_platform;
	guest_start();
	__asm__ volatile("ud2");
	halt();
}
