# Skylake-X is forgotten.
# file: tests/dispatch/quirks.c
# fails: any(.picks[]; .verdict == "pass" and .row == "skylake-x")
/^	{$/ { :row; N; /\n	},$/! b row; /"skylake-x"/ d }
