// SPDX-License-Identifier: MIT
/*
 * The matrix tested by mutation: each way in which a single row of the quirk table could be wrong
 * is tried in memory; a cell that then gets another pick than the agreed one has noticed. What no
 * cell notices is a hole of the matrix, unless no CPU whatever gets another quirk: that is found by
 * asking for each signature that CPUID can say.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/number.h"
#include "harness/util/cleanup.h"
#include "lab/lint.h"

/* Where a row holds, beside what it says itself. */
enum where { EVERYWHERE, NOT_IN_A_GUEST, ONLY_IN_A_GUEST };

struct mutant {
	struct dispatch_quirk_row *rows; /* owned */
	size_t count;
	size_t index; /* the row that `where` is about */
	enum where where;
	enum mutation_kind kind;
	struct text what; /* "skylake-x: widened by the model after, 0x56" */
	size_t row;	  /* of the original table */
};

struct mutants {
	struct mutant *list; /* owned */
	size_t count, room;
	const struct dispatch_quirk_table *quirks;
};

const char *mutation_kind_name(enum mutation_kind kind)
{
	static const char *const names[MUTATION_KINDS] = {
		[MUTATION_DROP] = "drop",     [MUTATION_WIDEN] = "widen",
		[MUTATION_NARROW] = "narrow", [MUTATION_SWAP] = "swap",
		[MUTATION_FLIP] = "flip",     [MUTATION_VENDOR] = "vendor",
		[MUTATION_FAMILY] = "family",
	};

	return names[kind];
}

/* --- making them --- */

/* A copy of the table, with room for one row more. */
static struct mutant *add(struct mutants *mutants, enum mutation_kind kind, size_t row)
{
	const struct dispatch_quirk_table *quirks = mutants->quirks;
	struct mutant *mutant;

	if (mutants->count == mutants->room) {
		mutants->room = mutants->room ? 2 * mutants->room : 64;
		mutants->list = xrealloc(mutants->list, mutants->room * sizeof(*mutants->list));
	}
	mutant = &mutants->list[mutants->count++];
	*mutant = (struct mutant){ .count = quirks->count, .index = row, .kind = kind, .row = row };
	mutant->rows = xcalloc(quirks->count + 1, sizeof(*mutant->rows));
	memcpy(mutant->rows, quirks->rows, quirks->count * sizeof(*mutant->rows));
	text_addf(&mutant->what, "row %s: ", quirks->rows[row].name);
	return mutant;
}

/* A second row behind the row, equal to it: for what one row has no room for. */
static struct dispatch_quirk_row *beside(struct mutant *mutant)
{
	struct dispatch_quirk_row *row = &mutant->rows[mutant->row];

	memmove(row + 1, row, (mutant->count - mutant->row) * sizeof(*row));
	mutant->count++;
	return row + 1;
}

static bool has_model(const struct dispatch_quirk_row *row, int model)
{
	for (unsigned i = 0; i < row->model_count; i++)
		if (row->models[i] == model)
			return true;
	return false;
}

static void drop(struct mutants *mutants, size_t index)
{
	struct mutant *mutant = add(mutants, MUTATION_DROP, index);
	struct dispatch_quirk_row *row = &mutant->rows[index];

	text_addf(&mutant->what, "dropped");
	memmove(row, row + 1, (--mutant->count - index) * sizeof(*row));
}

static void widen_model(struct mutants *mutants, size_t index, int model, const char *which)
{
	const struct dispatch_quirk_row *row = &mutants->quirks->rows[index];
	struct mutant *mutant;
	struct dispatch_quirk_row *more;

	if (model < 0 || model > (int)MODEL_MAX || has_model(row, model))
		return;
	mutant = add(mutants, MUTATION_WIDEN, index);
	text_addf(&mutant->what, "widened by the model %s, 0x%02X", which, (unsigned)model);
	more = beside(mutant);
	more->models[0] = (uint16_t)model;
	more->model_count = 1;
}

