// SPDX-License-Identifier: MIT
/* What diff found: for a terminal, as a comment of a merge request, as JSON. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/report.h"
#include "harness/util/cleanup.h"
#include "lab/diff.h"

/* A comment has to stay readable (and GitHub refuses more than 65536 bytes). */
#define MARKDOWN_LINES 150
#define MARKDOWN_BYTES 60000

static const char *const agreement_words[] = {
	[AGREED] = "agreed",
	[NOT_AGREED] = "not agreed",
	[NOBODY] = "no expected pick",
	[NOT_ASKED] = "not in the tables",
};

/* --- what all formats say --- */

/* How many changes from `first` on are one line: a CPU, an operation, classes that change alike. */
static size_t group(const struct diff *diff, size_t first, struct text *classes)
{
	const struct diff_change *one = &diff->changes[first];
	size_t i;

	for (i = first; i < diff->change_count; i++) {
		const struct diff_change *change = &diff->changes[i];

		if (change->cpu != one->cpu || change->first != one->first ||
		    change->last != one->last || change->agreement != one->agreement ||
		    change->after->operation != one->after->operation ||
		    change->before->path != one->before->path ||
		    change->after->path != one->after->path ||
		    change->before->row != one->before->row ||
		    change->after->row != one->after->row ||
		    change->before->reason != one->before->reason ||
		    change->after->reason != one->after->reason ||
		    change->after->expected != one->after->expected)
			break;
		text_addf(classes, "%s%s", i > first ? "," : "", change->after->class);
	}
	return i - first;
}

static void signature_text(struct text *out, const struct diff_change *change)
{
	char vendor[64];

	text_printable(vendor, sizeof(vendor), change->cpu->vendor, strlen(change->cpu->vendor));
	text_addf(out, "%s %u:%u:%u", vendor, change->cpu->family, change->cpu->model,
		  change->first);
	if (change->last != change->first)
		text_addf(out, "-%u", change->last);
}

/* What decided: "row skylake-x: NT_BAD row, falls back to ..." */
static void reason_text(struct text *out, const struct diff_pick *pick)
{
	if (pick->row)
		text_addf(out, "row %s%s", pick->row, pick->reason ? ": " : "");
	if (pick->reason)
		text_addf(out, "%s", pick->reason);
	if (!pick->row && !pick->reason)
		text_addf(out, "no row");
}

static void agreement_text(struct text *out, const struct diff_change *change)
{
	text_addf(out, "%s", agreement_words[change->agreement]);
	if (change->agreement == NOT_AGREED)
		text_addf(out, ": expect says %s", change->after->expected);
}

static void range_text(struct text *out, const struct diff_signature *signature)
{
	text_addf(out, "%.12s %u:%u", signature->vendor, signature->family, signature->model_first);
	if (signature->model_last != signature->model_first)
		text_addf(out, "-%u", signature->model_last);
	if (signature->first || signature->last != 15)
		text_addf(out, ", steppings %u-%u", signature->first, signature->last);
}

static void signature_changes(struct text *out, const struct diff_signature *signature)
{
	const struct diff_answer *head = signature->after, *base = signature->before;
	size_t shown = 0;

	for (size_t i = 0; i < head->count && i < base->count; i++) {
		const struct diff_pick *before = &base->picks[i], *after = &head->picks[i];

		if (before->operation != after->operation || before->class != after->class ||
		    before->path == after->path)
			continue;
		text_addf(out, "%s%s@%s %s -> %s", shown++ ? ", " : "", after->operation,
			  after->class, before->path, after->path);
		if (after->row || before->row)
			text_addf(out, " (row %s)", after->row ? after->row : before->row);
	}
}

