# The same of clzero.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "clzero")
/^FUNCTION path_clear_clzero$/,/^END/ { /^	sfence$/d }