static void put_steppings(struct mutants *mutants, enum mutation_kind kind, size_t index, int from,
			  int to)
{
	const struct dispatch_quirk_row *row = &mutants->quirks->rows[index];
	struct mutant *mutant;

	if (from < 0 || to > (int)STEPPING_MAX || from > to ||
	    (from == row->stepping_min && to == row->stepping_max))
		return;
	mutant = add(mutants, kind, index);
	text_addf(&mutant->what, "%s to steppings %d-%d",
		  kind == MUTATION_WIDEN ? "widened" : "narrowed", from, to);
	mutant->rows[index].stepping_min = (uint8_t)from;
	mutant->rows[index].stepping_max = (uint8_t)to;
}

static void narrow_model(struct mutants *mutants, size_t index, unsigned at)
{
	struct mutant *mutant = add(mutants, MUTATION_NARROW, index);
	struct dispatch_quirk_row *row = &mutant->rows[index];

	text_addf(&mutant->what, "narrowed by the model 0x%02X", row->models[at]);
	memmove(&row->models[at], &row->models[at + 1],
		(row->model_count - at - 1u) * sizeof(*row->models));
	row->model_count--;
}

static void narrow_guests(struct mutants *mutants, size_t index, enum where where)
{
	struct mutant *mutant = add(mutants, MUTATION_NARROW, index);

	mutant->where = where;
	text_addf(&mutant->what, where == NOT_IN_A_GUEST
					 ? "narrowed to CPUs without the hypervisor bit"
					 : "narrowed to CPUs with the hypervisor bit");
}

static void widen_and_narrow(struct mutants *mutants, size_t index)
{
	const struct dispatch_quirk_row *row = &mutants->quirks->rows[index];
	const int min = row->stepping_min, max = row->stepping_max;

	for (unsigned i = 0; i < row->model_count; i++) {
		widen_model(mutants, index, row->models[i] - 1, "before");
		widen_model(mutants, index, row->models[i] + 1, "after");
		if (row->model_count > 1)
			narrow_model(mutants, index, i);
	}
	put_steppings(mutants, MUTATION_WIDEN, index, min - 1, max);
	put_steppings(mutants, MUTATION_WIDEN, index, min, max + 1);
	if (min > 1 || max < (int)STEPPING_MAX - 1 || (min && max < (int)STEPPING_MAX))
		put_steppings(mutants, MUTATION_WIDEN, index, 0, STEPPING_MAX);
	put_steppings(mutants, MUTATION_NARROW, index, min + 1, max);
	put_steppings(mutants, MUTATION_NARROW, index, min, max - 1);
	narrow_guests(mutants, index, NOT_IN_A_GUEST);
	narrow_guests(mutants, index, ONLY_IN_A_GUEST);
}

static void swap(struct mutants *mutants, size_t index)
{
	struct mutant *mutant;
	struct dispatch_quirk_row row;

	if (index + 1 >= mutants->quirks->count)
		return;
	mutant = add(mutants, MUTATION_SWAP, index);
	text_addf(&mutant->what, "swapped with row %s", mutant->rows[index + 1].name);
	row = mutant->rows[index];
	mutant->rows[index] = mutant->rows[index + 1];
	mutant->rows[index + 1] = row;
}

static void flip(struct mutants *mutants, size_t index)
{
	for (uint32_t quirk = 1; quirk && quirk <= DISPATCH_QUIRKS_ALL; quirk <<= 1) {
		struct mutant *mutant;

		if (!(quirk & DISPATCH_QUIRKS_ALL))
			continue;
		mutant = add(mutants, MUTATION_FLIP, index);
		text_addf(&mutant->what, "quirk 0x%x flipped", quirk);
		mutant->rows[index].quirks ^= quirk;
	}
}

