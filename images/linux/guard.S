/* SPDX-License-Identifier: MIT */
/* A call that a signal handler can leave; see guard.h. */
	.text
	.globl	guard_call, guard_returned, guard_escaped
	.type	guard_call, @function
guard_call:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq				/* seven words: the stack is 16-aligned again */
	mov	%rsp, (%rdi)
	mov	%rsi, %rax
	mov	%rdx, %rdi
	pushfq
	or	%rcx, (%rsp)
	popfq				/* a trap flag acts from the end of the next instruction */
	call	*%rax
guard_returned:
	xor	%eax, %eax
	jmp	1f
guard_escaped:
	mov	$1, %eax
1:	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	guard_call, . - guard_call
	.section .note.GNU-stack, "", @progbits
