// SPDX-License-Identifier: MIT
/* The replay: what each instruction makes of the bytes of the target. */
#include "harness/judge/persist.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/instruction.h"
#include "harness/util/text.h"

#define LINE_BYTES  64
#define CLASSES_MAX 16

/* The order is that of the way to durability. */
enum byte_state {
	BYTE_UNTOUCHED,
	BYTE_CACHED,  /* stored, and only in the cache */
	BYTE_WRITTEN, /* stored past the cache: durable from the next fence on */
	BYTE_FLUSHED, /* on its way out of the cache: the same */
	BYTE_DURABLE,
};

struct byte {
	uint64_t rip;	 /* of the last instruction that stored it */
	uint32_t fences; /* that there had been when it came into its state */
	uint8_t state;
	uint8_t class;	 /* of that instruction */
	uint8_t flush;	 /* what last flushed its line; CLASSES_MAX: nothing */
	bool flush_late; /* a flush of the line came before that store */
};

struct class
{
	char name[16];
	enum act_kind kind;
	bool cached;
	uint64_t bytes; /* stored in the target; flushes and fences: how many */
};

struct persist {
	struct persist_range target, memory;
	struct class classes[CLASSES_MAX];
	unsigned class_count;
	uint32_t fences; /* a fence costs the same however much there is: a guest may send many */
	char fault[160]; /* the first store that should not be, or cannot be followed; "" none */
	struct byte bytes[];
};

static bool is_range(struct persist_range range)
{
	return range.bytes && range.from + range.bytes > range.from;
}

struct persist *persist_new(struct persist_range target, struct persist_range memory)
{
	struct persist *persist;

	if (!is_range(target) || !is_range(memory) || target.bytes > PERSIST_BYTES_MAX ||
	    target.from < memory.from || target.from - memory.from > memory.bytes ||
	    target.bytes > memory.bytes - (target.from - memory.from))
		return NULL;
	persist = xcalloc(1, sizeof(*persist) + target.bytes * sizeof(persist->bytes[0]));
	persist->target = target;
	persist->memory = memory;
	for (size_t i = 0; i < target.bytes; i++)
		persist->bytes[i].flush = CLASSES_MAX;
	return persist;
}

void persist_free(struct persist *persist)
{
	free(persist);
}

__attribute__((format(printf, 2, 3))) static void fault(struct persist *persist, const char *format,
							...)
{
	va_list arguments;

	if (*persist->fault)
		return;
	va_start(arguments, format);
	vsnprintf(persist->fault, sizeof(persist->fault), format, arguments);
	va_end(arguments);
}

/* --- one instruction
 * ------------------------------------------------------------------------------- */

/* What has no class of its own, as saving a state, stores through the cache. */
static bool is_cached(const struct act *act)
{
	return act->kind != ACT_STORE || act->cached;
}

/* The last of them takes what is one too many: there are no more than so many kinds of stores. */
static uint8_t class_of(struct persist *persist, const struct act *act)
{
	const char *name = *act->name ? act->name : "store";
	unsigned i = 0;

	while (i < persist->class_count && strcmp(persist->classes[i].name, name))
		i++;
	if (i == CLASSES_MAX)
		return CLASSES_MAX - 1;
	if (i == persist->class_count) {
		persist->class_count++;
		snprintf(persist->classes[i].name, sizeof(persist->classes[i].name), "%s", name);
		persist->classes[i].kind = act->kind == ACT_NONE ? ACT_STORE : act->kind;
		persist->classes[i].cached = is_cached(act);
	}
	return (uint8_t)i;
}

/* The part of a range that is the target's, as offsets in it. */
static void clip(const struct persist *persist, uint64_t from, uint64_t bytes, uint64_t *first,
		 uint64_t *end)
{
	const struct persist_range *target = &persist->target;
	const uint64_t last = from + bytes < from ? UINT64_MAX : from + bytes;
	const uint64_t target_end = target->from + target->bytes;

	*first = from > target->from ? from - target->from : 0;
	*end = last > target_end ? target->bytes : last > target->from ? last - target->from : 0;
}

static bool meets(struct persist_range range, uint64_t from, uint64_t bytes)
{
	return from < range.from + range.bytes && (from >= range.from || range.from - from < bytes);
}

static void store(struct persist *persist, const struct act *act, uint64_t rip, uint64_t to)
{
	const uint64_t bytes = act->memory.bytes;
	uint64_t first, end;
	uint8_t class;

	if (!meets(persist->memory, to, bytes))
		return;
	clip(persist, to, bytes, &first, &end);
	class = class_of(persist, act);
	if (first >= end || end - first < bytes)
		fault(persist,
		      "%s at 0x%" PRIx64 " stores %" PRIu64 " bytes at offset %" PRId64
		      ", beside the %" PRIu64 " of the call",
		      persist->classes[class].name, rip, bytes,
		      (int64_t)(to - persist->target.from), persist->target.bytes);
	for (uint64_t i = first; i < end; i++) {
		struct byte *byte = &persist->bytes[i];

		byte->rip = rip;
		byte->class = class;
		byte->fences = persist->fences;
		byte->state = is_cached(act) ? BYTE_CACHED : BYTE_WRITTEN;
		byte->flush_late = byte->flush != CLASSES_MAX;
	}
	if (first < end)
		persist->classes[class].bytes += end - first;
}

static void flush(struct persist *persist, const struct act *act, uint64_t at)
{
	const uint64_t line = at & ~(uint64_t)(LINE_BYTES - 1);
	const bool ordered = !strcmp(act->name, "clflush");
	uint64_t first, end;
	uint8_t class;

	clip(persist, line, LINE_BYTES, &first, &end);
	if (first >= end)
		return;
	class = class_of(persist, act);
	persist->classes[class].bytes++;
	for (uint64_t i = first; i < end; i++) {
		struct byte *byte = &persist->bytes[i];

		byte->flush = class;
		if (byte->state != BYTE_CACHED)
			continue;
		byte->state = ordered ? BYTE_DURABLE : BYTE_FLUSHED;
		byte->fences = persist->fences;
	}
}

