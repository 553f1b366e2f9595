// SPDX-License-Identifier: MIT
/*
 * Starts the CPUs of the rack one after another; whoever is not at work is halted.
 */
#include "images/bare/rack.h"

#include "images/bare/apic.h"
#include "images/bare/memory.h"
#include "images/bare/serial.h"
#include "images/bare/text.h"
#include "images/bare/x86.h"

/*
 * A started CPU claims its turn within a tenth of a millisecond; one that has not after START_TRIES
 * waits, on a host that may be busy, is passed over. Who waits is halted: were it to spin, it would
 * keep the other's thread from a core.
 */
#define WAIT_NANOSECONDS 1000000000
#define START_TRIES	 4

/* What trampoline.S hands to the CPU whose number is in it. */
struct trampoline_values {
	uint64_t entry, stack, cpu;
	uint32_t tables, number;
};

/* start.S, trampoline.S */
extern char boot_pml4[];
extern char trampoline_start[], trampoline_values[], trampoline_end[];

/* The number of the CPU that is being started. It takes its turn by adding CLAIMED: so one that
 * wakes after it was passed over stays idle. */
#define CLAIMED 0x10000u
static uint32_t turn;
static unsigned last_number;
static rack_test_fn *test_function;

/* The first C code on a CPU of the rack. */
static void started(struct cpu *cpu, uint32_t number)
{
	uint32_t expected = number;
	bool own_text;

	if (!__atomic_compare_exchange_n(&turn, &expected, number | CLAIMED, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	own_text = text_enter();
	cpu_init(cpu, (uint16_t)number);
	test_function(cpu, own_text);
}

/* True where the CPU has taken its turn. */
static bool start(unsigned number)
{
	struct trampoline_values *values =
		(void *)(TRAMPOLINE + (uint64_t)(trampoline_values - trampoline_start));
	struct cpu *cpu = memory_take(sizeof(*cpu));
	uint32_t expected = number;

	if (!cpu)
		return false;
	*values = (struct trampoline_values){
		.entry = (uint64_t)started,
		.stack = (uint64_t)(cpu->stack + CPU_STACK_BYTES),
		.cpu = (uint64_t)cpu,
		.tables = (uint32_t)(uint64_t)boot_pml4,
		.number = number,
	};
	this_cpu()->over = true;
	__atomic_store_n(&turn, number, __ATOMIC_SEQ_CST);
	/* Hypervisors need no pause between INIT and SIPI: they keep a SIPI that comes early. */
	apic_enable();
	apic_send_init(number);
	for (unsigned try = 0; try < START_TRIES; try++) {
		apic_send_startup(number, TRAMPOLINE);
		apic_halt_for(WAIT_NANOSECONDS);
		if (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != number)
			return true;
	}
	if (!__atomic_compare_exchange_n(&turn, &expected, 0, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return true;
	this_cpu()->over = false;
	return false;
}

void rack_next(unsigned number)
{
	while (++number <= last_number) {
		if (start(number))
			halt();
		console_text("no CPU ");
		console_number(number);
		console_text("\n");
	}
}

void rack_start(unsigned last, rack_test_fn *test)
{
	last_number = last > RACK_CPUS_MAX ? RACK_CPUS_MAX : last;
	test_function = test;
	apic_silence_pic();
	__builtin_memcpy((void *)TRAMPOLINE, trampoline_start,
			 (size_t)(trampoline_end - trampoline_start));
	rack_next(0);
}
