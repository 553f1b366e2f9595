/* SPDX-License-Identifier: MIT */
/*
 * The reader of a guest's report stream (images/protocol.h). The guest may be broken or hostile:
 * the stream can be cut, interleaved, endless, or lie about every length. Each read is bounded by
 * the frame, each table by its maximum; what does not fit is counted and left out.
 */
#include "harness/guest/observation.h"

#include <stdlib.h>
#include <string.h>
#include "harness/util/text.h"

#define FRAME_MAX   (REPORT_HEADER_SIZE + REPORT_PAYLOAD_MAX + REPORT_CRC_SIZE)
#define STRINGS_MAX 255
#define SENT_MAX    256 /* traces sent by one CPU, repeated ones too: their numbers are bytes */

struct cpu_reader {
	struct observation seen;
	struct text strings; /* the bytes of all strings, one behind the other */
	struct {
		size_t at;
		uint8_t length;
	} string[STRINGS_MAX];
	size_t string_count;
	uint8_t sent[SENT_MAX]; /* which trace was the n-th sent; REPORT_TRACE_SAME repeats one */
	size_t sent_count;
};

struct report_reader {
	struct cpu_reader **cpus; /* in order of first REPORT_START */
	size_t cpu_count, most_cpus;
	uint16_t wanted;
	uint8_t pending[2 * FRAME_MAX];
	size_t pending_length;
	size_t skipped;
	bool ended;
	uint32_t crc_table[256];
};

/* --- reading a payload
 * ----------------------------------------------------------------------------- */

struct cursor {
	const uint8_t *at, *end;
	bool bad; /* something was out of bounds or out of range; stays set */
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if (cursor->bad || (size_t)(cursor->end - cursor->at) < bytes) {
		cursor->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)cursor->at[i] << 8 * i;
	cursor->at += bytes;
	return value;
}

static uint8_t take_u8(struct cursor *cursor)
{
	return (uint8_t)take(cursor, 1);
}

static uint16_t take_u16(struct cursor *cursor)
{
	return (uint16_t)take(cursor, 2);
}

static uint32_t take_u32(struct cursor *cursor)
{
	return (uint32_t)take(cursor, 4);
}

/* A number of at most `most`. */
static uint8_t take_up_to(struct cursor *cursor, uint8_t most)
{
	uint8_t value = take_u8(cursor);

	cursor->bad |= value > most;
	return value;
}

static const uint8_t *take_bytes(struct cursor *cursor, size_t length)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->bad || (size_t)(cursor->end - cursor->at) < length) {
		cursor->bad = true;
		return NULL;
	}
	cursor->at += length;
	return bytes;
}

/* The number of a string, as printable text; REPORT_NO_STRING gives "". */
static void take_string(struct cursor *cursor, const struct cpu_reader *cpu, char *out, size_t room)
{
	uint8_t number = take_u8(cursor);

	out[0] = '\0';
	if (cursor->bad || number == REPORT_NO_STRING)
		return;
	if (number >= cpu->string_count) {
		cursor->bad = true;
		return;
	}
	text_printable(out, room, cpu->strings.bytes + cpu->string[number].at,
		       cpu->string[number].length);
}

static bool more(const struct cursor *cursor)
{
	return !cursor->bad && cursor->at < cursor->end;
}

/* --- the kinds of frames
 * --------------------------------------------------------------------------- */

static void read_strings(struct cpu_reader *cpu, struct cursor *cursor)
{
	while (more(cursor)) {
		uint8_t length = take_u8(cursor);
		const uint8_t *bytes = take_bytes(cursor, length);

		if (!bytes || cpu->string_count == STRINGS_MAX) {
			cursor->bad = true;
			return;
		}
		cpu->string[cpu->string_count].at = cpu->strings.length;
		cpu->string[cpu->string_count++].length = length;
		text_add(&cpu->strings, bytes, length);
	}
}

