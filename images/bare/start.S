/* SPDX-License-Identifier: MIT */
/*
 * The PVH entry: from 32-bit protected mode without paging to 64-bit code with the low 4 GiB mapped
 * one to one in 2 MiB pages, then guest_main(start info).
 */
#include "images/bare/x86.h"

	/* Type 18, XEN_ELFNOTE_PHYS32_ENTRY (Xen public/elfnote.h): the 32-bit entry point. */
	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 8, 18
	.asciz "Xen"
	.quad pvh_start

	.section .text.start, "ax"
	.code32
	.global pvh_start
pvh_start:
	cli
	cld
	movl $boot_pd, %edi
	movl $(PAGE_PRESENT | PAGE_WRITE | PAGE_LARGE), %eax
1:	movl %eax, (%edi)
	addl $8, %edi
	addl $0x200000, %eax
	jnc 1b

	movl $(boot_pd + PAGE_PRESENT + PAGE_WRITE), %eax
	movl %eax, boot_pdpt
	/* The low GiB once more at TEXT_ALIAS: there a rack CPU sees the text that it shadows. */
	movl %eax, boot_pdpt + 8 * 4
	addl $4096, %eax
	movl %eax, boot_pdpt + 8
	addl $4096, %eax
	movl %eax, boot_pdpt + 16
	addl $4096, %eax
	movl %eax, boot_pdpt + 24
	movl $(boot_pdpt + PAGE_PRESENT + PAGE_WRITE), boot_pml4

	movl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $boot_pml4, %eax
	movl %eax, %cr3
	movl $MSR_EFER, %ecx
	movl $EFER_LME, %eax
	xorl %edx, %edx
	wrmsr
	movl $CR0_LONG_MODE, %eax
	movl %eax, %cr0
	lgdt start_gdtr
	ljmp $SELECTOR_CODE, $start64

	.code64
start64:
	movl $SELECTOR_DATA, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $boot_stack_end, %esp
	movl %ebx, %edi
	xorl %ebp, %ebp
	call guest_main
1:	cli
	hlt
	jmp 1b

	.section .rodata
	.balign 8
start_gdt:
	.quad 0, GDT_CODE64, GDT_DATA
start_gdtr:
	.word start_gdtr - start_gdt - 1
	.long start_gdt

	.bss
	.balign 4096
	.global boot_pml4, boot_pdpt, boot_pd
boot_pml4:
	.skip 4096
boot_pdpt:
	.skip 4096
boot_pd:
	.skip 4 * 4096
	.skip 16384
boot_stack_end:
