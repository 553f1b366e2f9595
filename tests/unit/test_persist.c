// SPDX-License-Identifier: MIT
/* What a call stored in persistent memory: each rule of its replay, by steps made by hand. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/instruction.h"
#include "harness/judge/persist.h"

Suite *suite_persist(void);

#define TO     0x10040 /* a line's beginning, in the mapping of a page */
#define MEMORY 0x10000
#define PAGE   4096

/* Instructions by their bytes; rdi has the address. */
#define MOV8	   "\x48\x89\x07"	  /* mov %rax, (%rdi) */
#define MOV1	   "\x88\x07"		  /* mov %al, (%rdi) */
#define MOVNTI	   "\x48\x0f\xc3\x07"	  /* movnti %rax, (%rdi) */
#define MOVNTDQ	   "\xc5\xfd\xe7\x07"	  /* vmovntdq %ymm0, (%rdi) */
#define MOVDIR64B  "\x66\x0f\x38\xf8\x3e" /* movdir64b (%rsi), %rdi */
#define CLZERO	   "\x0f\x01\xfc"	  /* of the line of rax */
#define CLWB	   "\x66\x0f\xae\x37"	  /* clwb (%rdi) */
#define CLFLUSHOPT "\x66\x0f\xae\x3f"
#define CLFLUSH	   "\x0f\xae\x3f"
#define SFENCE	   "\x0f\xae\xf8"
#define MFENCE	   "\x0f\xae\xf0"
#define LOCK_OR	   "\xf0\x83\x0c\x24\x00"     /* lock orl $0, (%rsp) */
#define STOSB	   "\xf3\xaa"		      /* rep stos %al, (%rdi) */
#define MASKED	   "\x62\xf1\xfe\x49\x7f\x07" /* vmovdqu64 %zmm0, (%rdi){%k1} */
#define FS	   "\x64\x48\x89\x07"	      /* mov %rax, %fs:(%rdi) */

static struct court {
	struct persist *persist;
	uint64_t registers[16], rip;
	struct persist_verdict verdict;
} court;

static void begin(uint64_t to, uint64_t bytes)
{
	court = (struct court){ .rip = 0x1000 };
	court.registers[1] = 1;		 /* rcx */
	court.registers[4] = 0x7fff0000; /* rsp */
	court.persist = persist_new((struct persist_range){ to, bytes },
				    (struct persist_range){ MEMORY, PAGE });
	ck_assert_ptr_nonnull(court.persist);
}

/* Its address is the number of the step, from 0x1000 on. */
static void step(const char *code, size_t length, uint64_t rdi)
{
	court.registers[7] = rdi;
	persist_step(court.persist, court.rip++, (const uint8_t *)code, length, court.registers);
}
#define STEP(code, rdi) step(code, sizeof(code) - 1, rdi)

static void finish(const char *does, const char *why)
{
	persist_end(court.persist, "", &court.verdict);
	persist_free(court.persist);
	ck_assert_str_eq(court.verdict.why, why);
	ck_assert_str_eq(court.verdict.does, does);
	ck_assert_int_eq(court.verdict.durable, !*why);
}

START_TEST(stored_flushed_fenced)
{
	begin(TO, 8);
	STEP(MOV8, TO);
	STEP(CLWB, TO + 63); /* any byte of the line */
	STEP(SFENCE, 0);
	finish("mov; clwb; sfence: durable", "");
	ck_assert_str_eq(court.verdict.path, "clwb-copy");
}
END_TEST

START_TEST(not_flushed)
{
	begin(TO, 16);
	STEP(MOVNTI, TO);
	STEP(MOV8, TO + 8);
	STEP(SFENCE, 0);
	finish("movnti/mov; sfence: not durable",
	       "not durable: offset 8: stored by mov at 0x1001, and nothing flushes its line; "
	       "8 of 16 bytes");
}
END_TEST

