/* SPDX-License-Identifier: MIT */
/*
 * The verdict of each pick and of the cell. A pick passes only where expected = says = does and
 * what the call owes (a fence, flushes) was seen; a CPU that is not the one that was asked for, in
 * what the pick depends on, is a mismatch and neither a pass nor a fail.
 */
#include "harness/judge/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/kernel.h"
#include "harness/judge/mitigation.h"
#include "harness/judge/program.h"
#include "harness/judge/trace.h"
#include "harness/util/text.h"

#define DEPENDS_MAX (sizeof(((struct pick *)0)->depends) / sizeof(((struct pick *)0)->depends[0]))

/* What is compared with what, for one CPU. */
struct hearing {
	const struct cpu *asked;
	struct cpu seen;
	const struct observation *observation;
	const struct expectations *expectations; /* may be NULL */
	const struct cpu_difference *difference;
	const struct given_picks *given; /* NULL: those of the expectations */
};

__attribute__((format(printf, 3, 4))) static void give(struct pick *pick, enum verdict verdict,
						       const char *format, ...)
{
	va_list arguments;

	pick->verdict = verdict;
	va_start(arguments, format);
	vsnprintf(pick->why, sizeof(pick->why), format, arguments);
	va_end(arguments);
}

/* --- what a call owes
 * ------------------------------------------------------------------------------ */

enum debt {
	OWES_FENCE = 1 << 0, /* its stores are weakly ordered: a fence after the last */
	OWES_FLUSH =
		1 << 1, /* what it stores through the cache is flushed, with the best there is */
};

/* CONTRACT, "Ordering". memcpy_flushcache owes no fence: its caller does once for many. */
static const struct {
	const char *operation, *path;
	unsigned debts;
} debts[] = {
	{ "clear_extent", "movnti", OWES_FENCE },
	{ "clear_extent", "clzero", OWES_FENCE },
	{ "memset", "movnti", OWES_FENCE },
	{ "memset", "clzero", OWES_FENCE },
	{ "memcpy_flushcache", "movnti", OWES_FLUSH },
	{ "memcpy_flushcache_single", "movnti", OWES_FLUSH },
	{ "memcpy_flushcache_single", "clflushopt-copy", OWES_FLUSH },
};

static unsigned debts_of(const char *operation, const char *path)
{
	for (size_t i = 0; i < sizeof(debts) / sizeof(debts[0]); i++)
		if (!strcmp(operation, debts[i].operation) && !strcmp(path, debts[i].path))
			return debts[i].debts;
	return 0;
}

/* Operations that are over when they return: no caller fences for them. */
static bool orders_itself(const char *operation)
{
	return !strcmp(operation, "clear_page") || !strcmp(operation, "clear_extent") ||
	       !strcmp(operation, "memset");
}

/* The flush to use, best first: clwb keeps the line, clflushopt is unordered, clflush is always
 * there. */
static const char *best_flush(const struct cpu *seen)
{
	static const char *const order[] = { "clwb", "clflushopt" };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (feature_in(&seen->on, feature_find(order[i])))
			return order[i];
	return "clflush";
}

/* True where everything owed was seen; else the pick fails. */
static bool check_debts(struct pick *pick, const struct hearing *hearing, const struct deed *deed)
{
	unsigned owed = debts_of(pick->operation, deed->path);
	const char *best = best_flush(&hearing->seen);

	if (deed->weak && orders_itself(pick->operation)) /* be it in a head or a tail */
		owed |= OWES_FENCE;
	if (!owed || pick->executable == REPORT_EXECUTABLE_NO) /* cannot get that far on this CPU */
		return true;
	if (!deed->returned) {
		give(pick, VERDICT_FAIL, "%s was not seen to its return: no %s was seen",
		     deed->path, owed & OWES_FENCE ? "fence" : "flush");
		return false;
	}
	if (owed & OWES_FENCE && !deed->fence_last) {
		give(pick, VERDICT_FAIL, "%s without a fence after the last store", deed->path);
		return false;
	}
	if (owed & OWES_FLUSH && !deed->flushes) {
		give(pick, VERDICT_FAIL, "%s with a cached store that nothing flushes", deed->path);
		return false;
	}
	if (owed & OWES_FLUSH && *deed->flush && strcmp(deed->flush, best)) {
		give(pick, VERDICT_FAIL, "head and tail are flushed with %s; this CPU has %s",
		     deed->flush, best);
		return false;
	}
	return true;
}

