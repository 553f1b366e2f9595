# memset goes by ERMS, as Linux did before FSRS.
# file: tests/dispatch/choose.c
# fails: any(.picks[]; .op == "clear_page" and .says == "rep-stosb") and any(.picks[]; .verdict == "pass" and .op == "memset" and .says == "mov")
s/FEATURE(fsrs)/FEATURE(erms)/
