// SPDX-License-Identifier: MIT
/*
 * Text of one's own. TCG translates an instruction once for all vCPUs and finds the translation by
 * its physical address and the mode, not by the CPU's features: the #UD into which it turned a clwb
 * for a CPU without clwb would meet the next CPU as well. So CPUs of other features execute another
 * copy of the text, mapped at the text's address.
 *
 * CPUs of equal features share a copy, since to translate it takes longer than the tests. Writing
 * the text anew for each CPU would be worse: for each translation that it drops, QEMU 7.2 clears
 * the jump cache (64 KiB) of every vCPU.
 */
#include "images/bare/text.h"

#include <cpuid.h>
#include <stddef.h>

#include "images/bare/memory.h"
#include "images/bare/x86.h"

#define PAGE	 4096ull
#define ENTRIES	 512
#define LARGE	 0x200000ull
#define READABLE (PAGE_PRESENT | PAGE_WRITE)

/*
 * Features that no translation depends on: they say how fast an instruction is. Intel SDM volume
 * 2A, CPUID, leaf 7: ERMS is EBX bit 9, FSRM EDX bit 4, FZRM, FSRS and FSRC subleaf 1 EAX bits 10
 * to 12.
 */
#define LEAF7_EBX_SPEED	 (1u << 9)
#define LEAF7_EDX_SPEED	 (1u << 4)
#define LEAF71_EAX_SPEED (7u << 10)

/* The feature words, and the vendor, on which the meaning of some instructions depends as well. */
struct features {
	uint32_t vendor;
	uint32_t leaf1_ecx, leaf1_edx;
	uint32_t leaf7_ebx, leaf7_ecx, leaf7_edx, leaf71_eax;
	uint32_t xsave; /* leaf 0xD subleaf 1 EAX */
	uint32_t extended1_ecx, extended1_edx, extended8_ebx;
};

/* An address space that differs from the first one in the pages of the text. */
struct space {
	uint64_t pml4[ENTRIES], pdpt[ENTRIES], pd[ENTRIES], pt[ENTRIES];
	struct features features;
	struct space *next;
};

/* start.S, bare.lds */
extern uint64_t boot_pd[4 * ENTRIES];
extern char text_start[], text_end[];

static struct space *spaces;

static void read_features(struct features *f)
{
	uint32_t eax, ebx, ecx, edx, max, subleaves;

	*f = (struct features){ 0 };
	__cpuid(0, max, f->vendor, ecx, edx);
	__cpuid(1, eax, ebx, f->leaf1_ecx, f->leaf1_edx);
	if (max >= 7) {
		__cpuid_count(7, 0, subleaves, f->leaf7_ebx, f->leaf7_ecx, f->leaf7_edx);
		if (subleaves >= 1)
			__cpuid_count(7, 1, f->leaf71_eax, ebx, ecx, edx);
	}
	if (max >= 0xd)
		__cpuid_count(0xd, 1, f->xsave, ebx, ecx, edx);
	__cpuid(0x80000000, max, ebx, ecx, edx);
	if (max >= 0x80000001)
		__cpuid(0x80000001, eax, ebx, f->extended1_ecx, f->extended1_edx);
	if (max >= 0x80000008)
		__cpuid(0x80000008, eax, f->extended8_ebx, ecx, edx);
	f->leaf7_ebx &= ~LEAF7_EBX_SPEED;
	f->leaf7_edx &= ~LEAF7_EDX_SPEED;
	f->leaf71_eax &= ~LEAF71_EAX_SPEED;
}

static bool same(const struct features *a, const struct features *b)
{
	const uint32_t *p = (const uint32_t *)a, *q = (const uint32_t *)b;

	for (size_t i = 0; i < sizeof(*a) / sizeof(*p); i++)
		if (p[i] != q[i])
			return false;
	return true;
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

static struct space *new_space(const struct features *features)
{
	const uint64_t first = (uint64_t)text_start, bytes = (uint64_t)(text_end - text_start);
	char *copy = memory_take(bytes);
	struct space *space = memory_take(sizeof(*space));

	if (!copy || !space)
		return NULL;
	/* From where the loader put it, whatever text this CPU executes. */
	copy_words(copy, (const char *)first + TEXT_ALIAS, bytes);
	clear_words(space->pml4, 2 * PAGE);
	space->pml4[0] = (uint64_t)space->pdpt | READABLE;
	space->pdpt[0] = (uint64_t)space->pd | READABLE;
	for (unsigned i = 1; i < 4; i++)
		space->pdpt[i] = (uint64_t)(boot_pd + i * ENTRIES) | READABLE;
	space->pdpt[TEXT_ALIAS >> 30] = (uint64_t)boot_pd | READABLE;
	copy_words(space->pd, boot_pd, PAGE);
	space->pd[0] = (uint64_t)space->pt | READABLE;
	for (uint64_t at = 0; at < LARGE; at += PAGE) {
		const bool text = at >= first && at < first + bytes;

		space->pt[at / PAGE] = (text ? (uint64_t)copy + (at - first) : at) | READABLE;
	}
	space->features = *features;
	space->next = spaces;
	spaces = space;
	return space;
}

bool text_enter(void)
{
	struct features features;
	struct space *space;

	read_features(&features);
	for (space = spaces; space; space = space->next)
		if (same(&space->features, &features))
			break;
	if (!space)
		space = new_space(&features);
	if (!space)
		return false;
	__asm__ volatile("movq %0, %%cr3" : : "r"(space->pml4) : "memory");
	return true;
}