/* --- asked and seen
 * -------------------------------------------------------------------------------- */

static bool listed(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/* Whether asked and seen differ in a bit or a field. What the asked CPU leaves open differs from
 * nothing. */
static bool differs(const struct hearing *hearing, const char *name)
{
	const struct cpu_difference *difference = hearing->difference;
	int index = feature_find(name);

	if (!strcmp(name, "misc_enable"))
		return hearing->observation->misc_enable == REPORT_MISC_ENABLE_CLEAR &&
		       !memcmp(hearing->seen.vendor, "GenuineIntel", 12);
	if (!strcmp(name, "line"))
		return hearing->asked->line_bytes &&
		       hearing->asked->line_bytes != hearing->seen.line_bytes;
	if (listed(name, difference->identity, difference->identity_count))
		return true;
	if (index < 0)
		return false;
	name = features[index].name;
	return listed(name, difference->missing, difference->missing_count) ||
	       listed(name, difference->extra, difference->extra_count);
}

static void note_depends(struct pick *pick, const struct hearing *hearing, const char *depends)
{
	while (*depends) {
		size_t length = strcspn(depends, ",");
		char name[sizeof(pick->depends[0])];

		if (length < sizeof(name)) {
			memcpy(name, depends, length);
			name[length] = '\0';
			if (differs(hearing, name) && pick->depends_count < DEPENDS_MAX)
				memcpy(pick->depends[pick->depends_count++], name, sizeof(name));
		}
		depends += length + (depends[length] == ',');
	}
}

/* "fsrs, clzero" */
static void join_depends(char *out, size_t room, const struct pick *pick)
{
	*out = '\0';
	for (size_t i = 0; i < pick->depends_count; i++) {
		size_t length = strlen(out);

		snprintf(out + length, room - length, "%s%s", length ? ", " : "", pick->depends[i]);
	}
}

/* --- one pick
 * -------------------------------------------------------------------------------------- */

/* The column OP@CLASS of the expectations; -1: none. */
static int column_of(const struct expectations *expectations, const char *operation,
		     const char *class)
{
	char wanted[64];

	snprintf(wanted, sizeof(wanted), "%s@%s", operation, class);
	for (size_t i = 0; expectations && i < expectations_columns(expectations); i++)
		if (!strcmp(wanted, expectations_column(expectations, i)))
			return (int)i;
	return -1;
}

/* The first functional check of the path that failed, or NULL. */
static const struct observed_check *failed_check(const struct observation *observation,
						 const char *path, const char *operation)
{
	for (size_t i = 0; i < observation->check_count; i++) {
		const struct observed_check *check = &observation->checks[i];

		if (check->failures && !strcmp(check->path, path) &&
		    (!*check->operation || !strcmp(check->operation, operation)))
			return check;
	}
	return NULL;
}

static void skip_pick(struct pick *pick, const struct hearing *hearing)
{
	if (!hearing->expectations)
		give(pick, VERDICT_SKIP, "no expected picks for this subject");
	else if (hearing->asked->edit_count)
		give(pick, VERDICT_SKIP, "no expected pick for an edited CPU");
	else if (hearing->asked->origin == CPU_DUMP || hearing->asked->origin == CPU_SIGNATURE)
		give(pick, VERDICT_SKIP, "no expected pick for a CPU of no table");
	else
		give(pick, VERDICT_SKIP, "no expected pick");
}

static void judge_pick(struct pick *pick, const struct hearing *hearing, const struct deed *deed)
{
	const struct observed_check *check =
		failed_check(hearing->observation, pick->says, pick->operation);
	char names[200];

	if (pick->depends_count) {
		join_depends(names, sizeof(names), pick);
		give(pick, VERDICT_MISMATCH, "mismatch: %s", names);
	} else if (check) {
		give(pick, VERDICT_FAIL,
		     "%s failed %" PRIu32 " of %" PRIu32 " checks, first: %.100s (length %" PRIu32
		     ", offset %u)",
		     check->path, check->failures, check->cases, check->what, check->length,
		     check->offset);
	} else if (!*deed->path) {
		give(pick, VERDICT_FAIL, "says %s, and no store was witnessed", pick->says);
	} else if ((*pick->expected && strcmp(pick->expected, pick->says)) ||
		   strcmp(pick->says, deed->path)) {
		give(pick, VERDICT_FAIL, "%s%s%ssays %s (%s%s), does %s",
		     *pick->expected ? "expected " : "", pick->expected,
		     *pick->expected ? ", " : "", *pick->says ? pick->says : "nothing",
		     *pick->row ? "row " : "no row", pick->row, deed->path);
	} else if (!check_debts(pick, hearing, deed)) {
		return;
	} else if (!*pick->expected) {
		skip_pick(pick, hearing);
	} else {
		give(pick, VERDICT_PASS, "%s", "");
	}
}

static const char *expected_path(const struct hearing *hearing, const struct pick *pick)
{
	const struct given_picks *given = hearing->given;

	if (!given)
		return hearing->expectations
			       ? expectations_pick(hearing->expectations, hearing->asked,
						   pick->operation, pick->class)
			       : NULL;
	for (size_t i = 0; i < given->count; i++)
		if (!strcmp(given->list[i].operation, pick->operation) &&
		    !strcmp(given->list[i].class, pick->class))
			return given->list[i].path;
	return NULL;
}

/* What the expectations have of the pick: the path, and what it depends on. */
static void fill_expected(struct pick *pick, const struct hearing *hearing)
{
	int column = column_of(hearing->expectations, pick->operation, pick->class);
	const char *expected = NULL;

	if (column >= 0) {
		expected = expected_path(hearing, pick);
		note_depends(pick, hearing,
			     expectations_depends(hearing->expectations, (size_t)column));
	}
	snprintf(pick->expected, sizeof(pick->expected), "%s", expected ? expected : "");
}

static void fill_pick(struct pick *pick, const struct hearing *hearing,
		      const struct observed_pick *observed)
{
	struct deed deed;

	*pick = (struct pick){ .size = observed->size,
			       .size_known = true,
			       .executable = observed->executable };
	memcpy(pick->operation, observed->operation, sizeof(pick->operation));
	memcpy(pick->class, observed->class, sizeof(pick->class));
	memcpy(pick->says, observed->says, sizeof(observed->says));
	memcpy(pick->row, observed->row, sizeof(pick->row));
	memcpy(pick->reason, observed->reason, sizeof(pick->reason));
	fill_expected(pick, hearing);
	witness_decode(&deed, hearing->observation, observed);
	memcpy(pick->does, deed.text, sizeof(pick->does));
	judge_pick(pick, hearing, &deed);
}

/* --- the kernel as the subject
 * ------------------------------------------------------------------------------- */

/* The instruction behind clwb() is no path: it is judged by the rule, the best that the CPU has. */
static void fill_flush_pick(struct pick *pick, const struct hearing *hearing)
{
	const char *best = best_flush(&hearing->seen);
	char names[200];

	*pick = (struct pick){ .operation = "clwb",
			       .class = "any",
			       .executable = REPORT_EXECUTABLE_YES };
	kernel_flush(pick->does, sizeof(pick->does), hearing->observation->kernel);
	note_depends(pick, hearing, "clwb,clflushopt");
	if (pick->depends_count) {
		join_depends(names, sizeof(names), pick);
		give(pick, VERDICT_MISMATCH, "mismatch: %s", names);
	} else if (!*pick->does) {
		give(pick, VERDICT_SKIP, "this kernel's clwb was not found");
	} else if (strcmp(pick->does, best)) {
		give(pick, VERDICT_FAIL, "flushes with %s; this CPU has %s", pick->does, best);
	} else {
		give(pick, VERDICT_PASS, "%s", "");
	}
}

/* A fault of the kernel that is known has its reference in the expectations. */
static void add_known(struct pick *pick, const struct hearing *hearing)
{
	const char *known = NULL;
	size_t length = strlen(pick->why);

	if (pick->verdict == VERDICT_FAIL && hearing->expectations)
		known = expectations_known(hearing->expectations, hearing->asked, pick->operation,
					   pick->class);
	if (known)
		snprintf(pick->why + length, sizeof(pick->why) - length, "; known: %s", known);
}

static void fill_kernel_pick(struct pick *pick, const struct hearing *hearing,
			     const struct kernel_pick *kernel)
{
	*pick = (struct pick){ .size = kernel->size,
			       .size_known = kernel->size,
			       .executable = REPORT_EXECUTABLE_YES };
	snprintf(pick->operation, sizeof(pick->operation), "%s", kernel->operation);
	snprintf(pick->class, sizeof(pick->class), "%s", kernel->class);
	memcpy(pick->says, kernel->says, sizeof(kernel->says));
	memcpy(pick->row, kernel->row, sizeof(pick->row));
	memcpy(pick->does, kernel->deed.text, sizeof(pick->does));
	fill_expected(pick, hearing);
	if (*kernel->fault)
		give(pick, VERDICT_FAIL, "%s", kernel->fault);
	else
		judge_pick(pick, hearing, &kernel->deed);
	add_known(pick, hearing);
}

/* The CPU that was asked for, where that says something, and else the one that is seen. */
static void asked_over_seen(struct cpu *out, const struct hearing *hearing)
{
	const struct cpu *asked = hearing->asked;

	cpu_copy(out, &hearing->seen);
	if (asked->identity_known) {
		memcpy(out->vendor, asked->vendor, sizeof(out->vendor));
		out->family = asked->family;
		out->model = asked->model;
		out->stepping = asked->stepping;
	}
	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(&asked->known, (int)i))
			feature_put(&out->on, (int)i, feature_in(&asked->on, (int)i));
}

