// SPDX-License-Identifier: MIT
/*
 * The bare guest: runs the dispatch selftests on its only CPU, or, with cpus=N on the command line,
 * on the CPUs with the APIC ids 1 to N one after another. With quirklab_text=1 it also tells people
 * what it found, and resets at its end, or, with quirklab_stay=1, stays.
 */
#include <cpuid.h>

#include "images/bare/commandline.h"
#include "images/bare/cpu.h"
#include "images/bare/exception.h"
#include "images/bare/memory.h"
#include "images/bare/pvh.h"
#include "images/bare/rack.h"
#include "images/bare/serial.h"
#include "images/bare/x86.h"
#include "images/protocol.h"
#include "tests/dispatch/text_report.h"

/* What the tests write to: enough for every call that runs to its end. */
#define ARENA_BYTES (1 << 20)

/* QEMU's isa-debug-exit, where a command line gives it this port: the guest's end ends QEMU. */
#define DEBUG_EXIT_PORT 0xf4

#define MISC_ENABLE_FAST_STRINGS 1

static void *selftest_memory;
static uint8_t *arena;
static uint16_t reported;
static const char *command_line;

static void send_report(void *context, const void *bytes, size_t length)
{
	(void)context;
	serial_write(SERIAL_REPORT, bytes, length);
}

static uint32_t misc_enable(void)
{
	uint32_t max, ebx, ecx, edx;
	uint64_t value;

	__cpuid(0, max, ebx, ecx, edx);
	if (ebx != signature_INTEL_ebx || ecx != signature_INTEL_ecx ||
	    edx != signature_INTEL_edx || !guarded_read_msr(MSR_MISC_ENABLE, &value))
		return REPORT_MISC_ENABLE_UNREAD;
	return value & MISC_ENABLE_FAST_STRINGS ? REPORT_MISC_ENABLE_SET : REPORT_MISC_ENABLE_CLEAR;
}

static void set_platform(struct cpu *cpu)
{
	cpu->platform = (struct selftest_platform){
		.send = send_report,
		.guarded_call = guarded_call,
		.arena = arena,
		.arena_bytes = ARENA_BYTES,
		.cpu = cpu->number,
		.version = "",
	};
}

static bool is_set(const char *word)
{
	return commandline_number(command_line, word, 0) != 0;
}

static void put_text(void *context, const char *text)
{
	(void)context;
	console_text(text);
}

/* Without a table of exceptions any of them is a triple fault, which resets the machine: that ends
 * a guest that was started by hand. */
static void reset(void)
{
	static const struct __attribute__((packed)) {
		uint16_t limit;
		uint64_t base;
	} none;

	__asm__ volatile("lidt %0; int3" : : "m"(none));
}

/* The end of this CPU's turn, and with the last one the end of the guest. */
static _Noreturn void next(struct cpu *cpu)
{
	struct selftest_platform guest = cpu->platform;
	uint8_t count[2];

	rack_next(cpu->number);
	guest.cpu = 0;
	count[0] = (uint8_t)reported;
	count[1] = (uint8_t)(reported >> 8);
	selftest_send_frame(&guest, REPORT_END, count, sizeof(count));
	out8(DEBUG_EXIT_PORT, 0);
	if (is_set(TEXT_REPORT_WORD) && !is_set("quirklab_stay"))
		reset();
	halt();
}

_Noreturn void guest_failed(unsigned vector)
{
	struct cpu *cpu = this_cpu();

	console_number(cpu->number);
	console_text(" exception ");
	console_number(vector);
	console_text("\n");
	if (vector != VECTOR_DF)
		reported++;
	next(cpu);
}

static void test(struct cpu *cpu, bool own_text)
{
	unsigned failed;

	set_platform(cpu);
	if (!own_text) {
		console_text("out of memory\n");
		next(cpu);
	}
	cpu->platform.misc_enable = misc_enable();
	if (is_set(TEXT_REPORT_WORD))
		text_report(put_text, NULL, cpu->platform.misc_enable != REPORT_MISC_ENABLE_CLEAR);
	failed = selftest_run(selftest_memory, &cpu->platform);
	reported++;
	console_number(cpu->number);
	console_text(failed ? " failed\n" : " ok\n");
	next(cpu);
}

void guest_main(const struct pvh_start_info *info)
{
	struct cpu *boot_cpu;
	unsigned cpus;

	command_line = (const char *)info->command_line;
	cpus = commandline_number(command_line, "cpus", 0);
	serial_init(SERIAL_CONSOLE);
	serial_init(SERIAL_REPORT);
	console_text("quirklab bare\n");
	memory_init(info);
	boot_cpu = memory_take(sizeof(*boot_cpu));
	arena = memory_take(ARENA_BYTES);
	selftest_memory = memory_take(selftest_bytes);
	if (!boot_cpu || !arena || !selftest_memory) {
		console_text("out of memory\n");
		halt();
	}
	cpu_init(boot_cpu, 0);
	set_platform(boot_cpu);
	if (!cpus)
		test(boot_cpu, true);
	rack_start(cpus, test);
	next(boot_cpu);
}
