// SPDX-License-Identifier: MIT
/*
 * Starts the CPUs of the rack one after another; whoever is not at work is halted.
 *
 * Each CPU executes a copy of the text of its own, mapped at the text's address. TCG translates an
 * instruction once, by its physical address and the mode, for all vCPUs: the #UD into which it
 * turned a clwb for a CPU without clwb would meet the next CPU as well. Writing the text anew would
 * drop the translations too, but for each of them QEMU 7.2 clears the jump cache (64 KiB) of every
 * vCPU.
 */
#include "images/bare/rack.h"

#include "images/bare/memory.h"
#include "images/bare/serial.h"
#include "images/bare/x86.h"

#define PAGE	 4096ull
#define ENTRIES	 512
#define LARGE	 0x200000ull
#define READABLE (PAGE_PRESENT | PAGE_WRITE)

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

/* start.S, bare.lds, trampoline.S */
extern uint64_t boot_pd[4 * ENTRIES];
extern char text_start[], text_end[];
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

static void copy_words(void *to, const void *from, size_t bytes)
{
	bytes /= 8;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void clear_words(void *to, size_t bytes)
{
	bytes /= 8;
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(bytes) : "a"(0ull) : "memory");
}

/* An address space with the text of its own. Returns its top table, NULL where memory is short. */
static uint64_t *private_text(void)
{
	const uint64_t first = (uint64_t)text_start, bytes = (uint64_t)(text_end - text_start);
	char *copy = memory_take(bytes);
	uint64_t *tables = memory_take(4 * PAGE);
	uint64_t *pdpt, *pd, *pt;

	if (!copy || !tables)
		return NULL;
	pdpt = tables + ENTRIES;
	pd = pdpt + ENTRIES;
	pt = pd + ENTRIES;
	/* The first CPU's text, not this one's copy. */
	copy_words(copy, text_start + TEXT_ALIAS, bytes);
	clear_words(tables, 2 * PAGE);
	tables[0] = (uint64_t)pdpt | READABLE;
	pdpt[0] = (uint64_t)pd | READABLE;
	for (unsigned i = 1; i < 4; i++)
		pdpt[i] = (uint64_t)(boot_pd + i * ENTRIES) | READABLE;
	pdpt[TEXT_ALIAS >> 30] = (uint64_t)boot_pd | READABLE;
	copy_words(pd, boot_pd, PAGE);
	pd[0] = (uint64_t)pt | READABLE;
	for (uint64_t at = 0; at < LARGE; at += PAGE) {
		uint64_t page = at;

		if (at >= first && at < first + bytes)
			page = (uint64_t)copy + (at - first);
		pt[at / PAGE] = page | READABLE;
	}
	return tables;
}

/* The first C code on a CPU of the rack. */
static void started(struct cpu *cpu, uint32_t number)
{
	uint32_t expected = number;

	if (!__atomic_compare_exchange_n(&turn, &expected, number | CLAIMED, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	cpu_init(cpu, (uint16_t)number);
	test_function(cpu);
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
	uint64_t *tables = private_text();
	struct cpu *cpu = memory_take(sizeof(*cpu));
	uint32_t expected = number;

	if (!tables || !cpu)
		return false;
	*values = (struct trampoline_values){
		.entry = (uint64_t)started,
		.stack = (uint64_t)(cpu->stack + CPU_STACK_BYTES),
		.cpu = (uint64_t)cpu,
		.tables = (uint32_t)(uint64_t)tables,
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
	copy_words((void *)TRAMPOLINE, trampoline_start,
		   (size_t)(trampoline_end - trampoline_start + 7) & -(size_t)8);
	rack_next(0);
}