START_TEST(another_line_flushed)
{
	begin(TO, 128);
	for (uint64_t i = 0; i < 128; i += 8)
		STEP(MOV8, TO + i);
	STEP(CLFLUSHOPT, TO);
	STEP(CLFLUSHOPT, TO + 128); /* behind it */
	STEP(SFENCE, 0);
	finish("mov; clflushopt; sfence: not durable",
	       "not durable: offset 64: stored by mov at 0x1008, and nothing flushes its line; "
	       "64 of 128 bytes");
}
END_TEST

START_TEST(stored_after_its_flush)
{
	begin(TO, 16);
	STEP(MOV8, TO);
	STEP(CLWB, TO);
	STEP(MOV8, TO + 8);
	STEP(SFENCE, 0);
	finish("mov; clwb; sfence: not durable",
	       "not durable: offset 8: stored by mov at 0x1002, after the clwb of its line; "
	       "8 of 16 bytes");
	begin(TO, 8);
	STEP(MOV8, TO);
	STEP(CLWB, TO);
	STEP(SFENCE, 0);
	STEP(MOV1, TO + 3); /* what was durable is not any more */
	finish("mov; clwb; sfence: not durable",
	       "not durable: offset 3: stored by mov at 0x1003, after the clwb of its line; "
	       "1 of 8 bytes");
	begin(TO, 8);
	STEP(MOV8, TO);
	STEP(CLFLUSH, TO);
	STEP(MOV8, TO);
	finish("mov; clflush: not durable",
	       "not durable: offset 0: stored by mov at 0x1002, after the clflush of its line; "
	       "8 of 8 bytes");
}
END_TEST

START_TEST(flush_without_fence)
{
	begin(TO, 8);
	STEP(MOV8, TO);
	STEP(SFENCE, 0); /* too early */
	STEP(CLFLUSHOPT, TO);
	finish("mov; clflushopt; sfence: not durable",
	       "not durable: offset 0: stored by mov at 0x1000, with no fence after the "
	       "clflushopt of its line; 8 of 8 bytes");
}
END_TEST

START_TEST(clflush_orders_itself)
{
	begin(TO, 8);
	STEP(MOV8, TO);
	STEP(CLFLUSH, TO);
	finish("mov; clflush: durable", "");
	begin(TO, 16); /* but not what goes past the cache */
	STEP(MOVNTI, TO);
	STEP(MOV8, TO + 8);
	STEP(CLFLUSH, TO);
	finish("movnti/mov; clflush: not durable",
	       "not durable: offset 0: stored by movnti at 0x1000, with no fence after it; "
	       "8 of 16 bytes");
}
END_TEST

START_TEST(past_the_cache)
{
	static const struct {
		const char *code, *does;
		size_t length;
		unsigned bytes;
	} rows[] = {
		{ MOVNTI, "movnti", sizeof(MOVNTI) - 1, 8 },
		{ MOVNTDQ, "movntdq-ymm", sizeof(MOVNTDQ) - 1, 32 },
		{ MOVDIR64B, "movdir64b", sizeof(MOVDIR64B) - 1, 64 },
	};
	char does[64], why[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(TO, rows[i].bytes);
		step(rows[i].code, rows[i].length, TO);
		STEP(MFENCE, 0);
		snprintf(does, sizeof(does), "%s; mfence: durable", rows[i].does);
		finish(does, "");
		begin(TO, rows[i].bytes);
		STEP(SFENCE, 0);
		step(rows[i].code, rows[i].length, TO);
		snprintf(does, sizeof(does), "%s; sfence: not durable", rows[i].does);
		snprintf(why, sizeof(why),
			 "not durable: offset 0: stored by %s at 0x1001, with no fence after it; "
			 "%u of %u bytes",
			 rows[i].does, rows[i].bytes, rows[i].bytes);
		finish(does, why);
	}
}
END_TEST

START_TEST(clzero_takes_the_line)
{
	begin(TO, 64);
	court.registers[0] = TO + 17;
	STEP(CLZERO, 0);
	STEP(SFENCE, 0);
	finish("clzero; sfence: durable", "");
}
END_TEST

START_TEST(locked_is_a_fence)
{
	begin(TO, 8);
	STEP(MOVNTI, TO);
	STEP(LOCK_OR, 0);
	finish("movnti: durable", "");
}
END_TEST

