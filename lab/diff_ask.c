// SPDX-License-Identifier: MIT
/* The dispatchers of trees asked: a request for all CPUs and all signatures, and what is answered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/judge.h"
#include "harness/util/cleanup.h"
#include "lab/child.h"
#include "lab/diff.h"

#define ANSWER_MOST (256 << 20)
#define PICKS_MAX   64

const char *const sweep_vendors[SWEEP_VENDORS] = { "GenuineIntel", "AuthenticAMD", "HygonGenuine",
						   "CentaurHauls", "  Shanghai  " };

/* --- the request --- */

static void ask_leaves(struct text *out, const struct cpu *cpu)
{
	struct cpuid_dump dump = { 0 };

	cpu_to_dump(cpu, &dump);
	for (size_t i = 0; i < dump.count; i++) {
		const struct cpuid_leaf *leaf = &dump.leaves[i];

		text_addf(out, "leaf %x %x %x %x %x %x\n", leaf->leaf, leaf->subleaf,
			  leaf->reg[CPUID_EAX], leaf->reg[CPUID_EBX], leaf->reg[CPUID_ECX],
			  leaf->reg[CPUID_EDX]);
	}
	cpuid_free(&dump);
	text_addf(out, "end\n");
}

static void put_bit(struct cpu *cpu, const char *name, bool on)
{
	feature_put(&cpu->known, feature_find(name), true);
	feature_put(&cpu->on, feature_find(name), on);
}

/* CLZERO stays off: it would hide what a quirk does to a clear. */
static void ask_sweep(struct text *out, size_t sweep)
{
	static const char *const bits[] = { "erms", "fsrm", "fsrs", "clflushopt", "clwb" };
	struct cpu cpu;

	cpu_init(&cpu);
	memcpy(cpu.vendor, sweep_vendors[sweep / 2], 12);
	cpu.identity_known = true;
	cpu.line_bytes = 64;
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		put_bit(&cpu, bits[i], sweep & 1);
	text_addf(out, "sweep 0 %u\n", SWEEP_FAMILIES - 1);
	ask_leaves(out, &cpu);
	cpu_free(&cpu);
}

static void make_request(struct text *out, const struct cpu_list *cpus)
{
	for (size_t i = 0; i < cpus->count; i++) {
		const struct cpu *cpu = &cpus->cpus[i];
		unsigned last =
			cpu->stepping_max > cpu->stepping ? cpu->stepping_max : cpu->stepping;

		text_addf(out, "cpu %u %u\n", cpu->stepping, last);
		ask_leaves(out, cpu);
	}
	for (size_t i = 0; i < SWEEPS; i++)
		ask_sweep(out, i);
}

/* --- the answer --- */

/* A tree's dispatcher may print anything: every line is checked. */
struct reader {
	struct diff *diff;
	struct diff_side *side;
	char *at; /* the next line */
	struct error *err;
};

static int refuse(struct reader *reader, const char *line)
{
	char inert[128];

	return error_set(reader->err, ERROR_INPUT, "%s: its dispatcher's answer is none: '%s'",
			 reader->side->title,
			 text_printable(inert, sizeof(inert), line, strlen(line)));
}

static char *next_line(struct reader *reader)
{
	char *line = reader->at, *end = strchr(line, '\n');

	if (end)
		*end = '\0';
	reader->at = end ? end + 1 : line + strlen(line);
	return line;
}

static bool begins(const struct reader *reader, const char *word)
{
	return !strncmp(reader->at, word, strlen(word)) && reader->at[strlen(word)] == ' ';
}

static const char *keep(struct reader *reader, const char *bytes)
{
	return strings_keep(&reader->diff->strings, bytes, strlen(bytes));
}

/* "pick OPERATION CLASS SIZE PATH ROW", then "why REASON". */
static int read_pick(struct reader *reader, struct diff_answer *answer)
{
	char *line = next_line(reader), *save = NULL;
	char *words[6];
	size_t count = 0;
	struct diff_pick pick = { 0 };

	for (char *word = strtok_r(line, " ", &save); word && count < 6;
	     word = strtok_r(NULL, " ", &save))
		words[count++] = word;
	if (count != 6 || !begins(reader, "why") || answer->count == PICKS_MAX)
		return refuse(reader, reader->at);
	pick.operation = keep(reader, words[1]);
	pick.class = keep(reader, words[2]);
	pick.size = strtoull(words[3], NULL, 10);
	pick.path = keep(reader, words[4]);
	pick.row = strcmp(words[5], "-") ? keep(reader, words[5]) : NULL;
	pick.reason = keep(reader, next_line(reader) + strlen("why "));
	if (answer->count == answer->room) {
		answer->room = answer->room ? 2 * answer->room : 16;
		answer->picks = xrealloc(answer->picks, answer->room * sizeof(*answer->picks));
	}
	answer->picks[answer->count++] = pick;
	return 0;
}

static int read_picks(struct reader *reader, struct diff_answer *answer)
{
	while (begins(reader, "pick"))
		if (read_pick(reader, answer) < 0)
			return -1;
	return 0;
}