static void read_cpuid(struct cpu_reader *cpu, struct cursor *cursor)
{
	static const uint32_t bases[] = { 0x00000000, 0x40000000, 0x80000000, 0xC0000000 };
	struct cpuid_dump *dump = &cpu->seen.cpuid;

	while (more(cursor)) {
		uint8_t what = take_u8(cursor);
		struct cpuid_leaf leaf = { 0 };

		leaf.leaf = bases[what >> REPORT_CPUID_BASE_SHIFT] | take_u8(cursor);
		if (what & REPORT_CPUID_SUBLEAF)
			leaf.subleaf = take_u8(cursor);
		for (int i = 0; i < 4; i++)
			if (what >> i & 1)
				leaf.reg[i] = take_u32(cursor);
		cursor->bad |= (what & 0x20) || dump->count == OBSERVED_LEAVES_MAX;
		if (!cursor->bad && !cpuid_find(dump, leaf.leaf, leaf.subleaf))
			cpuid_add(dump, &leaf);
	}
}

static void read_code(struct cpu_reader *cpu, struct cursor *cursor)
{
	size_t offset = take_u16(cursor);
	size_t length = (size_t)(cursor->end - cursor->at);
	const uint8_t *bytes;

	if (cursor->bad || offset + length > REPORT_CODE_MAX) {
		cursor->bad = true;
		return;
	}
	bytes = take_bytes(cursor, length);
	if (!bytes)
		return;
	memcpy(cpu->seen.code + offset, bytes, length);
	memset(cpu->seen.code_known + offset, true, length);
}

static void read_steps(struct observed_trace *trace, struct cursor *cursor)
{
	uint32_t offset = REPORT_NO_CODE;

	trace->step_count = take_up_to(cursor, REPORT_TRACE_STEPS_MAX);
	for (unsigned i = 0; i < trace->step_count && !cursor->bad; i++) {
		struct observed_step *step = &trace->steps[i];
		uint8_t what = take_u8(cursor);

		if (what & 0xF) {
			cursor->bad |= offset == REPORT_NO_CODE; /* nothing to count from */
			offset += what & 0xF;
		} else {
			offset = take_u16(cursor);
		}
		cursor->bad |= offset >= REPORT_CODE_MAX && offset != REPORT_NO_CODE;
		step->offset = (uint16_t)offset;
		step->rounds = what >> 4 & 7;
		step->flags = what & 0x80 ? take_u8(cursor) : 0;
	}
}

/* Returns which of the CPU's traces it is. */
static uint8_t read_trace(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observation *seen = &cpu->seen;
	uint8_t end = take_u8(cursor), number = 0;
	struct observed_trace trace = { .end = end };

	if (end == REPORT_TRACE_SAME) {
		uint8_t earlier = take_u8(cursor);

		cursor->bad |= earlier >= cpu->sent_count;
		if (!cursor->bad)
			number = cpu->sent[earlier];
	} else {
		cursor->bad |= end > REPORT_TRACE_LIMIT || seen->trace_count == REPORT_TRACES_MAX;
		read_steps(&trace, cursor);
		number = (uint8_t)seen->trace_count;
	}
	cursor->bad |= cpu->sent_count == SENT_MAX;
	if (cursor->bad)
		return 0;
	if (end != REPORT_TRACE_SAME)
		seen->traces[seen->trace_count++] = trace;
	cpu->sent[cpu->sent_count++] = number;
	return number;
}

static void read_picks(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observation *seen = &cpu->seen;

	while (more(cursor)) {
		struct observed_pick pick = { 0 };

		take_string(cursor, cpu, pick.operation, sizeof(pick.operation));
		take_string(cursor, cpu, pick.class, sizeof(pick.class));
		take_string(cursor, cpu, pick.says, sizeof(pick.says));
		take_string(cursor, cpu, pick.row, sizeof(pick.row));
		take_string(cursor, cpu, pick.reason, sizeof(pick.reason));
		pick.size = take(cursor, 8);
		pick.executable = take_up_to(cursor, REPORT_EXECUTABLE_EMULATED);
		pick.trace_count = take_up_to(cursor, 2);
		for (unsigned i = 0; i < pick.trace_count && !cursor->bad; i++)
			pick.trace[i] = read_trace(cpu, cursor);
		cursor->bad |= seen->pick_count == OBSERVED_PICKS_MAX;
		if (!cursor->bad)
			seen->picks[seen->pick_count++] = pick;
	}
}

