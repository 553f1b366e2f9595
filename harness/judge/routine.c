// SPDX-License-Identifier: MIT
/* Follows the code of a kernel's routine from its entry on and names its main store. */
#include "harness/judge/routine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/instruction.h"
#include "harness/util/text.h"

#define INSTRUCTION_BYTES_MAX 15

struct place {
	const struct observed_routine *routine;
	uint16_t offset;
};

struct walk {
	const struct observed_kernel *kernel;
	const char *const *into;
	struct routine *out;
	bool special; /* out->path is more than a mov */
	/* Which bytes began an instruction that was met, and what is still to be followed: each
	 * instruction adds one place at most. */
	bool (*met)[REPORT_ROUTINE_MAX];
	struct place *waiting;
	size_t waiting_count;
};

/* Of two names of one address, the first reported. */
static bool find_place(const struct observed_kernel *kernel, uint64_t address, struct place *place)
{
	for (size_t i = 0; i < kernel->routine_count; i++) {
		const struct observed_routine *routine = &kernel->routines[i];

		if (address - routine->address >= routine->length)
			continue;
		place->routine = routine;
		place->offset = (uint16_t)(address - routine->address);
		return true;
	}
	return false;
}

static const struct observed_routine *find_entry(const struct observed_kernel *kernel,
						 const char *name)
{
	for (size_t i = 0; i < kernel->routine_count; i++)
		if (kernel->routines[i].length && !strcmp(kernel->routines[i].name, name))
			return &kernel->routines[i];
	return NULL;
}

static bool listed(const char *const *names, const char *name)
{
	for (size_t i = 0; names && names[i]; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void note_act(struct walk *walk, const struct place *place, const struct act *act)
{
	struct routine *out = walk->out;
	bool special = act->repeats || !act->cached;

	if (act->kind == ACT_FLUSH) {
		snprintf(out->flush, sizeof(out->flush), "%s",
			 *out->flush && strcmp(out->flush, act->name) ? "mixed" : act->name);
	} else if (act->kind == ACT_STORE && (special ? !walk->special : !*out->path)) {
		walk->special = special;
		memcpy(out->path, act->name, sizeof(act->name));
		memcpy(out->symbol, place->routine->name, sizeof(out->symbol));
	}
}

static void wait_for(struct walk *walk, const struct place *place)
{
	if (!walk->met[place->routine - walk->kernel->routines][place->offset])
		walk->waiting[walk->waiting_count++] = *place;
}

/* Goes on from a place until the code ends or has been met. */
static void follow(struct walk *walk, struct place place)
{
	struct stack_registers stack = STACK_REGISTERS_INIT;

	while (place.offset < place.routine->length) {
		bool *met = &walk->met[place.routine - walk->kernel->routines][place.offset];
		size_t length = place.routine->length - place.offset;
		struct place target;
		struct act act;
		bool known;

		if (*met)
			return;
		*met = true;
		instruction_decode(&act, place.routine->code + place.offset,
				   length < INSTRUCTION_BYTES_MAX ? length : INSTRUCTION_BYTES_MAX,
				   place.offset, &stack);
		if (act.kind == ACT_UNKNOWN)
			return;
		note_act(walk, &place, &act);
		known = act.flow != FLOW_ON && act.flow != FLOW_END &&
			find_place(walk->kernel, place.routine->address + (uint64_t)act.target,
				   &target);
		if (act.flow == FLOW_END || (act.flow == FLOW_JUMP && !known))
			return;
		if (act.flow == FLOW_JUMP) {
			place = target;
			continue;
		}
		if (known && (act.flow == FLOW_BRANCH || listed(walk->into, target.routine->name)))
			wait_for(walk, &target);
		place.offset = (uint16_t)(place.offset + act.length);
		if (place.offset == place.routine->length &&
		    !find_place(walk->kernel, place.routine->address + place.offset, &place))
			return;
	}
}

void routine_follow(struct routine *out, const struct observed_kernel *kernel,
		    const char *const *entries, const char *const *into)
{
	struct walk walk = { .kernel = kernel, .into = into, .out = out };
	const struct observed_routine *entry = NULL;

	*out = (struct routine){ 0 };
	for (size_t i = 0; entries[i] && !entry; i++)
		entry = find_entry(kernel, entries[i]);
	if (!entry)
		return;
	out->found = true;
	walk.met = xcalloc(kernel->routine_count, sizeof(*walk.met));
	walk.waiting =
		xcalloc(kernel->routine_count * REPORT_ROUTINE_MAX + 1, sizeof(*walk.waiting));
	walk.waiting[walk.waiting_count++] = (struct place){ .routine = entry };
	/* The last one first: what is nearest behind the code that was just met. */
	while (walk.waiting_count)
		follow(&walk, walk.waiting[--walk.waiting_count]);
	free(walk.waiting);
	free(walk.met);
}
