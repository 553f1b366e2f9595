/* SPDX-License-Identifier: MIT */
/* The verdicts by name, and the end of a cell's record. */
#include "harness/judge/cell.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[VERDICTS] = {
	[VERDICT_PASS] = "pass",   [VERDICT_FAIL] = "fail", [VERDICT_MISMATCH] = "mismatch",
	[VERDICT_SKIP] = "skip",   [VERDICT_HUNG] = "hung", [VERDICT_CRASHED] = "crashed",
	[VERDICT_ERROR] = "error",
};

const char *verdict_name(enum verdict verdict)
{
	return (unsigned)verdict < VERDICTS ? names[verdict] : "error";
}

bool verdict_find(const char *name, enum verdict *verdict)
{
	for (unsigned i = 0; i < VERDICTS; i++)
		if (!strcmp(name, names[i])) {
			*verdict = (enum verdict)i;
			return true;
		}
	return false;
}

void cell_result_free(struct cell_result *result)
{
	for (size_t i = 0; i < result->edit_count; i++)
		free(result->edits[i]);
	for (size_t i = 0; i < result->trace_count; i++)
		free(result->traces[i]);
	free(result->traces);
	free(result->difference_names);
	free(result->kernel_seen);
	free(result->program_seen);
	*result = (struct cell_result){ 0 };
}