static void put_expected(struct reader *reader, struct diff_answer *answer, const struct cpu *cpu,
			 const struct expectations *expectations)
{
	for (size_t i = 0; i < answer->count && expectations; i++) {
		struct diff_pick *pick = &answer->picks[i];
		const char *path =
			expectations_pick(expectations, cpu, pick->operation, pick->class);

		pick->expected = path ? keep(reader, path) : NULL;
	}
}

static int read_cpu(struct reader *reader, struct diff_cpu *out, const struct cpu *cpu,
		    const struct expectations *expectations)
{
	snprintf(out->name, sizeof(out->name), "%s", cpu->name);
	memcpy(out->vendor, cpu->vendor, sizeof(out->vendor));
	out->family = cpu->family;
	out->model = cpu->model;
	while (begins(reader, "run")) {
		struct diff_answer *answer;
		char *line = next_line(reader);

		out->answers = xrealloc(out->answers, (out->count + 1) * sizeof(*out->answers));
		answer = &out->answers[out->count++];
		*answer = (struct diff_answer){ 0 };
		if (sscanf(line, "run %u %u", &answer->first, &answer->last) != 2 ||
		    answer->last > 15 || answer->first > answer->last)
			return refuse(reader, line);
		if (read_picks(reader, answer) < 0)
			return -1;
		put_expected(reader, answer, cpu, expectations);
	}
	return strcmp(next_line(reader), "done") ? refuse(reader, reader->at) : 0;
}

static int read_sweep(struct reader *reader, struct diff_sweep *out)
{
	while (begins(reader, "at")) {
		unsigned family, model, stepping;
		char *line = next_line(reader);
		struct diff_jump *jump;

		if (sscanf(line, "at %u %u %u", &family, &model, &stepping) != 3 ||
		    family >= SWEEP_FAMILIES || model > 255 || stepping > 15)
			return refuse(reader, line);
		out->jumps = xrealloc(out->jumps, (out->count + 1) * sizeof(*out->jumps));
		jump = &out->jumps[out->count++];
		*jump = (struct diff_jump){ .at = SWEEP_SIGNATURE(family, model, stepping) };
		if (out->count > 1 && jump->at <= jump[-1].at)
			return refuse(reader, line);
		if (read_picks(reader, &jump->answer) < 0)
			return -1;
	}
	return strcmp(next_line(reader), "done") ? refuse(reader, reader->at) : 0;
}

static int read_answer(struct diff *diff, struct diff_side *side, char *bytes,
		       const struct cpu_list *cpus, size_t agreed, struct error *err)
{
	struct reader reader = { .diff = diff, .side = side, .at = bytes, .err = err };
	struct expectations *expectations = NULL;
	int result = 0;

	/* The data folder is HEAD's by now. */
	if (side == &diff->head && expectations_read(&expectations, "dispatch", NULL, err) < 0)
		return error_prefix(err, "%s", side->title);
	side->cpus = xcalloc(cpus->count, sizeof(*side->cpus));
	for (size_t i = 0; i < cpus->count && result == 0; i++) {
		struct diff_cpu *cpu = &side->cpus[side->count++];

		cpu->agreed_on = i < agreed;
		result = read_cpu(&reader, cpu, &cpus->cpus[i], expectations);
	}
	for (size_t i = 0; i < SWEEPS && result == 0; i++)
		result = read_sweep(&reader, &side->sweeps[i]);
	expectations_free(expectations);
	return result;
}

/* --- both sides at once --- */

int diff_ask(struct diff *diff, const struct cpu_list *cpus, size_t agreed, struct error *err)
{
	struct diff_side *const sides[] = { &diff->base, &diff->head };
	CLEANUP_TEXT struct text request = { 0 };
	struct child children[2];
	bool running[2] = { false, false };
	int result = 0;

	make_request(&request, cpus);
	for (size_t i = 0; i < 2 && result == 0; i++) {
		CLEANUP_FREE char *chooser = NULL;

		if (sides[i]->kind != SIDE_TREE)
			continue;
		chooser = side_chooser(sides[i]);
		result = child_start(&children[i], (const char *const[]){ chooser, NULL }, NULL,
				     &request, err);
		running[i] = result == 0;
	}
	for (size_t i = 0; i < 2; i++) {
		CLEANUP_TEXT struct text out = { 0 };
		int status;

		if (!running[i])
			continue;
		status = child_wait(&children[i]);
		if (result == 0 && status)
			result = error_set(err, ERROR_INPUT,
					   "%s: its dispatcher, asked on this host, ends with "
					   "status %d",
					   sides[i]->title, status);
		if (result == 0)
			result = child_output(&children[i], &out, ANSWER_MOST, err);
		if (result == 0 && !out.length)
			result = error_set(err, ERROR_INPUT, "%s: its dispatcher says nothing",
					   sides[i]->title);
		if (result == 0)
			result = read_answer(diff, sides[i], out.bytes, cpus, agreed, err);
		child_close(&children[i]);
	}
	return result;
}
