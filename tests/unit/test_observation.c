// SPDX-License-Identifier: MIT
/* harness/guest/observation: the report stream, whole, in pieces, cut, and full of lies. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/feature.h"
#include "harness/guest/observation.h"
#include "harness/util/text.h"

Suite *suite_observation(void);

/* --- making streams --- */

/* CRC-32 bit by bit, apart from the reader's table. */
static uint32_t crc_of(const uint8_t *bytes, size_t length)
{
	uint32_t crc = 0xFFFFFFFF;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
	}
	return ~crc;
}

static void add_frame(struct text *out, unsigned kind, unsigned cpu, const void *payload,
		      size_t length)
{
	uint8_t header[REPORT_HEADER_SIZE] = { 'Q',
					       'L',
					       REPORT_VERSION,
					       (uint8_t)kind,
					       (uint8_t)length,
					       (uint8_t)(length >> 8),
					       (uint8_t)cpu,
					       (uint8_t)(cpu >> 8) };
	size_t start = out->length;
	uint32_t crc;
	uint8_t end[REPORT_CRC_SIZE];

	text_add(out, header, sizeof(header));
	text_add(out, payload, length);
	crc = crc_of((const uint8_t *)out->bytes + start, out->length - start);
	for (unsigned i = 0; i < sizeof(end); i++)
		end[i] = (uint8_t)(crc >> 8 * i);
	text_add(out, end, sizeof(end));
}

/* A payload written out as a string literal; its own NUL is not part of it. */
#define FRAME(out, kind, cpu, payload) add_frame(out, kind, cpu, payload, sizeof(payload) - 1)

#define START  \
	"\x03" \
	"6.1"  \
	"\x01\x00\x00\x00"
#define STRINGS      \
	"\x0A"       \
	"clear_page" \
	"\x02"       \
	"4k"         \
	"\x09"       \
	"rep-stosb"  \
	"\x04"       \
	"ERMS"

static void add_story(struct text *out, unsigned cpu)
{
	FRAME(out, REPORT_START, cpu, START);
	FRAME(out, REPORT_STRINGS, cpu, STRINGS);
	/* leaf 0: EAX and EBX; leaf 7 subleaf 1: EAX; leaf 0x80000008: EBX */
	FRAME(out, REPORT_CPUID, cpu,
	      "\x03\x00\x0D\x00\x00\x00\x47\x65\x6E\x75"
	      "\x11\x07\x01\x00\x08\x00\x00"
	      "\x82\x08\x01\x00\x00\x00");
	FRAME(out, REPORT_CODE, cpu, "\x10\x00\xF3\xAA\xC3");
	/* clear_page@4k says rep-stosb, no row, "ERMS", 4096 bytes, executable, one trace:
	 * returned, two steps: at 0x10, 7 rounds; 2 further on, once */
	FRAME(out, REPORT_PICKS, cpu,
	      "\x00\x01\x02\xFF\x03"
	      "\x00\x10\x00\x00\x00\x00\x00\x00"
	      "\x01\x01"
	      "\x00\x02\x70\x10\x00\x12");
	/* the path rep-stosb of clear_page: 9 cases, 2 failed, first "ERMS" of length 64, offset 3
	 */
	FRAME(out, REPORT_CHECKS, cpu,
	      "\x02\x00\x01\x09\x00\x00\x00\x02\x00\x00\x00\x03\x40\x00\x00\x00\x03\x00");
	FRAME(out, REPORT_NOTE, cpu, "a\x1B[31m");
	FRAME(out, REPORT_DONE, cpu, "\x01");
}