static void read_checks(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observation *seen = &cpu->seen;

	while (more(cursor)) {
		struct observed_check check = { 0 };

		take_string(cursor, cpu, check.path, sizeof(check.path));
		take_string(cursor, cpu, check.operation, sizeof(check.operation));
		check.executable = take_up_to(cursor, REPORT_EXECUTABLE_EMULATED);
		check.cases = take_u32(cursor);
		check.failures = take_u32(cursor);
		take_string(cursor, cpu, check.what, sizeof(check.what));
		check.length = take_u32(cursor);
		check.offset = take_u16(cursor);
		cursor->bad |= seen->check_count == OBSERVED_CHECKS_MAX;
		if (!cursor->bad)
			seen->checks[seen->check_count++] = check;
	}
}

static void read_fault(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observation *seen = &cpu->seen;

	seen->fault_vector = take_u8(cursor);
	seen->fault_error = take_u32(cursor);
	seen->fault_rip = take(cursor, 8);
	seen->fault_cr2 = take(cursor, 8);
	seen->fault = true; /* even where the rest is cut: that there was one is what counts */
}

static void read_note(struct cpu_reader *cpu, struct cursor *cursor)
{
	size_t length = (size_t)(cursor->end - cursor->at);
	const uint8_t *bytes = take_bytes(cursor, length);

	if (!bytes || length > 255) {
		cursor->bad = true;
		return;
	}
	text_printable(cpu->seen.note, sizeof(cpu->seen.note), bytes, length);
}

/* --- the kernel as the subject
 * -------------------------------------------------------------------- */

static struct observed_kernel *kernel_of(struct cpu_reader *cpu)
{
	if (!cpu->seen.kernel)
		cpu->seen.kernel = xcalloc(1, sizeof(*cpu->seen.kernel));
	return cpu->seen.kernel;
}

/* u8 length + bytes, as printable text; of what does not fit the beginning. */
static void take_name(struct cursor *cursor, char *out, size_t room)
{
	size_t length = take_u8(cursor);
	const uint8_t *bytes = take_bytes(cursor, length);

	out[0] = '\0';
	if (bytes)
		text_printable(out, room, bytes, length);
}

static void read_routine(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observed_kernel *kernel = kernel_of(cpu);
	struct observed_routine *routine = &kernel->routines[kernel->routine_count];
	size_t length;
	const uint8_t *code;

	if (kernel->routine_count == REPORT_ROUTINES_MAX) {
		cursor->bad = true;
		return;
	}
	routine->address = take(cursor, 8);
	take_name(cursor, routine->name, sizeof(routine->name));
	length = (size_t)(cursor->end - cursor->at);
	cursor->bad |= length > REPORT_ROUTINE_MAX || routine->address + length < length;
	code = take_bytes(cursor, length);
	if (!code)
		return;
	memcpy(routine->code, code, length);
	routine->length = (uint16_t)length;
	kernel->routine_count++;
}

static void read_calls(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observed_kernel *kernel = kernel_of(cpu);

	while (more(cursor)) {
		struct observed_calls calls = { 0 };

		take_name(cursor, calls.name, sizeof(calls.name));
		calls.count = take_u32(cursor);
		cursor->bad |= kernel->calls_count == REPORT_CALLS_MAX;
		if (!cursor->bad)
			kernel->calls[kernel->calls_count++] = calls;
	}
}

/* It goes into the command line of other guests: nothing but what it is made of. */
static void keep_symbols(struct observed_kernel *kernel, struct cursor *cursor,
			 const uint8_t *bytes, size_t length)
{
	char text[sizeof(kernel->symbols)] = "";

	cursor->bad |= length >= sizeof(text);
	if (cursor->bad)
		return;
	memcpy(text, bytes, length);
	cursor->bad |= strspn(text, "0123456789abcdef" REPORT_SYMBOLS_SIGNS) != length;
	if (!cursor->bad)
		memcpy(kernel->symbols, text, sizeof(text));
}

