# clzero clears the whole of a line that only partly belongs to the extent.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "clzero")
/^FUNCTION path_clear_clzero$/,/^END/ s/TAKE_HEAD 64/TAKE_HEAD 8/
