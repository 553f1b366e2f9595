/* SPDX-License-Identifier: MIT */
/* What the parts of `quirklab lint` share: the cells, the findings, the place of a row. */
#ifndef QUIRKLAB_LAB_LINT_H
#define QUIRKLAB_LAB_LINT_H

#include "harness/cpu/spec.h"
#include "harness/cpu/tables.h"
#include "harness/util/text.h"
#include "lab/host_chooser.h"

enum lint_level { LINT_NOTE, LINT_WARNING, LINT_ERROR };

enum lint_rule {
	LINT_ROW_UNREACHED,
	LINT_ROW_SHADOWED,
	LINT_ROWS_DISAGREE,
	LINT_ROWS_OVERLAP,
	LINT_ROW_SWALLOWS,
	LINT_ROW_NAME_TWICE,
	LINT_ROW_WITHOUT_EVIDENCE,
	LINT_ROW_AGAINST_EVIDENCE,
	LINT_EVIDENCE_WITHOUT_FIGURE,
	LINT_EVIDENCE_WITHOUT_ROW,
	LINT_PICK_AGAINST_EXPECT,
	LINT_PICK_WITHOUT_ROW,
	LINT_CPU_WITHOUT_PICK,
	LINT_UNKNOWN_OFF_DEFAULT,
	LINT_SOURCE_IS_ANOTHER,
	LINT_MUTATION_UNNOTICED,
	LINT_RULES
};
extern const struct lint_rule_row {
	const char *id; /* "row-shadowed" */
	enum lint_level level;
	const char *meaning;
} lint_rules[LINT_RULES];
const char *lint_level_name(enum lint_level level); /* SARIF's: "error", "warning", "note" */

struct finding {
	enum lint_rule rule;
	char *file;    /* from the top of the tree, as "tests/dispatch/quirks.c"; owned */
	unsigned line; /* 0: not known */
	char *text;    /* one printable line; owned */
};

struct findings {
	struct finding *list; /* owned */
	size_t count, room;
};

/* One CPU as the dispatcher understands it, and what is agreed on. */
struct lint_cell {
	const struct cpu *cpu; /* borrowed from the tables */
	struct dispatch_cpu seen;
	bool in_guest;			      /* has the hypervisor bit */
	const char *expected[HOST_PICKS_MAX]; /* by class; NULL: none */
};

/* Where the rows stand. Without the sources (an installed program) every line is 0. */
struct quirk_source {
	char *bytes;	 /* quirks.c; NULL: not there; owned */
	unsigned *lines; /* of each row's name; owned */
	size_t named;	 /* how many names the file has */
	bool another;	 /* it is not what this program was built from */
};

struct lint {
	const struct dispatch_quirk_table *quirks;
	struct cpu_tables tables;
	struct expectations *expectations;
	struct table catalogue, unknown, expect, evidence;
	struct quirk_source source;
	struct lint_cell *cells; /* the catalogue, then the unknown CPUs; owned */
	size_t cell_count;
	struct findings findings;
};

/* Reads the tables of path_models() and identifies every CPU. quirks: borrowed. */
int lint_open(struct lint *lint, const struct dispatch_quirk_table *quirks, struct error *err);
void lint_close(struct lint *lint);

/* A row of a table by the name in it. file: of cpu-models/, for the reader. */
void lint_at_name(struct lint *lint, enum lint_rule rule, const char *file,
		  const struct table *table, const char *name, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* A row of the quirk table by its index. */
void lint_at_row(struct lint *lint, enum lint_rule rule, size_t row, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* A line of a file of cpu-models/; 0: none. */
void lint_at_line(struct lint *lint, enum lint_rule rule, const char *file, unsigned line,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The checks. Each adds to lint->findings. */
void lint_check_rows(struct lint *lint);
void lint_check_picks(struct lint *lint);
void lint_check_evidence(struct lint *lint);

/* Signatures that CPUID can say: below family 6 a model has four bits. */
bool lint_can_be(unsigned family, unsigned model);
/* The catalogue's CPU of this vendor, family and model, or NULL. */
const struct cpu *lint_catalogue_cpu(const struct lint *lint, const char *vendor, unsigned family,
				     unsigned model);

enum mutation_kind {
	MUTATION_DROP,
	MUTATION_WIDEN,
	MUTATION_NARROW,
	MUTATION_SWAP,
	MUTATION_FLIP,
	MUTATION_VENDOR,
	MUTATION_FAMILY,
	MUTATION_KINDS
};
const char *mutation_kind_name(enum mutation_kind kind);

struct mutation_count {
	size_t made, noticed, equivalent;
};
struct mutation_report {
	struct mutation_count kind[MUTATION_KINDS];
	struct text details; /* a line for each mutation, and how it ended */
};
/* Every single-row mutation of lint->quirks against the cells; the unnoticed ones are findings.
 * ERROR_INPUT where a cell does not pass with the table as it is. */
int lint_mutate(struct lint *lint, struct mutation_report *report, struct error *err);

enum lint_format { LINT_TEXT, LINT_SARIF, LINT_JUNIT };
void lint_write(struct text *out, const struct lint *lint, enum lint_format format,
		const struct mutation_report *mutations);
/* Whether a finding is an error. */
bool lint_failed(const struct lint *lint);

/* quirks.c of the tree that this program's data belongs to. */
void quirk_source_read(struct quirk_source *source, const struct dispatch_quirk_table *quirks);
/* The same from a text, for tests. */
void quirk_source_scan(struct quirk_source *source, const struct dispatch_quirk_table *quirks,
		       const char *bytes);
void quirk_source_free(struct quirk_source *source);

#endif