static void check_story(const struct observation *seen)
{
	ck_assert_ptr_nonnull(seen);
	ck_assert(seen->started && seen->done && seen->complete && !seen->fault);
	ck_assert_uint_eq(seen->malformed, 0);
	ck_assert_str_eq(seen->version, "6.1");
	ck_assert_uint_eq(seen->misc_enable, REPORT_MISC_ENABLE_SET);
	ck_assert_uint_eq(seen->cpuid.count, 3);
	ck_assert_uint_eq(cpuid_find(&seen->cpuid, 0, 0)->reg[CPUID_EAX], 13);
	ck_assert_uint_eq(cpuid_find(&seen->cpuid, 0, 0)->reg[CPUID_EBX], 0x756E6547);
	ck_assert_uint_eq(cpuid_find(&seen->cpuid, 7, 1)->reg[CPUID_EAX], 1 << 11);
	ck_assert_uint_eq(cpuid_find(&seen->cpuid, 0x80000008, 0)->reg[CPUID_EBX], 1);
	ck_assert(seen->code_known[0x10] && seen->code_known[0x12] && !seen->code_known[0x13]);
	ck_assert_uint_eq(seen->code[0x11], 0xAA);
	ck_assert_uint_eq(seen->pick_count, 1);
	ck_assert_str_eq(seen->picks[0].operation, "clear_page");
	ck_assert_str_eq(seen->picks[0].class, "4k");
	ck_assert_str_eq(seen->picks[0].says, "rep-stosb");
	ck_assert_str_eq(seen->picks[0].row, "");
	ck_assert_str_eq(seen->picks[0].reason, "ERMS");
	ck_assert_uint_eq(seen->picks[0].size, 4096);
	ck_assert_uint_eq(seen->picks[0].executable, REPORT_EXECUTABLE_YES);
	ck_assert_uint_eq(seen->picks[0].trace_count, 1);
	ck_assert_uint_eq(seen->traces[0].end, REPORT_TRACE_RETURNED);
	ck_assert_uint_eq(seen->traces[0].step_count, 2);
	ck_assert_uint_eq(seen->traces[0].steps[0].offset, 0x10);
	ck_assert_uint_eq(seen->traces[0].steps[0].rounds, 7);
	ck_assert_uint_eq(seen->traces[0].steps[1].offset, 0x12);
	ck_assert_uint_eq(seen->traces[0].steps[1].rounds, 1);
	ck_assert_uint_eq(seen->check_count, 1);
	ck_assert_str_eq(seen->checks[0].path, "rep-stosb");
	ck_assert_uint_eq(seen->checks[0].cases, 9);
	ck_assert_uint_eq(seen->checks[0].failures, 2);
	ck_assert_uint_eq(seen->checks[0].length, 64);
	ck_assert_uint_eq(seen->checks[0].offset, 3);
	ck_assert_str_eq(seen->note, "a\\x1b[31m"); /* inert on a terminal */
}

/* --- whole streams --- */

START_TEST(the_crc_is_zlibs)
{
	/* The check value of CRC-32: that of "123456789". */
	ck_assert_uint_eq(crc_of((const uint8_t *)"123456789", 9), 0xCBF43926);
}
END_TEST

START_TEST(a_story_in_pieces_of_every_size)
{
	CLEANUP_TEXT struct text stream = { 0 };

	add_story(&stream, 7);
	FRAME(&stream, REPORT_END, 0, "\x01\x00");
	for (size_t piece = 1; piece <= stream.length; piece = piece < 40 ? piece + 1 : 2 * piece) {
		struct report_reader *reader = report_reader_new(1);
		size_t frames = 0;

		for (size_t at = 0; at < stream.length; at += piece) {
			size_t rest = stream.length - at;

			frames +=
				report_feed(reader, stream.bytes + at, rest < piece ? rest : piece);
		}
		ck_assert_uint_eq(frames, 9);
		ck_assert_uint_eq(report_skipped(reader), 0);
		ck_assert(report_ended(reader));
		check_story(report_cpu(reader, 7));
		ck_assert_ptr_null(report_cpu(reader, 0));
		report_reader_free(reader);
	}
}
END_TEST

START_TEST(two_cpus_and_noise_between)
{
	CLEANUP_TEXT struct text stream = { 0 }, first = { 0 }, second = { 0 };
	struct report_reader *reader = report_reader_new(2);

	add_story(&first, 1);
	add_story(&second, 2);
	text_add(&stream, "QLQL\x01\x02 [    0.0] booting\n", 25);
	text_add(&stream, first.bytes, first.length);
	text_add(&stream, "QL\x01\xFF", 4); /* no such kind */
	text_add(&stream, second.bytes, second.length);
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 16);
	ck_assert_uint_eq(report_skipped(reader), 29);
	check_story(report_cpu(reader, 1));
	check_story(report_cpu(reader, 2));
	report_reader_free(reader);
}
END_TEST