/* The names that differ stay in pick->depends where the rules would have had the asked CPU get
 * something else. */
static void weigh_difference(struct pick *pick, const struct hearing *hearing,
			     const struct rules *rules)
{
	const char *expected;
	struct cpu asked;

	note_depends(pick, hearing, rules_depends(rules));
	if (!pick->depends_count)
		return;
	asked_over_seen(&asked, hearing);
	expected = mitigation_expected(rules, pick->operation, &asked, hearing->observation);
	if (!strcmp(expected, pick->expected))
		pick->depends_count = 0;
	cpu_free(&asked);
}

static void judge_mitigation(struct pick *pick, const struct hearing *hearing,
			     const struct mitigation *seen)
{
	const struct rules *rules = expectations_rules(hearing->expectations);
	char names[200];

	if (!rules) {
		give(pick, VERDICT_SKIP, "no rules for this kernel");
		return;
	}
	snprintf(pick->expected, sizeof(pick->expected), "%s",
		 mitigation_expected(rules, pick->operation, &hearing->seen, hearing->observation));
	weigh_difference(pick, hearing, rules);
	if (pick->depends_count) {
		join_depends(names, sizeof(names), pick);
		give(pick, VERDICT_MISMATCH, "mismatch: %s", names);
	} else if (!*pick->expected || !strcmp(pick->expected, RULES_OPEN)) {
		*pick->expected = '\0';
		give(pick, VERDICT_SKIP, "the rules leave this case open");
	} else if (strcmp(pick->expected, pick->says)) {
		give(pick, VERDICT_FAIL, "expected %s, says '%s'", pick->expected, seen->line);
	} else if (*seen->fault) {
		give(pick, VERDICT_FAIL, "%s", seen->fault);
	} else {
		give(pick, VERDICT_PASS, "%s", "");
	}
}