/* Another vendor instead of the row's own, and beside it. */
static void other_vendors(struct mutants *mutants, size_t index)
{
	static const char *const vendors[] = { "GenuineIntel", "AuthenticAMD", "HygonGenuine",
					       "CentaurHauls", "  Shanghai  " };

	for (size_t v = 0; v < sizeof(vendors) / sizeof(*vendors); v++) {
		struct mutant *mutant;

		if (!memcmp(vendors[v], mutants->quirks->rows[index].vendor, 12))
			continue;
		mutant = add(mutants, MUTATION_VENDOR, index);
		text_addf(&mutant->what, "given to %s", vendors[v]);
		mutant->rows[index].vendor = vendors[v];
		mutant = add(mutants, MUTATION_VENDOR, index);
		text_addf(&mutant->what, "given to %s as well", vendors[v]);
		beside(mutant)->vendor = vendors[v];
	}
}

/* The next families, instead of the row's own and beside it. */
static void other_families(struct mutants *mutants, size_t index)
{
	for (int step = -1; step <= 1; step += 2) {
		int family = mutants->quirks->rows[index].family + step;
		struct mutant *mutant;

		if (family < 0 || family > (int)FAMILY_MAX)
			continue;
		mutant = add(mutants, MUTATION_FAMILY, index);
		text_addf(&mutant->what, "for family %d", family);
		mutant->rows[index].family = (uint16_t)family;
		mutant = add(mutants, MUTATION_FAMILY, index);
		text_addf(&mutant->what, "for family %d as well", family);
		beside(mutant)->family = (uint16_t)family;
	}
}

static void make_all(struct mutants *mutants)
{
	for (size_t i = 0; i < mutants->quirks->count; i++) {
		drop(mutants, i);
		widen_and_narrow(mutants, i);
		swap(mutants, i);
		flip(mutants, i);
		other_vendors(mutants, i);
		other_families(mutants, i);
	}
}

static void mutants_free(struct mutants *mutants)
{
	for (size_t i = 0; i < mutants->count; i++) {
		free(mutants->list[i].rows);
		text_free(&mutants->list[i].what);
	}
	free(mutants->list);
}

/* --- trying them --- */

static const struct dispatch_quirk_row *find_row(const struct mutant *mutant,
						 const struct dispatch_cpu *cpu, bool in_guest)
{
	for (size_t i = 0; i < mutant->count; i++) {
		if (i == mutant->index && mutant->where != EVERYWHERE &&
		    in_guest != (mutant->where == ONLY_IN_A_GUEST))
			continue;
		if (dispatch_row_matches(&mutant->rows[i], cpu))
			return &mutant->rows[i];
	}
	return NULL;
}

static bool passes(const struct lint_cell *cell, const struct dispatch_cpu *cpu)
{
	for (size_t i = 0; i < dispatch_class_count && i < HOST_PICKS_MAX; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		uint64_t size = dispatch_class_size(class, cpu->llc_bytes);
		enum dispatch_path path = dispatch_choose(cpu, class->operation, size).path;

		if (cell->expected[i] && strcmp(cell->expected[i], dispatch_path_name(path)))
			return false;
	}
	return true;
}

/* The first cell that does not pass, or NULL. */
static const struct lint_cell *noticed_by(const struct lint *lint, const struct mutant *mutant)
{
	for (size_t i = 0; i < lint->cell_count; i++) {
		struct dispatch_cpu cpu = lint->cells[i].seen;

		cpu.row = find_row(mutant, &cpu, lint->cells[i].in_guest);
		if (!passes(&lint->cells[i], &cpu))
			return &lint->cells[i];
	}
	return NULL;
}

/* Each vendor that a row names, and one that none does: it stands for all others. vendors has room
 * for one more than there are rows. */
static size_t vendors_of(const char **vendors, const struct mutant *mutant,
			 const struct dispatch_quirk_table *quirks)
{
	size_t count = 0;

	vendors[count++] = "QuirkLabTest";
	for (size_t i = 0; i < mutant->count + quirks->count; i++) {
		const char *vendor = i < mutant->count ? mutant->rows[i].vendor
						       : quirks->rows[i - mutant->count].vendor;
		size_t known = 0;

		while (known < count && memcmp(vendors[known], vendor, 12))
			known++;
		if (known == count)
			vendors[count++] = vendor;
	}
	return count;
}

