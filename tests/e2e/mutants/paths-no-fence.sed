# Nothing orders movnti's stores before what the caller does next.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "movnti" and (.op == "clear_extent" or .op == "memset"))
/^FUNCTION path_set_movnti$/,/^END/ { /^	sfence$/d }
