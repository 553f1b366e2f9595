// SPDX-License-Identifier: MIT
/*
 * From what a program wrote to picks, traces and a verdict. Every byte of it comes from the guest:
 * what is kept is bounded and printable, and a line that is not understood is told.
 */
#include "harness/judge/program.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/tap.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

#define PREFIX		  "QL "
#define INSTRUCTION_BYTES 15 /* an instruction has no more */
#define ROUNDS_MAX	  7
#define EXIT_SKIP	  77 /* of automake's tests */
#define EXIT_SKIP_KTAP	  4  /* of the kernel's, which say so in KTAP as well */

/* --- words ---------------------------------------------------------------------------------------
 */

/* What is left of a line. */
struct words {
	const char *at, *end;
};

/* The next word; false where there is none. */
static bool next_word(struct words *words, const char **word, size_t *length)
{
	while (words->at < words->end && *words->at == ' ')
		words->at++;
	*word = words->at;
	while (words->at < words->end && *words->at != ' ')
		words->at++;
	*length = (size_t)(words->at - *word);
	return *length;
}

/* The next word, printable and whole; false where there is none, or it does not fit. */
static bool take_word(struct words *words, char *out, size_t room)
{
	const char *word;
	size_t length;

	if (!next_word(words, &word, &length) || length >= room)
		return false;
	text_printable(out, room, word, length);
	return strlen(out) == length; /* nothing had to be escaped */
}

/* All that is left, as printable text; its beginning where that is too long. */
static void take_rest(struct words *words, char *out, size_t room)
{
	while (words->at < words->end && *words->at == ' ')
		words->at++;
	text_printable(out, room, words->at, (size_t)(words->end - words->at));
	words->at = words->end;
}

static bool is_name(const char *word)
{
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && !strchr("_-.+", *word))
			return false;
	return true;
}

/* OP[@CLASS] */
static bool take_operation(struct words *words, char operation[32], char class[16])
{
	char both[32 + 16];
	char *at;

	if (!take_word(words, both, sizeof(both)))
		return false;
	at = strchr(both, '@');
	if (at)
		*at++ = '\0';
	if (!*both || strlen(both) >= 32 || (at && (!*at || strlen(at) >= 16)))
		return false;
	snprintf(operation, 32, "%.31s", both);
	snprintf(class, 16, "%.15s", at ? at : "any");
	return is_name(operation) && is_name(class);
}

static bool take_number(struct words *words, uint64_t *out)
{
	char word[24];
	char *end;

	if (!take_word(words, word, sizeof(word)) || !isdigit((unsigned char)*word))
		return false;
	*out = strtoull(word, &end, 0);
	/* A record has no larger one. */
	return !*end && *out <= INT64_MAX;
}

/* --- traces --------------------------------------------------------------------------------------
 */

struct raw_step {
	uint64_t address;
	uint8_t bytes[INSTRUCTION_BYTES];
	uint8_t length, rounds;
};

struct raw_trace {
	uint64_t size;
	uint8_t end, step_count;
	struct raw_step steps[REPORT_TRACE_STEPS_MAX];
};

/* Both traces of an OP@CLASS while the lines are read. */
struct raw_pick {
	struct raw_trace *traces[2];
	unsigned count;
};

static const char *const ends[] = {
	[REPORT_TRACE_RETURNED] = "returned",
	[REPORT_TRACE_ABANDONED] = "abandoned",
	[REPORT_TRACE_FAULTED] = "faulted",
	[REPORT_TRACE_LIMIT] = "limit",
};
#define ENDS (sizeof(ends) / sizeof(ends[0]))

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ADDRESS:ROUNDS:BYTES */
static bool read_step(struct raw_step *step, const char *word, size_t length)
{
	size_t at = 0;

	*step = (struct raw_step){ 0 };
	for (; at < length && at < 16 && digit_of(word[at]) >= 0; at++)
		step->address = step->address << 4 | (uint64_t)digit_of(word[at]);
	if (!at || at + 4 > length || word[at] != ':' || word[at + 2] != ':')
		return false;
	step->rounds = (uint8_t)(word[at + 1] - '0');
	if (step->rounds < 1 || step->rounds > ROUNDS_MAX)
		return false;
	for (at += 3; at + 1 < length; at += 2) {
		int high = digit_of(word[at]), low = digit_of(word[at + 1]);

		if (high < 0 || low < 0 || step->length == INSTRUCTION_BYTES)
			return false;
		step->bytes[step->length++] = (uint8_t)(high << 4 | low);
	}
	return step->length && at == length;
}

