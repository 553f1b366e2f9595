// SPDX-License-Identifier: MIT
/* Two filled sides: which CPUs take another path, and which signatures that no table names. */
#include <stdlib.h>
#include <string.h>

#include "lab/diff.h"

#define STEPPINGS 16

static const struct diff_pick *find_pick(const struct diff_answer *answer,
					 const struct diff_pick *like, size_t hint)
{
	if (hint < answer->count && answer->picks[hint].operation == like->operation &&
	    answer->picks[hint].class == like->class)
		return &answer->picks[hint];
	for (size_t i = 0; i < answer->count; i++)
		if (answer->picks[i].operation == like->operation &&
		    answer->picks[i].class == like->class)
			return &answer->picks[i];
	return NULL;
}

/* --- CPUs --- */

/* Two trees were asked about one list; a name is looked for elsewhere. */
static const struct diff_cpu *find_cpu(const struct diff *diff, size_t head_index)
{
	const struct diff_cpu *wanted = &diff->head.cpus[head_index];

	if (diff->base.kind == SIDE_TREE && diff->head.kind == SIDE_TREE)
		return &diff->base.cpus[head_index];
	for (size_t i = 0; i < diff->base.count; i++) {
		const struct diff_cpu *cpu = &diff->base.cpus[i];

		if (!strcmp(cpu->name, wanted->name) && !memcmp(cpu->vendor, wanted->vendor, 12) &&
		    cpu->family == wanted->family && cpu->model == wanted->model)
			return cpu;
	}
	return NULL;
}

static enum agreement agreement_of(const struct diff_cpu *cpu, const struct diff_pick *after)
{
	if (after->expected)
		return after->expected == after->path ? AGREED : NOT_AGREED;
	return cpu->agreed_on ? NOBODY : NOT_ASKED;
}

static bool same_change(const struct diff_change *change, const struct diff_cpu *cpu,
			const struct diff_pick *before, const struct diff_pick *after)
{
	return change->cpu == cpu && change->before->operation == before->operation &&
	       change->before->class == before->class && change->before->path == before->path &&
	       change->after->path == after->path && change->before->row == before->row &&
	       change->after->row == after->row;
}

static void add_change(struct diff *diff, const struct diff_cpu *cpu, unsigned first, unsigned last,
		       const struct diff_pick *before, const struct diff_pick *after)
{
	for (size_t i = diff->change_count; i && diff->changes[i - 1].cpu == cpu; i--) {
		struct diff_change *earlier = &diff->changes[i - 1];

		if (earlier->last + 1 == first && same_change(earlier, cpu, before, after)) {
			earlier->last = last;
			return;
		}
	}
	if (diff->change_count == diff->change_room) {
		diff->change_room = diff->change_room ? 2 * diff->change_room : 64;
		diff->changes = xrealloc(diff->changes, diff->change_room * sizeof(*diff->changes));
	}
	diff->changes[diff->change_count++] = (struct diff_change){
		.cpu = cpu,
		.first = first,
		.last = last,
		.before = before,
		.after = after,
		.agreement = agreement_of(cpu, after),
	};
}

static void compare_answers(struct diff *diff, const struct diff_cpu *cpu, unsigned first,
			    unsigned last, const struct diff_answer *base,
			    const struct diff_answer *head)
{
	for (size_t i = 0; i < head->count; i++) {
		const struct diff_pick *after = &head->picks[i];
		const struct diff_pick *before = find_pick(base, after, i);

		if (!before)
			continue;
		if (before->mismatch != after->mismatch)
			diff->not_compared++;
		else if (before->path != after->path)
			add_change(diff, cpu, first, last, before, after);
	}
}

/* Of a record there is one stepping: two records of a CPU may show different ones. */
static void compare_cpu(struct diff *diff, const struct diff_cpu *base, const struct diff_cpu *head)
{
	const bool trees = diff->base.kind == SIDE_TREE && diff->head.kind == SIDE_TREE;

	if (base->dead || head->dead) {
		for (size_t i = 0; i < head->count; i++)
			diff->not_compared += head->answers[i].count;
		return;
	}
	for (size_t i = 0; i < head->count; i++) {
		for (size_t j = 0; j < base->count; j++) {
			const struct diff_answer *before = &base->answers[j],
						 *after = &head->answers[i];
			unsigned first =
				before->first > after->first ? before->first : after->first;
			unsigned last = before->last < after->last ? before->last : after->last;

			if (first <= last)
				compare_answers(diff, head, first, last, before, after);
			else if (!trees && base->count == 1 && head->count == 1)
				compare_answers(diff, head, after->first, after->last, before,
						after);
		}
	}
}

static int compare_changes(const void *left, const void *right)
{
	const struct diff_change *a = left, *b = right;
	int order = strcmp(a->cpu->vendor, b->cpu->vendor);

	if (order)
		return order;
	if (a->cpu->family != b->cpu->family)
		return a->cpu->family < b->cpu->family ? -1 : 1;
	if (a->cpu->model != b->cpu->model)
		return a->cpu->model < b->cpu->model ? -1 : 1;
	order = strcmp(a->cpu->name, b->cpu->name);
	if (order)
		return order;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	/* Both are of one list of picks, or of lists in one order. */
	return a->after < b->after ? -1 : a->after > b->after ? 1 : 0;
}

