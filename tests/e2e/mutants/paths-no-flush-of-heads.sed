# Unaligned heads and tails of copies stay in the cache.
/^	\\flush	(%r8)$/d
