// SPDX-License-Identifier: MIT
/* The command that runs one cell again. */
#include <string.h>

#include "harness/report/reporter.h"

void result_command(struct text *out, const struct cell_result *result)
{
	CLEANUP_TEXT struct text spec = { 0 };

	/* The name has the edits as well, but not always as they were written. */
	if (*result->spec)
		text_addf(&spec, "%s", result->spec);
	else
		text_add(&spec, result->name, strcspn(result->name, ","));
	for (size_t i = 0; i < result->edit_count; i++)
		text_addf(&spec, ",%s", result->edits[i]);
	text_addf(out, "quirklab run --pack 1");
	if (strcmp(result->image, "bare")) {
		text_addf(out, " --image ");
		text_add_word(out, result->image);
	}
	if (strcmp(result->subject, "dispatch")) {
		text_addf(out, " --subject ");
		text_add_word(out, result->subject);
	}
	text_addf(out, " ");
	text_add_word(out, text_string(&spec));
}