/* No path, but a pick by family:model all the same: which defence the kernel has chosen. */
static void fill_mitigation_pick(struct pick *pick, const struct hearing *hearing,
				 const struct mitigation *seen)
{
	*pick = (struct pick){ .class = "any", .executable = REPORT_EXECUTABLE_YES };
	snprintf(pick->operation, sizeof(pick->operation), "%s", seen->operation);
	memcpy(pick->says, seen->says, sizeof(seen->says));
	memcpy(pick->does, seen->does, sizeof(seen->does));
	snprintf(pick->reason, sizeof(pick->reason), "%s", seen->line);
	judge_mitigation(pick, hearing, seen);
}

/* A kernel that there are rules for says something of each. */
static void add_mitigation_picks(struct cell_result *result, const struct hearing *hearing)
{
	for (size_t i = 0; i < MITIGATIONS && result->pick_count < CELL_PICKS_MAX; i++) {
		struct mitigation seen;

		if (mitigation_read(&seen, i, hearing->observation->kernel) ||
		    expectations_rules(hearing->expectations))
			fill_mitigation_pick(&result->picks[result->pick_count++], hearing, &seen);
	}
}

static void add_kernel_picks(struct cell_result *result, const struct hearing *hearing)
{
	struct kernel_pick *picks = xcalloc(CELL_PICKS_MAX, sizeof(*picks));
	size_t count = kernel_picks(picks, CELL_PICKS_MAX, hearing->observation->kernel);

	for (size_t i = 0; i < count && result->pick_count < CELL_PICKS_MAX; i++)
		fill_kernel_pick(&result->picks[result->pick_count++], hearing, &picks[i]);
	if (result->pick_count < CELL_PICKS_MAX)
		fill_flush_pick(&result->picks[result->pick_count++], hearing);
	add_mitigation_picks(result, hearing);
	free(picks);
	free(result->kernel_seen);
	result->kernel_seen = kernel_facts(hearing->observation->kernel);
}

