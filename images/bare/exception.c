// SPDX-License-Identifier: MIT
/* The interrupt table, guarded calls and the report of exceptions that nobody expected. */
#include "images/bare/exception.h"

#include "images/bare/apic.h"
#include "images/bare/cpu.h"
#include "images/bare/x86.h"
#include "images/protocol.h"

#define ENTRY_BYTES 16 /* between two entries of exception_entries */

/* Intel SDM volume 3A, figure 6-8: a 64-bit interrupt gate. */
struct gate {
	uint16_t offset_low;
	uint16_t selector;
	uint8_t ist;
	uint8_t type;
	uint16_t offset_middle;
	uint32_t offset_high;
	uint32_t reserved;
};
#define GATE_INTERRUPT 0x8e /* present, ring 0, type 14 */

/* entry.S */
extern char exception_entries[], guarded_returned[], guarded_escaped[];
int guarded_enter(struct guard *guard, void (*function)(void *), void *argument, bool single_step);
/* Called from there. */
void exception(struct selftest_registers *registers, unsigned vector, uint64_t error);

static const uint8_t ists[VECTORS] = {
	[VECTOR_DB] = IST_DB, [VECTOR_UD] = IST_UD, [VECTOR_DF] = IST_DF,
	[VECTOR_GP] = IST_GP, [VECTOR_PF] = IST_PF,
};

static struct gate table[VECTORS];

void exception_init(void)
{
	const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) idtr = { sizeof(table) - 1, (uint64_t)table };

	for (unsigned i = 0; !table[VECTORS - 1].type && i < VECTORS; i++) {
		const uint64_t entry = (uint64_t)exception_entries + i * ENTRY_BYTES;

		table[i] = (struct gate){
			.offset_low = (uint16_t)entry,
			.selector = SELECTOR_CODE,
			.ist = ists[i] ? ists[i] : IST_OTHER,
			.type = GATE_INTERRUPT,
			.offset_middle = (uint16_t)(entry >> 16),
			.offset_high = (uint32_t)(entry >> 32),
		};
	}
	__asm__ volatile("lidt %0" : : "m"(idtr) : "memory");
}

static uint64_t read_cr2(void)
{
	uint64_t cr2;

	__asm__ volatile("movq %%cr2, %0" : "=r"(cr2));
	return cr2;
}

/* An exception of a guarded call: what its test wants done. */
static enum selftest_action ask(struct selftest *test, struct selftest_registers *registers,
				unsigned vector, uint64_t error)
{
	switch (vector) {
	case VECTOR_DB:
		return test ? selftest_on_step(test, registers) : SELFTEST_UNKNOWN;
	case VECTOR_UD:
	case VECTOR_GP:
	case VECTOR_PF:
		if (!test)
			return SELFTEST_ESCAPE;
		return selftest_on_fault(test, registers, vector, error,
					 vector == VECTOR_PF ? read_cr2() : 0);
	default:
		return SELFTEST_UNKNOWN;
	}
}

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
	while (bytes--) {
		*to++ = (uint8_t)value;
		value >>= 8;
	}
}

static _Noreturn void fail(struct cpu *cpu, const struct selftest_registers *registers,
			   unsigned vector, uint64_t error)
{
	uint8_t fault[1 + 4 + 8 + 8];
	const uint8_t complete = 0;

	/* Another CPU is at work, and reporting. */
	if (cpu->over)
		halt();
	/* Whatever the test did to them: the interrupt table has to do for what follows. */
	exception_init();
	put(fault, vector, 1);
	put(fault + 1, error, 4);
	put(fault + 5, registers->rip, 8);
	put(fault + 13, read_cr2(), 8);
	cpu->guard = NULL;
	selftest_send_frame(&cpu->platform, REPORT_FAULT, fault, sizeof(fault));
	if (vector != VECTOR_DF)
		selftest_send_frame(&cpu->platform, REPORT_DONE, &complete, sizeof(complete));
	guest_failed(vector);
}

void exception(struct selftest_registers *registers, unsigned vector, uint64_t error)
{
	struct cpu *cpu = this_cpu();
	const uint64_t rip = registers->rip;
	enum selftest_action action = SELFTEST_UNKNOWN;

	if (vector == VECTOR_TIMER) {
		apic_end_interrupt();
		return;
	}
	if (cpu->guard && !cpu->handling) {
		cpu->handling = true;
		action = ask(cpu->guard->test, registers, vector, error);
		cpu->handling = false;
	}
	switch (action) {
	case SELFTEST_RESUME:
		/* The call is over: its last step is the one that arrives here. */
		if (rip == (uint64_t)guarded_returned)
			registers->rflags &= ~(uint64_t)RFLAGS_TF;
		return;
	case SELFTEST_ESCAPE:
		registers->rip = (uint64_t)guarded_escaped;
		registers->general[4] = cpu->guard->stack;
		registers->rflags = RFLAGS_FIXED;
		return;
	default:
		fail(cpu, registers, vector, error);
	}
}

int guarded_call(struct selftest *test, void (*function)(void *), void *argument, bool single_step)
{
	struct cpu *cpu = this_cpu();
	struct guard *outer = cpu->guard;
	struct guard guard = { .test = test };
	int escaped;

	cpu->guard = &guard;
	escaped = guarded_enter(&guard, function, argument, single_step);
	cpu->guard = outer;
	return escaped;
}

struct msr_read {
	uint32_t msr;
	uint64_t value;
};

static void do_read_msr(void *argument)
{
	struct msr_read *read = argument;

	read->value = read_msr(read->msr);
}

bool guarded_read_msr(uint32_t msr, uint64_t *value)
{
	struct msr_read read = { .msr = msr };

	if (guarded_call(NULL, do_read_msr, &read, false))
		return false;
	*value = read.value;
	return true;
}
