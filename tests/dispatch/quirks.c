/* SPDX-License-Identifier: MIT */
/*
 * The quirk table: CPUs whose feature bits do not tell the whole truth. Opt-out: a CPU that no row
 * names gets what its bits say. A row needs a measurement and its source.
 */
#include "tests/dispatch/dispatch.h"

#define ALL_STEPPINGS .stepping_min = 0, .stepping_max = 15

/*
 * The three Skylake rows are those of check_movnt_quirks() in "[PATCH v3 00/21] huge page clearing
 * optimizations". Model 0x55 is measured; the two client models share its core, and the posting
 * opts them out with it.
 */
#define SOURCE_HUGE_PAGE_CLEARING \
	"Ankur Arora, [PATCH v3 00/21] huge page clearing optimizations, 2022-06-06"

static const struct dispatch_quirk_row rows[] = {
	{
		.name = "skylake-l",
		.vendor = "GenuineIntel",
		.family = 6,
		.models = { 0x4E },
		.model_count = 1,
		ALL_STEPPINGS,
		.quirks = DISPATCH_NT_BAD,
		.reason = "the core of 6:0x55, where movnti loses to rep stosb at every extent",
		.source = SOURCE_HUGE_PAGE_CLEARING,
	},
	{
		.name = "skylake",
		.vendor = "GenuineIntel",
		.family = 6,
		.models = { 0x5E },
		.model_count = 1,
		ALL_STEPPINGS,
		.quirks = DISPATCH_NT_BAD,
		.reason = "the core of 6:0x55, where movnti loses to rep stosb at every extent",
		.source = SOURCE_HUGE_PAGE_CLEARING,
	},
	{
		.name = "skylake-x",
		.vendor = "GenuineIntel",
		.family = 6,
		.models = { 0x55 },
		.model_count = 1,
		ALL_STEPPINGS,
		.quirks = DISPATCH_NT_BAD,
		.reason = "Xeon 8270CL, rep stosb to movnti: 16 MB 20.38 to 6.25 GB/s, "
			  "1024 MB 6.48 to 6.24 GB/s",
		.source = SOURCE_HUGE_PAGE_CLEARING,
	},
};

const struct dispatch_quirk_table dispatch_quirks = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
};