/* A CPU that the mutant gives other quirks, in or out of a guest. */
static bool differs_at(const struct mutant *mutant, const struct dispatch_quirk_table *quirks,
		       const struct dispatch_cpu *cpu, bool *in_guest)
{
	const struct dispatch_quirk_row *row = dispatch_find_row(quirks, cpu);
	uint32_t before = row ? row->quirks : 0;

	for (int guest = 0; guest < (mutant->where == EVERYWHERE ? 1 : 2); guest++) {
		row = find_row(mutant, cpu, guest);
		*in_guest = guest;
		if ((row ? row->quirks : 0) != before)
			return true;
	}
	return false;
}

/* Over every signature that CPUID can say. *asked counts them. */
static bool find_difference(const struct mutant *mutant, const struct dispatch_quirk_table *quirks,
			    struct dispatch_cpu *cpu, bool *in_guest, size_t *asked)
{
	CLEANUP_FREE const char **vendors =
		xcalloc(mutant->count + quirks->count + 1, sizeof(*vendors));
	size_t vendor_count = vendors_of(vendors, mutant, quirks);

	*asked = 0;
	*cpu = (struct dispatch_cpu){ 0 };
	for (size_t v = 0; v < vendor_count; v++) {
		memcpy(cpu->vendor, vendors[v], 12);
		for (unsigned family = 0; family <= FAMILY_MAX; family++) {
			for (unsigned model = 0; lint_can_be(family, model); model++) {
				for (unsigned s = 0; s <= STEPPING_MAX; s++) {
					cpu->family = (uint16_t)family;
					cpu->model = (uint16_t)model;
					cpu->stepping = (uint8_t)s;
					++*asked;
					if (differs_at(mutant, quirks, cpu, in_guest))
						return true;
				}
			}
		}
	}
	return false;
}

static void try_mutant(struct lint *lint, const struct mutant *mutant,
		       struct mutation_report *report)
{
	struct mutation_count *count = &report->kind[mutant->kind];
	const struct lint_cell *noticed = noticed_by(lint, mutant);
	const char *what = text_string(&mutant->what);
	struct dispatch_cpu cpu;
	bool in_guest;
	size_t asked;

	count->made++;
	if (noticed) {
		count->noticed++;
		text_addf(&report->details, "noticed     %s: by %s\n", what, noticed->cpu->name);
	} else if (find_difference(mutant, lint->quirks, &cpu, &in_guest, &asked)) {
		text_addf(&report->details, "unnoticed   %s\n", what);
		lint_at_row(lint, LINT_MUTATION_UNNOTICED, mutant->row,
			    "%s: no cell notices; one for %.12s %u:0x%02X:%u%s would", what,
			    cpu.vendor, cpu.family, cpu.model, cpu.stepping,
			    in_guest ? " with the hypervisor bit" : "");
	} else {
		count->equivalent++;
		text_addf(&report->details,
			  "equivalent  %s: no CPU of all %zu signatures gets another quirk\n", what,
			  asked);
	}
}

int lint_mutate(struct lint *lint, struct mutation_report *report, struct error *err)
{
	struct mutants mutants = { .quirks = lint->quirks };

	*report = (struct mutation_report){ 0 };
	for (size_t i = 0; i < lint->cell_count; i++)
		if (!passes(&lint->cells[i], &lint->cells[i].seen))
			return error_set(err, ERROR_INPUT,
					 "--mutate: %s does not pass with the table as it is: "
					 "'quirklab lint' and 'quirklab replay' say more",
					 lint->cells[i].cpu->name);
	make_all(&mutants);
	for (size_t i = 0; i < mutants.count; i++)
		try_mutant(lint, &mutants.list[i], report);
	mutants_free(&mutants);
	return 0;
}