START_TEST(partial)
{
	begin(TO + 5, 11); /* three bytes up to a word, then a word */
	STEP(MOV1, TO + 5);
	STEP(MOV1, TO + 6);
	STEP(CLWB, TO + 5);
	STEP(MOVNTI, TO + 8);
	STEP(SFENCE, 0);
	finish("mov/movnti; clwb; sfence: not durable",
	       "not durable: offset 2: never stored; 1 of 11 bytes");
	begin(TO + 5, 11);
	for (uint64_t i = 5; i < 8; i++)
		STEP(MOV1, TO + i);
	STEP(MOVNTI, TO + 8);
	STEP(CLWB, TO + 5); /* a store past the cache does not want one, and one late is as good */
	STEP(SFENCE, 0);
	finish("mov/movnti; clwb; sfence: durable", "");
	ck_assert_str_eq(court.verdict.path, "movnti");
}
END_TEST

START_TEST(elsewhere)
{
	begin(TO, 8);
	STEP(MOVNTI, TO);
	STEP(MOV8, 0x20000); /* memory that is none of the mapping */
	STEP(SFENCE, 0);
	finish("movnti; sfence: durable", "");
	begin(TO, 8);
	STEP(MOVNTI, TO);
	STEP(MOVNTI, TO - 8);
	STEP(SFENCE, 0);
	finish("movnti; sfence: not durable",
	       "movnti at 0x1001 stores 8 bytes at offset -8, beside the 8 of the call");
	begin(TO, 12);
	STEP(MOVNTI, TO);
	STEP(MOVNTI, TO + 8); /* half of it */
	STEP(SFENCE, 0);
	finish("movnti; sfence: not durable",
	       "movnti at 0x1001 stores 8 bytes at offset 8, beside the 12 of the call");
}
END_TEST

START_TEST(rep_counts)
{
	begin(TO, 2);
	for (uint64_t left = 3; left-- > 0;) {
		court.registers[1] = left;
		STEP(STOSB, TO + 2 - left); /* the last time there is nothing to do */
	}
	STEP(CLFLUSH, TO);
	finish("rep-stosb; clflush: durable", "");
}
END_TEST

START_TEST(not_to_be_followed)
{
	begin(TO, 64);
	STEP(MASKED, TO);
	STEP(CLFLUSH, TO);
	finish("nothing stored; clflush: not durable",
	       "the store at 0x1000 is one that the lab cannot follow");
	begin(TO, 8);
	STEP(FS, TO);
	STEP(CLFLUSH, TO);
	finish("nothing stored; clflush: not durable",
	       "the store at 0x1000 is one that the lab cannot follow");
	begin(TO, 8);
	STEP("\x06", TO); /* no instruction of 64 bits */
	finish("nothing stored: not durable",
	       "what is at 0x1000 is no instruction that the lab knows");
}
END_TEST

START_TEST(ranges)
{
	const struct persist_range memory = { MEMORY, PAGE };
	static const struct persist_range bad[] = {
		{ TO, 0 },
		{ MEMORY - 1, 8 },
		{ MEMORY, PAGE + 1 },
		{ MEMORY + PAGE - 7, 8 },
		{ MEMORY + PAGE, 8 },
		{ UINT64_MAX - 3, 8 },
	};
	struct persist *whole = persist_new(memory, memory);

	ck_assert_ptr_nonnull(whole);
	persist_free(whole);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_ptr_null(persist_new(bad[i], memory));
	ck_assert_ptr_null(persist_new((struct persist_range){ 0, PERSIST_BYTES_MAX + 1 },
				       (struct persist_range){ 0, 1 << 20 }));
}
END_TEST

/* --- the line
 * -------------------------------------------------------------------------------------- */

#define ALL ",0=0,1=1,2=2,3=3,4=7fff0000,5=5,6=6,8=8,9=9,a=a,b=b,c=c,d=d,e=e,f=f,7="

static void line(const char *text, const char *why)
{
	struct persist_verdict verdict;

	ck_assert_msg(persist_line(&verdict, text, strlen(text)), "refused: %s", text);
	ck_assert_str_eq(verdict.why, why);
	ck_assert_int_eq(verdict.durable, !*why);
}

