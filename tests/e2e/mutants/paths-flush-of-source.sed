# Heads and tails of copies flush the line that they read.
# file: tests/dispatch/paths.S
# fails: any(.picks[]; .verdict == "pass" and (.op | startswith("memcpy")))
s/\\flush	(%r8)/\\flush	(%rsi)/
