# The row of Skylake-X takes the next model as well, Broadwell-DE.
# file: tests/dispatch/quirks.c
# fails: .cpu.vendor == "GenuineIntel" and .cpu.family == 6 and (.cpu.model == 86) and any(.picks[]; .verdict == "pass" and (.class == "llc" or .class == "2llc") and .op != "clear_page")
/\.name = "skylake-x"/,/\.model_count/ { s/{ 0x55 }/{ 0x55, 0x56 }/; s/model_count = 1/model_count = 2/ }
