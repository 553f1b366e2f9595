// SPDX-License-Identifier: MIT
/* The quirk table against the measurements of evidence.tsv. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/number.h"
#include "harness/util/cleanup.h"
#include "lab/lint.h"

/* What a quirk says of a path, so that a measurement can speak for it or against it. */
static const struct claim {
	uint32_t quirk;
	const char *path; /* loses, at every extent from the last-level cache on */
} claims[] = {
	{ DISPATCH_NT_BAD, "movnti" },
};
#define CLAIMS (sizeof(claims) / sizeof(*claims))

/* The measurements of one path of one CPU. */
struct findings_of {
	size_t rows;	  /* that name the CPU at all */
	size_t against;	  /* figures that say the path gains there */
	size_t in_favour; /* that it loses */
	unsigned line;	  /* of the best figure against */
	double gain;	  /* its gain, in percent */
};

static const char *cell(const struct lint *lint, size_t row, const char *column)
{
	return table_cell(&lint->evidence, row, table_column(&lint->evidence, column));
}

static bool is_of(const struct lint *lint, size_t row, const char *vendor, unsigned family,
		  unsigned model)
{
	uint64_t number;

	return !strncmp(cell(lint, row, "vendor"), vendor, 12) &&
	       number_read(cell(lint, row, "family"), 270, &number) && number == family &&
	       number_read(cell(lint, row, "model"), 255, &number) && number == model;
}

static bool read_figure(const char *text, double *figure)
{
	char *end;

	*figure = strtod(text, &end);
	return end != text && !*end && isfinite(*figure);
}

/* Whether two measurements are of one thing, but for the path. */
static bool comparable(const struct lint *lint, size_t a, size_t b)
{
	static const char *const same[] = { "vendor", "family", "model", "op", "bytes", "threads" };

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
		if (strcmp(cell(lint, a, same[i]), cell(lint, b, same[i])))
			return false;
	return !strcmp(cell(lint, a, "against"), cell(lint, b, "path"));
}

/* In percent: the author's own figure, else from the two bandwidths. */
static bool gain_of(const struct lint *lint, size_t row, double *gain)
{
	double ours, theirs;

	if (read_figure(cell(lint, row, "gain_pct"), gain))
		return true;
	if (!read_figure(cell(lint, row, "gb_per_s"), &ours))
		return false;
	for (size_t i = 0; i < lint->evidence.row_count; i++) {
		if (!comparable(lint, row, i) || !read_figure(cell(lint, i, "gb_per_s"), &theirs) ||
		    theirs <= 0)
			continue;
		*gain = (ours / theirs - 1) * 100;
		return true;
	}
	return false;
}

/* The catalogue's cell of this CPU, or NULL. */
static const struct lint_cell *cell_of(const struct lint *lint, const char *vendor, unsigned family,
				       unsigned model)
{
	const struct cpu *cpu = lint_catalogue_cpu(lint, vendor, family, model);

	for (size_t i = 0; cpu && i < lint->cell_count; i++)
		if (lint->cells[i].cpu == cpu)
			return &lint->cells[i];
	return NULL;
}

/* Whether the path is what the operation takes there, from the last-level cache on, without any
 * quirk: a figure of another path decides nothing. */
static bool matters(const struct lint_cell *of, const char *operation, const char *path)
{
	struct dispatch_cpu cpu;

	if (!of)
		return true;
	cpu = of->seen;
	cpu.row = NULL;
	for (size_t i = 0; i < dispatch_class_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];

		if (strcmp(dispatch_operation_name(class->operation), operation) ||
		    dispatch_class_size(class, cpu.llc_bytes) != cpu.llc_bytes)
			continue;
		return !strcmp(dispatch_path_name(
				       dispatch_choose(&cpu, class->operation, cpu.llc_bytes).path),
			       path);
	}
	return false;
}

static void gather(struct findings_of *out, const struct lint *lint, const struct claim *claim,
		   const char *vendor, unsigned family, unsigned model)
{
	const struct lint_cell *of = cell_of(lint, vendor, family, model);
	uint64_t llc = of ? of->cpu->llc_bytes : 0, bytes;
	double gain;

	*out = (struct findings_of){ 0 };
	for (size_t i = 0; i < lint->evidence.row_count; i++) {
		if (!is_of(lint, i, vendor, family, model))
			continue;
		out->rows++;
		if (strcmp(cell(lint, i, "path"), claim->path) ||
		    !matters(of, cell(lint, i, "op"), claim->path) ||
		    !number_read(cell(lint, i, "bytes"), INT64_MAX, &bytes) || bytes < llc ||
		    !gain_of(lint, i, &gain))
			continue;
		if (gain < 0) {
			out->in_favour++;
			continue;
		}
		if (!out->against++ || gain > out->gain) {
			out->gain = gain;
			out->line = lint->evidence.lines[i];
		}
	}
}

