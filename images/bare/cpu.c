// SPDX-License-Identifier: MIT
/* Sets up the CPU that executes it: segments, task state, control registers. */
#include "images/bare/cpu.h"

#include <cpuid.h>

#include "images/bare/exception.h"
#include "images/bare/x86.h"

/* CPUID bits: Intel SDM volume 2A, CPUID, tables 3-10 and 3-11. */
#define LEAF1_EDX_FXSR	(1u << 24)
#define LEAF1_EDX_SSE	(1u << 25)
#define LEAF1_ECX_XSAVE (1u << 26)
#define LEAF_XSAVE	0xd

#define TSS_AVAILABLE 0x89 /* present, type 9 */

#define XCR0_X87     0x01
#define XCR0_SSE     0x02
#define XCR0_AVX     0x04
#define XCR0_AVX512  0xe0
#define XCR0_ENABLED (XCR0_X87 | XCR0_SSE | XCR0_AVX | XCR0_AVX512)

struct descriptor_pointer {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

static void load_segments(struct cpu *cpu)
{
	const uint64_t tss = (uint64_t)&cpu->tss;
	const struct descriptor_pointer gdtr = { sizeof(cpu->gdt) - 1, (uint64_t)cpu->gdt };

	cpu->gdt[0] = 0;
	cpu->gdt[SELECTOR_CODE / 8] = GDT_CODE64;
	cpu->gdt[SELECTOR_DATA / 8] = GDT_DATA;
	cpu->gdt[SELECTOR_TSS / 8] = (sizeof(cpu->tss) - 1) | (tss & 0xffffff) << 16 |
				     (uint64_t)TSS_AVAILABLE << 40 | (tss >> 24 & 0xff) << 56;
	cpu->gdt[SELECTOR_TSS / 8 + 1] = tss >> 32;
	cpu->tss = (struct cpu_tss){ .io_map = sizeof(cpu->tss) };
	for (unsigned i = 0; i < IST_COUNT; i++)
		cpu->tss.ist[i] = (uint64_t)(cpu->ist[i] + CPU_IST_BYTES);

	/* CS and SS hold the same selectors from the entry code on. */
	__asm__ volatile("lgdt %0" : : "m"(gdtr) : "memory");
	__asm__ volatile("movl %0, %%ds; movl %0, %%es; movl %0, %%fs; movl %0, %%gs; ltr %w1"
			 :
			 : "r"(SELECTOR_DATA), "r"(SELECTOR_TSS)
			 : "memory");
	write_msr(MSR_GS_BASE, (uint64_t)cpu);
}

/*
 * TCG checks CR4 against the CPU's features and a reserved bit makes it loop for ever: each bit is
 * set only where its feature is. OSXSAVE counts as reserved when leaf 0xD subleaf 1 EAX is zero
 * (QEMU, target/i386/cpu.h, cr4_reserved_bits).
 */
static void enable_state(void)
{
	uint32_t eax, ebx, ecx, edx, max, features;
	uint64_t cr4 = CR4_PAE;

	__cpuid(0, max, ebx, ecx, edx);
	__cpuid(1, eax, ebx, features, edx);
	if (edx & LEAF1_EDX_FXSR)
		cr4 |= CR4_OSFXSR;
	if (edx & LEAF1_EDX_SSE)
		cr4 |= CR4_OSXMMEXCPT;
	eax = 0;
	if ((features & LEAF1_ECX_XSAVE) && max >= LEAF_XSAVE)
		__cpuid_count(LEAF_XSAVE, 1, eax, ebx, ecx, edx);
	if (eax)
		cr4 |= CR4_OSXSAVE;
	__asm__ volatile("movq %0, %%cr4" : : "r"(cr4) : "memory");
	if (!eax)
		return;
	__cpuid_count(LEAF_XSAVE, 0, eax, ebx, ecx, edx);
	__asm__ volatile("xsetbv" : : "a"(eax & XCR0_ENABLED), "d"(0), "c"(0));
}

void cpu_init(struct cpu *cpu, uint16_t number)
{
	cpu->self = cpu;
	cpu->guard = NULL;
	cpu->handling = false;
	cpu->over = false;
	cpu->number = number;
	load_segments(cpu);
	exception_init();
	enable_state();
}