/* END STEP... */
static bool read_steps(struct raw_trace *trace, const char *end, struct words *words)
{
	const char *word;
	size_t length, i = 0;

	while (i < ENDS && strcmp(end, ends[i]))
		i++;
	if (i == ENDS)
		return false;
	trace->end = (uint8_t)i;
	while (next_word(words, &word, &length)) {
		if (trace->step_count == REPORT_TRACE_STEPS_MAX ||
		    !read_step(&trace->steps[trace->step_count], word, length))
			return false;
		trace->step_count++;
	}
	return trace->step_count;
}

/* --- from traces to an observation ---------------------------------------------------------------
 */

/* Where each distinct address is in the code image. */
struct layout {
	struct place {
		uint64_t address;
		uint32_t offset;
	} places[2 * REPORT_TRACE_STEPS_MAX];
	size_t count;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/*
 * Near instructions keep their distance, so that jumps lead where they did; beyond `widest` it is
 * shortened. Returns the bytes of the image.
 */
static size_t lay_out(struct layout *layout, uint64_t widest)
{
	size_t offset = 0;

	for (size_t i = 0; i < layout->count; i++) {
		if (i) {
			uint64_t gap = layout->places[i].address - layout->places[i - 1].address;

			offset += (size_t)(gap > widest ? widest : gap);
		}
		layout->places[i].offset = (uint32_t)offset;
	}
	return offset + INSTRUCTION_BYTES;
}

static void make_layout(struct layout *layout, const struct raw_pick *raw)
{
	static const uint64_t widest[] = { 1024, 64, INSTRUCTION_BYTES };
	size_t count = 0;

	layout->count = 0;
	for (unsigned t = 0; t < raw->count; t++)
		for (unsigned s = 0; s < raw->traces[t]->step_count; s++)
			layout->places[layout->count++].address = raw->traces[t]->steps[s].address;
	qsort(layout->places, layout->count, sizeof(layout->places[0]), compare_places);
	for (size_t i = 0; i < layout->count; i++)
		if (!count || layout->places[count - 1].address != layout->places[i].address)
			layout->places[count++] = layout->places[i];
	layout->count = count;
	/* 256 instructions at most 15 bytes apart always fit. */
	for (size_t i = 0; i < sizeof(widest) / sizeof(widest[0]); i++)
		if (lay_out(layout, widest[i]) <= REPORT_CODE_MAX)
			return;
}
_Static_assert(2 * REPORT_TRACE_STEPS_MAX * INSTRUCTION_BYTES <= REPORT_CODE_MAX, "they do");

static uint16_t offset_of(const struct layout *layout, uint64_t address)
{
	const struct place wanted = { .address = address };
	const struct place *found = bsearch(&wanted, layout->places, layout->count,
					    sizeof(layout->places[0]), compare_places);

	return found ? (uint16_t)found->offset : REPORT_NO_CODE;
}

/* What a guest of ours would have reported of these calls. */
static void make_witness(struct program_pick *out, const struct raw_pick *raw)
{
	struct observation *witness = out->witness = xcalloc(1, sizeof(*witness));
	struct layout layout;

	make_layout(&layout, raw);
	out->pick.executable = REPORT_EXECUTABLE_YES;
	for (unsigned t = 0; t < raw->count; t++) {
		const struct raw_trace *from = raw->traces[t];
		struct observed_trace *to = &witness->traces[witness->trace_count];

		to->end = from->end;
		for (unsigned s = 0; s < from->step_count; s++) {
			const struct raw_step *step = &from->steps[s];
			uint16_t offset = offset_of(&layout, step->address);

			to->steps[to->step_count++] = (struct observed_step){
				.offset = offset,
				.rounds = step->rounds,
			};
			memcpy(witness->code + offset, step->bytes, step->length);
			memset(witness->code_known + offset, true, step->length);
		}
		if (from->end == REPORT_TRACE_FAULTED) {
			to->steps[to->step_count - 1].flags = REPORT_STEP_FAULTED;
			out->pick.executable = REPORT_EXECUTABLE_NO;
		}
		out->pick.trace[out->pick.trace_count++] = (uint8_t)witness->trace_count++;
	}
	out->pick.size = raw->traces[0]->size;
}

/* --- the lines -----------------------------------------------------------------------------------
 */

struct reading {
	struct program_lines *out;
	struct raw_pick raw[PROGRAM_PICKS_MAX];
};

/* The pick of that OP@CLASS, made where there is none; NULL: one too many. */
static struct program_pick *pick_of(struct reading *reading, const char *operation,
				    const char *class)
{
	struct program_lines *out = reading->out;
	struct program_pick *pick;

	for (size_t i = 0; i < out->pick_count; i++)
		if (!strcmp(out->picks[i].pick.operation, operation) &&
		    !strcmp(out->picks[i].pick.class, class))
			return &out->picks[i];
	if (out->pick_count == PROGRAM_PICKS_MAX)
		return NULL;
	pick = &out->picks[out->pick_count++];
	snprintf(pick->pick.operation, sizeof(pick->pick.operation), "%s", operation);
	snprintf(pick->pick.class, sizeof(pick->pick.class), "%s", class);
	pick->pick.executable = REPORT_EXECUTABLE_YES;
	return pick;
}

static struct program_pick *take_pick(struct reading *reading, struct words *words)
{
	char operation[32], class[16];