static void check_model(struct lint *lint, size_t index, const struct claim *claim, unsigned model)
{
	const struct dispatch_quirk_row *row = &lint->quirks->rows[index];
	struct findings_of found;

	gather(&found, lint, claim, row->vendor, row->family, model);
	if (found.against)
		lint_at_row(lint, LINT_ROW_AGAINST_EVIDENCE, index,
			    "row %s: %s gains %.2f %% on %.12s %u:0x%02X: evidence.tsv, line %u",
			    row->name, claim->path, found.gain, row->vendor, row->family, model,
			    found.line);
	else if (found.rows && !found.in_favour)
		lint_at_row(
			lint, LINT_EVIDENCE_WITHOUT_FIGURE, index,
			"row %s: evidence.tsv has no figure of %s on %.12s %u:0x%02X, only that "
			"somebody lists it",
			row->name, claim->path, row->vendor, row->family, model);
}

/* Which model of the row is beside this one and has evidence; -1: none. */
static int neighbour_with_evidence(const struct lint *lint, const struct dispatch_quirk_row *row,
				   unsigned model)
{
	int best = -1;

	for (unsigned m = 0; m < row->model_count; m++) {
		struct findings_of found;
		int other = row->models[m];

		gather(&found, lint, &claims[0], row->vendor, row->family, row->models[m]);
		if (found.rows && (best < 0 || abs(other - (int)model) < abs(best - (int)model)))
			best = other;
	}
	return best;
}

/* A model without any evidence: the row's own, or one that a row of others took in. */
static void check_unmeasured(struct lint *lint, size_t index, unsigned model)
{
	const struct dispatch_quirk_row *row = &lint->quirks->rows[index];
	const struct cpu *cpu = lint_catalogue_cpu(lint, row->vendor, row->family, model);
	int beside = neighbour_with_evidence(lint, row, model);
	CLEANUP_FREE char *who = xasprintf("%.12s %u:0x%02X (%s)", row->vendor, row->family, model,
					   cpu ? cpu->name : "not in the catalogue");

	if (beside < 0)
		lint_at_row(lint, LINT_ROW_WITHOUT_EVIDENCE, index,
			    "row %s: evidence.tsv has nothing on %s", row->name, who);
	else
		lint_at_row(lint, LINT_ROW_SWALLOWS, index,
			    "row %s: takes %s, %s 0x%02X; evidence.tsv has nothing on it",
			    row->name, who,
			    (int)model == beside + 1   ? "the model after"
			    : (int)model == beside - 1 ? "the model before"
						       : "beside",
			    (unsigned)beside);
}

static void check_row(struct lint *lint, size_t index)
{
	const struct dispatch_quirk_row *row = &lint->quirks->rows[index];

	for (unsigned m = 0; m < row->model_count; m++) {
		struct findings_of found;

		gather(&found, lint, &claims[0], row->vendor, row->family, row->models[m]);
		if (!found.rows) {
			check_unmeasured(lint, index, row->models[m]);
			continue;
		}
		for (size_t c = 0; c < CLAIMS; c++)
			if (row->quirks & claims[c].quirk)
				check_model(lint, index, &claims[c], row->models[m]);
	}
}

/* The other way round: a CPU whose figures all say what a row would. */
static void check_missing(struct lint *lint, const struct cpu *cpu, const struct claim *claim,
			  uint32_t quirks)
{
	struct findings_of found;

	gather(&found, lint, claim, cpu->vendor, cpu->family, cpu->model);
	if (!(quirks & claim->quirk) && found.in_favour && !found.against)
		lint_at_name(lint, LINT_EVIDENCE_WITHOUT_ROW, "catalogue.tsv", &lint->catalogue,
			     cpu->name,
			     "%s: %s loses in every measurement of evidence.tsv, and no row of the "
			     "quirk table says so",
			     cpu->name, claim->path);
}

void lint_check_evidence(struct lint *lint)
{
	for (size_t i = 0; i < lint->quirks->count; i++)
		check_row(lint, i);
	for (size_t i = 0; i < lint->cell_count; i++) {
		const struct cpu *cpu = lint->cells[i].cpu;
		const struct dispatch_quirk_row *row =
			dispatch_find_row(lint->quirks, &lint->cells[i].seen);

		/* Once for all rows of one model. */
		if (cpu != lint_catalogue_cpu(lint, cpu->vendor, cpu->family, cpu->model))
			continue;
		for (size_t c = 0; c < CLAIMS; c++)
			check_missing(lint, cpu, &claims[c], row ? row->quirks : 0);
	}
}
