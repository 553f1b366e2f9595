/* SPDX-License-Identifier: MIT */
/*
 * From the instructions that a call executed to what it did. The path is the class of its main
 * store, the one that stored the most bytes; the rest is head, tail, flushes and fences. Nothing is
 * known of addresses: order is the order in which each instruction was first executed.
 */
#include "harness/judge/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "harness/judge/instruction.h"

#define INSTRUCTION_BYTES_MAX 15
#define CLASSES_MAX	      16
#define LINE_BYTES	      64 /* what one flush reaches */

#define REP_ROUNDS 4	      /* a rep that went on for so many rounds is no head or tail, */
#define REP_BYTES  (1u << 20) /* and stores more than any loop that was followed for 7 */

struct class
{
	char name[32];
	bool cached;
	unsigned bytes; /* seen to be stored */
};

struct step {
	struct act act;
	uint32_t offset;
	unsigned rounds;
	bool copies; /* a cached store in one loop with a flush, or that flush */
	char class[32];
};

struct analysis {
	struct step steps[REPORT_TRACE_STEPS_MAX];
	size_t count;
	struct class classes[CLASSES_MAX];
	size_t class_count;
	const struct class *main; /* NULL: nothing was stored */
	unsigned unread;
};

static void decode_steps(struct analysis *out, const struct observation *observation,
			 const struct observed_trace *trace)
{
	struct stack_registers stack = STACK_REGISTERS_INIT;

	for (unsigned i = 0; i < trace->step_count; i++) {
		const struct observed_step *from = &trace->steps[i];
		struct step *step = &out->steps[out->count++];
		size_t length = 0;

		*step = (struct step){ .offset = from->offset, .act.kind = ACT_UNKNOWN };
		step->rounds = from->rounds ? from->rounds : 1;
		while (from->offset != REPORT_NO_CODE && length < INSTRUCTION_BYTES_MAX &&
		       from->offset + length < REPORT_CODE_MAX &&
		       observation->code_known[from->offset + length])
			length++;
		if (length)
			instruction_decode(&step->act, observation->code + from->offset, length,
					   from->offset, &stack);
		out->unread += step->act.kind == ACT_UNKNOWN;
	}
}

/* A flush by a register that only loads go by is one of the source: it writes nothing back. */
static void drop_flushes_of_source(struct analysis *analysis)
{
	unsigned loads = 0, stores = 0;

	for (size_t i = 0; i < analysis->count; i++) {
		loads |= analysis->steps[i].act.loads_by;
		stores |= analysis->steps[i].act.stores_by;
	}
	for (size_t i = 0; i < analysis->count; i++) {
		struct act *act = &analysis->steps[i].act;

		if (act->kind == ACT_FLUSH && act->flush_by & loads & ~stores)
			act->kind = ACT_NONE;
	}
}

/* Marks the flush and the cached stores of a loop that has both: `jump` closes it. A round that
 * stores more than its flushes reach leaves lines in the cache: that is no copy that flushes. */
static void mark_copy(struct analysis *analysis, const struct step *jump)
{
	const struct step *flush = NULL;
	unsigned stored = 0, flushed = 0;
	bool stores = false;

	for (size_t i = 0; i < analysis->count; i++) {
		const struct step *step = &analysis->steps[i];

		if (step->offset < jump->act.target || step->offset > jump->offset ||
		    step->rounds < 2)
			continue;
		if (step->act.kind == ACT_FLUSH) {
			flush = step;
			flushed += LINE_BYTES;
		}
		if (step->act.kind == ACT_STORE && step->act.cached) {
			stores = true;
			stored += step->act.width;
		}
	}
	if (stored > flushed)
		return;
	for (size_t i = 0; flush && stores && i < analysis->count; i++) {
		struct step *step = &analysis->steps[i];

		if (step->offset < jump->act.target || step->offset > jump->offset ||
		    step->rounds < 2)
			continue;
		if (step->act.kind == ACT_STORE && step->act.cached) {
			step->copies = true;
			snprintf(step->class, sizeof(step->class), "%s-copy", flush->act.name);
		} else if (step->act.kind == ACT_FLUSH) {
			step->copies = true;
		}
	}
}

static void count_bytes(struct analysis *analysis, const struct step *step)
{
	struct class *class = analysis->classes;
	struct class *end = class + analysis->class_count;

	while (class < end && strcmp(class->name, step->class))
		class ++;
	if (class == end) {
		if (analysis->class_count == CLASSES_MAX)
			return;
		analysis->class_count++;
		*class = (struct class){ .cached = step->act.cached };
		memcpy(class->name, step->class, sizeof(class->name));
	}
	class->bytes += step->act.repeats && step->rounds >= REP_ROUNDS
				? REP_BYTES
				: step->rounds * step->act.width;
}

static void analyse(struct analysis *out, const struct observation *observation,
		    const struct observed_trace *trace)
{
	*out = (struct analysis){ 0 };
	decode_steps(out, observation, trace);
	drop_flushes_of_source(out);
	for (size_t i = 0; i < out->count; i++)
		if (out->steps[i].act.jumps_back && out->steps[i].rounds >= 2) /* not a tail call */
			mark_copy(out, &out->steps[i]);
	for (size_t i = 0; i < out->count; i++) {
		struct step *step = &out->steps[i];

		if (step->act.kind != ACT_STORE)
			continue;
		if (!*step->class)
			snprintf(step->class, sizeof(step->class), "%s", step->act.name);
		count_bytes(out, step);
	}
	for (size_t i = 0; i < out->class_count; i++)
		if (!out->main || out->classes[i].bytes > out->main->bytes)
			out->main = &out->classes[i];
}