static void read_fact(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observed_kernel *kernel = kernel_of(cpu);
	uint8_t what = take_up_to(cursor, REPORT_FACTS - 1);
	struct observed_fact fact = { 0 };
	size_t length, used = strlen(kernel->flags);
	const uint8_t *bytes;

	take_name(cursor, fact.name, sizeof(fact.name));
	length = (size_t)(cursor->end - cursor->at);
	bytes = take_bytes(cursor, length);
	if (!bytes)
		return;
	if (what == REPORT_FACT_FLAGS) {
		text_printable(kernel->flags + used, sizeof(kernel->flags) - used, bytes, length);
		return;
	}
	if (what == REPORT_FACT_SYMBOLS) {
		keep_symbols(kernel, cursor, bytes, length);
		return;
	}
	if (what == REPORT_FACT_OPTIONS) {
		text_printable(kernel->options, sizeof(kernel->options), bytes, length);
		return;
	}
	if (what == REPORT_FACT_MICROCODE) {
		text_printable(kernel->microcode, sizeof(kernel->microcode), bytes, length);
		return;
	}
	text_printable(fact.text, sizeof(fact.text), bytes, length);
	cursor->bad |= kernel->vulnerability_count == REPORT_FACTS_MAX;
	if (!cursor->bad)
		kernel->vulnerabilities[kernel->vulnerability_count++] = fact;
}

/* --- a program as the subject
 * --------------------------------------------------------------------- */

enum { STREAM_OUTPUT = 1, STREAM_ERRORS = 2 };

static struct observed_program *program_of(struct cpu_reader *cpu)
{
	if (!cpu->seen.program)
		cpu->seen.program = xcalloc(1, sizeof(*cpu->seen.program));
	return cpu->seen.program;
}

static void read_output(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observed_program *program = program_of(cpu);
	uint8_t stream = take_u8(cursor);
	size_t length = (size_t)(cursor->end - cursor->at);
	const uint8_t *bytes = take_bytes(cursor, length);

	if (!bytes || (stream != STREAM_OUTPUT && stream != STREAM_ERRORS) ||
	    program->output.length + program->errors.length + length > REPORT_OUTPUT_MAX) {
		cursor->bad = true;
		return;
	}
	text_add(stream == STREAM_OUTPUT ? &program->output : &program->errors, bytes, length);
}

/* The first one counts. */
static void read_exit(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observed_program *program = program_of(cpu);
	struct observed_program end = { 0 };

	end.how = take_up_to(cursor, REPORT_NOT_STARTED);
	end.code = take_u8(cursor);
	end.written = take(cursor, 8);
	end.left_out = take(cursor, 8);
	cursor->bad |= program->ended;
	if (cursor->bad)
		return;
	program->ended = true;
	program->how = end.how;
	program->code = end.code;
	program->written = end.written;
	program->left_out = end.left_out;
}

static void read_beat(struct cpu_reader *cpu, struct cursor *cursor)
{
	(void)cpu;
	(void)cursor;
}

static void read_done(struct cpu_reader *cpu, struct cursor *cursor)
{
	uint8_t complete = take_up_to(cursor, 1);

	cpu->seen.done = !cursor->bad;
	cpu->seen.complete = !cursor->bad && complete;
}

static void read_start(struct cpu_reader *cpu, struct cursor *cursor)
{
	struct observation *seen = &cpu->seen;
	uint8_t length = take_u8(cursor);
	const uint8_t *version = take_bytes(cursor, length);

	if (version)
		text_printable(seen->version, sizeof(seen->version), version, length);
	seen->misc_enable = take_u32(cursor);
	cursor->bad |= seen->misc_enable > REPORT_MISC_ENABLE_CLEAR;
	if (cursor->bad)
		seen->misc_enable = REPORT_MISC_ENABLE_UNREAD;
	seen->started = true;
}

