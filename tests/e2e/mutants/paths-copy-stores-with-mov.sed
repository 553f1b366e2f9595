# The same of copies: what the caller commits with one sfence is still in the cache.
/^\.macro COPY_MOVNTI flush$/,/^\.endm$/ s/movnti\(\t%rax,\|, \)/mov\1/
