// SPDX-License-Identifier: MIT
/* What is expected of a CPU that the golden tables may not have. */
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/repro.h"

/* Whether a CPU and a row, which are of one signature, may differ in what a pick depends on. A bit
 * that the source leaves open is one that may. */
static bool same_dependency(const struct cpu *cpu, const struct cpu *row, const char *name)
{
	int bit = feature_find(name);

	if (!strcmp(name, "line"))
		return !cpu->line_bytes || !row->line_bytes || cpu->line_bytes == row->line_bytes;
	if (bit < 0)
		return true; /* identity: of one signature they are */
	if (!feature_in(&cpu->known, bit))
		return !feature_in(&row->on, bit);
	return !feature_in(&row->known, bit) ||
	       feature_in(&cpu->on, bit) == feature_in(&row->on, bit);
}

static void note_difference(char *out, size_t room, const char *name)
{
	size_t length = strlen(out), name_length = strlen(name);
	const char *at = strstr(out, name);

	if (at && (at[name_length] == ',' || !at[name_length]))
		return;
	snprintf(out + length, room - length, "%s%s", length ? ", " : "", name);
}

static void compare_with_row(struct repro_expected *out, const struct repro_target *target,
			     const struct expectations *expectations)
{
	for (size_t i = 0; i < expectations_columns(expectations); i++) {
		CLEANUP_FREE char *depends = xstrdup(expectations_depends(expectations, i));

		for (char *name = strtok(depends, ","); name; name = strtok(NULL, ","))
			if (!same_dependency(&target->cpu, target->row, name))
				note_difference(out->differs, sizeof(out->differs), name);
	}
}

/* Whether a bit that is left open changes a pick where it is on. choice: room for two. */
static bool bit_matters(const struct cpu *cpu, int bit, struct host_choice *choice)
{
	struct cpu changed = *cpu; /* borrows what it points to */

	host_choose(&choice[0], cpu, NULL);
	feature_put(&changed.known, bit, true);
	feature_put(&changed.on, bit, true);
	host_choose(&choice[1], &changed, NULL);
	for (size_t i = 0; i < choice->pick_count; i++)
		if (choice[0].picks[i].choice.path != choice[1].picks[i].choice.path)
			return true;
	return false;
}

static void give(struct repro_expected *out, const struct host_pick *pick, const char *path)
{
	if (path && out->given.count < CELL_PICKS_MAX)
		out->given.list[out->given.count++] =
			(struct given_pick){ dispatch_operation_name(pick->class->operation),
					     pick->class->name, path };
}

void repro_expect(struct repro_expected *out, const struct repro_target *target,
		  const struct expectations *expectations)
{
	const struct cpu *cpu = &target->cpu;
	CLEANUP_FREE struct host_choice *choice = xcalloc(2, sizeof(*choice));

	*out = (struct repro_expected){ 0 };
	for (int i = 0; i < (int)feature_count; i++)
		if (features[i].dispatch && cpu->identity_known && !feature_in(&cpu->known, i) &&
		    bit_matters(cpu, i, choice))
			feature_put(&out->open, i, true);
	if (!cpu->identity_known ||
	    (!cpu->edit_count && (cpu->origin == CPU_CATALOGUE || cpu->origin == CPU_UNKNOWN ||
				  cpu->origin == CPU_MODEL))) {
		out->source = EXPECTED_TABLE;
		return;
	}
	if (target->row)
		compare_with_row(out, target, expectations);
	out->source = target->row && !*out->differs ? EXPECTED_ROW : EXPECTED_REPLAY;
	host_choose(choice, out->source == EXPECTED_ROW ? target->row : cpu, expectations);
	for (size_t i = 0; i < choice->pick_count; i++)
		give(out, &choice->picks[i],
		     out->source == EXPECTED_ROW
			     ? choice->picks[i].expected
			     : dispatch_path_name(choice->picks[i].choice.path));
}
