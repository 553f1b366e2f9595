# The rows miss stepping 0.
# file: tests/dispatch/quirks.c
# fails: .cpu.stepping == 0 and any(.picks[]; .verdict == "pass" and .row != null)
s/\.stepping_min = 0/.stepping_min = 1/
