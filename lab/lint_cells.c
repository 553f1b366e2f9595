// SPDX-License-Identifier: MIT
/* What lint looks at: the tables, each CPU as the dispatcher understands it; and how a finding is
 * noted. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "lab/lint.h"

#define QUIRKS_FILE "tests/dispatch/quirks.c"
#define FINDING_MAX 2048 /* bytes of its text */

const struct lint_rule_row lint_rules[LINT_RULES] = {
	[LINT_ROW_UNREACHED] = { "row-unreached", LINT_ERROR,
				 "No CPU of the catalogue gets this row of the quirk table." },
	[LINT_ROW_SHADOWED] = { "row-shadowed", LINT_ERROR,
				"Earlier rows take every CPU that this row names." },
	[LINT_ROWS_DISAGREE] = { "rows-disagree", LINT_ERROR,
				 "Two rows name the same CPUs and give them other quirks." },
	[LINT_ROWS_OVERLAP] = { "rows-overlap", LINT_NOTE,
				"Two rows name the same CPUs and give them the same quirks." },
	[LINT_ROW_SWALLOWS] = { "row-swallows", LINT_ERROR,
				"The row takes a model that nobody measured beside those that "
				"somebody did." },
	[LINT_ROW_NAME_TWICE] = { "row-name-twice", LINT_WARNING,
				  "Two rows have one name, so a report does not say which." },
	[LINT_ROW_WITHOUT_EVIDENCE] = { "row-without-evidence", LINT_ERROR,
					"evidence.tsv has no measurement of the row's CPUs." },
	[LINT_ROW_AGAINST_EVIDENCE] = { "row-against-evidence", LINT_ERROR,
					"A measurement in evidence.tsv says the contrary." },
	[LINT_EVIDENCE_WITHOUT_FIGURE] = { "evidence-without-figure", LINT_NOTE,
					   "The row rests on a list alone, not on a figure." },
	[LINT_EVIDENCE_WITHOUT_ROW] = { "evidence-without-row", LINT_WARNING,
					"Every measurement says what a row would, and there is "
					"none." },
	[LINT_PICK_AGAINST_EXPECT] = { "pick-against-expect", LINT_ERROR,
				       "The row gives a CPU another path than the agreed one." },
	[LINT_PICK_WITHOUT_ROW] = { "pick-without-row", LINT_ERROR,
				    "A CPU takes another path than the agreed one, and no row of "
				    "the quirk table says why." },
	[LINT_CPU_WITHOUT_PICK] = { "cpu-without-pick", LINT_ERROR,
				    "expect/dispatch.tsv says nothing of a pick of this CPU." },
	[LINT_UNKNOWN_OFF_DEFAULT] = { "unknown-off-default", LINT_ERROR,
				       "A CPU of unknown.tsv gets a row of the quirk table." },
	[LINT_SOURCE_IS_ANOTHER] = { "source-is-another", LINT_WARNING,
				     "quirks.c is not what this program was built from." },
	[LINT_MUTATION_UNNOTICED] = { "mutation-unnoticed", LINT_ERROR,
				      "The row could be wrong in this way, and every cell would "
				      "pass." },
};

const char *lint_level_name(enum lint_level level)
{
	static const char *const names[] = {
		[LINT_NOTE] = "note", [LINT_WARNING] = "warning", [LINT_ERROR] = "error"
	};

	return names[level];
}

/* --- noting a finding --- */

static void __attribute__((format(printf, 5, 0)))
add(struct lint *lint, enum lint_rule rule, char *file, unsigned line, const char *format,
    va_list args)
{
	struct findings *findings = &lint->findings;
	CLEANUP_FREE char *inert = xmalloc(FINDING_MAX);
	char text[FINDING_MAX];

	vsnprintf(text, sizeof(text), format, args);
	text_printable(inert, FINDING_MAX, text, strlen(text));
	if (findings->count == findings->room) {
		findings->room = findings->room ? 2 * findings->room : 16;
		findings->list = xrealloc(findings->list, findings->room * sizeof(*findings->list));
	}
	findings->list[findings->count++] = (struct finding){
		.rule = rule,
		.file = file,
		.line = line,
		.text = xstrdup(inert),
	};
}

void lint_at_line(struct lint *lint, enum lint_rule rule, const char *file, unsigned line,
		  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(lint, rule, xasprintf("cpu-models/%s", file), line, format, args);
	va_end(args);
}

