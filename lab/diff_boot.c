// SPDX-License-Identifier: MIT
/*
 * What replay says, confirmed by guests: HEAD's image for the CPUs that changed, their neighbours
 * and a sample of the others.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/child.h"
#include "lab/diff.h"
#include "lab/records.h"

#define SAMPLE	    16 /* CPUs beside the changed ones and their neighbours */
#define OUTPUT_MOST (16 << 20)

/* --- which CPUs --- */

enum why { NOT, CHANGED, NEIGHBOUR, SAMPLED };

static bool is_changed(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (!strcmp(diff->changes[i].cpu->name, name))
			return true;
	return false;
}

static bool is_other_vendor(const struct cpu *a, const struct cpu *b)
{
	return a->family == b->family && memcmp(a->vendor, b->vendor, 12) != 0;
}

/* The nearest of those that are beside the CPU in this way, or NULL. */
static struct cpu *nearest(const struct cpu_list *cpus, const struct cpu *to,
			   bool (*beside)(const struct cpu *cpu, const struct cpu *to))
{
	struct cpu *best = NULL;
	int best_distance = 0;

	for (size_t i = 0; i < cpus->count; i++) {
		struct cpu *cpu = &cpus->cpus[i];
		int distance = abs((int)cpu->model - (int)to->model);

		if (beside(cpu, to) && (!best || distance < best_distance)) {
			best = cpu;
			best_distance = distance;
		}
	}
	return best;
}

static bool is_before(const struct cpu *cpu, const struct cpu *to)
{
	return cpu->family == to->family && cpu->model < to->model &&
	       !memcmp(cpu->vendor, to->vendor, 12);
}

static bool is_after(const struct cpu *cpu, const struct cpu *to)
{
	return cpu->family == to->family && cpu->model > to->model &&
	       !memcmp(cpu->vendor, to->vendor, 12);
}

static void choose_neighbours(const struct cpu_list *cpus, enum why *why, const struct cpu *of)
{
	struct cpu *const found[] = { nearest(cpus, of, is_before), nearest(cpus, of, is_after),
				      nearest(cpus, of, is_other_vendor) };

	for (size_t i = 0; i < sizeof(found) / sizeof(*found); i++)
		if (found[i] && why[found[i] - cpus->cpus] == NOT)
			why[found[i] - cpus->cpus] = NEIGHBOUR;
}

/* Evenly over the rest, so that the same CPUs are taken each time. */
static void choose_sample(const struct cpu_list *cpus, enum why *why, bool all)
{
	size_t rest = 0, seen = 0;

	for (size_t i = 0; i < cpus->count; i++)
		rest += why[i] == NOT;
	for (size_t i = 0; i < cpus->count; i++) {
		if (why[i] != NOT)
			continue;
		if (all || rest <= SAMPLE || seen * SAMPLE / rest != (seen + 1) * SAMPLE / rest)
			why[i] = SAMPLED;
		seen++;
	}
}

static size_t choose(struct diff *diff, const struct cpu_list *cpus, const char **names, bool all)
{
	CLEANUP_FREE enum why *why = xcalloc(cpus->count, sizeof(*why));
	size_t count = 0;

	for (size_t i = 0; i < cpus->count; i++)
		if (is_changed(diff, cpus->cpus[i].name))
			why[i] = CHANGED;
	for (size_t i = 0; i < cpus->count; i++)
		if (why[i] == CHANGED)
			choose_neighbours(cpus, why, &cpus->cpus[i]);
	choose_sample(cpus, why, all);
	for (size_t i = 0; i < cpus->count; i++) {
		diff->boot_changed += why[i] == CHANGED;
		diff->boot_neighbours += why[i] == NEIGHBOUR;
		diff->boot_sample += why[i] == SAMPLED;
		if (why[i] != NOT)
			names[count++] = cpus->cpus[i].name;
	}
	return count;
}

static bool same_bits(const struct cpu *a, const struct cpu *b)
{
	return !memcmp(a->vendor, b->vendor, 12) && !memcmp(&a->on, &b->on, sizeof(a->on)) &&
	       !memcmp(&a->known, &b->known, sizeof(a->known));
}

size_t diff_sample(const struct cpu_list *cpus, const char **names)
{
	CLEANUP_FREE size_t *taken = xcalloc(cpus->count, sizeof(*taken));
	size_t count = 0;

	for (size_t i = 0; i < cpus->count; i++) {
		size_t other = 0;

		while (other < count && !same_bits(&cpus->cpus[taken[other]], &cpus->cpus[i]))
			other++;
		if (other < count)
			continue;
		names[count] = cpus->cpus[i].name;
		taken[count++] = i;
	}
	return count;
}

/* --- running --- */

