# The table gains a row without a quirk for Broadwell-X, placed first, and the models of that row and
# of Skylake-X's are exchanged.
# file: tests/dispatch/quirks.c
# fails: .cpu.vendor == "GenuineIntel" and .cpu.family == 6 and (.cpu.model == 79 or .cpu.model == 85) and any(.picks[]; .verdict == "pass" and (.class == "llc" or .class == "2llc") and .op != "clear_page")
/^static const struct dispatch_quirk_row rows/ a\
	{\
		.name = "broadwell-x",\
		.vendor = "GenuineIntel",\
		.family = 6,\
		.models = { 0x55 },\
		.model_count = 1,\
		ALL_STEPPINGS,\
		.quirks = 0,\
		.reason = "made up: movnti wins there, as nowhere else is said",\
		.source = "made up",\
	},
/\.name = "skylake-x"/,/\.model_count/ s/{ 0x55 }/{ 0x4F }/
