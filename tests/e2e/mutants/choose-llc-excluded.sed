# An extent of just the last-level cache counts as below it.
s/return size >= (rule->from_llc/return size > (rule->from_llc/
