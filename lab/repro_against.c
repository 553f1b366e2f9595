// SPDX-License-Identifier: MIT
/* `quirklab repro A --against B --op OP`: what makes A's pick differ from B's; then a guest is
 * asked. */
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/bisect.h"
#include "lab/repro.h"

/* The question: one pick of the two CPUs. */
struct question {
	const struct cpu *a, *b;
	const struct dispatch_class *class;
	size_t index; /* of the class */
	struct flip flips[FLIPS_MAX];
	size_t flip_count;
	enum dispatch_path wanted;
	struct host_choice *choice; /* scratch */
};

static struct cpu flipped(const struct question *question, uint32_t set)
{
	struct cpu cpu = *question->a; /* borrows what it points to */

	flips_apply(&cpu, question->b, question->flips, set);
	return cpu;
}

static bool gives_the_path(void *context, uint32_t set)
{
	struct question *question = context;
	struct cpu cpu = flipped(question, set);

	host_choose(question->choice, &cpu, NULL);
	return question->choice->picks[question->index].choice.path == question->wanted;
}

/* The flipped CPU in a guest: whether it says and does what replay says. */
static int confirm(const struct repro_against *against, const struct question *question,
		   uint32_t set, enum verdict *verdict, struct error *err)
{
	struct repro_target target = *against->a; /* borrows all of it */
	CLEANUP_FREE struct cell_result *result = xcalloc(1, sizeof(*result));
	CLEANUP_TEXT struct text notes = { 0 };
	struct repro_expected expected = { .source = EXPECTED_REPLAY };
	struct cpuid_dump seen = { 0 };
	struct realised realised;
	const struct pick *pick = NULL;
	const char *operation = dispatch_operation_name(question->class->operation);

	target.cpu = flipped(question, set);
	expected.given.list[expected.given.count++] =
		(struct given_pick){ operation, question->class->name,
				     dispatch_path_name(question->wanted) };
	if (realise_dump(&realised, &target.cpu, &target.dump.cpus[0], REALISE_BARE,
			 &against->guest->hypervisor, &notes, err) < 0)
		return -1;
	repro_boot(result, &seen, against->guest, &target.cpu, &realised, against->expectations,
		   &expected);
	for (size_t i = 0; i < result->pick_count; i++)
		if (!strcmp(result->picks[i].operation, operation) &&
		    !strcmp(result->picks[i].class, question->class->name))
			pick = &result->picks[i];
	*verdict = pick ? pick->verdict : result->verdict;
	if (!pick)
		printf("  booted: %s: %s\n", verdict_name(result->verdict), result->reason);
	else if (pick->verdict == VERDICT_PASS)
		printf("  booted: says %s, does %s: confirmed\n", pick->says, pick->does);
	else
		printf("  booted: says %s, does %s: not confirmed, %s\n", pick->says, pick->does,
		       pick->why);
	realised_free(&realised);
	cell_result_free(result);
	cpuid_free(&seen);
	return 0;
}

static void print_side(const struct cpu *cpu, const struct dispatch_choice *choice)
{
	printf("  %-32s %s (%s)%s%s\n", cpu->name, dispatch_path_name(choice->path), choice->reason,
	       choice->row ? ", row " : "", choice->row ? choice->row->name : "");
}

static int answer(const struct repro_against *against, struct question *question,
		  enum verdict *verdict, struct error *err)
{
	CLEANUP_TEXT struct text line = { 0 };
	uint32_t sets[FLIP_SETS_MAX];
	size_t count = flips_search(sets, question->flip_count, gives_the_path, question);

	if (!count) {
		printf("  none of the %zu differences in what a pick depends on explains it\n",
		       question->flip_count);
		*verdict = VERDICT_FAIL;
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		text_addf(&line, "  %s ", i ? "or     " : "because");
		flips_write(&line, question->a, question->b, question->flips, sets[i]);
		text_addf(&line, "\n");
	}
	printf("%s  (of %zu differences in what a pick depends on)\n", text_string(&line),
	       question->flip_count);
	fflush(stdout);
	return against->guest ? confirm(against, question, sets[0], verdict, err) : 0;
}

static bool is_asked(const struct repro_against *against, const struct dispatch_class *class)
{
	const char *name = dispatch_operation_name(class->operation);
	size_t length = strcspn(against->operation, "@");

	return strlen(name) == length && !strncmp(name, against->operation, length) &&
	       (!against->operation[length] ||
		!strcmp(class->name, against->operation + length + 1));
}

int repro_against(const struct repro_against *against, enum verdict *worst, struct error *err)
{
	CLEANUP_FREE struct host_choice *choices = xcalloc(3, sizeof(*choices));
	struct question question = {
		.a = &against->a->cpu,
		.b = &against->b->cpu,
		.choice = &choices[2],
	};

	*worst = VERDICT_PASS;
	question.flip_count = flips_between(question.flips, question.a, question.b);
	host_choose(&choices[0], question.a, NULL);
	host_choose(&choices[1], question.b, NULL);
	for (size_t i = 0; i < choices[0].pick_count; i++) {
		const struct host_pick *a = &choices[0].picks[i], *b = &choices[1].picks[i];
		enum verdict verdict = VERDICT_PASS;

		if (!is_asked(against, a->class))
			continue;
		printf("%s@%s\n", dispatch_operation_name(a->class->operation), a->class->name);
		if (a->choice.path == b->choice.path) {
			printf("  both: %s (%s)\n", dispatch_path_name(a->choice.path),
			       a->choice.reason);
			continue;
		}
		print_side(question.a, &a->choice);
		print_side(question.b, &b->choice);
		question.class = a->class;
		question.index = i;
		question.wanted = b->choice.path;
		if (answer(against, &question, &verdict, err) < 0)
			return -1;
		if (*worst == VERDICT_PASS || verdict == VERDICT_FAIL)
			*worst = verdict;
	}
	return 0;
}

int repro_check_operation(const char *operation, struct error *err)
{
	const struct repro_against against = { .operation = operation };
	CLEANUP_TEXT struct text names = { 0 };
	int last = -1;

	for (size_t i = 0; i < dispatch_class_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];

		if (is_asked(&against, class))
			return 0;
		if ((int)class->operation != last)
			text_addf(&names, "%s%s@%s", last < 0 ? "" : " ",
				  dispatch_operation_name(class->operation), class->name);
		else
			text_addf(&names, "|%s", class->name);
		last = (int)class->operation;
	}
	return error_set(err, ERROR_INPUT, "--op '%s': expected one of %s", operation,
			 text_string(&names));
}