START_TEST(a_damaged_frame_costs_no_other)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;
	size_t damaged;

	FRAME(&stream, REPORT_START, 0, START);
	damaged = stream.length + REPORT_HEADER_SIZE;
	FRAME(&stream, REPORT_NOTE, 0, "first");
	stream.bytes[damaged] ^= 1;
	FRAME(&stream, REPORT_NOTE, 0, "second");
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 2);
	ck_assert_uint_eq(report_skipped(reader), 8 + 5 + 4);
	seen = report_cpu(reader, 0);
	ck_assert_str_eq(seen->note, "second");
	ck_assert(!seen->done);
	report_reader_free(reader);
}
END_TEST

START_TEST(a_frame_that_claims_more_than_comes)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);

	text_add(&stream, "QL\x01\x07\x00\x08\x00\x00", 8); /* 2048 bytes of a note, it says */
	FRAME(&stream, REPORT_END, 0, "\x00\x00");
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 0);
	ck_assert(!report_ended(reader));
	ck_assert_uint_eq(report_finish(reader), 1); /* no more will come */
	ck_assert(report_ended(reader));
	ck_assert_uint_eq(report_skipped(reader), 8);
	report_reader_free(reader);
}
END_TEST

START_TEST(a_length_beyond_the_maximum)
{
	struct report_reader *reader = report_reader_new(1);

	ck_assert_uint_eq(report_feed(reader, "QL\x01\x07\x01\x08\x00\x00", 8), 0);
	ck_assert_uint_eq(report_skipped(reader), 8); /* 2049: not waited for */
	report_reader_free(reader);
}
END_TEST

/* --- order --- */

START_TEST(nothing_counts_before_start_or_after_done)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	FRAME(&stream, REPORT_NOTE, 0, "early");
	FRAME(&stream, REPORT_START, 0, START);
	FRAME(&stream, REPORT_BEAT, 0, "");
	FRAME(&stream, REPORT_DONE, 0, "\x00");
	FRAME(&stream, REPORT_NOTE, 0, "late");
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 5);
	seen = report_cpu(reader, 0);
	ck_assert_str_eq(seen->note, "");
	ck_assert(seen->done && !seen->complete);
	ck_assert_uint_eq(seen->malformed, 1);
	report_reader_free(reader);
}
END_TEST

START_TEST(a_second_start_begins_anew)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);

	FRAME(&stream, REPORT_START, 3, START);
	FRAME(&stream, REPORT_STRINGS, 3, "\x03old");
	FRAME(&stream, REPORT_CPUID, 3, "\x01\x09\x01\x00\x00\x00");
	add_story(&stream, 3);
	report_feed(reader, stream.bytes, stream.length);
	check_story(report_cpu(reader, 3));
	report_reader_free(reader);
}
END_TEST

START_TEST(one_cpu_too_many)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);

	FRAME(&stream, REPORT_START, 65535, START);
	FRAME(&stream, REPORT_START, 2, START);
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 2);
	ck_assert_ptr_nonnull(report_cpu(reader, 65535));
	ck_assert_ptr_null(report_cpu(reader, 2));
	report_reader_free(reader);
}
END_TEST

START_TEST(a_fault)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	FRAME(&stream, REPORT_START, 0, START);
	FRAME(&stream, REPORT_FAULT, 0,
	      "\x0E\x02\x00\x00\x00\x10\x20\x30\x40\x00\x00\x00\x00\xF0\xDE\xBC\x9A\x00\x00\x00"
	      "\x00");
	report_feed(reader, stream.bytes, stream.length);
	seen = report_cpu(reader, 0);
	ck_assert(seen->fault && !seen->done);
	ck_assert_uint_eq(seen->fault_vector, 14);
	ck_assert_uint_eq(seen->fault_error, 2);
	ck_assert_uint_eq(seen->fault_rip, 0x40302010);
	ck_assert_uint_eq(seen->fault_cr2, 0x9ABCDEF0);
	report_reader_free(reader);
}
END_TEST

/* --- a kernel that is the subject --- */

