// SPDX-License-Identifier: MIT
/* Inter-processor interrupts and the timer. Registers: Intel SDM volume 3A, 10.4 to 10.8. */
#include "images/bare/apic.h"

#include "images/bare/x86.h"

#define APIC_BASE     0xfee00000
#define END_INTERRUPT 0x0b0
#define SPURIOUS      0x0f0
#define ICR_LOW	      0x300
#define ICR_HIGH      0x310
#define LVT_TIMER     0x320
#define TIMER_COUNT   0x380
#define TIMER_DIVIDE  0x3e0

#define SPURIOUS_ENABLE 0x100
#define ICR_INIT	0x4500
#define ICR_STARTUP	0x4600
#define ICR_PENDING	0x1000
/* Undivided, the timer counts nanoseconds in QEMU (hw/intc/apic_common.c) and in KVM
 * (APIC_BUS_CYCLE_NS, arch/x86/kvm/lapic.h). */
#define TIMER_UNDIVIDED 0xb

/* The mask registers of the two 8259A. */
#define PIC_MASTER_MASK 0x21
#define PIC_SLAVE_MASK	0xa1

static volatile uint32_t *reg(uint32_t offset)
{
	return (volatile uint32_t *)(uint64_t)(APIC_BASE + offset);
}

void apic_enable(void)
{
	*reg(SPURIOUS) = SPURIOUS_ENABLE | VECTOR_TIMER;
}

void apic_silence_pic(void)
{
	out8(PIC_MASTER_MASK, 0xff);
	out8(PIC_SLAVE_MASK, 0xff);
}

static void send(unsigned apic_id, uint32_t command)
{
	*reg(ICR_HIGH) = apic_id << 24;
	*reg(ICR_LOW) = command;
	while (*reg(ICR_LOW) & ICR_PENDING)
		__asm__ volatile("pause");
}

void apic_send_init(unsigned apic_id)
{
	send(apic_id, ICR_INIT);
}

void apic_send_startup(unsigned apic_id, uint32_t address)
{
	send(apic_id, ICR_STARTUP | address >> 12);
}

void apic_halt_for(uint32_t nanoseconds)
{
	*reg(LVT_TIMER) = VECTOR_TIMER; /* once, not masked */
	*reg(TIMER_DIVIDE) = TIMER_UNDIVIDED;
	*reg(TIMER_COUNT) = nanoseconds;
	/* An interrupt is taken at the earliest after the instruction that follows sti. */
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

void apic_end_interrupt(void)
{
	*reg(END_INTERRUPT) = 0;
}
