/* SPDX-License-Identifier: MIT */
/*
 * Functional checks: each path against what its operation means, byte for byte, with guards before
 * and behind.
 */
#include "tests/dispatch/paths.h"
#include "tests/dispatch/state.h"

#define GUARD	    64 /* bytes watched on either side: a line, what clzero or a flush could hit */
#define REPEAT_BYTE 0x0101010101010101ULL
#define POISON_WORD (SELFTEST_POISON * REPEAT_BYTE)

/* Any 8 bytes: checking by words is what keeps all cases within 2 ms in an emulated guest. */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

static const struct check {
	enum dispatch_path path;
	enum dispatch_operation operation;
} checks[] = {
	{ DISPATCH_MOV, DISPATCH_CLEAR_EXTENT },
	{ DISPATCH_REP_STOSB, DISPATCH_CLEAR_EXTENT },
	{ DISPATCH_REP_STOSQ, DISPATCH_CLEAR_EXTENT },
	{ DISPATCH_MOVNTI, DISPATCH_CLEAR_EXTENT },
	{ DISPATCH_CLZERO, DISPATCH_CLEAR_EXTENT },
	{ DISPATCH_MOV, DISPATCH_MEMSET },
	{ DISPATCH_REP_STOSB, DISPATCH_MEMSET },
	{ DISPATCH_MOVNTI, DISPATCH_MEMSET },
	{ DISPATCH_MOVNTI, DISPATCH_MEMCPY_FLUSHCACHE },
	{ DISPATCH_CLFLUSHOPT_COPY, DISPATCH_MEMCPY_FLUSHCACHE_SINGLE },
};

/* Around words (8) and lines (64), and the heads and tails of both. */
static const uint8_t offsets[] = { 0, 1, 4, 7, 9, 63 };
static const uint8_t lengths[] = { 0,  1,  2,  3,  5,  7,  8,	9,   13,  17,
				   31, 61, 63, 64, 65, 67, 127, 128, 131, 197 };
/* Around a page, and three pages. */
static const struct {
	uint16_t offset, length;
} pages[] = { { 0, 4096 }, { 9, 4095 }, { 63, 4097 }, { 1, 3 * 4096 } };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* One path's run through its cases. */
struct run {
	const struct check *check;
	uint8_t *to, *from; /* 64-aligned, before the case's offset */
	enum path_flush flush;
	unsigned every; /* run each so many-th of the short cases; 1: and those of pages */
	uint32_t cases, failures;
	/* the case under way, and the first that failed */
	uint32_t length, failed_length;
	uint16_t offset, failed_offset;
	const char *failed;
};

static bool is_set(const struct run *run)
{
	return run->check->operation == DISPATCH_CLEAR_EXTENT ||
	       run->check->operation == DISPATCH_MEMSET;
}

static uint8_t set_byte(const struct run *run)
{
	return run->check->operation == DISPATCH_MEMSET ? SELFTEST_BYTE : 0;
}

/* A source may be aligned in another way than its destination. */
static const uint8_t *source_of(const struct run *run)
{
	return run->from + (run->offset * 5 + run->length) % 16;
}

static void do_path(const struct run *run)
{
	uint8_t *to = run->to + run->offset;

	if (is_set(run))
		path_set[run->check->path](to, set_byte(run) * REPEAT_BYTE, run->length);
	else
		path_copy[run->check->path][run->flush](to, source_of(run), run->length);
}

static bool all_equal(const uint8_t *from, const uint8_t *end, uint8_t byte)
{
	for (; end - from >= 8; from += 8)
		if (*(const any_word *)from != byte * REPEAT_BYTE)
			return false;
	for (; from < end; from++)
		if (*from != byte)
			return false;
	return true;
}

static bool all_copied(const uint8_t *from, const uint8_t *end, const uint8_t *source)
{
	for (; end - from >= 8; from += 8, source += 8)
		if (*(const any_word *)from != *(const any_word *)source)
			return false;
	for (; from < end; from++, source++)
		if (*from != *source)
			return false;
	return true;
}

/* What is wrong; NULL: nothing. */
static const char *verify(const struct run *run)
{
	const uint8_t *begin = run->to + run->offset, *end = begin + run->length;

	if (!all_equal(run->to - GUARD, begin, SELFTEST_POISON))
		return "byte before";
	if (!all_equal(end, end + GUARD, SELFTEST_POISON))
		return "byte behind";
	if (is_set(run) ? !all_equal(begin, end, set_byte(run))
			: !all_copied(begin, end, source_of(run)))
		return "byte inside";
	return NULL;
}

static void note_failure(struct run *run, const char *what)
{
	if (run->failures++)
		return;
	run->failed = what;
	run->failed_length = run->length;
	run->failed_offset = run->offset;
}

static void run_case(struct run *run, uint16_t offset, uint32_t length)
{
	const char *wrong;

	run->offset = offset;
	run->length = length;
	run->cases++;
	for (uint8_t *at = run->to - GUARD; at < run->to + offset + length + GUARD; at += 8)
		*(any_word *)at = POISON_WORD;
	do_path(run);
	wrong = verify(run);
	if (wrong)
		note_failure(run, wrong);
}

static void run_cases(void *argument)
{
	struct run *run = argument;

	for (unsigned i = 0; i < COUNT(offsets) * COUNT(lengths); i += run->every)
		run_case(run, offsets[i / COUNT(lengths)], lengths[i % COUNT(lengths)]);
	if (run->every > 1)
		return;
	for (unsigned i = 0; i < COUNT(pages); i++)
		run_case(run, pages[i].offset, pages[i].length);
}

/* Three lines from an odd address: every part of every path. */
static void try_path(void *argument)
{
	struct run *run = argument;

	run->offset = 1;
	run->length = 3 * 64;
	do_path(run);
}

/* An emulated instruction costs an exception a line: a sample of the short cases is enough. */
#define EVERY_WHEN_EMULATED 7

static enum report_executable run_check(struct selftest *test, struct run *run)
{
	test->emulated = false;
	if (!selftest_guarded(test, try_path, run, false))
		return REPORT_EXECUTABLE_NO;
	run->every = test->emulated ? EVERY_WHEN_EMULATED : 1;
	if (!selftest_guarded(test, run_cases, run, false))
		note_failure(run, "exception");
	return test->emulated ? REPORT_EXECUTABLE_EMULATED : REPORT_EXECUTABLE_YES;
}

#define ENTRY_BYTES 18

static void report_run(struct report *report, const struct run *run,
		       enum report_executable executable)
{
	uint8_t path = report_string(report, dispatch_path_name(run->check->path));
	uint8_t operation = report_string(report, dispatch_operation_name(run->check->operation));

	report_room(report, REPORT_CHECKS, ENTRY_BYTES);
	report_u8(report, path);
	report_u8(report, operation);
	report_u8(report, (uint8_t)executable);
	report_u32(report, run->cases);
	report_u32(report, run->failures);
	report_u8(report, report_string(report, run->failed));
	report_u32(report, run->failed_length);
	report_u16(report, run->failed_offset);
}

unsigned selftest_checks(struct selftest *test)
{
	struct run runs[COUNT(checks)];
	enum report_executable executable[COUNT(checks)];
	uint8_t *arena = test->platform->arena;
	unsigned failures = 0;

	/* No two neighbouring words are the same, and no page is like the next. */
	for (unsigned i = 0; i < SELFTEST_ARENA_MIN / 2; i++)
		arena[SELFTEST_SOURCE + i] = (uint8_t)(i * 7 + i / 256 * 3 + 1);
	for (unsigned i = 0; i < COUNT(checks); i++) {
		runs[i] = (struct run){
			.check = &checks[i],
			.to = arena + SELFTEST_DESTINATION,
			.from = arena + SELFTEST_SOURCE,
			.flush = path_flush_of(&test->cpu),
		};
		executable[i] = run_check(test, &runs[i]);
		failures += runs[i].failures;
		report_string(&test->report, dispatch_path_name(checks[i].path));
		report_string(&test->report, dispatch_operation_name(checks[i].operation));
		report_string(&test->report, runs[i].failed);
	}
	report_send_strings(&test->report);
	for (unsigned i = 0; i < COUNT(checks); i++)
		report_run(&test->report, &runs[i], executable[i]);
	report_send(&test->report, REPORT_CHECKS);
	return failures;
}