START_TEST(a_kernel)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observed_kernel *kernel;

	FRAME(&stream, REPORT_START, 0, START);
	FRAME(&stream, REPORT_ROUTINE, 0,
	      "\x00\x10\x00\x81\xFF\xFF\xFF\xFF\x06"
	      "memset\xF3\xAA\xC3");
	FRAME(&stream, REPORT_CALLS, 0,
	      "\x01"
	      "a\x26\x00\x00\x00\x01"
	      "b\x00\x00\x00\x00");
	FRAME(&stream, REPORT_FACT, 0, "\x00\x00 fpu");
	FRAME(&stream, REPORT_FACT, 0, "\x00\x00 vme");
	FRAME(&stream, REPORT_FACT, 0,
	      "\x01\x03mds"
	      "Not affected\x1B");
	FRAME(&stream, REPORT_FACT, 0,
	      "\x02\x00"
	      "ff81:0.5f,,");
	FRAME(&stream, REPORT_FACT, 0,
	      "\x03\x00"
	      "spectre_v2=ibrs\x07");
	FRAME(&stream, REPORT_FACT, 0,
	      "\x04\x00"
	      "0x2007006");
	report_feed(reader, stream.bytes, stream.length);
	ck_assert_uint_eq(report_cpu(reader, 0)->malformed, 0);
	kernel = report_cpu(reader, 0)->kernel;
	ck_assert_ptr_nonnull(kernel);
	ck_assert_uint_eq(kernel->routine_count, 1);
	ck_assert_str_eq(kernel->routines[0].name, "memset");
	ck_assert_uint_eq(kernel->routines[0].address, 0xFFFFFFFF81001000);
	ck_assert_uint_eq(kernel->routines[0].length, 3);
	ck_assert_uint_eq(kernel->routines[0].code[1], 0xAA);
	ck_assert_uint_eq(kernel->calls_count, 2);
	ck_assert_str_eq(kernel->calls[0].name, "a");
	ck_assert_uint_eq(kernel->calls[0].count, 38);
	ck_assert_str_eq(kernel->flags, " fpu vme");
	ck_assert_uint_eq(kernel->vulnerability_count, 1);
	ck_assert_str_eq(kernel->vulnerabilities[0].name, "mds");
	ck_assert_str_eq(kernel->vulnerabilities[0].text, "Not affected\\x1b");
	ck_assert_str_eq(kernel->symbols, "ff81:0.5f,,");
	ck_assert_str_eq(kernel->options, "spectre_v2=ibrs\\x07");
	ck_assert_str_eq(kernel->microcode, "0x2007006");
	report_reader_free(reader);
}
END_TEST

START_TEST(more_of_a_kernel_than_there_is_room_for)
{
	static const uint8_t routine[9 + REPORT_ROUTINE_MAX];
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observed_kernel *kernel;
	char flags[2 + 1000] = { 0 };

	memset(flags + 2, 'x', sizeof(flags) - 2);
	FRAME(&stream, REPORT_START, 0, START);
	for (unsigned i = 0; i < 60; i++) {
		add_frame(&stream, REPORT_ROUTINE, 0, routine, sizeof(routine));
		FRAME(&stream, REPORT_CALLS, 0,
		      "\x01"
		      "a\x00\x00\x00\x00");
		FRAME(&stream, REPORT_FACT, 0, "\x01\x00");
		add_frame(&stream, REPORT_FACT, 0, flags, sizeof(flags));
	}
	report_feed(reader, stream.bytes, stream.length);
	kernel = report_cpu(reader, 0)->kernel;
	ck_assert_uint_eq(kernel->routine_count, REPORT_ROUTINES_MAX);
	ck_assert_uint_eq(kernel->calls_count, REPORT_CALLS_MAX);
	ck_assert_uint_eq(kernel->vulnerability_count, REPORT_FACTS_MAX);
	ck_assert_uint_lt(strlen(kernel->flags), sizeof(kernel->flags));
	report_reader_free(reader);
}
END_TEST

/* --- traces --- */

/* A pick of nothing but traces. */
#define PICK(traces) "\xFF\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0" traces

START_TEST(a_trace_that_was_sent_before)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	FRAME(&stream, REPORT_START, 0, START);
	/* A pick of two traces, numbers 0 and 1; then the first again, number 2; then a new one, 3;
	 * then numbers 2 and 3 again. */
	FRAME(&stream, REPORT_PICKS, 0, PICK("\x02\x01\x01\x10\x05\x00\x00\x01\x10\x06\x00"));
	FRAME(&stream, REPORT_PICKS, 0, PICK("\x02\x80\x00\x02\x01\x90\x07\x00\x03"));
	FRAME(&stream, REPORT_PICKS, 0, PICK("\x02\x80\x02\x80\x03"));
	report_feed(reader, stream.bytes, stream.length);
	seen = report_cpu(reader, 0);
	ck_assert_uint_eq(seen->malformed, 0);
	ck_assert_uint_eq(seen->trace_count, 3);
	ck_assert_uint_eq(seen->picks[1].trace[0], 0);
	ck_assert_uint_eq(seen->picks[1].trace[1], 2);
	ck_assert_uint_eq(seen->picks[2].trace[0], 0);
	ck_assert_uint_eq(seen->picks[2].trace[1], 2);
	ck_assert_uint_eq(seen->traces[0].end, REPORT_TRACE_ABANDONED);
	ck_assert_uint_eq(seen->traces[2].end, REPORT_TRACE_FAULTED);
	ck_assert_uint_eq(seen->traces[2].steps[0].offset, 7);
	ck_assert_uint_eq(seen->traces[2].steps[0].flags,
			  REPORT_STEP_EMULATED | REPORT_STEP_FAULTED);
	report_reader_free(reader);
}
END_TEST

/* --- lies: each frame is well-formed as a frame, and its payload is not --- */

#define LIE(kind, payload)                         \
	{                                          \
		kind, payload, sizeof(payload) - 1 \
	}

static const struct lie {
	unsigned kind;
	const char *payload;
	size_t length;
} lies[] = {
	LIE(REPORT_STRINGS, "\x05"
			    "four"),		   /* a string beyond the frame */
	LIE(REPORT_CPUID, "\x0F\x01\x01\x02\x03"), /* four registers in three bytes */
	LIE(REPORT_CPUID, "\x20\x01"),		   /* a bit that means nothing */
	LIE(REPORT_CODE, "\x00"),		   /* half an offset */
	LIE(REPORT_CODE, "\xFF\x1F"
			 "12"), /* 0x1FFF + 2 bytes: beyond 8192 */
	LIE(REPORT_PICKS, "\x00\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0\0"), /* string 0 of none */
	LIE(REPORT_PICKS, "\xFF\xFF\xFF\xFF\xFF"),		       /* ends before the size */
	LIE(REPORT_PICKS, PICK("\x03")),			       /* three traces */
	LIE(REPORT_PICKS, PICK("\x01\x80\x00")),		       /* the same as none */
	LIE(REPORT_PICKS, PICK("\x01\x04\x00")),		       /* no such end */
	LIE(REPORT_PICKS, PICK("\x01\x00\x81")),		       /* 129 steps */
	LIE(REPORT_PICKS, PICK("\x01\x00\x02\x10\x05\x00")),	       /* a step short */
	LIE(REPORT_PICKS, PICK("\x01\x00\x01\x11")),		       /* a distance from nowhere */
	LIE(REPORT_PICKS, PICK("\x01\x00\x01\x10\x00\x20")),	       /* an offset of 0x2000 */
	LIE(REPORT_PICKS, PICK("\x01\x00\x02\x10\xFF\x1F\x11")),       /* and one that reaches it */
	LIE(REPORT_PICKS, PICK("\x01\x00\x02\x10\xFF\xFF\x11")),       /* from unknown bytes */
	LIE(REPORT_CHECKS, "\xFF\xFF\x03\0\0\0\0\0\0\0\0\xFF\0\0\0\0\0\0"), /* executable 3 */
	LIE(REPORT_FAULT, "\x0E"),
	LIE(REPORT_DONE, "\x02"),
	LIE(REPORT_DONE, ""),
	LIE(REPORT_DONE, "\x01\x01"), /* a byte too many */
	LIE(REPORT_BEAT, "!"),
	LIE(REPORT_ROUTINE, "\0\0\0\0\0\0\0\0\x02x"), /* a name beyond the frame */
	LIE(REPORT_ROUTINE, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01xyz"), /* past the last address */
	LIE(REPORT_CALLS, "\x01x\x01\x00"),				/* half a number */
	LIE(REPORT_FACT, "\x05\x01x"),					/* no such fact */
	LIE(REPORT_FACT, ""),
	LIE(REPORT_FACT, "\x02\x00"
			 "81:0.5f panic=0"), /* words of another kind */
};

START_TEST(a_lie)
{
	const struct lie *lie = &lies[_i];
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	FRAME(&stream, REPORT_START, 0, START);
	add_frame(&stream, lie->kind, 0, lie->payload, lie->length);
	ck_assert_uint_eq(report_feed(reader, stream.bytes, stream.length), 2);
	seen = report_cpu(reader, 0);
	ck_assert_uint_eq(seen->malformed, 1);
	ck_assert_uint_eq(seen->pick_count, 0);
	ck_assert_uint_eq(seen->trace_count, 0);
	ck_assert_uint_eq(seen->cpuid.count, 0);
	report_reader_free(reader);
}
END_TEST

START_TEST(more_than_there_is_room_for)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	FRAME(&stream, REPORT_START, 0, START);
	for (unsigned i = 0; i < 300; i++) {
		uint8_t leaf[] = { 0x30, (uint8_t)i, (uint8_t)(i >> 8) };

		FRAME(&stream, REPORT_STRINGS, 0,
		      "\x01"
		      "a\x01"
		      "b");
		/* two traces each, so that 64 traces are full before 64 picks are */
		FRAME(&stream, REPORT_PICKS, 0, PICK("\x02\x00\x00\x01\x00"));
		FRAME(&stream, REPORT_PICKS, 0, PICK("\x00"));
		FRAME(&stream, REPORT_CHECKS, 0, "\xFF\xFF\x01\0\0\0\0\0\0\0\0\xFF\0\0\0\0\0\0");
		add_frame(&stream, REPORT_CPUID, 0, leaf, 3);
		leaf[0] = 0x90;
		add_frame(&stream, REPORT_CPUID, 0, leaf, 3);
	}
	report_feed(reader, stream.bytes, stream.length);
	seen = report_cpu(reader, 0);
	ck_assert_uint_eq(seen->pick_count, OBSERVED_PICKS_MAX);
	ck_assert_uint_eq(seen->check_count, OBSERVED_CHECKS_MAX);
	ck_assert_uint_le(seen->trace_count, REPORT_TRACES_MAX);
	ck_assert_uint_le(seen->cpuid.count, OBSERVED_LEAVES_MAX);
	ck_assert_uint_gt(seen->malformed, 300);
	report_reader_free(reader);
}
END_TEST

