// SPDX-License-Identifier: MIT
/* A side that is records of a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/diff.h"
#include "lab/records.h"

struct reader {
	struct diff *diff;
	struct diff_side *side;
	size_t room;
};

static const char *keep(struct reader *reader, const char *bytes)
{
	return *bytes ? strings_keep(&reader->diff->strings, bytes, strlen(bytes)) : NULL;
}

static const char *depends(struct reader *reader, const struct pick *pick)
{
	CLEANUP_TEXT struct text names = { 0 };

	if (pick->verdict != VERDICT_MISMATCH)
		return NULL;
	for (size_t i = 0; i < pick->depends_count; i++)
		text_addf(&names, "%s%s", i ? "," : "", pick->depends[i]);
	return names.length ? keep(reader, text_string(&names)) : "?";
}

static void take_picks(struct reader *reader, struct diff_answer *answer,
		       const struct cell_result *result)
{
	char path[sizeof(result->picks->does)];

	answer->picks = xcalloc(result->pick_count, sizeof(*answer->picks));
	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];

		if (!*record_path(path, sizeof(path), pick))
			continue;
		answer->picks[answer->count++] = (struct diff_pick){
			.operation = keep(reader, pick->operation),
			.class = keep(reader, pick->class),
			.path = keep(reader, path),
			.row = keep(reader, pick->row),
			.expected = keep(reader, pick->expected),
			.mismatch = depends(reader, pick),
			.size = pick->size_known ? pick->size : 0,
		};
	}
}

static int each_record(void *context, const struct cell_result *result, struct error *err)
{
	struct reader *reader = context;
	struct diff_side *side = reader->side;
	struct diff_cpu *cpu;

	for (size_t i = 0; i < side->count; i++)
		if (!strcmp(side->cpus[i].name, result->name))
			return error_set(err, ERROR_INPUT, "a second record of '%s'", result->name);
	if (side->count == reader->room) {
		reader->room = reader->room ? 2 * reader->room : 512;
		side->cpus = xrealloc(side->cpus, reader->room * sizeof(*side->cpus));
	}
	cpu = &side->cpus[side->count++];
	*cpu = (struct diff_cpu){
		.family = result->family,
		.model = result->model,
		.agreed_on = !result->edit_count,
		.dead = result->verdict == VERDICT_HUNG || result->verdict == VERDICT_CRASHED ||
			result->verdict == VERDICT_ERROR,
	};
	snprintf(cpu->name, sizeof(cpu->name), "%s", result->name);
	memcpy(cpu->vendor, result->vendor, sizeof(cpu->vendor));
	cpu->answers = xcalloc(1, sizeof(*cpu->answers));
	cpu->count = 1;
	cpu->answers[0].first = cpu->answers[0].last = result->stepping;
	take_picks(reader, &cpu->answers[0], result);
	return 0;
}

int side_read_records(struct diff *diff, struct diff_side *side, const char *path,
		      struct error *err)
{
	struct reader reader = { .diff = diff, .side = side };

	return records_read(path, each_record, &reader, err);
}
