/* SPDX-License-Identifier: MIT */
/*
 * Registers, descriptors and instructions of the processor. Numbers: Intel SDM volume 3A, 2.5
 * (control registers), 3.4.5 and 5.8 (descriptors), 4.5 (paging), and volume 4 (MSRs). For C and
 * assembly.
 */
#ifndef QUIRKLAB_BARE_X86_H
#define QUIRKLAB_BARE_X86_H

#define CR0_PE 0x00000001
#define CR0_MP 0x00000002
#define CR0_ET 0x00000010
#define CR0_NE 0x00000020
#define CR0_PG 0x80000000
/* Paging on, caches on, the FPU present with native errors. */
#define CR0_LONG_MODE (CR0_PG | CR0_NE | CR0_ET | CR0_MP | CR0_PE)

#define CR4_PAE	       0x00020
#define CR4_OSFXSR     0x00200
#define CR4_OSXMMEXCPT 0x00400
#define CR4_OSXSAVE    0x40000

#define MSR_EFER	0xc0000080
#define EFER_LME	0x100
#define MSR_GS_BASE	0xc0000101
#define MSR_MISC_ENABLE 0x1a0

#define RFLAGS_FIXED 0x002 /* bit 1 reads as one */
#define RFLAGS_TF    0x100

#define PAGE_PRESENT 0x01
#define PAGE_WRITE   0x02
#define PAGE_LARGE   0x80

#define SELECTOR_CODE 0x08
#define SELECTOR_DATA 0x10
#define SELECTOR_TSS  0x18
#define GDT_CODE64    0x00209b0000000000
#define GDT_DATA      0x00cf93000000ffff

/* Where the low GiB is mapped a second time (start.S). */
#define TEXT_ALIAS 0x100000000

#define VECTOR_DB 1
#define VECTOR_UD 6
#define VECTOR_DF 8
#define VECTOR_GP 13
#define VECTOR_PF 14
/* The processor's exceptions, and after them the APIC timer's interrupt. */
#define VECTOR_TIMER 32
#define VECTORS	     33

#ifndef __ASSEMBLER__
#include <stdint.h>

static inline void out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}

static inline void write_msr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
			 : "memory");
}

static inline uint64_t read_tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* No interrupt source is set up: this never returns. */
static inline _Noreturn void halt(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" : : : "memory");
}
#endif
#endif
