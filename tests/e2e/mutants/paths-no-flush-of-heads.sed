# Unaligned heads and tails of copies stay in the cache.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and .says == "movnti" and (.op | startswith("memcpy_flushcache")))
/^	\\flush	(%r8)$/d
