/* SPDX-License-Identifier: MIT */
/* The exception entries, which turn the processor's frame into struct selftest_registers and back,
 * and the call that they can end. */
#include "images/bare/x86.h"

/* Vectors for which the processor pushes an error code (Intel SDM volume 3A, table 6-1): 8, 10 to
 * 14, 17, 21, and on AMD 29 and 30 (APM volume 2, 8.2). */
#define WITH_ERROR (1 << 8 | 0x1f << 10 | 1 << 17 | 1 << 21 | 1 << 29 | 1 << 30)

/* struct selftest_registers, then the vector and what the processor pushed. */
#define RSP	   (8 * 4)
#define RIP	   (8 * 16)
#define RFLAGS	   (8 * 17)
#define REGISTERS  (8 * 18)
#define VECTOR	   (REGISTERS)
#define ERROR	   (REGISTERS + 8)
#define HW_RIP	   (REGISTERS + 16)
#define HW_RFLAGS  (REGISTERS + 32)
#define HW_RSP	   (REGISTERS + 40)
#define HW_BYTES   16 /* vector and error code, gone before iretq */

	.text
	.balign 16
	.global exception_entries
exception_entries:
	.set vector, 0
	.rept VECTORS
	.balign 16
	.if vector >= 32 || !(WITH_ERROR >> vector & 1)
	pushq $0
	.endif
	pushq $vector
	jmp common
	.set vector, vector + 1
	.endr

	.balign 16
common:
	subq $REGISTERS, %rsp
	movq %rax, (%rsp)
	movq %rcx, 8(%rsp)
	movq %rdx, 16(%rsp)
	movq %rbx, 24(%rsp)
	movq HW_RSP(%rsp), %rax
	movq %rax, RSP(%rsp)
	movq %rbp, 40(%rsp)
	movq %rsi, 48(%rsp)
	movq %rdi, 56(%rsp)
	movq %r8, 64(%rsp)
	movq %r9, 72(%rsp)
	movq %r10, 80(%rsp)
	movq %r11, 88(%rsp)
	movq %r12, 96(%rsp)
	movq %r13, 104(%rsp)
	movq %r14, 112(%rsp)
	movq %r15, 120(%rsp)
	movq HW_RIP(%rsp), %rax
	movq %rax, RIP(%rsp)
	movq HW_RFLAGS(%rsp), %rax
	movq %rax, RFLAGS(%rsp)

	movq %rsp, %rdi
	movl VECTOR(%rsp), %esi
	movq ERROR(%rsp), %rdx
	cld
	movq %rsp, %rbx
	andq $-16, %rsp
	call exception
	movq %rbx, %rsp

	movq RSP(%rsp), %rax
	movq %rax, HW_RSP(%rsp)
	movq RIP(%rsp), %rax
	movq %rax, HW_RIP(%rsp)
	movq RFLAGS(%rsp), %rax
	movq %rax, HW_RFLAGS(%rsp)
	movq (%rsp), %rax
	movq 8(%rsp), %rcx
	movq 16(%rsp), %rdx
	movq 24(%rsp), %rbx
	movq 40(%rsp), %rbp
	movq 48(%rsp), %rsi
	movq 56(%rsp), %rdi
	movq 64(%rsp), %r8
	movq 72(%rsp), %r9
	movq 80(%rsp), %r10
	movq 88(%rsp), %r11
	movq 96(%rsp), %r12
	movq 104(%rsp), %r13
	movq 112(%rsp), %r14
	movq 120(%rsp), %r15
	addq $(REGISTERS + HW_BYTES), %rsp
	iretq

/*
 * int guarded_enter(struct guard *, void (*function)(void *), void *argument, bool single_step)
 *
 * The trap flag is set by the popfq; the first trap comes after the instruction that follows it,
 * the call. The handler clears it when it sees guarded_returned.
 */
	.balign 16
	.global guarded_enter, guarded_returned, guarded_escaped
guarded_enter:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	subq $8, %rsp
	movq %rsp, (%rdi)
	movq %rsi, %rax
	movq %rdx, %rdi
	testb %cl, %cl
	jz 1f
	pushfq
	orq $RFLAGS_TF, (%rsp)
	popfq
1:	call *%rax
guarded_returned:
	xorl %eax, %eax
2:	addq $8, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
guarded_escaped:
	movl $1, %eax
	jmp 2b