/* --- a program as the subject
 * -------------------------------------------------------------------------------- */

/* Of what a program says and what its call did, that which the expectation is about. */
static const char *compared(const struct pick *pick, const struct deed *deed)
{
	if (*pick->says &&
	    (expectations_is_path(pick->says) || !expectations_is_path(pick->expected)))
		return pick->says;
	return deed->path;
}

static void judge_program_pick(struct pick *pick, const struct hearing *hearing,
			       const struct deed *deed, const struct program_pick *from)
{
	const bool traced = from->witness || from->persist;
	const char *taken = compared(pick, deed);
	char names[200];

	if (pick->depends_count) {
		join_depends(names, sizeof(names), pick);
		give(pick, VERDICT_MISMATCH, "mismatch: %s", names);
	} else if (from->skipped) {
		give(pick, VERDICT_SKIP, "the program skips it%s%s", *pick->reason ? ": " : "",
		     pick->reason);
	} else if (from->persist && !from->persist->durable) {
		give(pick, VERDICT_FAIL, "%s", from->persist->why);
	} else if (traced && expectations_is_path(pick->says) && strcmp(pick->says, deed->path)) {
		give(pick, VERDICT_FAIL, "%s%s%ssays %s, does %s",
		     *pick->expected ? "expected " : "", pick->expected,
		     *pick->expected ? ", " : "", pick->says,
		     *deed->path ? deed->path : "no store");
	} else if (*pick->expected && !*taken && !traced) {
		give(pick, VERDICT_FAIL, "expected %s, says %s, and no trace shows what that does",
		     pick->expected, pick->says);
	} else if (*pick->expected && strcmp(pick->expected, taken)) {
		give(pick, VERDICT_FAIL, "expected %s, %s %s", pick->expected,
		     taken == deed->path ? "does" : "says", *taken ? taken : "nothing that stores");
	} else if (deed->returned && !check_debts(pick, hearing, deed)) {
		return;
	} else if (!*pick->expected && hearing->expectations) {
		skip_pick(pick, hearing);
	} else { /* where there is no table at all, it is recorded, and contradicts nothing */
		give(pick, VERDICT_PASS, "%s", "");
	}
}

static void fill_program_pick(struct cell_result *result, const struct hearing *hearing,
			      const struct program_pick *from)
{
	struct pick *pick = &result->picks[result->pick_count++];
	const struct observed_pick *observed = &from->pick;
	struct deed deed = { 0 };

	*pick = (struct pick){ .size = observed->size,
			       .size_known = from->witness != NULL,
			       .executable = observed->executable };
	memcpy(pick->operation, observed->operation, sizeof(pick->operation));
	memcpy(pick->class, observed->class, sizeof(pick->class));
	memcpy(pick->says, from->says, sizeof(pick->says));
	memcpy(pick->row, observed->row, sizeof(pick->row));
	memcpy(pick->reason, observed->reason, sizeof(pick->reason));
	fill_expected(pick, hearing);
	if (from->witness) {
		witness_decode(&deed, from->witness, observed);
		memcpy(pick->does, deed.text, sizeof(pick->does));
		trace_keep(result, pick, from->witness, observed);
	}
	if (from->persist) {
		snprintf(pick->does, sizeof(pick->does), "%s", from->persist->does);
		if (!from->witness)
			snprintf(deed.path, sizeof(deed.path), "%s", from->persist->path);
	}
	judge_program_pick(pick, hearing, &deed, from);
	add_known(pick, hearing);
}