static unsigned line_of_name(const struct table *table, const char *name)
{
	int names = table_column(table, "name");

	for (size_t i = 0; i < table->row_count; i++)
		if (!strcmp(table_cell(table, i, names), name))
			return table->lines[i];
	return 0;
}

void lint_at_name(struct lint *lint, enum lint_rule rule, const char *file,
		  const struct table *table, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(lint, rule, xasprintf("cpu-models/%s", file), line_of_name(table, name), format, args);
	va_end(args);
}

void lint_at_row(struct lint *lint, enum lint_rule rule, size_t row, const char *format, ...)
{
	unsigned line = row < lint->quirks->count ? lint->source.lines[row] : 0;
	va_list args;

	va_start(args, format);
	add(lint, rule, xstrdup(QUIRKS_FILE), line, format, args);
	va_end(args);
}

bool lint_failed(const struct lint *lint)
{
	for (size_t i = 0; i < lint->findings.count; i++)
		if (lint_rules[lint->findings.list[i].rule].level == LINT_ERROR)
			return true;
	return false;
}

/* --- the cells --- */

bool lint_can_be(unsigned family, unsigned model)
{
	return family <= 270 && model <= (family < 6 ? 15 : 255);
}

const struct cpu *lint_catalogue_cpu(const struct lint *lint, const char *vendor, unsigned family,
				     unsigned model)
{
	for (size_t i = 0; i < lint->cell_count; i++) {
		const struct cpu *cpu = lint->cells[i].cpu;

		if (cpu->origin == CPU_CATALOGUE && cpu->family == family && cpu->model == model &&
		    !memcmp(cpu->vendor, vendor, 12))
			return cpu;
	}
	return NULL;
}

static void make_cells(struct lint *lint)
{
	const struct cpu_list *known = &lint->tables.known;
	CLEANUP_FREE struct host_choice *choice = xcalloc(1, sizeof(*choice));
	const int guest = feature_find("hypervisor");

	lint->cells = xcalloc(known->count, sizeof(*lint->cells));
	for (size_t i = 0; i < known->count; i++) {
		struct lint_cell *cell = &lint->cells[lint->cell_count++];

		host_choose(choice, &known->cpus[i], lint->expectations);
		cell->cpu = &known->cpus[i];
		cell->seen = choice->cpu;
		cell->seen.row = dispatch_find_row(lint->quirks, &cell->seen);
		cell->in_guest = feature_in(&known->cpus[i].on, guest);
		for (size_t p = 0; p < choice->pick_count; p++)
			cell->expected[p] = choice->picks[p].expected;
	}
}

static int read_table(struct table *table, const char *file, struct error *err)
{
	CLEANUP_FREE char *path = path_models(file);

	return table_read(table, path, err);
}

int lint_open(struct lint *lint, const struct dispatch_quirk_table *quirks, struct error *err)
{
	*lint = (struct lint){ .quirks = quirks };
	if (cpu_tables_read(&lint->tables, err) < 0 ||
	    expectations_read(&lint->expectations, "dispatch", NULL, err) < 0 ||
	    read_table(&lint->catalogue, "catalogue.tsv", err) < 0 ||
	    read_table(&lint->unknown, "unknown.tsv", err) < 0 ||
	    read_table(&lint->expect, "expect/dispatch.tsv", err) < 0 ||
	    read_table(&lint->evidence, "evidence.tsv", err) < 0)
		return -1;
	quirk_source_read(&lint->source, quirks);
	if (lint->source.another)
		lint_at_row(lint, LINT_SOURCE_IS_ANOTHER, quirks->count,
			    "the rows of this file are not those of this program: build it again "
			    "(lines may be missing here)");
	make_cells(lint);
	return 0;
}

void lint_close(struct lint *lint)
{
	for (size_t i = 0; i < lint->findings.count; i++) {
		free(lint->findings.list[i].file);
		free(lint->findings.list[i].text);
	}
	free(lint->findings.list);
	free(lint->cells);
	quirk_source_free(&lint->source);
	table_free(&lint->catalogue);
	table_free(&lint->unknown);
	table_free(&lint->expect);
	table_free(&lint->evidence);
	expectations_free(lint->expectations);
	cpu_tables_free(&lint->tables);
	*lint = (struct lint){ 0 };
}
