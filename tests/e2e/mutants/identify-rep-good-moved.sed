# REP_GOOD begins one model too early on Centaur and one family too late on Zhaoxin.
# file: tests/dispatch/identify.c
# fails: .cpu.name == "centaur-06-0e" or .cpu.name == "zhaoxin-06-1a"
s/cpu->model >= 15/cpu->model >= 14/
s/cpu->rep_good = cpu->family >= 6/cpu->rep_good = cpu->family >= 7/
