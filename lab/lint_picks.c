// SPDX-License-Identifier: MIT
/* The picks of every CPU against the agreed ones, and which row, if any, is to blame. */
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/lint.h"

/* What one CPU gets otherwise than agreed, and from which stepping to which. */
struct disagreement {
	struct text picks;
	const struct dispatch_quirk_row *row; /* that the CPU gets; NULL: none */
};

static void compare(struct disagreement *out, const struct lint_cell *cell,
		    const struct dispatch_cpu *cpu)
{
	text_free(&out->picks);
	out->row = cpu->row;
	for (size_t i = 0; i < dispatch_class_count && i < HOST_PICKS_MAX; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		uint64_t size = dispatch_class_size(class, cpu->llc_bytes);
		const char *path =
			dispatch_path_name(dispatch_choose(cpu, class->operation, size).path);

		if (!cell->expected[i] || !strcmp(path, cell->expected[i]))
			continue;
		text_addf(&out->picks, "%s%s@%s is %s, %s is agreed on",
			  out->picks.length ? "; " : "", dispatch_operation_name(class->operation),
			  class->name, path, cell->expected[i]);
	}
}

static size_t row_index(const struct lint *lint, const struct dispatch_quirk_row *row)
{
	return (size_t)(row - lint->quirks->rows);
}

static void report(struct lint *lint, const struct lint_cell *cell,
		   const struct disagreement *found, unsigned first, unsigned last)
{
	const struct cpu *cpu = cell->cpu;
	CLEANUP_FREE char *who = xasprintf("%s (%.12s %u:0x%02X:%u", cpu->name, cpu->vendor,
					   cpu->family, cpu->model, first);
	CLEANUP_FREE char *range =
		first == last ? xasprintf("%s)", who) : xasprintf("%s-%u)", who, last);

	if (found->row)
		lint_at_row(lint, LINT_PICK_AGAINST_EXPECT, row_index(lint, found->row),
			    "row %s: takes %s: %s", found->row->name, range,
			    text_string(&found->picks));
	else
		lint_at_name(lint, LINT_PICK_WITHOUT_ROW, "expect/dispatch.tsv", &lint->expect,
			     cpu->name, "%s, which no row of the quirk table names: %s", range,
			     text_string(&found->picks));
}

/* A golden row stands for all its steppings: those that agree in what is wrong are one finding. */
static void check_steppings(struct lint *lint, const struct lint_cell *cell)
{
	struct dispatch_cpu cpu = cell->seen;
	struct disagreement before = { 0 }, now = { 0 };
	unsigned first = cell->cpu->stepping;

	for (unsigned s = cell->cpu->stepping; s <= cell->cpu->stepping_max; s++) {
		cpu.stepping = (uint8_t)s;
		cpu.row = dispatch_find_row(lint->quirks, &cpu);
		compare(&now, cell, &cpu);
		if (s == first)
			;
		else if (now.row == before.row &&
			 !strcmp(text_string(&now.picks), text_string(&before.picks)))
			continue;
		else if (before.picks.length)
			report(lint, cell, &before, first, s - 1);
		text_free(&before.picks);
		before = now;
		now.picks = (struct text){ 0 };
		first = s;
	}
	if (before.picks.length)
		report(lint, cell, &before, first, cell->cpu->stepping_max);
	text_free(&before.picks);
	text_free(&now.picks);
}

static void check_agreed(struct lint *lint, const struct lint_cell *cell)
{
	const bool catalogue = cell->cpu->origin == CPU_CATALOGUE;
	CLEANUP_TEXT struct text open = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < dispatch_class_count && i < HOST_PICKS_MAX; i++) {
		if (cell->expected[i])
			continue;
		text_addf(&open, "%s%s@%s", count++ ? ", " : "",
			  dispatch_operation_name(dispatch_classes[i].operation),
			  dispatch_classes[i].name);
	}
	if (count)
		lint_at_name(lint, LINT_CPU_WITHOUT_PICK,
			     catalogue ? "catalogue.tsv" : "unknown.tsv",
			     catalogue ? &lint->catalogue : &lint->unknown, cell->cpu->name,
			     "%s: no path is agreed on for %s", cell->cpu->name,
			     count == dispatch_class_count ? "any pick" : text_string(&open));
}

static void check_default(struct lint *lint, const struct lint_cell *cell)
{
	const struct cpu *cpu = cell->cpu;
	struct dispatch_cpu seen = cell->seen;

	for (unsigned s = cpu->stepping; s <= cpu->stepping_max; s++) {
		const struct dispatch_quirk_row *row;

		seen.stepping = (uint8_t)s;
		row = dispatch_find_row(lint->quirks, &seen);
		if (!row)
			continue;
		lint_at_row(lint, LINT_UNKNOWN_OFF_DEFAULT, row_index(lint, row),
			    "row %s: takes %s (%.12s %u:0x%02X:%u) of unknown.tsv, which is to get "
			    "what its bits say",
			    row->name, cpu->name, cpu->vendor, cpu->family, cpu->model, s);
		return;
	}
}

void lint_check_picks(struct lint *lint)
{
	for (size_t i = 0; i < lint->cell_count; i++) {
		check_agreed(lint, &lint->cells[i]);
		check_steppings(lint, &lint->cells[i]);
		if (lint->cells[i].cpu->origin == CPU_UNKNOWN)
			check_default(lint, &lint->cells[i]);
	}
}