/* What its TAP or its exit make of it, in result->verdict and reason. A failure or a skip stands
 * among the picks, so that the cell is the worst of them. */
static void add_own_verdict(struct cell_result *result, struct program_lines *lines,
			    const struct observed_program *program)
{
	struct pick *pick = &result->picks[result->pick_count];

	result->verdict =
		program_verdict(result->reason, sizeof(result->reason), lines->facts, program);
	if (*lines->fault && (result->verdict == VERDICT_PASS || result->verdict == VERDICT_SKIP)) {
		result->verdict = VERDICT_FAIL;
		snprintf(result->reason, sizeof(result->reason), "%s", lines->fault);
	}
	if (result->pick_count == CELL_PICKS_MAX ||
	    (result->verdict != VERDICT_FAIL && result->verdict != VERDICT_SKIP))
		return;
	result->pick_count++;
	*pick = (struct pick){ .operation = "program", .executable = REPORT_EXECUTABLE_YES };
	snprintf(pick->class, sizeof(pick->class), "%s", lines->facts->tap ? "tap" : "exit");
	give(pick, result->verdict, "%.250s", result->reason);
}

/* Returns whether the program got as far as picks. */
static bool add_program(struct cell_result *result, const struct hearing *hearing)
{
	const struct observed_program *program = hearing->observation->program;
	struct program_lines *lines = program_read(program);

	add_own_verdict(result, lines, program);
	for (size_t i = 0; i < lines->pick_count && result->pick_count < CELL_PICKS_MAX; i++)
		fill_program_pick(result, hearing, &lines->picks[i]);
	if (!strcmp(result->subject, "glibc"))
		snprintf(result->libc, sizeof(result->libc), "%.31s", lines->facts->version);
	free(result->program_seen);
	result->program_seen = lines->facts;
	lines->facts = NULL;
	program_free(lines);
	return result->verdict == VERDICT_PASS || result->verdict == VERDICT_FAIL;
}

/* A column that the guest was silent about. */
static void add_missing_pick(struct cell_result *result, const struct hearing *hearing,
			     size_t index)
{
	const char *column = expectations_column(hearing->expectations, index);
	int length = (int)strcspn(column, "@");
	const char *expected;
	struct pick *pick;

	for (size_t i = 0; i < result->pick_count; i++)
		if (column_of(hearing->expectations, result->picks[i].operation,
			      result->picks[i].class) == (int)index)
			return;
	if (result->pick_count == CELL_PICKS_MAX)
		return;
	pick = &result->picks[result->pick_count++];
	*pick = (struct pick){ .executable = REPORT_EXECUTABLE_NO };
	snprintf(pick->operation, sizeof(pick->operation), "%.*s", length, column);
	snprintf(pick->class, sizeof(pick->class), "%s", column + length + 1);
	expected = expected_path(hearing, pick);
	snprintf(pick->expected, sizeof(pick->expected), "%s", expected ? expected : "");
	give(pick, VERDICT_FAIL, "no pick for %s", column);
}

/* --- the cell
 * -------------------------------------------------------------------------------------- */

/* Worst first (CONTRACT, Verdicts). */
static const enum verdict worst[] = { VERDICT_FAIL, VERDICT_MISMATCH, VERDICT_SKIP, VERDICT_PASS };

static enum verdict worst_pick(const struct cell_result *result)
{
	for (size_t v = 0; v < sizeof(worst) / sizeof(worst[0]); v++)
		for (size_t i = 0; i < result->pick_count; i++)
			if (result->picks[i].verdict == worst[v])
				return worst[v];
	return VERDICT_SKIP;
}

/* Every name that made a pick a mismatch, each once. */
static void reason_mismatch(struct cell_result *result)
{
	const char *said[CELL_PICKS_MAX * DEPENDS_MAX];
	size_t count = 0, length;

	snprintf(result->reason, sizeof(result->reason), "mismatch: ");
	for (size_t i = 0; i < result->pick_count; i++)
		for (size_t j = 0; j < result->picks[i].depends_count; j++) {
			const char *name = result->picks[i].depends[j];

			if (listed(name, said, count))
				continue;
			length = strlen(result->reason);
			snprintf(result->reason + length, sizeof(result->reason) - length, "%s%s",
				 count ? ", " : "", name);
			said[count++] = name;
		}
}

