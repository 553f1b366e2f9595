# clflushopt-copy does not flush its lines.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "clflushopt-copy")
/^	clflushopt (%rdi)$/d
