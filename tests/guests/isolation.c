// SPDX-License-Identifier: MIT
/*
 * A rack whose CPUs execute instructions that they may not have, and name in a note each one that
 * raised no exception. Under TCG that has to agree with each CPU's own features,
 * whatever the CPUs before it had (images/bare/text.c). Takes cpus=N as the bare guest does.
 */
#include "tests/guests/guest.h"

#include "images/bare/commandline.h"
#include "images/bare/exception.h"
#include "images/bare/memory.h"
#include "images/bare/rack.h"

static uint8_t line[64] __attribute__((aligned(64)));
static uint16_t reported;

static void do_clflushopt(void *at)
{
	__asm__ volatile("clflushopt %0" : "+m"(*(uint8_t *)at));
}

static void do_clwb(void *at)
{
	__asm__ volatile("clwb %0" : "+m"(*(uint8_t *)at));
}

static void finish(unsigned number)
{
	uint8_t count[2];

	rack_next(number);
	count[0] = (uint8_t)reported;
	count[1] = (uint8_t)(reported >> 8);
	guest_platform.cpu = 0;
	guest_frame(REPORT_END, count, sizeof(count));
	halt();
}

static void test(struct cpu *cpu, bool own_text)
{
	static const uint8_t complete = 1;

	if (own_text) {
		guest_platform.cpu = cpu->number;
		guest_start();
		if (!guarded_call(NULL, do_clflushopt, line, false))
			guest_frame(REPORT_NOTE, "clflushopt", 10);
		if (!guarded_call(NULL, do_clwb, line, false))
			guest_frame(REPORT_NOTE, "clwb", 4);
		guest_frame(REPORT_DONE, &complete, 1);
		reported++;
	}
	finish(cpu->number);
}

void guest_main(const struct pvh_start_info *info)
{
	const unsigned cpus = commandline_number((const char *)info->command_line, "cpus", 0);
	struct cpu *boot_cpu;

	guest_begin();
	memory_init(info);
	boot_cpu = memory_take(sizeof(*boot_cpu));
	if (!boot_cpu)
		halt();
	cpu_init(boot_cpu, 0);
	if (!cpus)
		test(boot_cpu, true);
	rack_start(cpus, test);
	finish(0);
}