START_TEST(long_names_are_cut_and_strange_ones_are_inert)
{
	CLEANUP_TEXT struct text stream = { 0 };
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;
	uint8_t strings[256] = { 255 };

	memset(strings + 1, '\n', 255);
	FRAME(&stream, REPORT_START, 0, "\x02\x80\x00\x00\x00\x00\x00");
	add_frame(&stream, REPORT_STRINGS, 0, strings, sizeof(strings));
	FRAME(&stream, REPORT_PICKS, 0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\x00");
	report_feed(reader, stream.bytes, stream.length);
	seen = report_cpu(reader, 0);
	ck_assert_str_eq(seen->version, "\\x80\\x00");
	ck_assert_uint_eq(seen->pick_count, 1);
	ck_assert_uint_lt(strlen(seen->picks[0].class), sizeof(seen->picks[0].class));
	ck_assert_int_eq(strncmp(seen->picks[0].class, "\\x0a\\x0a", 8), 0);
	report_reader_free(reader);
}
END_TEST

Suite *suite_observation(void)
{
	Suite *suite = suite_create("observation");
	TCase *tests = tcase_create("observation");

	tcase_add_test(tests, the_crc_is_zlibs);
	tcase_add_test(tests, a_story_in_pieces_of_every_size);
	tcase_add_test(tests, two_cpus_and_noise_between);
	tcase_add_test(tests, a_damaged_frame_costs_no_other);
	tcase_add_test(tests, a_frame_that_claims_more_than_comes);
	tcase_add_test(tests, a_length_beyond_the_maximum);
	tcase_add_test(tests, nothing_counts_before_start_or_after_done);
	tcase_add_test(tests, a_second_start_begins_anew);
	tcase_add_test(tests, one_cpu_too_many);
	tcase_add_test(tests, a_fault);
	tcase_add_test(tests, a_kernel);
	tcase_add_test(tests, more_of_a_kernel_than_there_is_room_for);
	tcase_add_test(tests, a_trace_that_was_sent_before);
	tcase_add_loop_test(tests, a_lie, 0, sizeof(lies) / sizeof(lies[0]));
	tcase_add_test(tests, more_than_there_is_room_for);
	tcase_add_test(tests, long_names_are_cut_and_strange_ones_are_inert);
	suite_add_tcase(suite, tests);
	return suite;
}
