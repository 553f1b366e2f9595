# Of the last seven bytes, at most three are set.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and (.says | IN("mov", "movnti", "clzero")) and (.op == "clear_extent" or .op == "memset"))
/^\.macro SET_WORDS store$/,/^\.endm$/ { /^4:/ { n; s/\$7,/$3,/ } }