static void fence(struct persist *persist, const struct act *act)
{
	if (act->kind == ACT_FENCE)
		persist->classes[class_of(persist, act)].bytes++;
	persist->fences++;
}

void persist_step(struct persist *persist, uint64_t rip, const uint8_t *bytes, size_t length,
		  const uint64_t registers[16])
{
	struct stack_registers none = { 0 }; /* addresses are known here: nothing is guessed */
	const uint64_t rcx = registers[1];
	struct act act;

	instruction_decode(&act, bytes, length, 0, &none);
	if (act.kind == ACT_UNKNOWN) {
		fault(persist, "what is at 0x%" PRIx64 " is no instruction that the lab knows",
		      rip);
		return;
	}
	if (act.memory.reach == REACH_UNKNOWN)
		fault(persist, "the store at 0x%" PRIx64 " is one that the lab cannot follow", rip);
	if (act.memory.reach == REACH_KNOWN && !(act.counted && !rcx)) {
		const uint64_t address = act_address(&act, rip, registers);

		if (act.kind == ACT_FLUSH)
			flush(persist, &act, address);
		else
			store(persist, &act, rip, address);
	}
	if (act.kind == ACT_FENCE || act.locked)
		fence(persist, &act);
}

static bool is_durable(const struct persist *persist, const struct byte *byte)
{
	return byte->state == BYTE_DURABLE ||
	       ((byte->state == BYTE_WRITTEN || byte->state == BYTE_FLUSHED) &&
		byte->fences < persist->fences);
}

/* --- in words
 * -------------------------------------------------------------------------------------- */

static void explain(struct persist_verdict *out, const struct persist *persist, uint64_t offset,
		    uint64_t count)
{
	const struct byte *byte = &persist->bytes[offset];
	const char *name = persist->classes[byte->class].name;
	const char *flushed = byte->flush == CLASSES_MAX ? "" : persist->classes[byte->flush].name;
	char how[128];

	switch ((enum byte_state)byte->state) {
	case BYTE_UNTOUCHED:
		snprintf(how, sizeof(how), "never stored");
		break;
	case BYTE_CACHED:
		if (byte->flush_late)
			snprintf(how, sizeof(how),
				 "stored by %s at 0x%" PRIx64 ", after the %s of its line", name,
				 byte->rip, flushed);
		else
			snprintf(how, sizeof(how),
				 "stored by %s at 0x%" PRIx64 ", and nothing flushes its line",
				 name, byte->rip);
		break;
	case BYTE_FLUSHED:
		snprintf(how, sizeof(how),
			 "stored by %s at 0x%" PRIx64 ", with no fence after the %s of its line",
			 name, byte->rip, flushed);
		break;
	default:
		snprintf(how, sizeof(how), "stored by %s at 0x%" PRIx64 ", with no fence after it",
			 name, byte->rip);
	}
	snprintf(out->why, sizeof(out->why),
		 "not durable: offset %" PRIu64 ": %s; %" PRIu64 " of %" PRIu64 " bytes", offset,
		 how, count, persist->target.bytes);
}

static void add_kind(char *text, size_t room, const struct persist *persist, enum act_kind kind)
{
	const char *before = *text ? "; " : "";

	for (unsigned i = 0; i < persist->class_count; i++) {
		const struct class *class = &persist->classes[i];
		const size_t length = strlen(text);

		if (class->kind != kind || !class->bytes)
			continue;
		snprintf(text + length, room - length, "%s%s", before, class->name);
		before = "/";
	}
}

static const struct class *most_of(const struct persist *persist, enum act_kind kind)
{
	const struct class *most = NULL;

	for (unsigned i = 0; i < persist->class_count; i++) {
		const struct class *class = &persist->classes[i];

		if (class->kind == kind && class->bytes && (!most || class->bytes > most->bytes))
			most = class;
	}
	return most;
}

static void fill_words(struct persist_verdict *out, const struct persist *persist)
{
	const struct class *store = most_of(persist, ACT_STORE);
	const struct class *flush = most_of(persist, ACT_FLUSH);
	size_t length;

	if (store && store->cached && flush)
		snprintf(out->path, sizeof(out->path), "%s-copy", flush->name);
	else
		snprintf(out->path, sizeof(out->path), "%s", store ? store->name : "");
	snprintf(out->does, sizeof(out->does), "%s", store ? "" : "nothing stored");
	add_kind(out->does, sizeof(out->does), persist, ACT_STORE);
	add_kind(out->does, sizeof(out->does), persist, ACT_FLUSH);
	add_kind(out->does, sizeof(out->does), persist, ACT_FENCE);
	length = strlen(out->does);
	snprintf(out->does + length, sizeof(out->does) - length, ": %s",
		 out->durable ? "durable" : "not durable");
}

void persist_end(const struct persist *persist, const char *cut, struct persist_verdict *out)
{
	uint64_t count = 0, first = 0;

	*out = (struct persist_verdict){ 0 };
	for (uint64_t i = persist->target.bytes; i > 0; i--) {
		if (is_durable(persist, &persist->bytes[i - 1]))
			continue;
		count++;
		first = i - 1;
	}
	if (*cut)
		snprintf(out->why, sizeof(out->why), "%s", cut);
	else if (*persist->fault)
		snprintf(out->why, sizeof(out->why), "%s", persist->fault);
	else if (count)
		explain(out, persist, first, count);
	out->durable = !*out->why;
	fill_words(out, persist);
}