typedef void payload_reader(struct cpu_reader *cpu, struct cursor *cursor);

static payload_reader *const payload_readers[] = {
	[REPORT_START] = read_start, [REPORT_STRINGS] = read_strings, [REPORT_CPUID] = read_cpuid,
	[REPORT_PICKS] = read_picks, [REPORT_CHECKS] = read_checks,   [REPORT_FAULT] = read_fault,
	[REPORT_NOTE] = read_note,   [REPORT_BEAT] = read_beat,	      [REPORT_DONE] = read_done,
	[REPORT_CODE] = read_code,   [REPORT_ROUTINE] = read_routine, [REPORT_CALLS] = read_calls,
	[REPORT_FACT] = read_fact,   [REPORT_OUTPUT] = read_output,   [REPORT_EXIT] = read_exit,
};

#define KINDS (sizeof(payload_readers) / sizeof(payload_readers[0]))

/* --- CPUs
 * ------------------------------------------------------------------------------------------ */

static struct cpu_reader *find_cpu(const struct report_reader *reader, uint16_t number)
{
	for (size_t i = 0; i < reader->cpu_count; i++)
		if (reader->cpus[i]->seen.cpu == number)
			return reader->cpus[i];
	return NULL;
}

static void empty_cpu(struct cpu_reader *cpu)
{
	cpuid_free(&cpu->seen.cpuid);
	free(cpu->seen.kernel);
	if (cpu->seen.program) {
		text_free(&cpu->seen.program->output);
		text_free(&cpu->seen.program->errors);
	}
	free(cpu->seen.program);
	text_free(&cpu->strings);
}

/* A REPORT_START begins the CPU's story, again where it had begun one. NULL: one CPU too many. */
static struct cpu_reader *start_cpu(struct report_reader *reader, uint16_t number)
{
	struct cpu_reader *cpu = find_cpu(reader, number);

	if (cpu) {
		empty_cpu(cpu);
		memset(cpu, 0, sizeof(*cpu));
	} else {
		if (reader->cpu_count == reader->most_cpus)
			return NULL;
		cpu = xcalloc(1, sizeof(*cpu));
		reader->cpus[reader->cpu_count++] = cpu;
	}
	cpu->seen.cpu = number;
	return cpu;
}

static void read_frame(struct report_reader *reader, const uint8_t *frame, size_t payload)
{
	struct cursor cursor = { .at = frame + REPORT_HEADER_SIZE,
				 .end = frame + REPORT_HEADER_SIZE + payload };
	uint8_t kind = frame[3];
	uint16_t number = (uint16_t)(frame[6] | frame[7] << 8);
	struct cpu_reader *cpu;

	if (kind == REPORT_END) {
		reader->ended = true;
		return;
	}
	cpu = kind == REPORT_START ? start_cpu(reader, number) : find_cpu(reader, number);
	if (!cpu) {
		if (kind == REPORT_BEAT && number > reader->wanted && number < reader->most_cpus)
			reader->wanted = number;
		return;
	}
	if (cpu->seen.done) { /* nothing may follow REPORT_DONE */
		cpu->seen.malformed++;
		return;
	}
	payload_readers[kind](cpu, &cursor);
	if (cursor.bad || cursor.at != cursor.end)
		cpu->seen.malformed++;
}

/* --- the stream
 * ------------------------------------------------------------------------------------ */

/* CRC-32 as zlib's: reflected polynomial, initial and final complement. */
static void make_crc_table(uint32_t *table)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t rest = i;

		for (int bit = 0; bit < 8; bit++)
			rest = rest & 1 ? rest >> 1 ^ 0xEDB88320u : rest >> 1;
		table[i] = rest;
	}
}

static uint32_t crc_of(const uint32_t *table, const uint8_t *bytes, size_t length)
{
	uint32_t crc = 0xFFFFFFFFu;

	for (size_t i = 0; i < length; i++)
		crc = table[(crc ^ bytes[i]) & 0xFF] ^ crc >> 8;
	return ~crc;
}