static void compare_cpus(struct diff *diff)
{
	for (size_t i = 0; i < diff->head.count; i++) {
		const struct diff_cpu *base = find_cpu(diff, i);

		if (!base) {
			diff->only_head++;
			continue;
		}
		diff->compared++;
		compare_cpu(diff, base, &diff->head.cpus[i]);
	}
	diff->only_base = diff->base.count - diff->compared;
	if (diff->change_count)
		qsort(diff->changes, diff->change_count, sizeof(*diff->changes), compare_changes);
	for (size_t i = 0; i < diff->change_count; i++)
		diff->changed_cpus += !i || diff->changes[i].cpu != diff->changes[i - 1].cpu;
}

/* --- signatures --- */

static bool same_paths(const struct diff_answer *base, const struct diff_answer *head)
{
	for (size_t i = 0; i < head->count; i++) {
		const struct diff_pick *before = find_pick(base, &head->picks[i], i);

		if (before && before->path != head->picks[i].path)
			return false;
	}
	return true;
}

static bool is_named(const struct diff *diff, const char *vendor, unsigned family, unsigned model)
{
	for (size_t i = 0; i < diff->head.count; i++) {
		const struct diff_cpu *cpu = &diff->head.cpus[i];

		if (cpu->agreed_on && cpu->family == family && cpu->model == model &&
		    !memcmp(cpu->vendor, vendor, 12))
			return true;
	}
	return false;
}

/* Neighbours that get the same are one entry; what the other set of bits showed is not said again.
 */
static void add_signature(struct diff *diff, const struct diff_signature *more)
{
	struct diff_signature *last =
		diff->signature_count ? &diff->signatures[diff->signature_count - 1] : NULL;

	for (size_t i = 0; i < diff->signature_count; i++) {
		const struct diff_signature *other = &diff->signatures[i];

		if (other->vendor == more->vendor && other->family == more->family &&
		    other->model_first <= more->model_first &&
		    other->model_last >= more->model_last && other->first <= more->first &&
		    other->last >= more->last)
			return;
	}
	if (last && last->vendor == more->vendor && last->family == more->family &&
	    last->model_last + 1 == more->model_first && last->first == more->first &&
	    last->last == more->last && same_paths(last->before, more->before) &&
	    same_paths(last->after, more->after)) {
		last->model_last = more->model_last;
		return;
	}
	diff->signatures =
		xrealloc(diff->signatures, (diff->signature_count + 1) * sizeof(*diff->signatures));
	diff->signatures[diff->signature_count++] = *more;
}

/* All signatures from..to (without it) get the one and then the other. */
static void add_range(struct diff *diff, const char *vendor, uint32_t from, uint32_t to,
		      const struct diff_answer *before, const struct diff_answer *after)
{
	for (uint32_t at = from, next; at < to; at = next) {
		struct diff_signature more = {
			.vendor = vendor,
			.family = at >> 12,
			.model_first = at >> 4 & 0xFF,
			.model_last = at >> 4 & 0xFF,
			.first = at & 0xF,
			.last = STEPPINGS - 1,
			.before = before,
			.after = after,
		};

		next = (at | 0xF) + 1;
		if (next > to) {
			more.last = (to - 1) & 0xF;
			next = to;
		}
		/* Below family 6 there is no such model. */
		if (more.family < 6 && more.model_first > 15)
			continue;
		if (!is_named(diff, vendor, more.family, more.model_first))
			add_signature(diff, &more);
	}
}

static void compare_sweep(struct diff *diff, size_t sweep)
{
	const struct diff_sweep *base = &diff->base.sweeps[sweep],
				*head = &diff->head.sweeps[sweep];
	size_t b = 0, h = 0;

	while (b < base->count && h < head->count) {
		uint32_t end = SWEEP_SIGNATURE(SWEEP_FAMILIES, 0, 0);
		uint32_t base_end = b + 1 < base->count ? base->jumps[b + 1].at : end;
		uint32_t head_end = h + 1 < head->count ? head->jumps[h + 1].at : end;
		uint32_t from = base->jumps[b].at > head->jumps[h].at ? base->jumps[b].at
								      : head->jumps[h].at;
		uint32_t to = base_end < head_end ? base_end : head_end;

		if (!same_paths(&base->jumps[b].answer, &head->jumps[h].answer))
			add_range(diff, sweep_vendors[sweep / 2], from, to, &base->jumps[b].answer,
				  &head->jumps[h].answer);
		b += base_end == to;
		h += head_end == to;
	}
}

void diff_compare(struct diff *diff)
{
	compare_cpus(diff);
	for (size_t i = 0; i < SWEEPS; i++)
		compare_sweep(diff, i);
}

bool diff_failed(const struct diff *diff)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (diff->changes[i].agreement == NOT_AGREED ||
		    diff->changes[i].agreement == NOBODY)
			return true;
	return diff->signature_count || diff->surprise_count;
}

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->surprise_count; i++)
		free(diff->surprises[i].text);
	free(diff->surprises);
	free(diff->changes);
	free(diff->signatures);
	side_free(&diff->base);
	side_free(&diff->head);
	strings_free(&diff->strings);
}
