# movnti's main loop stores through the cache: says movnti, does mov.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "movnti" and (.op == "clear_extent" or .op == "memset"))
/^FUNCTION path_set_movnti$/,/^END/ s/SET_WORDS movnti/SET_WORDS mov/