static void fill_reason(struct cell_result *result)
{
	const struct pick *first = NULL;
	size_t more = 0;

	if (result->verdict == VERDICT_PASS)
		return;
	if (result->verdict == VERDICT_MISMATCH) {
		reason_mismatch(result);
		return;
	}
	for (size_t i = 0; i < result->pick_count; i++) {
		if (result->picks[i].verdict != result->verdict)
			continue;
		more += first != NULL;
		first = first ? first : &result->picks[i];
	}
	if (result->verdict == VERDICT_SKIP)
		snprintf(result->reason, sizeof(result->reason), "%s",
			 first ? first->why : "the guest reported no pick");
	else if (first && more)
		snprintf(result->reason, sizeof(result->reason), "%s@%s: %s; and %zu more",
			 first->operation, first->class, first->why, more);
	else if (first)
		snprintf(result->reason, sizeof(result->reason), "%s@%s: %s", first->operation,
			 first->class, first->why);
}

/* The program's own verdict, unless one of its picks is worse. */
static void weigh_program(struct cell_result *result)
{
	const enum verdict own = result->verdict;

	if (own != VERDICT_PASS &&
	    own != VERDICT_SKIP) /* hung, error; nothing is worse than fail */
		return;
	if (!result->pick_count || worst_pick(result) == own)
		return;
	result->verdict = worst_pick(result);
	result->reason[0] = '\0';
	fill_reason(result);
}

/* The guest itself says that an exception ended its tests. */
static void fill_fault(struct cell_result *result, const struct observation *observation)
{
	result->verdict = VERDICT_CRASHED;
	if (observation->fault)
		snprintf(result->reason, sizeof(result->reason),
			 "exception %u at 0x%" PRIx64 " (error code 0x%" PRIx32 ", CR2 0x%" PRIx64
			 ")",
			 observation->fault_vector, observation->fault_rip,
			 observation->fault_error, observation->fault_cr2);
	else
		snprintf(result->reason, sizeof(result->reason),
			 "the guest says that its tests did not end%s%s",
			 *observation->note ? ": " : "", observation->note);
}

void judge(struct cell_result *result, const struct cpu *asked,
	   const struct observation *observation, const struct expectations *expectations)
{
	judge_given(result, asked, observation, expectations, NULL);
}

void judge_given(struct cell_result *result, const struct cpu *asked,
		 const struct observation *observation, const struct expectations *expectations,
		 const struct given_picks *given)
{
	struct hearing hearing = { .asked = asked,
				   .observation = observation,
				   .expectations = expectations,
				   .difference = &result->difference,
				   .given = given };
	struct error err = { 0 };
	bool silent_is_fail = observation->done && expectations;

	result->pick_count = 0;
	result->reason[0] = '\0';
	if (cpu_from_dump(&hearing.seen, &observation->cpuid, &err)) {
		result->verdict = VERDICT_CRASHED;
		snprintf(result->reason, sizeof(result->reason), "%.400s", err.text);
		return;
	}
	cpu_compare(asked, &hearing.seen, &result->difference);
	for (size_t i = 0; i < observation->pick_count && i < CELL_PICKS_MAX; i++) {
		struct pick *pick = &result->picks[result->pick_count++];

		fill_pick(pick, &hearing, &observation->picks[i]);
		trace_keep(result, pick, observation, &observation->picks[i]);
	}
	if (observation->kernel)
		add_kernel_picks(result, &hearing);
	if (observation->program)
		silent_is_fail &= add_program(result, &hearing);
	for (size_t i = 0; silent_is_fail && i < expectations_columns(expectations); i++)
		add_missing_pick(result, &hearing, i);
	if (observation->program) {
		weigh_program(result);
	} else {
		result->verdict = worst_pick(result);
		fill_reason(result);
	}
	if (observation->done && !observation->complete)
		fill_fault(result, observation);
	cpu_free(&hearing.seen);
}
