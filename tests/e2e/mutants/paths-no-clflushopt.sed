# clflushopt-copy does not flush its lines.
/^	clflushopt (%rdi)$/d
