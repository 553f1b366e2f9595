# Nothing orders movnti's stores before what the caller does next.
/^FUNCTION path_set_movnti$/,/^END/ { /^	sfence$/d }