int diff_run(const struct lab *lab, const char *folder, const char *const options[],
	     const char *const names[], size_t name_count, struct error *err)
{
	CLEANUP_FREE const char **argv =
		xcalloc(2 * lab->uri_count + name_count + 32, sizeof(*argv));
	CLEANUP_FREE char *results = xasprintf("%s/results", folder);
	CLEANUP_FREE char *report = xasprintf("jsonl:%s/report", folder);
	struct child child;
	char complaint[512];
	size_t count = 0;
	int status;

	argv[count++] = "/proc/self/exe";
	for (size_t i = 0; i < lab->uri_count; i++) {
		argv[count++] = "-c";
		argv[count++] = lab->uris[i];
	}
	argv[count++] = "run";
	argv[count++] = "--results";
	argv[count++] = results;
	argv[count++] = "--output";
	argv[count++] = report;
	/* All of them in this run, whatever an array job's environment says. */
	argv[count++] = "--shard";
	argv[count++] = "1/1";
	for (size_t i = 0; options[i]; i++)
		argv[count++] = options[i];
	for (size_t i = 0; i < name_count; i++)
		argv[count++] = names[i];
	if (child_start(&child, argv, NULL, NULL, err) < 0)
		return -1;
	status = child_wait(&child);
	child_complaint(&child, complaint, sizeof(complaint));
	child_close(&child);
	if (status == STATUS_OK || status == STATUS_FAIL)
		return 0;
	/* A cell that is error is a record; without a plan nothing ran. */
	if (status == STATUS_LAB && records_are_at(results) && !*complaint)
		return 0;
	return error_set(err, status == STATUS_USAGE ? ERROR_INPUT : ERROR_LAB, "the run: %s",
			 *complaint ? complaint : "it was interrupted");
}

/* --- what the guests say --- */

struct witness {
	struct diff *diff;
	size_t count;
};

static void __attribute__((format(printf, 3, 4)))
surprise(struct diff *diff, const char *name, const char *format, ...)
{
	struct diff_surprise *more;
	char text[512], inert[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	diff->surprises =
		xrealloc(diff->surprises, (diff->surprise_count + 1) * sizeof(*diff->surprises));
	more = &diff->surprises[diff->surprise_count++];
	snprintf(more->name, sizeof(more->name), "%s", name);
	more->text = xstrdup(text_printable(inert, sizeof(inert), text, strlen(text)));
}

static const struct diff_answer *answer_of(const struct diff *diff,
					   const struct cell_result *result)
{
	for (size_t i = 0; i < diff->head.count; i++) {
		const struct diff_cpu *cpu = &diff->head.cpus[i];

		for (size_t j = 0; j < cpu->count && !strcmp(cpu->name, result->name); j++)
			if (result->stepping >= cpu->answers[j].first &&
			    result->stepping <= cpu->answers[j].last)
				return &cpu->answers[j];
	}
	return NULL;
}

static void judge_pick(struct diff *diff, const struct cell_result *result, const struct pick *pick,
		       const struct diff_answer *answer)
{
	for (size_t i = 0; i < answer->count; i++) {
		const struct diff_pick *replayed = &answer->picks[i];

		if (strcmp(replayed->operation, pick->operation) ||
		    strcmp(replayed->class, pick->class))
			continue;
		if (strcmp(replayed->path, pick->says))
			surprise(diff, result->name, "%s@%s: %s in a guest, %s on the host",
				 pick->operation, pick->class, pick->says, replayed->path);
		else if (!record_is_true(pick))
			surprise(diff, result->name, "%s@%s: says %s, does %s", pick->operation,
				 pick->class, pick->says, *pick->does ? pick->does : "nothing");
	}
}

static int each_record(void *context, const struct cell_result *result, struct error *err)
{
	struct witness *witness = context;
	struct diff *diff = witness->diff;
	const struct diff_answer *answer = answer_of(diff, result);

	(void)err;
	witness->count++;
	if (result->verdict == VERDICT_HUNG || result->verdict == VERDICT_CRASHED ||
	    result->verdict == VERDICT_ERROR)
		surprise(diff, result->name, "%s: %s", verdict_name(result->verdict),
			 result->reason);
	diff->boot_mismatches += result->verdict == VERDICT_MISMATCH;
	for (size_t i = 0; answer && i < result->pick_count; i++)
		if (result->picks[i].verdict != VERDICT_MISMATCH)
			judge_pick(diff, result, &result->picks[i], answer);
	return 0;
}

int diff_boot(struct diff *diff, const struct lab *lab, const char *folder,
	      const struct cpu_list *cpus, bool all, struct error *err)
{
	CLEANUP_FREE const char **names = xcalloc(cpus->count, sizeof(*names));
	CLEANUP_FREE char *image = side_image(&diff->head);
	CLEANUP_FREE char *results = xasprintf("%s/results", folder);
	const char *const options[] = { "--image", "bare", "--kernel", image, NULL };
	struct witness witness = { .diff = diff };
	size_t count = choose(diff, cpus, names, all);

	if (diff_run(lab, folder, options, names, count, err) < 0 ||
	    records_read(results, each_record, &witness, err) < 0)
		return -1;
	diff->booted = witness.count;
	return 0;
}