	return take_operation(words, operation, class) ? pick_of(reading, operation, class) : NULL;
}

static bool read_version(struct reading *reading, struct words *words)
{
	struct cell_program *facts = reading->out->facts;

	take_rest(words, facts->version, sizeof(facts->version));
	return *facts->version;
}

/* The first word of an OP@CLASS counts; another one is a fault. */
static bool read_pick(struct reading *reading, struct words *words)
{
	struct program_pick *pick = take_pick(reading, words);
	char says[sizeof(pick->says)];

	if (!pick || !take_word(words, says, sizeof(says)) ||
	    (*pick->says && strcmp(pick->says, says)))
		return false;
	memcpy(pick->says, says, sizeof(says));
	take_rest(words, pick->pick.row, sizeof(pick->pick.row));
	return true;
}

/* `same` OP@CLASS: the steps are those of a trace that was told already. */
static bool copy_steps(struct raw_trace *trace, struct reading *reading, struct words *words)
{
	const struct program_pick *other = take_pick(reading, words);
	const struct raw_pick *raw = other ? &reading->raw[other - reading->out->picks] : NULL;
	const uint64_t size = trace->size;

	if (!raw || !raw->count)
		return false;
	*trace = *raw->traces[0];
	trace->size = size;
	return words->at == words->end;
}

static bool read_trace_line(struct reading *reading, struct words *words)
{
	struct program_pick *pick = take_pick(reading, words);
	struct raw_trace *trace;
	struct raw_pick *raw;
	char end[16];

	if (!pick)
		return false;
	raw = &reading->raw[pick - reading->out->picks];
	if (raw->count == 2)
		return false;
	trace = xcalloc(1, sizeof(*trace));
	if (!take_number(words, &trace->size) || !take_word(words, end, sizeof(end)) ||
	    !(strcmp(end, "same") ? read_steps(trace, end, words)
				  : copy_steps(trace, reading, words))) {
		free(trace);
		return false;
	}
	raw->traces[raw->count++] = trace;
	return true;
}

/* Each is a call of its own; the worst stays. */
static bool read_persist(struct reading *reading, struct words *words)
{
	struct program_pick *pick = take_pick(reading, words);
	struct persist_verdict verdict;

	if (!pick || !persist_line(&verdict, words->at, (size_t)(words->end - words->at)))
		return false;
	if (!pick->persist) {
		pick->persist = xcalloc(1, sizeof(*pick->persist));
		*pick->persist = verdict;
	} else if (pick->persist->durable && !verdict.durable) {
		*pick->persist = verdict;
	}
	return true;
}

static bool read_value(struct reading *reading, struct words *words)
{
	struct cell_program *facts = reading->out->facts;
	struct cell_fact *value = &facts->values[facts->value_count];

	if (facts->value_count == CELL_VALUES_MAX ||
	    !take_word(words, value->name, sizeof(value->name)))
		return false;
	take_rest(words, value->text, sizeof(value->text));
	facts->value_count++;
	return true;
}

static bool read_skip(struct reading *reading, struct words *words)
{
	struct program_pick *pick = take_pick(reading, words);

	if (!pick)
		return false;
	pick->skipped = true;
	take_rest(words, pick->pick.reason, sizeof(pick->pick.reason));
	return true;
}

static bool read_note(struct reading *reading, struct words *words)
{
	struct cell_program *facts = reading->out->facts;

	if (facts->note_count == CELL_NOTES_MAX)
		return false;
	take_rest(words, facts->notes[facts->note_count], sizeof(facts->notes[0]));
	facts->note_count++;
	return true;
}

static const struct {
	const char *word;
	bool (*read)(struct reading *reading, struct words *words);
} kinds[] = {
	{ "version", read_version }, { "pick", read_pick }, { "trace", read_trace_line },
	{ "value", read_value },     { "skip", read_skip }, { "note", read_note },
	{ "persist", read_persist },
};

static void read_line(struct reading *reading, const char *line, size_t length, size_t number)
{
	struct words words = { line + strlen(PREFIX), line + length };
	char word[16], text[161];

	if (take_word(&words, word, sizeof(word)))
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (!strcmp(word, kinds[i].word)) {
				if (kinds[i].read(reading, &words))
					return;
				break;
			}
	if (*reading->out->fault)
		return;
	text_printable(text, sizeof(text), line, length);
	snprintf(reading->out->fault, sizeof(reading->out->fault),
		 "line %zu of its output is no line for the lab, or one too many: %s", number,
		 text);
}

/* Calls each line that begins with the prefix. */
static void each_line(const struct observed_program *program,
		      void (*each)(struct reading *reading, const char *line, size_t length,
				   size_t number),
		      struct reading *reading)
{
	const char *at = program->output.bytes;
	size_t left = program->output.length;

