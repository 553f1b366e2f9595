# No row vetoes anything.
s/(rule->veto & cpu->row->quirks)/(rule->veto \& 0)/