START_TEST(line_read)
{
	/* A loop of two rounds: code is told once, registers where they change. */
	line("returned 0x10040 16 0x10000 4096 401000:480fc307" ALL "10040 401004:4883c708 "
	     "401000,7=10048 401004 401008:0faef8",
	     "");
	line("returned 0x10040 24 0x10000 4096 401000:480fc307" ALL "10040 401004:4883c708 "
	     "401000,7=10048 401004 401008:0faef8",
	     "not durable: offset 16: never stored; 8 of 24 bytes");
	/* r15 is f: movnti %rax, (%r15); from rip: movnti %rax, 0x10040. */
	line("returned 65600 8 65536 4096 401000:490fc307,f=10040" ALL "0 401004:0faef8",
	     "not durable: offset 0: never stored; 8 of 8 bytes");
	line("returned 65600 8 65536 4096 401000:490fc307" ALL "0,f=10040 401004:0faef8", "");
	line("returned 65600 8 65536 4096 10000:480fc30538000000" ALL "0 401004:0faef8", "");
	line("limit 0x10040 8 0x10000 4096 401000:480fc307" ALL "10040 401008:0faef8",
	     "not seen to its return: it has more steps than are followed");
	line("faulted 0x10040 8 0x10000 4096 401000:480fc307" ALL "10040 401008:0faef8",
	     "not seen to its return: an instruction faulted");
}
END_TEST

START_TEST(line_refused)
{
	static const char *const bad[] = {
		"",
		"returned",
		"abandoned 0x10040 8 0x10000 4096 1:c3" ALL "0",
		"returned 0x10040 8 0x10000 4096",
		"returned 0x10040 8 0x10000 4096 ",
		"returned 0x10040 0 0x10000 4096 1:c3" ALL "0",
		"returned 0x10040 8 0x10000 16 1:c3" ALL "0",
		"returned 0x10040 65537 0x10000 4096000 1:c3" ALL "0",
		"returned x 8 0x10000 4096 1:c3" ALL "0",
		"returned 0x10040 9999999999999999999 0x10000 4096 1:c3" ALL "0",
		"returned 0x10040 8 0x10000 4096 1:c3",
		"returned 0x10040 8 0x10000 4096 1:c3,7=1",
		"returned 0x10040 8 0x10000 4096 1" ALL "0",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0 1:c3",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0 2",
		"returned 0x10040 8 0x10000 4096 1:" ALL "0",
		"returned 0x10040 8 0x10000 4096 1:c" ALL "0",
		"returned 0x10040 8 0x10000 4096 1:00112233445566778899aabbccddeeff" ALL "0",
		"returned 0x10040 8 0x10000 4096 11112222333344445:c3" ALL "0",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0,g=1",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0,1",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0x",
		"returned 0x10040 8 0x10000 4096 1:c3" ALL "0  2:c3",
	};
	struct persist_verdict verdict;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!persist_line(&verdict, bad[i], strlen(bad[i])), "taken: %s", bad[i]);
}
END_TEST

Suite *suite_persist(void)
{
	Suite *suite = suite_create("persist");
	TCase *rules = tcase_create("rules"), *lines = tcase_create("lines");

	tcase_add_test(rules, stored_flushed_fenced);
	tcase_add_test(rules, not_flushed);
	tcase_add_test(rules, another_line_flushed);
	tcase_add_test(rules, stored_after_its_flush);
	tcase_add_test(rules, flush_without_fence);
	tcase_add_test(rules, clflush_orders_itself);
	tcase_add_test(rules, past_the_cache);
	tcase_add_test(rules, clzero_takes_the_line);
	tcase_add_test(rules, locked_is_a_fence);
	tcase_add_test(rules, partial);
	tcase_add_test(rules, elsewhere);
	tcase_add_test(rules, rep_counts);
	tcase_add_test(rules, not_to_be_followed);
	tcase_add_test(rules, ranges);
	tcase_add_test(lines, line_read);
	tcase_add_test(lines, line_refused);
	suite_add_tcase(suite, rules);
	suite_add_tcase(suite, lines);
	return suite;
}
