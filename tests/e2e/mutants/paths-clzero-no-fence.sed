# The same of clzero.
/^FUNCTION path_clear_clzero$/,/^END/ { /^	sfence$/d }
