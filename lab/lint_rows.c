// SPDX-License-Identifier: MIT
/* The quirk table by itself: rows that are never reached, that earlier rows take or contradict. */
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/lint.h"

#define STEPPINGS 16

static unsigned model_count(const struct dispatch_quirk_row *row)
{
	const unsigned most = sizeof(row->models) / sizeof(*row->models);

	return row->model_count < most ? row->model_count : most;
}

static bool names(const struct dispatch_quirk_row *row, const char *vendor, unsigned family,
		  unsigned model, unsigned stepping)
{
	struct dispatch_cpu cpu = { .family = (uint16_t)family,
				    .model = (uint16_t)model,
				    .stepping = (uint8_t)stepping };

	memcpy(cpu.vendor, vendor, sizeof(cpu.vendor) - 1);
	return dispatch_row_matches(row, &cpu);
}

/* The signatures of a row that another one names as well: a bit for each stepping of each model. */
struct overlap {
	unsigned own, common; /* how many signatures */
	unsigned model;	      /* the first that is common */
};

static void overlap_with(struct overlap *out, const struct dispatch_quirk_row *row,
			 const struct dispatch_quirk_row *earlier, size_t earlier_count)
{
	*out = (struct overlap){ 0 };
	for (unsigned m = 0; m < model_count(row); m++) {
		for (unsigned s = row->stepping_min; s <= row->stepping_max && s < STEPPINGS; s++) {
			bool taken = false;

			if (!lint_can_be(row->family, row->models[m]))
				continue;
			out->own++;
			for (size_t i = 0; i < earlier_count && !taken; i++)
				taken = names(&earlier[i], row->vendor, row->family, row->models[m],
					      s);
			if (taken && !out->common++)
				out->model = row->models[m];
		}
	}
}

/* Against the rows above it. Returns whether they leave it nothing. */
static bool check_above(struct lint *lint, size_t index)
{
	const struct dispatch_quirk_row *rows = lint->quirks->rows, *row = &rows[index];
	struct overlap overlap;

	overlap_with(&overlap, row, rows, index);
	if (!overlap.own) {
		lint_at_row(lint, LINT_ROW_UNREACHED, index,
			    "row %s: no CPUID can say any of its signatures", row->name);
		return true;
	}
	if (overlap.common == overlap.own)
		lint_at_row(lint, LINT_ROW_SHADOWED, index,
			    "row %s: earlier rows take every CPU that it names", row->name);
	for (size_t i = 0; i < index; i++) {
		struct overlap with;

		if (!strcmp(rows[i].name, row->name))
			lint_at_row(lint, LINT_ROW_NAME_TWICE, index,
				    "row %s: an earlier row has "
				    "this name",
				    row->name);
		overlap_with(&with, row, &rows[i], 1);
		if (!with.common)
			continue;
		lint_at_row(lint,
			    rows[i].quirks == row->quirks ? LINT_ROWS_OVERLAP : LINT_ROWS_DISAGREE,
			    index, "row %s: names %.12s %u:0x%02X, which row %s above it takes%s",
			    row->name, row->vendor, row->family, with.model, rows[i].name,
			    rows[i].quirks == row->quirks ? ", with the same quirks"
							  : ", with other quirks");
	}
	return overlap.common == overlap.own;
}

/* --- who gets the row ---
 */

static bool reaches(const struct lint *lint, size_t index)
{
	for (size_t i = 0; i < lint->cell_count; i++) {
		const struct lint_cell *cell = &lint->cells[i];
		struct dispatch_cpu cpu = cell->seen;

		if (cell->cpu->origin != CPU_CATALOGUE)
			continue;
		for (unsigned s = cell->cpu->stepping; s <= cell->cpu->stepping_max; s++) {
			cpu.stepping = (uint8_t)s;
			if (dispatch_find_row(lint->quirks, &cpu) == &lint->quirks->rows[index])
				return true;
		}
	}
	return false;
}

/* Those who share a family or a core: a row of one that means the other is a slip. */
static const char *const siblings[][2] = {
	{ "AuthenticAMD", "HygonGenuine" },
	{ "HygonGenuine", "AuthenticAMD" },
	{ "  Shanghai  ", "CentaurHauls" },
	{ "CentaurHauls", "  Shanghai  " },
};

/* The CPU that was perhaps meant: of the next family, else the other vendor's. */
static const struct cpu *meant(const struct lint *lint, const struct dispatch_quirk_row *row,
			       unsigned model)
{
	static const int families[] = { 0, 1, -1 };
	const char *vendors[] = { row->vendor, row->vendor };
	const struct cpu *found = NULL;

	for (size_t i = 0; i < sizeof(siblings) / sizeof(*siblings); i++)
		if (!memcmp(row->vendor, siblings[i][0], 12))
			vendors[1] = siblings[i][1];
	for (size_t v = 0; v < 2 && !found; v++)
		for (size_t i = 0; i < sizeof(families) / sizeof(*families) && !found; i++)
			found = lint_catalogue_cpu(lint, vendors[v],
						   row->family + (unsigned)families[i], model);
	return found;
}

static void check_reach(struct lint *lint, size_t index)
{
	const struct dispatch_quirk_row *row = &lint->quirks->rows[index];

	if (reaches(lint, index))
		return;
	for (unsigned m = 0; m < model_count(row); m++) {
		const struct cpu *cpu = meant(lint, row, row->models[m]);
		CLEANUP_FREE char *hint =
			cpu ? xasprintf("; is it a slip for %s, %.12s %u:0x%02X?", cpu->name,
					cpu->vendor, cpu->family, cpu->model)
			    : NULL;

		lint_at_row(lint, LINT_ROW_UNREACHED, index,
			    "row %s: takes %.12s %u:0x%02X, which no CPU of the catalogue is%s",
			    row->name, row->vendor, row->family, row->models[m], hint ? hint : "");
	}
}

void lint_check_rows(struct lint *lint)
{
	for (size_t i = 0; i < lint->quirks->count; i++)
		if (!check_above(lint, i))
			check_reach(lint, i);
}
