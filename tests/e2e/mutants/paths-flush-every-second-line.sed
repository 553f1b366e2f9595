# clflushopt-copy moves two lines a round and flushes the first.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "clflushopt-copy")
/^FUNCTION path_copy_clflushopt/,/^END/ {
	s/^2:	mov	%rdx, %rcx/2:	mov	%rdx, %rcx\n	and	$127, %edx/
	s/shr	\$6, %rcx/shr	$7, %rcx/
	s/^	COPY_HALF_LINE mov, 32/&\n	COPY_HALF_LINE mov, 64\n	COPY_HALF_LINE mov, 96/
	s/add	\$64, /sub	$-128, /
	s/^4:	and	\$63, %edx/4:	test	%edx, %edx/
}
