/* SPDX-License-Identifier: MIT */
/*
 * Where a CPU of the rack starts: from real mode straight to 64-bit code (Intel SDM volume 3A,
 * 8.8.5; paging and protection may be enabled by one write to CR0). rack.c copies this to
 * TRAMPOLINE, below 1 MiB as a start-up IPI wants, and fills in trampoline_values.
 */
#include "images/bare/rack.h"
#include "images/bare/x86.h"

#define AT(label) ((label) - trampoline_start)

	.section .rodata
	.balign 16
	.global trampoline_start, trampoline_values, trampoline_end
	.code16
trampoline_start:
	cli
	cld
	movw %cs, %ax
	movw %ax, %ds
	lgdtl AT(gdtr)
	movl $CR4_PAE, %eax
	movl %eax, %cr4
	movl AT(values_tables), %eax
	movl %eax, %cr3
	movl $MSR_EFER, %ecx
	movl $EFER_LME, %eax
	xorl %edx, %edx
	wrmsr
	movl $CR0_LONG_MODE, %eax
	movl %eax, %cr0
	ljmpl $SELECTOR_CODE, $(TRAMPOLINE + AT(start64))

	.code64
start64:
	movl $SELECTOR_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	/* A CPU that was given up and wakes now: the values are meant for another one. */
	movl $1, %eax
	cpuid
	shrl $24, %ebx
	cmpl values_number(%rip), %ebx
	jne 1f
	movq values_stack(%rip), %rsp
	movq values_cpu(%rip), %rdi
	movl values_number(%rip), %esi
	xorl %ebp, %ebp
	call *values_entry(%rip)
1:	cli
	hlt
	jmp 1b

	.balign 8
gdt:
	.quad 0, GDT_CODE64, GDT_DATA
gdtr:
	.word gdtr - gdt - 1
	.long TRAMPOLINE + AT(gdt)

	/* struct trampoline_values */
	.balign 8
trampoline_values:
values_entry:
	.quad 0
values_stack:
	.quad 0
values_cpu:
	.quad 0
values_tables:
	.long 0
values_number:
	.long 0
trampoline_end:
