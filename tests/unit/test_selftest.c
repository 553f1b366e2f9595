// SPDX-License-Identifier: MIT
/* tests/dispatch, the selftests: the report's bytes, the CPUID dump, the witness, a whole run. */
#include <stdio.h>
#include <stdlib.h>

#include "images/linux/platform.h"
#include "tests/dispatch/cpuid_report.h"
#include "tests/dispatch/state.h"
#include "tests/unit/dispatch_fixture.h"

Suite *suite_selftest(void);

/* --- the report --- */

#define REPORT_ROOM (64 * 1024)

/* What a run sent, its frames taken apart. */
struct sent {
	size_t used, at;
	uint8_t bytes[REPORT_ROOM];
};

static void take(void *context, const void *bytes, size_t length)
{
	struct sent *sent = context;

	ck_assert_uint_le(length, sizeof(sent->bytes) - sent->used);
	memcpy(sent->bytes + sent->used, bytes, length);
	sent->used += length;
}

/* Bit by bit, as the polynomial is written down. */
static uint32_t crc_of(const uint8_t *bytes, size_t length)
{
	uint32_t crc = ~0U;

	while (length--) {
		crc ^= *bytes++;
		for (unsigned i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
	}
	return ~crc;
}

struct frame {
	unsigned kind, cpu;
	const uint8_t *payload;
	size_t length;
};

static bool next_frame(struct sent *sent, struct frame *frame)
{
	const uint8_t *head = sent->bytes + sent->at;
	uint32_t crc;

	if (sent->at == sent->used)
		return false;
	ck_assert_uint_le(sent->at + REPORT_HEADER_SIZE + REPORT_CRC_SIZE, sent->used);
	ck_assert(head[0] == 'Q' && head[1] == 'L' && head[2] == REPORT_VERSION);
	frame->kind = head[3];
	frame->length = head[4] | (size_t)head[5] << 8;
	frame->cpu = head[6] | (unsigned)head[7] << 8;
	frame->payload = head + REPORT_HEADER_SIZE;
	ck_assert_uint_le(frame->length, REPORT_PAYLOAD_MAX);
	memcpy(&crc, frame->payload + frame->length, sizeof(crc));
	ck_assert_uint_eq(crc, crc_of(head, REPORT_HEADER_SIZE + frame->length));
	sent->at += REPORT_HEADER_SIZE + frame->length + REPORT_CRC_SIZE;
	ck_assert_uint_le(sent->at, sent->used);
	return true;
}

/* Worked by hand: the CRC is that of zlib's crc32() over the 9 bytes before it. */
START_TEST(frame_bytes)
{
	static struct sent sent;
	const struct selftest_platform platform = { .context = &sent, .send = take, .cpu = 0x0102 };
	const uint8_t want[] = { 'Q', 'L', 1, REPORT_DONE, 1, 0, 2, 1, 1 };
	struct frame frame;

	selftest_send_frame(&platform, REPORT_DONE, "\1", 1);
	ck_assert_uint_eq(sent.used, sizeof(want) + 4);
	ck_assert(!memcmp(sent.bytes, want, sizeof(want)));
	ck_assert_uint_eq(crc_of((const uint8_t *)"123456789", 9),
			  0xCBF43926); /* the usual check */
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.cpu, 0x0102);
	selftest_send_frame(&platform, REPORT_BEAT, NULL, 0);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_BEAT);
	ck_assert_uint_eq(frame.length, 0);
}
END_TEST

START_TEST(strings)
{
	static struct sent sent;
	static struct report report;
	const struct selftest_platform platform = { .context = &sent, .send = take };
	char twin[] = "mov";
	struct frame frame;
	unsigned i;

	report_begin(&report, &platform);
	ck_assert_uint_eq(report_string(&report, "mov"), 0);
	ck_assert_uint_eq(report_string(&report, "movnti"), 1);
	ck_assert_uint_eq(report_string(&report, twin), 0); /* by its text */
	ck_assert_uint_eq(report_string(&report, NULL), REPORT_NO_STRING);
	report_send_strings(&report);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_STRINGS);
	ck_assert_uint_eq(frame.length, 11);
	ck_assert(!memcmp(frame.payload, "\3mov\6movnti", 11));
	report_send_strings(&report);
	ck_assert_msg(!next_frame(&sent, &frame), "nothing new");
	for (i = 2; i < REPORT_STRINGS_KEPT; i++) {
		static char many[REPORT_STRINGS_KEPT][8];

		snprintf(many[i], sizeof(many[i]), "%u", i);
		ck_assert_uint_eq(report_string(&report, many[i]), i);
	}
	ck_assert_uint_eq(report_string(&report, "one too many"), REPORT_NO_STRING);
}
END_TEST

/* --- CPUID in the report --- */

static void report_fake(struct sent *sent, dispatch_cpuid_fn *cpuid, void *context)
{
	static struct report report;
	const struct selftest_platform platform = { .context = sent, .send = take };

	sent->used = sent->at = 0;
	report_begin(&report, &platform);
	cpuid_report(&report, cpuid, context);
}

START_TEST(cpuid_bytes)
{
	static struct sent sent;
	static const uint8_t want[] = {
		/* leaf 0: EAX 4; "Genu" "ntel" "ineI" */
		0x0F, 0, 4, 0, 0, 0, 'G', 'e', 'n', 'u', 'n', 't', 'e', 'l', 'i', 'n', 'e', 'I',
		/* leaf 1: EAX and EDX; 2: nothing; 3: EBX */
		0x09, 1, 0x54, 0x06, 0x05, 0, 0, 0, 8, 0, 0x00, 2, 0x02, 3, 0x78, 0x56, 0x34, 0x12,
		/* leaf 4: a data cache, a unified one; what ends the list is not sent */
		0x01, 4, 0x21, 0, 0, 0, 0x11, 4, 1, 0x43, 0, 0, 0,
		/* 0x80000000: its maximum is itself */
		0x81, 0, 0, 0, 0, 0x80
	};
	struct fake fake = { .count = 0 };
	struct frame frame;

	put(&fake, 0, 0, 4, letters(INTEL, 0), letters(INTEL, 8), letters(INTEL, 4));
	put(&fake, 1, 0, 0x50654, 0, 0, 1 << 19);
	put(&fake, 3, 0, 0, 0x12345678, 0, 0);
	put(&fake, 4, 0, DATA(1), 0, 0, 0);
	put(&fake, 4, 1, UNIFIED(2), 0, 0, 0);
	put(&fake, 4, 3, UNIFIED(3), 0, 0, 0);		/* behind the end of the list */
	put(&fake, 0x40000000, 0, 0x40000000, 0, 0, 0); /* not asked for without a hypervisor */
	put(&fake, 0x80000000, 0, 0x80000000, 0, 0, 0);
	put(&fake, 0xC0000000, 0, 0xC0000000, 0, 0, 0);
	report_fake(&sent, fake_read, &fake);
	ck_assert(next_frame(&sent, &frame));
	ck_assert_uint_eq(frame.kind, REPORT_CPUID);
	ck_assert_uint_eq(frame.length, sizeof(want));
	assert_bytes(frame.payload, want, sizeof(want), "cpuid", 0, 0);
	ck_assert(!next_frame(&sent, &frame));
}
END_TEST

struct entry {
	uint32_t leaf, subleaf, registers[4];
};

static size_t parse_cpuid(struct sent *sent, struct entry *entries, size_t room)
{
	struct frame frame;
	size_t count = 0;

	while (next_frame(sent, &frame)) {
		const uint8_t *at = frame.payload, *end = at + frame.length;

		while (at < end) {
			const uint8_t head = *at++;
			struct entry entry = { 0 };

			entry.leaf = (uint32_t)(head >> REPORT_CPUID_BASE_SHIFT) << 30 | *at++;
			if (head & REPORT_CPUID_SUBLEAF)
				entry.subleaf = *at++;
			for (unsigned i = 0; i < 4; i++) {
				if (!(head >> i & 1))
					continue;
				memcpy(&entry.registers[i], at, 4);
				at += 4;
			}
			ck_assert(at <= end);
			ck_assert_uint_lt(count, room);
			entries[count++] = entry;
		}
	}
	return count;
}

static unsigned subleaves_of(const struct entry *entries, size_t count, uint32_t leaf,
			     uint32_t *last)
{
	unsigned found = 0;

	for (size_t i = 0; i < count; i++) {
		if (entries[i].leaf != leaf)
			continue;
		found++;
		*last = entries[i].subleaf;
	}
	return found;
}

/* How many subleaves of each kind of leaf are sent, and which is the last. */
START_TEST(cpuid_subleaves)
{
	static struct sent sent;
	static struct entry entries[1024];
	static const struct {
		uint32_t leaf, subleaves, last;
	} rows[] = {
		{ 0x07, 3, 2 },	      { 0x0B, 2, 1 },	    { 0x0D, 5, 17 },
		{ 0x0F, 2, 1 },	      { 0x10, 3, 3 },	    { 0x12, 3, 2 },
		{ 0x14, 2, 1 },	      { 0x1A, 1, 0 },	    { 0x1F, 1, 0 },
		{ 0x40000001, 1, 0 }, { 0x80000026, 2, 1 }, { 0x80000020, 2, 1 },
		{ 0xC0000001, 1, 0 },
	};
	struct fake fake = { .count = 0 };
	size_t count, i;
	uint32_t last = 0;

	put(&fake, 0, 0, 0x1F, letters(ZHAOXIN, 0), letters(ZHAOXIN, 8), letters(ZHAOXIN, 4));
	put(&fake, 1, 0, 0x50654, 0, 1U << 31, 0);
	put(&fake, 7, 0, 2, 0, 0, 0);
	put(&fake, 0x0B, 0, 0, 0, 0x100, 0);
	put(&fake, 0x0B, 1, 0, 0, 0x201, 0);
	put(&fake, 0x0B, 2, 0, 0, 2, 77); /* type 0 ends the list, whatever EDX */
	put(&fake, 0x0D, 0, 7, 0, 0, 0);  /* x87, SSE and AVX: 0, 1 and 2 */
	put(&fake, 0x0D, 1, 0, 0, 1 << 11 | 1 << 17, 0);
	put(&fake, 0x0F, 0, 0, 0, 0, 1 << 1);
	put(&fake, 0x10, 0, 0, 1 << 1 | 1 << 3, 0, 0);
	put(&fake, 0x12, 2, 1, 0, 0, 0);
	put(&fake, 0x14, 0, 1, 0, 0, 0);
	put(&fake, 0x40000000, 0, 0x40000001, 0, 0, 0);
	put(&fake, 0x80000000, 0, 0x80000026, 0, 0, 0);
	put(&fake, 0x80000020, 0, 0, 1 << 1, 0, 0);
	put(&fake, 0x80000026, 0, 0, 0, 0x100, 0);
	put(&fake, 0x80000026, 1, 0, 0, 0x200, 0);
	put(&fake, 0xC0000000, 0, 0xC0000001, 0, 0, 0);
	report_fake(&sent, fake_read, &fake);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	for (i = 0; i < COUNT(rows); i++) {
		unsigned found = subleaves_of(entries, count, rows[i].leaf, &last);

		ck_assert_msg(found == rows[i].subleaves && last == rows[i].last,
			      "leaf %x: %u subleaves, last %u", rows[i].leaf, found, last);
	}
}
END_TEST

static void all_ones(void *context, uint32_t leaf, uint32_t subleaf, struct dispatch_registers *out)
{
	(void)context, (void)leaf, (void)subleaf;
	memset(out, 0xFF, sizeof(*out));
}

/* Maxima that come close to no end. */
static void garbage(void *context, uint32_t leaf, uint32_t subleaf, struct dispatch_registers *out)
{
	(void)context;
	*out = (struct dispatch_registers){ leaf | 0xFFFF, leaf * 3 + subleaf, ~subleaf, leaf };
	if (leaf == 0)
		out->ebx = 0x746E6543; /* "Cent" */
}

START_TEST(cpuid_garbage)
{
	static struct sent sent;
	static struct entry entries[8192];
	size_t count;
	uint32_t last;

	report_fake(&sent, all_ones, NULL);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	ck_assert_uint_le(count, 64 * 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 7, &last), 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x3F, &last), 1);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x80000000, &last), 0);
	report_fake(&sent, garbage, NULL);
	count = parse_cpuid(&sent, entries, COUNT(entries));
	ck_assert_uint_le(count, 4 * 64 * 32);
	ck_assert_uint_eq(subleaves_of(entries, count, 0x8000003F, &last), 1);
	ck_assert_uint_eq(subleaves_of(entries, count, 0xC000003F, &last), 1);
}
END_TEST

/* --- the selftest --- */

/* A report's contents, as far as the tests look at them. */
#define TRACES 32
#define STEPS  128
struct step {
	const uint8_t *code; /* NULL: not known */
	unsigned rounds, flags;
};
struct trace {
	unsigned end, count;
	struct step steps[STEPS];
};
struct pick {
	const char *operation, *class, *path, *row, *reason;
	uint64_t size;
	unsigned executable, trace_count, traces[2];
};
struct tested_path {
	const char *path, *operation, *failed;
	unsigned executable;
	uint32_t cases, failures;
};
struct result {
	char strings[256][256];
	unsigned string_count;
	uint8_t code[REPORT_CODE_MAX + 16];
	struct trace traces[TRACES];
	unsigned trace_count;
	struct pick picks[16];
	unsigned pick_count;
	struct tested_path checks[16];
	unsigned check_count;
	unsigned kinds[16]; /* frames by kind */
	bool done;
};

/* Little-endian numbers off a payload, bounds checked. */
struct cursor {
	const uint8_t *at, *end;
};

static uint64_t number(struct cursor *cursor, unsigned bytes)
{
	uint64_t value = 0;

	ck_assert_uint_ge(cursor->end - cursor->at, bytes);
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*cursor->at++ << (8 * i);
	return value;
}

static const char *string(struct result *result, struct cursor *cursor)
{
	unsigned n = (unsigned)number(cursor, 1);

	if (n == REPORT_NO_STRING)
		return NULL;
	ck_assert_uint_lt(n, result->string_count);
	return result->strings[n];
}

static unsigned parse_trace(struct result *result, struct cursor *cursor)
{
	struct trace *trace = &result->traces[result->trace_count];
	uint16_t offset = 0;
	unsigned i;

	ck_assert_uint_lt(result->trace_count, TRACES);
	trace->end = (unsigned)number(cursor, 1);
	if (trace->end == REPORT_TRACE_SAME) {
		i = (unsigned)number(cursor, 1);
		ck_assert_uint_lt(i, result->trace_count);
		*trace = result->traces[i];
		return result->trace_count++;
	}
	trace->count = (unsigned)number(cursor, 1);
	ck_assert_uint_le(trace->count, STEPS);
	for (i = 0; i < trace->count; i++) {
		unsigned head = (unsigned)number(cursor, 1);

		offset = head & 15 ? (uint16_t)(offset + (head & 15)) : (uint16_t)number(cursor, 2);
		trace->steps[i].rounds = head >> 4 & 7;
		trace->steps[i].flags = head & 0x80 ? (unsigned)number(cursor, 1) : 0;
		trace->steps[i].code = NULL;
		if (offset != REPORT_NO_CODE) {
			ck_assert_uint_lt(offset, REPORT_CODE_MAX);
			trace->steps[i].code = result->code + offset;
		}
	}
	return result->trace_count++;
}

static void parse_frame(struct result *result, const struct frame *frame)
{
	struct cursor cursor = { frame->payload, frame->payload + frame->length };

	ck_assert_uint_lt(frame->kind, COUNT(result->kinds));
	result->kinds[frame->kind]++;
	if (frame->kind == REPORT_CODE) {
		uint64_t offset = number(&cursor, 2);

		ck_assert_uint_le(offset + (uint64_t)(cursor.end - cursor.at), REPORT_CODE_MAX);
		memcpy(result->code + offset, cursor.at, (size_t)(cursor.end - cursor.at));
	}
	while (frame->kind == REPORT_STRINGS && cursor.at < cursor.end) {
		size_t length = number(&cursor, 1);

		ck_assert_uint_ge((size_t)(cursor.end - cursor.at), length);
		memcpy(result->strings[result->string_count++], cursor.at, length);
		cursor.at += length;
	}
	while (frame->kind == REPORT_PICKS && cursor.at < cursor.end) {
		struct pick *pick = &result->picks[result->pick_count++];

		ck_assert_uint_le(result->pick_count, COUNT(result->picks));
		pick->operation = string(result, &cursor);
		pick->class = string(result, &cursor);
		pick->path = string(result, &cursor);
		pick->row = string(result, &cursor);
		pick->reason = string(result, &cursor);
		pick->size = number(&cursor, 8);
		pick->executable = (unsigned)number(&cursor, 1);
		pick->trace_count = (unsigned)number(&cursor, 1);
		ck_assert_uint_le(pick->trace_count, 2);
		for (unsigned i = 0; i < pick->trace_count; i++)
			pick->traces[i] = parse_trace(result, &cursor);
	}
	while (frame->kind == REPORT_CHECKS && cursor.at < cursor.end) {
		struct tested_path *check = &result->checks[result->check_count++];

		ck_assert_uint_le(result->check_count, COUNT(result->checks));
		check->path = string(result, &cursor);
		check->operation = string(result, &cursor);
		check->executable = (unsigned)number(&cursor, 1);
		check->cases = (uint32_t)number(&cursor, 4);
		check->failures = (uint32_t)number(&cursor, 4);
		check->failed = string(result, &cursor);
		number(&cursor, 6);
	}
	if (frame->kind == REPORT_DONE)
		result->done = number(&cursor, 1);
}

static void parse(struct result *result, struct sent *sent)
{
	struct frame frame;

	memset(result, 0, sizeof(*result));
	while (next_frame(sent, &frame)) {
		ck_assert_msg(!result->done, "a frame after REPORT_DONE");
		ck_assert_msg((result->kinds[REPORT_START] > 0) == (frame.kind != REPORT_START) ||
				      frame.kind != REPORT_START,
			      "one REPORT_START, the first frame");
		parse_frame(result, &frame);
	}
}

/* The instructions that the witness must tell apart, by their bytes. */
enum kind {
	K_OTHER,
	K_MOVNTI,
	K_SFENCE,
	K_CLZERO,
	K_STOSB,
	K_STOSQ,
	K_CLWB,
	K_CLFLUSHOPT,
	K_CLFLUSH,
	K_MOV,
	K_KINDS
};

static enum kind kind_of(const uint8_t *code)
{
	if (!code)
		return K_OTHER;
	if ((code[0] & 0xF8) == 0x48 && code[1] == 0x0F && code[2] == 0xC3)
		return K_MOVNTI;
	if (!memcmp(code, "\x0F\xAE\xF8", 3))
		return K_SFENCE;
	if (!memcmp(code, "\x0F\x01\xFC", 3))
		return K_CLZERO;
	if (!memcmp(code, "\xF3\xAA", 2))
		return K_STOSB;
	if (!memcmp(code, "\xF3\x48\xAB", 3))
		return K_STOSQ;
	if (!memcmp(code, "\x66\x0F\xAE", 3) || !memcmp(code, "\x66\x41\x0F\xAE", 4)) {
		uint8_t modrm = code[1] == 0x41 ? code[4] : code[3];

		return (modrm >> 3 & 7) == 6 ? K_CLWB : K_CLFLUSHOPT;
	}
	if (!memcmp(code, "\x41\x0F\xAE\x38", 4) || !memcmp(code, "\x0F\xAE\x3F", 3))
		return K_CLFLUSH;
	/* 8 bytes to memory by RDI, with and without a displacement */
	if ((code[0] & 0xF8) == 0x48 && code[1] == 0x89 && (code[2] & 7) == RDI &&
	    (code[2] >> 6) < 3)
		return K_MOV;
	return K_OTHER;
}

static unsigned rounds_of(const struct trace *trace, enum kind kind)
{
	unsigned most = 0;

	for (unsigned i = 0; i < trace->count; i++)
		if (kind_of(trace->steps[i].code) == kind && trace->steps[i].rounds > most)
			most = trace->steps[i].rounds;
	return most;
}

/* The store that each path's main loop makes. */
static enum kind main_kind(const char *path)
{
	static const struct {
		const char *path;
		enum kind kind;
	} rows[] = {
		{ "mov", K_MOV },	{ "rep-stosb", K_STOSB }, { "rep-stosq", K_STOSQ },
		{ "movnti", K_MOVNTI }, { "clzero", K_CLZERO },	  { "clflushopt-copy", K_MOV }
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (!strcmp(rows[i].path, path))
			return rows[i].kind;
	ck_abort_msg("path %s", path);
	return K_OTHER;
}

struct fixture {
	struct selftest *test;
	struct selftest_platform platform;
	struct sent sent;
	struct result result;
};
static struct fixture fixture;

/* Check forks a process for each test: the platform's handlers are that test's alone. */
static void fixture_setup(void)
{
	fixture.test = aligned_alloc(16, (sizeof(struct selftest) + 15) / 16 * 16);
	fixture.platform = (struct selftest_platform){
		.context = &fixture.sent,
		.send = take,
		.guarded_call = platform_guarded_call,
		.arena = aligned_alloc(PAGE, SELFTEST_ARENA_MIN),
		.arena_bytes = SELFTEST_ARENA_MIN,
		.cpu = 5,
		.version = "",
	};
	ck_assert(fixture.test && fixture.platform.arena);
	memset(fixture.test, 0xAA, sizeof(*fixture.test)); /* the run relies on no old state */
	memset(fixture.platform.arena, 0, SELFTEST_ARENA_MIN);
	ck_assert_int_eq(platform_install(NULL), 0);
}

static void fixture_teardown(void)
{
	platform_remove();
	free(fixture.test);
	free(fixture.platform.arena);
}

/* Picks and traces of a made-up CPU. The instructions that this machine lacks are emulated. */
static const struct result *picks_of(const struct dispatch_cpu *cpu)
{
	struct selftest *test = fixture.test;

	fixture.sent.used = fixture.sent.at = 0;
	test->platform = &fixture.platform;
	test->cpu = *cpu;
	test->guarded = false;
	report_begin(&test->report, &fixture.platform);
	selftest_picks(test);
	parse(&fixture.result, &fixture.sent);
	ck_assert_uint_eq(fixture.result.pick_count, 14);
	return &fixture.result;
}

static const struct pick *find_pick(const struct result *result, const char *operation,
				    const char *class)
{
	for (unsigned i = 0; i < result->pick_count; i++)
		if (!strcmp(result->picks[i].operation, operation) &&
		    !strcmp(result->picks[i].class, class))
			return &result->picks[i];
	ck_abort_msg("no pick %s@%s", operation, class);
	return NULL;
}

/* The rules for what any traced pick must show, given what it says. */
static void assert_says_is_does(const struct result *result, const struct pick *pick)
{
	const bool copies = !strncmp(pick->operation, "memcpy", 6);
	const bool fenced =
		!copies && (!strcmp(pick->path, "movnti") || !strcmp(pick->path, "clzero"));
	const struct trace *first = &result->traces[pick->traces[0]];
	const struct trace *last = &result->traces[pick->traces[pick->trace_count - 1]];
	const enum kind kind = main_kind(pick->path);
	const char *const name = pick->operation;

	ck_assert_uint_eq(pick->trace_count, pick->size > 4096 ? 2 : 1);
	ck_assert_uint_eq(last->end, REPORT_TRACE_RETURNED);
	if (pick->trace_count == 2)
		ck_assert_uint_eq(first->end, REPORT_TRACE_ABANDONED);
	ck_assert_msg(rounds_of(first, kind) >= 4 && rounds_of(last, kind) >= 4, "%s@%s: %s", name,
		      pick->class, pick->path);
	ck_assert_msg((rounds_of(last, K_SFENCE) == 1) == fenced, "%s@%s: fence", name,
		      pick->class);
	ck_assert_uint_eq(kind_of(last->steps[last->count - 1].code) == K_OTHER ||
				  kind_of(last->steps[last->count - 1].code) == K_CLWB ||
				  kind_of(last->steps[last->count - 1].code) == K_CLFLUSHOPT ||
				  kind_of(last->steps[last->count - 1].code) == K_CLFLUSH,
			  true);
	for (unsigned other = K_MOVNTI; other < K_KINDS && !copies; other++)
		ck_assert_msg(other == kind || other == K_SFENCE || other == K_MOV ||
				      !rounds_of(last, other),
			      "%s@%s: %s with instruction %u", name, pick->class, pick->path,
			      other);
	ck_assert(!copies || rounds_of(last, K_CLWB) + rounds_of(last, K_CLFLUSHOPT) +
					     rounds_of(last, K_CLFLUSH) >
				     0);
	if (!strcmp(pick->path, "clflushopt-copy"))
		ck_assert_uint_eq(rounds_of(last, K_CLFLUSHOPT), 7);
}

static void assert_all_say_what_they_do(const struct result *result)
{
	for (unsigned i = 0; i < result->pick_count; i++)
		assert_says_is_does(result, &result->picks[i]);
}

/* Made-up CPUs that take every path. O and C are left to what this machine has. */
START_TEST(witnessed_paths)
{
	static const unsigned bits[] = { 0,	    E | R, R,	  E | R | S,	E | R | Q,
					 R | S | Q, Q,	   R | Z, E | R | S | Z };
	const struct dispatch_cpu host = host_cpu();
	struct dispatch_cpu cpu = cpu_with(bits[_i]);
	const struct result *result;

	cpu.clflushopt = host.clflushopt;
	cpu.clwb = host.clwb;
	result = picks_of(&cpu);
	assert_all_say_what_they_do(result);
	if (bits[_i] & Z)
		ck_assert_uint_eq(find_pick(result, "clear_extent", "llc")->executable,
				  host.clzero ? REPORT_EXECUTABLE_YES : REPORT_EXECUTABLE_EMULATED);
	ck_assert_uint_eq(find_pick(result, "clear_page", "4k")->executable, REPORT_EXECUTABLE_YES);
	ck_assert_pstr_eq(find_pick(result, "clear_extent", "llc")->row,
			  (bits[_i] & Q) && !(bits[_i] & Z) ? "bad" : NULL);
	ck_assert_ptr_null(find_pick(result, "clear_extent", "half")->row);
	ck_assert_uint_eq(find_pick(result, "memset", "2llc")->size, 2 * MIB);
}
END_TEST
#define WITNESSED 9

/* The flush of heads and tails is the CPU's best. */
START_TEST(witnessed_flushes)
{
	const struct dispatch_cpu host = host_cpu();
	struct dispatch_cpu cpu = cpu_with(E);
	const struct result *result;
	const struct trace *trace;

	result = picks_of(&cpu);
	trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
	ck_assert_uint_eq(rounds_of(trace, K_CLFLUSH), 1);
	ck_assert_uint_eq(rounds_of(trace, K_CLWB) + rounds_of(trace, K_CLFLUSHOPT), 0);
	if (host.clflushopt) {
		cpu.clflushopt = true;
		result = picks_of(&cpu);
		trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
		ck_assert_uint_eq(rounds_of(trace, K_CLFLUSHOPT), 1);
		ck_assert_uint_eq(rounds_of(trace, K_CLWB) + rounds_of(trace, K_CLFLUSH), 0);
	}
	if (host.clwb) {
		cpu.clwb = true;
		result = picks_of(&cpu);
		trace = &result->traces[find_pick(result, "memcpy_flushcache", "64")->traces[0]];
		ck_assert_uint_eq(rounds_of(trace, K_CLWB), 1);
		ck_assert_uint_eq(rounds_of(trace, K_CLFLUSHOPT) + rounds_of(trace, K_CLFLUSH), 0);
	}
}
END_TEST

/* The whole run, on this machine's CPU. */
START_TEST(whole_run)
{
	static struct entry entries[1024];
	struct result *result = &fixture.result;
	struct dispatch_registers leaf1;
	struct dispatch_cpu cpu = host_cpu();
	unsigned failures, i;

	ck_assert_uint_eq(selftest_bytes, sizeof(struct selftest));
	failures = selftest_run(fixture.test, &fixture.platform);
	ck_assert_uint_eq(failures, 0);
	ck_assert_uint_le(fixture.sent.used, 4096); /* CONTRACT: at most 4 KiB a CPU */
	parse(result, &fixture.sent);
	ck_assert(result->done);
	ck_assert_uint_eq(result->pick_count, 14);
	assert_all_say_what_they_do(result);
	for (i = 0; i < result->pick_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		uint64_t size = dispatch_class_size(class, cpu.llc_bytes);
		struct dispatch_choice choice = dispatch_choose(&cpu, class->operation, size);

		ck_assert_str_eq(result->picks[i].class, class->name);
		ck_assert_str_eq(result->picks[i].path, dispatch_path_name(choice.path));
		ck_assert_str_eq(result->picks[i].reason, choice.reason);
		ck_assert_uint_eq(result->picks[i].size, size);
	}
	ck_assert_uint_eq(result->check_count, 10);
	for (i = 0; i < result->check_count; i++) {
		const struct tested_path *check = &result->checks[i];

		ck_assert_uint_eq(check->failures, 0);
		ck_assert_ptr_null(check->failed);
		if (!strcmp(check->path, "clzero"))
			ck_assert_uint_eq(check->executable, cpu.clzero
								     ? REPORT_EXECUTABLE_YES
								     : REPORT_EXECUTABLE_EMULATED);
		else if (!strcmp(check->path, "mov") || cpu.clflushopt)
			ck_assert_uint_eq(check->executable, REPORT_EXECUTABLE_YES);
		if (check->executable == REPORT_EXECUTABLE_YES)
			ck_assert_uint_ge(check->cases, 100);
	}
	ck_assert(__builtin_cpu_supports("sse2"));
	dispatch_cpuid_instruction(NULL, 1, 0, &leaf1);
	ck_assert(leaf1.edx >> 26 & 1);
	/* and the CPUID frames alone */
	report_fake(&fixture.sent, dispatch_cpuid_instruction, NULL);
	ck_assert_uint_gt(parse_cpuid(&fixture.sent, entries, COUNT(entries)), 10);
	ck_assert_uint_eq(entries[1].leaf, 1);
	ck_assert_uint_eq(entries[1].registers[0], leaf1.eax);
}
END_TEST

/* A platform without a trap flag, where everything that is tried escapes. */
static int refuse(struct selftest *test, void (*function)(void *), void *argument, bool single_step)
{
	(void)test, (void)function, (void)argument, (void)single_step;
	return 1;
}

START_TEST(poor_platforms)
{
	struct result *result = &fixture.result;
	unsigned i;

	fixture.platform.guarded_call = refuse;
	fixture.platform.version = "6.1.0";
	fixture.platform.misc_enable = REPORT_MISC_ENABLE_CLEAR;
	ck_assert_uint_eq(selftest_run(fixture.test, &fixture.platform), 0);
	ck_assert(!memcmp(fixture.sent.bytes + REPORT_HEADER_SIZE,
			  "\5"
			  "6.1.0\2\0\0\0",
			  10));
	parse(result, &fixture.sent);
	ck_assert(result->done);
	ck_assert_uint_eq(result->pick_count, 14);
	for (i = 0; i < result->trace_count; i++) {
		ck_assert_uint_eq(result->traces[i].end, REPORT_TRACE_LIMIT);
		ck_assert_uint_eq(result->traces[i].count, 0);
	}
	ck_assert_uint_eq(result->kinds[REPORT_CODE], 0);
	for (i = 0; i < result->check_count; i++)
		ck_assert_uint_eq(result->checks[i].executable, REPORT_EXECUTABLE_NO);
}
END_TEST

/* --- the witness alone --- */

/* Dispatchers that do what ours never do. */
__attribute__((naked, used)) static void raises_ud(void)
{
	__asm__("movb $1, (%rdi)\n\tnop\n\tud2\n\tret");
}
__attribute__((naked, used)) static void stores_to_null(void)
{
	__asm__("xor %eax, %eax\n\tmovb $1, (%rax)\n\tret");
}
__attribute__((naked, used)) static void jumps_to_nowhere(void)
{
	__asm__("mov $0x1000, %eax\n\tjmp *%rax");
}
__attribute__((naked, used)) static void never_ends(void)
{
	__asm__("1: jmp 1b");
}
__attribute__((naked, used)) static void loops_without_store(void)
{
	__asm__("mov $1000, %ecx\n1: dec %ecx\n\tjnz 1b\n\tret");
}
/* The last byte first, the way of overlapping stores. */
__attribute__((naked, used)) static void stores_last_byte_first(void)
{
	__asm__("movb $1, 99(%rdi)\n\tmovb $1, (%rdi)\n\tret");
}
/* 140 distinct instructions. */
__attribute__((naked, used)) static void is_too_long(void)
{
	__asm__("movb $1, (%rdi)\n\t.rept 140\n\tnop\n\t.endr\n\tret");
}
/* Calls as deep as a return address that looks like its own. */
__attribute__((naked, used)) static void calls_others(void)
{
	__asm__("movb $1, (%rdi)\n\tcall 1f\n\tnop\n\tret\n1:\tcall 2f\n2:\tpop %rax\n\tret");
}

struct odd_call {
	void (*function)(void);
	uint8_t *to;
};

static void make_odd_call(void *argument)
{
	const struct odd_call *call = argument;

	((void (*)(uint8_t *))call->function)(call->to);
	*(volatile uint8_t *)(call->to + 200) = 1; /* the call is not this function's last act */
}

static const struct witness_trace *trace_odd(void (*function)(void), bool abandon, unsigned bytes)
{
	struct selftest *test = fixture.test;
	struct odd_call call = { function, fixture.platform.arena };
	bool returned;

	test->platform = &fixture.platform;
	test->emulated = false;
	witness_begin(&test->witness);
	memset(call.to, SELFTEST_POISON, 256);
	witness_start_trace(&test->witness, &(struct witness_call){
						    .entry = (uint64_t)function,
						    .abandon = abandon,
						    .first = call.to,
						    .last = call.to + bytes - 1,
						    .poison = SELFTEST_POISON,
					    });
	returned = selftest_guarded(test, make_odd_call, &call, true);
	return &test->witness.traces[witness_end_trace(&test->witness, returned)];
}

START_TEST(odd_calls)
{
	static const struct {
		void (*function)(void);
		bool abandon;
		unsigned end, steps, flags_of_last;
	} rows[] = {
		{ raises_ud, false, REPORT_TRACE_FAULTED, 3, REPORT_STEP_FAULTED },
		{ stores_to_null, false, REPORT_TRACE_FAULTED, 2, REPORT_STEP_FAULTED },
		{ jumps_to_nowhere, false, REPORT_TRACE_FAULTED, 3, REPORT_STEP_FAULTED },
		{ never_ends, false, REPORT_TRACE_LIMIT, 1, 0 },
		{ never_ends, true, REPORT_TRACE_ABANDONED, 1, 0 },
		{ loops_without_store, false, REPORT_TRACE_RETURNED, 4, 0 },
		{ loops_without_store, true, REPORT_TRACE_ABANDONED, 3, 0 },
		{ stores_last_byte_first, false, REPORT_TRACE_RETURNED, 3, 0 },
		{ is_too_long, false, REPORT_TRACE_LIMIT, 128, 0 },
		{ calls_others, false, REPORT_TRACE_RETURNED, 7, 0 },
	};
	size_t i;

	for (i = 0; i < COUNT(rows); i++) {
		const struct witness_trace *trace =
			trace_odd(rows[i].function, rows[i].abandon, 100);

		ck_assert_msg(trace->end == rows[i].end && trace->step_count == rows[i].steps,
			      "row %zu: end %u after %u", i, trace->end, trace->step_count);
		ck_assert_uint_eq(trace->steps[trace->step_count - 1].flags, rows[i].flags_of_last);
	}
}
END_TEST

/* Bytes that cannot be read are not sent. */
START_TEST(unreadable_code)
{
	struct selftest *test = fixture.test;
	const struct witness_trace *trace = trace_odd(jumps_to_nowhere, false, 1);
	struct witness *witness = &test->witness;

	fixture.sent.used = fixture.sent.at = 0;
	report_begin(&test->report, &fixture.platform);
	witness_report_code(witness, &test->report);
	ck_assert_uint_eq(witness->instructions[trace->steps[2].instruction].rip, 0x1000);
	ck_assert_uint_eq(witness->instructions[trace->steps[2].instruction].offset,
			  REPORT_NO_CODE);
	ck_assert_uint_eq(witness->instructions[trace->steps[0].instruction].offset, 0);
	ck_assert_uint_eq(witness->instructions[trace->steps[1].instruction].offset, 5);
	witness_report_trace(witness, &test->report, trace);
	/* FAULTED, 3 steps: at 0, once; 5 on, once; no code, once, flags: faulted */
	ck_assert_uint_eq(test->report.used, 2 + 3 + 1 + 4);
	ck_assert(!memcmp(test->report.payload, "\2\3\x10\0\0\x15\x90\xFF\xFF\2", 10));
}
END_TEST

/* Exceptions that belong to no guarded call, or that no test can cause, are not the selftest's. */
START_TEST(foreign_exceptions)
{
	struct selftest *test = fixture.test;
	struct selftest_registers registers;

	memset(&registers, 0, sizeof(registers));
	test->guarded = false;
	ck_assert_uint_eq(selftest_on_step(test, &registers), SELFTEST_UNKNOWN);
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 6, 0, 0), SELFTEST_UNKNOWN);
	test->guarded = true;
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 8, 0, 0), SELFTEST_UNKNOWN);
	ck_assert_uint_eq(selftest_on_fault(test, &registers, 18, 0, 0), SELFTEST_UNKNOWN);
}
END_TEST

static void add_guarded(Suite *suite, const char *name, const TTest *test, size_t rows)
{
	TCase *tcase = tcase_create(name);

	/* A step costs a signal: some 30 us under an emulator, and 10000 of them a run. */
	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tcase, test, 0, rows ? (int)rows : 1);
	suite_add_tcase(suite, tcase);
}

Suite *suite_selftest(void)
{
	Suite *suite = suite_create("selftest");

	add(suite, "report/frame", frame_bytes, 0);
	add(suite, "report/strings", strings, 0);
	add(suite, "report/cpuid", cpuid_bytes, 0);
	add(suite, "report/cpuid_subleaves", cpuid_subleaves, 0);
	add(suite, "report/cpuid_garbage", cpuid_garbage, 0);
	add_guarded(suite, "witness/paths", witnessed_paths, WITNESSED);
	add_guarded(suite, "witness/flushes", witnessed_flushes, 0);
	add_guarded(suite, "witness/odd_calls", odd_calls, 0);
	add_guarded(suite, "witness/unreadable_code", unreadable_code, 0);
	add_guarded(suite, "selftest/whole_run", whole_run, 0);
	add_guarded(suite, "selftest/poor_platforms", poor_platforms, 0);
	add_guarded(suite, "selftest/foreign_exceptions", foreign_exceptions, 0);
	return suite;
}
