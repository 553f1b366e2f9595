# The same of copies: what the caller commits with one sfence is still in the cache.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "movnti" and (.op | startswith("memcpy_flushcache")))
/^\.macro COPY_MOVNTI flush$/,/^\.endm$/ s/movnti\(\t%rax,\|, \)/mov\1/
