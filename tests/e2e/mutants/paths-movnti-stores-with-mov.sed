# movnti's main loop stores through the cache: says movnti, does mov.
/^FUNCTION path_set_movnti$/,/^END/ s/SET_WORDS movnti/SET_WORDS mov/
