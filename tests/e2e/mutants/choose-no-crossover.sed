# A single writer flushes from 512 bytes on.
# file: tests/dispatch/choose.c
# fails: any(.picks[]; .verdict == "pass" and .class == "767") and any(.picks[]; .says == "clflushopt-copy")
s/^\(#define SINGLE_WRITER_FLUSH_MIN\) 768$/\1 512/
