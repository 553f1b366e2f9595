/* SPDX-License-Identifier: MIT */
/*
 * The paths of paths.h, in general registers only. System V calls: rdi to, rsi pattern or from, rdx
 * length; the direction flag is clear. Each main loop has one kind of store and moves a line (64
 * bytes) a round. The macros below leave rdi (and rsi in copies) behind the last byte.
 */

	.section .text.paths, "ax", @progbits

.macro FUNCTION name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
.endm

.macro END name
	.size	\name, . - \name
.endm

/* ecx = bytes from rdi up to a multiple of \align, at most rdx; rdx -= rcx. ZF where there are none. */
.macro TAKE_HEAD align
	mov	%edi, %ecx
	neg	%ecx
	and	$\align - 1, %ecx
	cmp	%rdx, %rcx
	cmova	%rdx, %rcx
	sub	%rcx, %rdx
	test	%ecx, %ecx
.endm

/* Stores the pattern's byte ecx times; ecx is not 0. */
.macro SET_BYTES
1:	movb	%sil, (%rdi)
	inc	%rdi
	dec	%ecx
	jnz	1b
.endm

/* rdx bytes by \store, eight at a time, then what is left byte by byte. */
.macro SET_WORDS store
	mov	%rdx, %rcx
	shr	$6, %rcx
	jz	2f
1:	\store	%rsi, (%rdi)
	\store	%rsi, 8(%rdi)
	\store	%rsi, 16(%rdi)
	\store	%rsi, 24(%rdi)
	\store	%rsi, 32(%rdi)
	\store	%rsi, 40(%rdi)
	\store	%rsi, 48(%rdi)
	\store	%rsi, 56(%rdi)
	add	$64, %rdi
	dec	%rcx
	jnz	1b
2:	mov	%edx, %ecx
	shr	$3, %ecx
	and	$7, %ecx
	jz	4f
3:	\store	%rsi, (%rdi)
	add	$8, %rdi
	dec	%ecx
	jnz	3b
4:	mov	%edx, %ecx
	and	$7, %ecx
	jz	5f
	SET_BYTES
5:
.endm

FUNCTION path_set_mov
	SET_WORDS mov
	ret
END path_set_mov

FUNCTION path_set_rep_stosb
	mov	%esi, %eax
	mov	%rdx, %rcx
	rep stosb
	ret
END path_set_rep_stosb

FUNCTION path_set_rep_stosq
	mov	%rsi, %rax
	mov	%rdx, %rcx
	shr	$3, %rcx
	rep stosq
	mov	%edx, %ecx
	and	$7, %ecx
	jz	9f
	SET_BYTES
9:	ret
END path_set_rep_stosq

FUNCTION path_set_movnti
	TAKE_HEAD 8
	jz	8f
	SET_BYTES
8:	SET_WORDS movnti
	sfence
	ret
END path_set_movnti

/* clzero clears the line that holds rax, whatever its offset in it: a line that is not ours whole
 * must not see it. */
FUNCTION path_clear_clzero
	TAKE_HEAD 64
	jz	8f
	SET_BYTES
8:	mov	%rdi, %rax
	mov	%rdx, %rcx
	shr	$6, %rcx
	jz	9f
7:	clzero
	add	$64, %rax
	dec	%rcx
	jnz	7b
	mov	%rax, %rdi
9:	and	$63, %edx
	SET_WORDS mov
	sfence
	ret
END path_clear_clzero

/* Copies ecx bytes (not 0) of one line through the cache, then writes that line back. */
.macro COPY_BYTES flush
	mov	%rdi, %r8
1:	movzbl	(%rsi), %eax
	movb	%al, (%rdi)
	inc	%rsi
	inc	%rdi
	dec	%ecx
	jnz	1b
	\flush	(%r8)
.endm

/* Half a line, from \offset on. */
.macro COPY_HALF_LINE store, offset
	mov	\offset(%rsi), %rax
	mov	\offset + 8(%rsi), %r9
	mov	\offset + 16(%rsi), %r10
	mov	\offset + 24(%rsi), %r11
	\store	%rax, \offset(%rdi)
	\store	%r9, \offset + 8(%rdi)
	\store	%r10, \offset + 16(%rdi)
	\store	%r11, \offset + 24(%rdi)
.endm

/* Aligned words past the cache. Head and tail are parts of one aligned word, so of one line. */
.macro COPY_MOVNTI flush
FUNCTION path_copy_movnti_\flush
	TAKE_HEAD 8
	jz	2f
	COPY_BYTES \flush
2:	mov	%rdx, %rcx
	shr	$6, %rcx
	jz	4f
3:	COPY_HALF_LINE movnti, 0
	COPY_HALF_LINE movnti, 32
	add	$64, %rsi
	add	$64, %rdi
	dec	%rcx
	jnz	3b
4:	mov	%edx, %ecx
	shr	$3, %ecx
	and	$7, %ecx
	jz	6f
5:	mov	(%rsi), %rax
	movnti	%rax, (%rdi)
	add	$8, %rsi
	add	$8, %rdi
	dec	%ecx
	jnz	5b
6:	mov	%edx, %ecx
	and	$7, %ecx
	jz	7f
	COPY_BYTES \flush
7:	ret
END path_copy_movnti_\flush
.endm

	COPY_MOVNTI clwb
	COPY_MOVNTI clflushopt
	COPY_MOVNTI clflush

/* Whole lines through the cache, each flushed at once; what is less than a line as above. */
.macro COPY_CLFLUSHOPT flush
FUNCTION path_copy_clflushopt_\flush
	TAKE_HEAD 64
	jz	2f
	push	%rdx
	mov	%ecx, %edx
	call	path_copy_movnti_\flush
	pop	%rdx
2:	mov	%rdx, %rcx
	shr	$6, %rcx
	jz	4f
3:	COPY_HALF_LINE mov, 0
	COPY_HALF_LINE mov, 32
	clflushopt (%rdi)
	add	$64, %rsi
	add	$64, %rdi
	dec	%rcx
	jnz	3b
4:	and	$63, %edx
	jnz	path_copy_movnti_\flush
	ret
END path_copy_clflushopt_\flush
.endm

	COPY_CLFLUSHOPT clwb
	COPY_CLFLUSHOPT clflushopt

FUNCTION path_commit
	sfence
	ret
END path_commit

	.section .note.GNU-stack, "", @progbits
