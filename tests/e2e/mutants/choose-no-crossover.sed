# A single writer flushes from 512 bytes on.
s/^\(#define SINGLE_WRITER_FLUSH_MIN\) 768$/\1 512/
