# An extent of just the last-level cache counts as below it.
# file: tests/dispatch/choose.c
# fails: any(.picks[]; .verdict == "pass" and .class == "llc" and (.says | IN("movnti", "clzero")))
s/return size >= (rule->from_llc/return size > (rule->from_llc/
