// SPDX-License-Identifier: MIT
/*
 * Starts the CPUs of the rack one after another; whoever is not at work is halted.
 */
#include "images/bare/rack.h"

#include "images/bare/memory.h"
#include "images/bare/serial.h"
#include "images/bare/text.h"
#include "images/bare/x86.h"

#define PAGE 4096

/* Local APIC, Intel SDM volume 3A, 10.4.1 and 10.6.1. */
#define APIC_BASE     0xfee00000
#define APIC_SPURIOUS (APIC_BASE + 0x0f0)
#define APIC_ICR_LOW  (APIC_BASE + 0x300)
#define APIC_ICR_HIGH (APIC_BASE + 0x310)
#define SPURIOUS_ON   0x1ff /* enabled, vector 255 */
#define ICR_INIT      0x4500
#define ICR_STARTUP   0x4600
#define ICR_PENDING   0x1000

/*
 * A started CPU claims its turn within microseconds; one that has not after START_TRIES waits of
 * WAIT_TICKS is passed over. TSC ticks: 0.5 to 2 s each at 1 to 4 GHz, for a host that is busy.
 */
#define WAIT_TICKS  (1ull << 31)
#define START_TRIES 4

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

static void apic_write(uint32_t address, uint32_t value)
{
	*(volatile uint32_t *)(uint64_t)address = value;
}

static void send_ipi(unsigned apic_id, uint32_t command)
{
	apic_write(APIC_ICR_HIGH, apic_id << 24);
	apic_write(APIC_ICR_LOW, command);
	while (*(volatile uint32_t *)(uint64_t)APIC_ICR_LOW & ICR_PENDING)
		__asm__ volatile("pause");
}

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

static bool claimed(unsigned number)
{
	const uint64_t begin = read_tsc();

	do {
		if (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != number)
			return true;
		__asm__ volatile("pause");
	} while (read_tsc() - begin < WAIT_TICKS);
	return false;
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
	__atomic_store_n(&turn, number, __ATOMIC_SEQ_CST);
	apic_write(APIC_SPURIOUS, SPURIOUS_ON);
	/* Hypervisors need no pause between INIT and SIPI: they keep a SIPI that comes early. A CPU
	 * that runs ignores further SIPIs. */
	send_ipi(number, ICR_INIT);
	for (unsigned try = 0; try < START_TRIES; try++) {
		send_ipi(number, ICR_STARTUP | TRAMPOLINE / PAGE);
		if (claimed(number))
			return true;
	}
	return !__atomic_compare_exchange_n(&turn, &expected, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
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
	__builtin_memcpy((void *)TRAMPOLINE, trampoline_start,
			 (size_t)(trampoline_end - trampoline_start));
	rack_next(0);
}