	for (size_t number = 1; left; number++) {
		const char *end = memchr(at, '\n', left);
		size_t length = end ? (size_t)(end - at) : left;
		size_t whole = length + (end != NULL);

		if (length >= strlen(PREFIX) && !memcmp(at, PREFIX, strlen(PREFIX)))
			each(reading, at, length - (at[length - 1] == '\r'), number);
		at += whole;
		left -= whole;
	}
}

struct program_lines *program_read(const struct observed_program *program)
{
	struct program_lines *out = xcalloc(1, sizeof(*out));
	struct reading reading = { .out = out };

	out->facts = xcalloc(1, sizeof(*out->facts));
	each_line(program, read_line, &reading);
	for (size_t i = 0; i < out->pick_count; i++) {
		struct raw_pick *raw = &reading.raw[i];

		if (raw->count)
			make_witness(&out->picks[i], raw);
		for (unsigned t = 0; t < raw->count; t++)
			free(raw->traces[t]);
	}
	return out;
}

void program_free(struct program_lines *lines)
{
	for (size_t i = 0; i < lines->pick_count; i++) {
		free(lines->picks[i].witness);
		free(lines->picks[i].persist);
	}
	free(lines->facts);
	free(lines);
}

static void version_line(struct reading *reading, const char *line, size_t length, size_t number)
{
	struct words words = { line + strlen(PREFIX), line + length };
	char word[16];

	(void)number;
	if (take_word(&words, word, sizeof(word)) && !strcmp(word, "version"))
		read_version(reading, &words);
}

void program_version(char *out, size_t room, const struct observed_program *program)
{
	CLEANUP_FREE struct program_lines *lines = xcalloc(1, sizeof(*lines));
	CLEANUP_FREE struct cell_program *facts = xcalloc(1, sizeof(*facts));
	struct reading reading = { .out = lines };

	lines->facts = facts;
	each_line(program, version_line, &reading);
	snprintf(out, room, "%s", facts->version);
}

/* --- the verdict ---------------------------------------------------------------------------------
 */

struct reason {
	char *text;
	size_t room;
};

static enum verdict __attribute__((format(printf, 3, 4)))
give(const struct reason *reason, enum verdict verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason->text, reason->room, format, arguments);
	va_end(arguments);
	return verdict;
}