enum frame_state {
	FRAME_NONE,  /* no frame begins here */
	FRAME_SHORT, /* one may: more bytes are needed to tell */
	FRAME_GOOD,
};

static enum frame_state look_for_frame(const struct report_reader *reader, const uint8_t *bytes,
				       size_t length, size_t *payload)
{
	static const uint8_t start[] = { REPORT_MAGIC_0, REPORT_MAGIC_1, REPORT_VERSION };
	const uint8_t *crc;

	for (size_t i = 0; i < sizeof(start); i++)
		if (i < length && bytes[i] != start[i])
			return FRAME_NONE;
	if (length > 3 && bytes[3] != REPORT_END &&
	    (bytes[3] >= KINDS || !payload_readers[bytes[3]]))
		return FRAME_NONE;
	if (length < REPORT_HEADER_SIZE)
		return FRAME_SHORT;
	*payload = (size_t)(bytes[4] | bytes[5] << 8);
	if (*payload > REPORT_PAYLOAD_MAX)
		return FRAME_NONE;
	if (length < REPORT_HEADER_SIZE + *payload + REPORT_CRC_SIZE)
		return FRAME_SHORT;
	crc = bytes + REPORT_HEADER_SIZE + *payload;
	if (crc_of(reader->crc_table, bytes, REPORT_HEADER_SIZE + *payload) !=
	    ((uint32_t)crc[0] | (uint32_t)crc[1] << 8 | (uint32_t)crc[2] << 16 |
	     (uint32_t)crc[3] << 24))
		return FRAME_NONE;
	return FRAME_GOOD;
}

/* Reads the frames in what is pending and keeps what may be the beginning of one. */
static size_t drain(struct report_reader *reader, bool last)
{
	size_t at = 0, frames = 0, payload = 0;

	while (at < reader->pending_length) {
		const uint8_t *bytes = reader->pending + at;

		switch (look_for_frame(reader, bytes, reader->pending_length - at, &payload)) {
		case FRAME_GOOD:
			read_frame(reader, bytes, payload);
			frames++;
			at += REPORT_HEADER_SIZE + payload + REPORT_CRC_SIZE;
			break;
		case FRAME_SHORT:
			if (!last)
				goto out;
			__attribute__((fallthrough));
		case FRAME_NONE:
			reader->skipped++;
			at++;
			break;
		}
	}
out:
	reader->pending_length -= at;
	memmove(reader->pending, reader->pending + at, reader->pending_length);
	return frames;
}

uint16_t report_wanted(const struct report_reader *reader)
{
	return reader->wanted;
}

struct report_reader *report_reader_new(size_t most_cpus)
{
	struct report_reader *reader = xcalloc(1, sizeof(*reader));

	reader->most_cpus = most_cpus;
	reader->cpus = xcalloc(most_cpus, sizeof(struct cpu_reader *));
	make_crc_table(reader->crc_table);
	return reader;
}

void report_reader_free(struct report_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->cpu_count; i++) {
		empty_cpu(reader->cpus[i]);
		free(reader->cpus[i]);
	}
	free(reader->cpus);
	free(reader);
}

size_t report_feed(struct report_reader *reader, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;
	size_t frames = 0;

	while (length) {
		size_t room = sizeof(reader->pending) - reader->pending_length;
		size_t part = length < room ? length : room;

		memcpy(reader->pending + reader->pending_length, from, part);
		reader->pending_length += part;
		from += part;
		length -= part;
		frames += drain(reader, false);
	}
	return frames;
}

size_t report_finish(struct report_reader *reader)
{
	return drain(reader, true);
}

bool report_ended(const struct report_reader *reader)
{
	return reader->ended;
}

size_t report_skipped(const struct report_reader *reader)
{
	return reader->skipped;
}

const struct observation *report_cpu(const struct report_reader *reader, uint16_t cpu)
{
	const struct cpu_reader *found = find_cpu(reader, cpu);

	return found ? &found->seen : NULL;
}
