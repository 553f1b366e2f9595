# No row vetoes anything.
# file: tests/dispatch/choose.c
# fails: any(.picks[]; .verdict == "pass" and .row != null)
s/(rule->veto & cpu->row->quirks)/(rule->veto \& 0)/