/* The last line of standard error that says something: why a loader or an assertion gave up. */
static void last_words(char *out, size_t room, const struct observed_program *program)
{
	const char *bytes = program->errors.bytes;
	size_t end = program->errors.length, begin;

	while (end && strchr(" \r\n", bytes[end - 1]) && bytes[end - 1])
		end--;
	begin = end;
	while (begin && bytes[begin - 1] != '\n')
		begin--;
	if (room > 2 && end > begin) {
		memcpy(out, ": ", 2);
		text_printable(out + 2, room - 2, bytes + begin, end - begin);
	} else {
		*out = '\0';
	}
}

/* An end that is no exit. VERDICT_PASS: it exited. */
static enum verdict judge_end(const struct reason *reason, const struct observed_program *program)
{
	const char *name = sigabbrev_np(program->code);
	char words[200];

	last_words(words, sizeof(words), program);
	switch (program->how) {
	case REPORT_EXITED:
		return VERDICT_PASS;
	case REPORT_SIGNALLED:
		return give(reason, VERDICT_FAIL, "ended by signal %u (%s)%s%s", program->code,
			    name ? name : "?",
			    program->code == 9 ? ", as the system does where memory runs out" : "",
			    words);
	case REPORT_TIMED_OUT:
		return give(reason, VERDICT_HUNG, "%s: ended after %" PRIu64 " bytes of output",
			    program->code == REPORT_LIMIT_SILENCE ? "wrote nothing for too long"
								  : "wrote without an end",
			    program->written);
	default:
		return give(reason, VERDICT_ERROR, "the guest does not start it: %s",
			    strerrorname_np(program->code) ? strerror(program->code) : "?");
	}
}

static enum verdict judge_tap(const struct reason *reason, const struct tap *tap,
			      const struct observed_program *program)
{
	const unsigned code = program->code;
	const bool skipped = tap->skip_all || (tap->skipped && !tap->passed && !tap->todo);
	char words[200];

	last_words(words, sizeof(words), program);
	if (tap->failed)
		return give(reason, VERDICT_FAIL, "%u of %u tests failed, first: %s%s%s",
			    tap->failed, tap->failed + tap->passed + tap->skipped + tap->todo,
			    tap->first, *tap->fault ? "; " : "", tap->fault);
	if (*tap->fault)
		return give(reason, VERDICT_FAIL, "TAP: %s%s", tap->fault,
			    program->left_out ? " (it wrote more than is kept)" : "");
	if (code && !(skipped && (code == EXIT_SKIP || code == EXIT_SKIP_KTAP)))
		return give(reason, VERDICT_FAIL, "no test failed, and exit status %u%s", code,
			    words);
	if (skipped)
		return give(reason, VERDICT_SKIP, "the program skipped all of its tests%s%s",
			    *tap->skip ? ": " : "", tap->skip);
	return VERDICT_PASS;
}

static enum verdict judge_exit(const struct reason *reason, const struct observed_program *program)
{
	char words[200];

	last_words(words, sizeof(words), program);
	if (program->code == EXIT_SKIP)
		return give(reason, VERDICT_SKIP, "the program skipped (exit status 77)%s", words);
	if (program->code)
		return give(reason, VERDICT_FAIL, "exit status %u%s", program->code, words);
	return VERDICT_PASS;
}

enum verdict program_verdict(char *text, size_t room, struct cell_program *facts,
			     const struct observed_program *program)
{
	const struct reason reason = { text, room };
	enum verdict verdict;
	struct tap tap;

	*text = '\0';
	if (!program->ended)
		return give(&reason, VERDICT_ERROR, "the guest did not say how the program ended");
	tap_read(&tap, program->output.bytes, program->output.length);
	facts->how = program->how;
	facts->code = program->code;
	facts->written = program->written;
	facts->left_out = program->left_out;
	facts->tap = tap.seen;
	facts->passed = tap.passed;
	facts->failed = tap.failed;
	facts->skipped = tap.skipped;
	facts->todo = tap.todo;
	verdict = judge_end(&reason, program);
	if (verdict != VERDICT_PASS)
		return verdict;
	return tap.seen ? judge_tap(&reason, &tap, program) : judge_exit(&reason, program);
}