static size_t not_agreed(const struct diff *diff)
{
	size_t count = 0;

	for (size_t i = 0; i < diff->change_count; i++)
		count += diff->changes[i].agreement == NOT_AGREED ||
			 diff->changes[i].agreement == NOBODY;
	return count;
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

static void conclusion_text(struct text *out, const struct diff *diff)
{
	const size_t open = not_agreed(diff);

	if (!diff->change_count && !diff->signature_count)
		text_addf(out, "no CPU changes path, of %zu compared", diff->compared);
	else
		text_addf(out,
			  "%zu of %zu CPUs change%s path, in %zu pick%s, %zu of them not agreed on",
			  diff->changed_cpus, diff->compared, diff->changed_cpus == 1 ? "s" : "",
			  diff->change_count, plural(diff->change_count), open);
	if (diff->signature_count)
		text_addf(out, "; %zu range%s of signatures that no table names as well",
			  diff->signature_count, plural(diff->signature_count));
}

/* What was left out of the comparison, if anything. */
static void leftover_text(struct text *out, const struct diff *diff)
{
	if (diff->only_base || diff->only_head)
		text_addf(out, "%zu CPUs are only in BASE, %zu only in HEAD\n", diff->only_base,
			  diff->only_head);
	if (diff->not_compared)
		text_addf(out,
			  "%zu pick%s not compared: a guest was not the CPU that was asked for, or "
			  "did not live\n",
			  diff->not_compared, plural(diff->not_compared));
}

static void boots_text(struct text *out, const struct diff *diff)
{
	if (!diff->boots)
		return;
	text_addf(out,
		  "%zu CPUs booted (%zu that change, %zu neighbours, %zu others): %zu contradict, "
		  "%zu "
		  "mismatch\n",
		  diff->booted, diff->boot_changed, diff->boot_neighbours, diff->boot_sample,
		  diff->surprise_count, diff->boot_mismatches);
}

/* --- text --- */

static void write_text(struct text *out, const struct diff *diff)
{
	const struct diff_change *before = NULL;

	text_addf(out, "%s -> %s\n", diff->base.title, diff->head.title);
	for (size_t i = 0; i < diff->change_count;) {
		const struct diff_change *change = &diff->changes[i];
		CLEANUP_TEXT struct text classes = { 0 };
		size_t count = group(diff, i, &classes);

		if (!before || before->cpu != change->cpu || before->first != change->first) {
			text_addf(out, "\n");
			signature_text(out, change);
			text_addf(out, "  %s\n", change->cpu->name);
		}
		text_addf(out, "    %s@%s: %s -> %s  (", change->after->operation,
			  text_string(&classes), change->before->path, change->after->path);
		agreement_text(out, change);
		text_addf(out, ")\n        before: ");
		reason_text(out, change->before);
		text_addf(out, "\n        after:  ");
		reason_text(out, change->after);
		text_addf(out, "\n");
		before = change;
		i += count;
	}
	if (diff->signature_count)
		text_addf(out, "\nsignatures that no table names\n");
	for (size_t i = 0; i < diff->signature_count; i++) {
		text_addf(out, "    ");
		range_text(out, &diff->signatures[i]);
		text_addf(out, ": ");
		signature_changes(out, &diff->signatures[i]);
		text_addf(out, "\n");
	}
	if (diff->surprise_count)
		text_addf(out, "\nguests that contradict\n");
	for (size_t i = 0; i < diff->surprise_count; i++)
		text_addf(out, "    %s: %s\n", diff->surprises[i].name, diff->surprises[i].text);
	text_addf(out, "\n");
	boots_text(out, diff);
	leftover_text(out, diff);
	conclusion_text(out, diff);
	text_addf(out, ", %.1f s\n", diff->seconds);
}

/* --- Markdown --- */

static void cell(struct text *out, const struct text *content)
{
	text_addf(out, " ");
	markdown_escape(out, text_string(content));
	text_addf(out, " |");
}

static void markdown_row(struct text *out, const struct diff_change *change,
			 const struct text *classes)
{
	CLEANUP_TEXT struct text who = { 0 }, pick = { 0 }, before = { 0 }, after = { 0 };
	CLEANUP_TEXT struct text agreed = { 0 };

	text_addf(&who, "%s ", change->cpu->name);
	signature_text(&who, change);
	text_addf(&pick, "%s@%s", change->after->operation, text_string(classes));
	text_addf(&before, "%s: ", change->before->path);
	reason_text(&before, change->before);
	text_addf(&after, "%s: ", change->after->path);
	reason_text(&after, change->after);
	agreement_text(&agreed, change);
	text_addf(out, "|");
	cell(out, &who);
	cell(out, &pick);
	cell(out, &before);
	cell(out, &after);
	cell(out, &agreed);
	text_addf(out, "\n");
}

/* A line of plain words. */
static void paragraph(struct text *out, const char *words)
{
	text_addf(out, "\n");
	markdown_escape(out, words);
	text_addf(out, "\n");
}

static void write_markdown(struct text *out, const struct diff *diff)
{
	CLEANUP_TEXT struct text line = { 0 };
	size_t lines = 0, left = 0;

	text_addf(out, "### quirklab diff: ");
	conclusion_text(&line, diff);
	markdown_escape(out, text_string(&line));
	text_free(&line);
	text_addf(&line, "%s -> %s", diff->base.title, diff->head.title);
	text_addf(out, "\n");
	paragraph(out, text_string(&line));
	if (diff->change_count)
		text_addf(out, "\n| CPU | pick | before | after | expect/ |\n"
			       "|---|---|---|---|---|\n");
	for (size_t i = 0; i < diff->change_count;) {
		CLEANUP_TEXT struct text classes = { 0 };
		size_t count = group(diff, i, &classes);

		if (lines < MARKDOWN_LINES && out->length < MARKDOWN_BYTES) {
			markdown_row(out, &diff->changes[i], &classes);
			lines++;
		} else {
			left++;
		}
		i += count;
	}
	for (size_t i = 0; i < diff->signature_count; i++) {
		CLEANUP_TEXT struct text words = { 0 };

		if (lines == MARKDOWN_LINES || out->length >= MARKDOWN_BYTES) {
			left++;
			continue;
		}
		lines++;
		text_addf(&words, "No table names ");
		range_text(&words, &diff->signatures[i]);
		text_addf(&words, ": ");
		signature_changes(&words, &diff->signatures[i]);
		paragraph(out, text_string(&words));
	}
	for (size_t i = 0; i < diff->surprise_count && out->length < MARKDOWN_BYTES; i++) {
		CLEANUP_TEXT struct text words = { 0 };

		text_addf(&words, "A guest contradicts: %s: %s", diff->surprises[i].name,
			  diff->surprises[i].text);
		paragraph(out, text_string(&words));
	}
	if (left)
		text_addf(out, "\n%zu more are left out here.\n", left);
	text_free(&line);
	boots_text(&line, diff);
	leftover_text(&line, diff);
	if (line.length) {
		line.bytes[--line.length] = '\0';
		for (char *at = line.bytes; *at; at++)
			*at = *at == '\n' ? ' ' : *at;
		paragraph(out, text_string(&line));
	}
}

/* --- JSON --- */

static json_t *string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *json_pick(const struct diff_pick *pick)
{
	json_t *out = json_object();

	json_object_set_new(out, "path", json_string(pick->path));
	json_object_set_new(out, "row", string_or_null(pick->row));
	json_object_set_new(out, "reason", string_or_null(pick->reason));
	return out;
}

static json_t *steppings(unsigned first, unsigned last)
{
	json_t *out = json_array();

	json_array_append_new(out, json_integer(first));
	json_array_append_new(out, json_integer(last));
	return out;
}

static json_t *json_change(const struct diff_change *change)
{
	json_t *out = json_object(), *cpu = json_object();
	char vendor[64];

	text_printable(vendor, sizeof(vendor), change->cpu->vendor, strlen(change->cpu->vendor));
	json_object_set_new(cpu, "name", json_string(change->cpu->name));
	json_object_set_new(cpu, "vendor", json_string(vendor));
	json_object_set_new(cpu, "family", json_integer(change->cpu->family));
	json_object_set_new(cpu, "model", json_integer(change->cpu->model));
	json_object_set_new(cpu, "steppings", steppings(change->first, change->last));
	json_object_set_new(out, "cpu", cpu);
	json_object_set_new(out, "op", json_string(change->after->operation));
	json_object_set_new(out, "class", json_string(change->after->class));
	json_object_set_new(out, "size",
			    change->after->size ? json_integer((json_int_t)change->after->size)
						: json_null());
	json_object_set_new(out, "before", json_pick(change->before));
	json_object_set_new(out, "after", json_pick(change->after));
	json_object_set_new(out, "expected", string_or_null(change->after->expected));
	json_object_set_new(out, "agreement", json_string(agreement_words[change->agreement]));
	return out;
}

static json_t *json_signature(const struct diff_signature *signature)
{
	json_t *out = json_object(), *models = json_array();
	CLEANUP_TEXT struct text picks = { 0 };

	signature_changes(&picks, signature);
	json_array_append_new(models, json_integer(signature->model_first));
	json_array_append_new(models, json_integer(signature->model_last));
	json_object_set_new(out, "vendor", json_string(signature->vendor));
	json_object_set_new(out, "family", json_integer(signature->family));
	json_object_set_new(out, "models", models);
	json_object_set_new(out, "steppings", steppings(signature->first, signature->last));
	json_object_set_new(out, "changes", json_string(text_string(&picks)));
	return out;
}

static json_t *json_boots(const struct diff *diff)
{
	json_t *out = json_object(), *surprises = json_array();

	for (size_t i = 0; i < diff->surprise_count; i++) {
		json_t *surprise = json_object();

		json_object_set_new(surprise, "name", json_string(diff->surprises[i].name));
		json_object_set_new(surprise, "what", json_string(diff->surprises[i].text));
		json_array_append_new(surprises, surprise);
	}
	json_object_set_new(out, "booted", json_integer((json_int_t)diff->booted));
	json_object_set_new(out, "changed", json_integer((json_int_t)diff->boot_changed));
	json_object_set_new(out, "neighbours", json_integer((json_int_t)diff->boot_neighbours));
	json_object_set_new(out, "others", json_integer((json_int_t)diff->boot_sample));
	json_object_set_new(out, "mismatches", json_integer((json_int_t)diff->boot_mismatches));
	json_object_set_new(out, "contradictions", surprises);
	return out;
}

static void write_json(struct text *out, const struct diff *diff)
{
	json_t *all = json_object(), *changes = json_array(), *signatures = json_array();
	char *bytes;

	for (size_t i = 0; i < diff->change_count; i++)
		json_array_append_new(changes, json_change(&diff->changes[i]));
	for (size_t i = 0; i < diff->signature_count; i++)
		json_array_append_new(signatures, json_signature(&diff->signatures[i]));
	json_object_set_new(all, "schema", json_integer(1));
	json_object_set_new(all, "base", json_string(diff->base.title));
	json_object_set_new(all, "head", json_string(diff->head.title));
	json_object_set_new(all, "compared", json_integer((json_int_t)diff->compared));
	json_object_set_new(all, "only_base", json_integer((json_int_t)diff->only_base));
	json_object_set_new(all, "only_head", json_integer((json_int_t)diff->only_head));
	json_object_set_new(all, "not_compared", json_integer((json_int_t)diff->not_compared));
	json_object_set_new(all, "changes", changes);
	json_object_set_new(all, "signatures", signatures);
	json_object_set_new(all, "guests", diff->boots ? json_boots(diff) : json_null());
	json_object_set_new(all, "well", json_boolean(!diff_failed(diff)));
	bytes = json_dumps(all, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	text_addf(out, "%s\n", bytes ? bytes : "{}");
	free(bytes);
	json_decref(all);
}

void diff_write(struct text *out, const struct diff *diff, enum diff_format format)
{
	if (format == DIFF_JSON)
		write_json(out, diff);
	else if (format == DIFF_MARKDOWN)
		write_markdown(out, diff);
	else
		write_text(out, diff);
}
