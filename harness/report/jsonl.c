// SPDX-License-Identifier: MIT
/* JSON Lines: the records themselves. */
#include "harness/report/reporter.h"

static void cell(struct reporter *reporter, const struct cell_result *result)
{
	CLEANUP_TEXT struct text record = { 0 };

	record_write(&record, result);
	fwrite(record.bytes, 1, record.length, reporter->out);
	fflush(reporter->out);
}

const struct report_writer jsonl_writer = { .name = "jsonl", .cell = cell };
