# An extent of just the last-level cache counts as below it, and 768 bytes as below 768.
# file: tests/dispatch/choose.c
# fails: any(.picks[]; .verdict == "pass" and ((.class == "llc" and (.says | IN("movnti", "clzero"))) or (.class == "768" and .says == "clflushopt-copy")))
s/return size >= (rule->from_llc/return size > (rule->from_llc/