static const char *main_name(const struct analysis *analysis)
{
	return analysis->main ? analysis->main->name : "";
}

/* --- flushes and fences
 * ---------------------------------------------------------------------------- */

/*
 * Cached stores run until a flush or another kind of store; each run owes one flush. A flush may
 * come late (all heads and tails at the end), but none may come before the last run.
 */
static bool all_flushed(const struct analysis *analysis)
{
	unsigned owed = 0;
	bool running = false;

	for (size_t i = 0; i < analysis->count; i++) {
		const struct step *step = &analysis->steps[i];

		if (step->act.kind == ACT_STORE) {
			if (step->act.cached && !running)
				owed++;
			running = step->act.cached;
		} else if (step->act.kind == ACT_FLUSH) {
			owed -= step->rounds < owed ? step->rounds : owed;
			running = false;
		}
	}
	return owed == 0;
}

static const struct step *last_of(const struct analysis *analysis, unsigned kinds)
{
	for (size_t i = analysis->count; i > 0; i--)
		if (kinds >> analysis->steps[i - 1].act.kind & 1)
			return &analysis->steps[i - 1];
	return NULL;
}

static void fill_order(struct deed *out, const struct analysis *analysis)
{
	const struct step *fence = last_of(analysis, 1 << ACT_FENCE);
	const struct step *store = last_of(analysis, 1 << ACT_STORE | 1 << ACT_FLUSH);

	out->fence_last = fence && (!store || fence > store);
	out->flushes = all_flushed(analysis);
	for (size_t i = 0; i < analysis->class_count; i++) {
		out->weak |= !analysis->classes[i].cached;
		out->cached |=
			analysis->classes[i].cached && &analysis->classes[i] != analysis->main;
	}
	for (size_t i = 0; i < analysis->count; i++) {
		const struct step *step = &analysis->steps[i];

		if (step->act.kind != ACT_FLUSH || step->copies)
			continue;
		if (*out->flush && strcmp(out->flush, step->act.name))
			snprintf(out->flush, sizeof(out->flush), "mixed");
		else
			snprintf(out->flush, sizeof(out->flush), "%s", step->act.name);
	}
}

/* --- in words
 * -------------------------------------------------------------------------------------- */

struct words {
	char *text;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *words, const char *format, ...)
{
	size_t length = strlen(words->text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words->text + length, words->room - length, format, arguments);
	va_end(arguments);
}

static void say_flushes(struct words *words, const struct analysis *analysis, const char *before)
{
	const char *said = "";

	for (size_t i = 0; i < analysis->count; i++) {
		const struct step *step = &analysis->steps[i];

		if (step->act.kind != ACT_FLUSH || step->copies || !strcmp(said, step->act.name))
			continue;
		say(words, "%s%s", before, step->act.name);
		said = step->act.name;
		before = "/";
	}
}

static void fill_text(struct deed *out, const struct analysis *analysis)
{
	struct words words = { out->text, sizeof(out->text) };
	const struct step *fence = last_of(analysis, 1 << ACT_FENCE);
	const char *before = "; head/tail ";
	bool rest = false;

	say(&words, "%s", *out->path ? out->path : "nothing stored");
	for (size_t i = 0; i < analysis->class_count; i++) {
		if (&analysis->classes[i] == analysis->main)
			continue;
		say(&words, "%s%s", before, analysis->classes[i].name);
		before = "/";
		rest = true;
	}
	say_flushes(&words, analysis, rest ? " + " : "; ");
	if (fence)
		say(&words, "; %s%s", fence->act.name,
		    out->fence_last ? "" : " before the last store");
	if (analysis->unread)
		say(&words, "; %u instructions unread", analysis->unread);
	if (!out->returned)
		say(&words, "; not to the return");
}

void witness_decode(struct deed *out, const struct observation *observation,
		    const struct observed_pick *pick)
{
	const struct observed_trace *last;
	struct analysis first, analysis;

	*out = (struct deed){ 0 };
	if (!pick->trace_count || pick->trace_count > 2)
		return;
	for (unsigned i = 0; i < pick->trace_count; i++)
		if (pick->trace[i] >= observation->trace_count)
			return;
	analyse(&first, observation, &observation->traces[pick->trace[0]]);
	last = &observation->traces[pick->trace[pick->trace_count - 1]];
	analyse(&analysis, observation, last);
	out->returned = last->end == REPORT_TRACE_RETURNED;
	if (!strcmp(main_name(&first), main_name(&analysis)))
		snprintf(out->path, sizeof(out->path), "%s", main_name(&first));
	else /* the call at its real size did another thing than the same call scaled down */
		snprintf(out->path, sizeof(out->path), "%.15s|%.15s",
			 first.main ? first.main->name : "nothing",
			 analysis.main ? analysis.main->name : "nothing");
	fill_order(out, &analysis);
	fill_text(out, &analysis);
}
