# memset to zero goes the way of clear_extent.
# file: tests/dispatch/operations.c
# fails: [.picks[] | select(.class == "2llc")] | (map(.says) | unique | length) > 1 and (.[] | select(.op == "memset") | .verdict == "pass")
/^void dispatch_memset/,/^}/ s/set(cpu, DISPATCH_MEMSET, to, /set(cpu, byte ? DISPATCH_MEMSET : DISPATCH_CLEAR_EXTENT, to, /
