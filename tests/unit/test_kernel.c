// SPDX-License-Identifier: MIT
/* The kernel as the subject: its symbols, memory and calls on the guest's side; on this side what
 * its routines do, what it picked, and the verdict. All code in here is made up. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/observation.h"
#include "harness/judge/kernel.h"
#include "harness/judge/routine.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"
#include "images/linux/calls.h"
#include "images/linux/kcore.h"
#include "images/linux/symbols.h"

Suite *suite_kernel(void);

static char path[64];

static void make_file(void)
{
	strcpy(path, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_int_ge(mkstemp(path), 0);
}

static void remove_file(void)
{
	unlink(path);
}

static void put_file(const void *bytes, size_t length)
{
	ck_assert_int_eq(file_write(path, bytes, length, NULL), 0);
}

/* --- the guest's side --- */

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000100 W memset\n"
			       "ffffffff81000100 T __memset\n"
			       "ffffffff81000140 t memset_erms\n"
			       "ffffffff81000200 T _etext\n"
			       "ffffffff81000300 D behind_it\n"
			       "ffffffffc0000000 t memcpy\t[module]\n"
			       "no line of it\n";

START_TEST(symbols_have_addresses_and_ends)
{
	struct symbol symbols[] = { { .name = "memset" },      { .name = "__memset" },
				    { .name = "memset_erms" }, { .name = "mem" },
				    { .name = "memcpy" },      { .name = "behind_it" } };

	put_file(kallsyms, strlen(kallsyms));
	ck_assert_int_eq(symbols_read(path, symbols, 6, NULL), 0);
	ck_assert_uint_eq(symbols[0].address, 0xffffffff81000100);
	ck_assert_uint_eq(symbols[0].next, 0xffffffff81000140);
	ck_assert_uint_eq(symbols[1].next, 0xffffffff81000140);
	ck_assert_uint_eq(symbols[2].next, 0xffffffff81000200);
	ck_assert_uint_eq(symbols[3].address, 0);
	ck_assert_uint_eq(symbols[4].address, 0xffffffffc0000000);
	ck_assert_uint_eq(symbols[4].next, 0);
	ck_assert_uint_eq(symbols[5].address, 0xffffffff81000300);
}
END_TEST

START_TEST(symbols_end_where_told)
{
	struct symbol symbols[] = { { .name = "_etext" }, { .name = "behind_it" } };

	put_file(kallsyms, strlen(kallsyms));
	ck_assert_int_eq(symbols_read(path, symbols, 2, "_etext"), 0);
	ck_assert_uint_eq(symbols[0].address, 0xffffffff81000200);
	ck_assert_uint_eq(symbols[1].address, 0);
}
END_TEST

START_TEST(symbols_that_are_hidden)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T memset\n";
	struct symbol symbol = { .name = "memset" };

	put_file(hidden, strlen(hidden));
	ck_assert_int_eq(symbols_read(path, &symbol, 1, NULL), -1);
	ck_assert_int_eq(errno, ENODATA);
	ck_assert_int_eq(symbols_read("/nowhere", &symbol, 1, NULL), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* A line that a block's end cuts, and a line longer than any symbol's. */
START_TEST(symbols_across_blocks)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct symbol symbol = { .name = "last" };

	for (unsigned i = 0; i < 20000; i++)
		text_addf(&text, "ffffffff81%06x t filler_%u\n", i + 1, i);
	for (unsigned i = 0; i < 300000; i++)
		text_add(&text, "x", 1);
	text_addf(&text, "\nffffffff82000000 t last\n");
	put_file(text.bytes, text.length);
	ck_assert_int_eq(symbols_read(path, &symbol, 1, NULL), 0);
	ck_assert_uint_eq(symbol.address, 0xffffffff82000000);
}
END_TEST

struct core {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	uint8_t memory[16];
};

static struct core make_core(void)
{
	struct core core = { .memory = "0123456789abcdef" };

	memcpy(core.header.e_ident, ELFMAG, SELFMAG);
	core.header.e_ident[EI_CLASS] = ELFCLASS64;
	core.header.e_phoff = offsetof(struct core, segments);
	core.header.e_phentsize = sizeof(Elf64_Phdr);
	core.header.e_phnum = 3;
	core.segments[0].p_type = PT_NOTE;
	core.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_vaddr = 0xffffffff81000000,
					 .p_memsz = 8,
					 .p_offset = offsetof(struct core, memory) };
	core.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_vaddr = 0xffff888000000000,
					 .p_memsz = 0x1000,
					 .p_offset = offsetof(struct core, memory) + 8 };
	return core;
}

START_TEST(kcore_reads_addresses)
{
	struct core file = make_core();
	struct kcore kcore;
	char bytes[32];

	put_file(&file, sizeof(file));
	ck_assert_int_eq(kcore_open(&kcore, path), 0);
	ck_assert_uint_eq(kcore_read(&kcore, 0xffffffff81000002, bytes, 3), 3);
	ck_assert(!memcmp(bytes, "234", 3));
	/* To the end of the segment, to the end of the file, in no segment. */
	ck_assert_uint_eq(kcore_read(&kcore, 0xffffffff81000006, bytes, 32), 2);
	ck_assert_uint_eq(kcore_read(&kcore, 0xffff888000000004, bytes, 32), 4);
	ck_assert_uint_eq(kcore_read(&kcore, 0xffffffff81000008, bytes, 1), 0);
	ck_assert_uint_eq(kcore_read(&kcore, 0, bytes, 1), 0);
	kcore_close(&kcore);
}
END_TEST

START_TEST(kcore_is_no_core)
{
	struct core file = make_core();
	struct kcore kcore;

	file.header.e_ident[0] = 'X';
	put_file(&file, sizeof(file));
	ck_assert_int_eq(kcore_open(&kcore, path), -1);
	ck_assert_int_eq(errno, ENOEXEC);
	put_file("short", 5);
	ck_assert_int_eq(kcore_open(&kcore, path), -1);
	ck_assert_int_eq(kcore_open(&kcore, "/nowhere"), -1);
}
END_TEST

START_TEST(calls_are_counted)
{
	/* At 0x1000: a call of 0x1010, one of 0x0ff0, an E8 that leads nowhere, one cut off. */
	static const uint8_t code[] = { 0xE8, 0x0B, 0,	  0, 0, 0x90, 0xE8, 0xE5, 0xFF, 0xFF,
					0xFF, 0xE8, 0xE8, 1, 0, 0,    0,    0xE8, 0,	0 };
	struct callee callees[] = { { .address = 0x1010 }, { .address = 0 }, { .address = 0xff0 } };

	calls_count(callees, 3, 0x1000, code, sizeof(code));
	ck_assert_uint_eq(callees[0].calls, 1);
	ck_assert_uint_eq(callees[1].calls, 0);
	ck_assert_uint_eq(callees[2].calls, 1);
	calls_count(callees, 3, 0x1000, code, 4);
	ck_assert_uint_eq(callees[0].calls, 1);
}
END_TEST

START_TEST(code_in_place_of_calls_is_counted)
{
	static const uint8_t code[] = {
		0x90, 0xF3, 0xAA, 0x0F, 0x1F, 0x44, 0,	  0,	0xF3, 0xAA,
		0x0F, 0x1F, 0x44, 0,	0,    0xF3, 0xAA, 0x0F, 0x1F, 0x44
	};
	struct inlined inlined = { .code = { 0xF3, 0xAA, 0x0F, 0x1F, 0x44 } };

	inlined_count(&inlined, 0x1000, code, sizeof(code));
	ck_assert_uint_eq(inlined.places, 2);
	ck_assert_uint_eq(inlined.first, 0x1001);
	inlined_count(&inlined, 0x2000, code, 7);
	ck_assert_uint_eq(inlined.places, 2);
}
END_TEST

/* --- this side: routines --- */

static struct observed_kernel *kernel;

static void new_kernel(void)
{
	kernel = xcalloc(1, sizeof(*kernel));
}

static void free_kernel(void)
{
	free(kernel);
	kernel = NULL;
}

static void put_routine(const char *name, uint64_t address, const void *code, size_t length)
{
	struct observed_routine *routine = &kernel->routines[kernel->routine_count++];

	strcpy(routine->name, name);
	routine->address = address;
	routine->length = (uint16_t)length;
	memcpy(routine->code, code, length);
}
/* Code as a string literal; its own NUL is not part of it. */
#define ROUTINE(name, address, code) put_routine(name, address, code, sizeof(code) - 1)

static void put_calls(const char *name, uint32_t count)
{
	strcpy(kernel->calls[kernel->calls_count].name, name);
	kernel->calls[kernel->calls_count++].count = count;
}

#define REP_STOSB  "\xF3\xAA"
#define REP_STOSQ  "\xF3\x48\xAB"
#define REP_MOVSB  "\xF3\xA4"
#define REP_MOVSQ  "\xF3\x48\xA5"
#define MOV	   "\x48\x89\x07"     /* mov %rax,(%rdi) */
#define MOVNTI	   "\x48\x0F\xC3\x02" /* movnti %rax,(%rdx) */
#define RET	   "\xC3"
#define NOP3	   "\x0F\x1F\x00"
#define CLWB	   "\x66\x0F\xAE\x30"
#define CLFLUSHOPT "\x66\x0F\xAE\x38"
#define CLFLUSH	   "\x3E\x0F\xAE\x38" /* with the prefix that the patched forms have */

static const char *const memset_entry[] = { "memset", NULL };

static struct routine follow(const char *const *into)
{
	struct routine routine;

	routine_follow(&routine, kernel, memset_entry, into);
	return routine;
}

START_TEST(falls_through_a_nop)
{
	struct routine routine;

	ROUTINE("memset", 0x1000, NOP3 REP_STOSQ REP_STOSB RET);
	routine = follow(NULL);
	ck_assert(routine.found);
	ck_assert_str_eq(routine.path, "rep-stosq");
	ck_assert_str_eq(routine.symbol, "memset");
}
END_TEST

START_TEST(jumps_into_another_routine)
{
	struct routine routine;

	ROUTINE("memset", 0x1000, "\xEB\x0E" REP_STOSQ RET); /* to 0x1010 */
	ROUTINE("memset_orig", 0x1010, MOV RET);
	routine = follow(NULL);
	ck_assert_str_eq(routine.path, "mov");
	ck_assert_str_eq(routine.symbol, "memset_orig");
}
END_TEST

/* The straight way first, then the nearest branch: a string instruction on either is the path. */
START_TEST(follows_both_sides_of_a_branch)
{
	struct routine routine;

	ROUTINE("memset", 0x1000, "\x74\x04" MOV RET REP_STOSB RET);
	routine = follow(NULL);
	ck_assert_str_eq(routine.path, "rep-stosb");
	free_kernel();
	new_kernel();
	ROUTINE("memset", 0x1000, "\x74\x04" REP_STOSQ RET REP_STOSB RET);
	routine = follow(NULL);
	ck_assert_str_eq(routine.path, "rep-stosq");
}
END_TEST

START_TEST(follows_only_the_calls_it_is_told)
{
	static const char *const into[] = { "helper", NULL };
	struct routine routine;

	ROUTINE("memset", 0x1000, "\xE8\x0B\x00\x00\x00" RET); /* of 0x1010 */
	ROUTINE("helper", 0x1010, REP_STOSB RET);
	routine = follow(NULL);
	ck_assert(routine.found);
	ck_assert_str_eq(routine.path, "");
	routine = follow(into);
	ck_assert_str_eq(routine.path, "rep-stosb");
	ck_assert_str_eq(routine.symbol, "helper");
}
END_TEST

START_TEST(ends_where_the_code_does)
{
	struct routine routine;

	/* An endless loop; a jump to itself; bytes that are no instruction; nothing at all. */
	ROUTINE("memset", 0x1000, MOV "\xEB\xFB");
	routine = follow(NULL);
	ck_assert_str_eq(routine.path, "mov");
	free_kernel();
	new_kernel();
	ROUTINE("memset", 0xfffffffffffffff0, "\xEB\xFE\x06\x06");
	routine = follow(NULL);
	ck_assert(routine.found);
	ck_assert_str_eq(routine.path, "");
	free_kernel();
	new_kernel();
	ROUTINE("memset", 0x1000, "");
	ck_assert(!follow(NULL).found);
}
END_TEST

START_TEST(flushes_have_names)
{
	char flush[16];

	kernel_flush(flush, sizeof(flush), kernel);
	ck_assert_str_eq(flush, "");
	ROUTINE("arch_wb_cache_pmem", 0x1000, "\xEB\x0E" RET);
	ROUTINE("clean_cache_range", 0x1010, CLWB RET);
	kernel_flush(flush, sizeof(flush), kernel);
	ck_assert_str_eq(flush, "clwb");
	free_kernel();
	new_kernel();
	ROUTINE("clean_cache_range", 0x1010, CLFLUSHOPT RET);
	kernel_flush(flush, sizeof(flush), kernel);
	ck_assert_str_eq(flush, "clflushopt");
	free_kernel();
	new_kernel();
	ROUTINE("clean_cache_range", 0x1010, CLFLUSH RET);
	kernel_flush(flush, sizeof(flush), kernel);
	ck_assert_str_eq(flush, "clflush");
	free_kernel();
	new_kernel();
	ROUTINE("clean_cache_range", 0x1010, CLFLUSH CLWB RET);
	kernel_flush(flush, sizeof(flush), kernel);
	ck_assert_str_eq(flush, "mixed");
}
END_TEST

/* --- picks --- */

static struct kernel_pick picks[16];
static size_t pick_count;

static const struct kernel_pick *pick_of(const char *operation)
{
	pick_count = kernel_picks(picks, 16, kernel);
	for (size_t i = 0; i < pick_count; i++)
		if (!strcmp(picks[i].operation, operation))
			return &picks[i];
	return NULL;
}

static void put_clear_page(uint32_t orig, uint32_t rep, uint32_t erms)
{
	ROUTINE("clear_page_orig", 0x1000, MOV RET);
	ROUTINE("clear_page_rep", 0x1010, REP_STOSQ RET);
	ROUTINE("clear_page_erms", 0x1020, REP_STOSB RET);
	put_calls("clear_page_orig", orig);
	put_calls("clear_page_rep", rep);
	put_calls("clear_page_erms", erms);
}

START_TEST(callers_agree)
{
	const struct kernel_pick *pick;

	put_clear_page(0, 38, 0);
	pick = pick_of("clear_page");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->says, "rep-stosq");
	ck_assert_str_eq(pick->deed.path, "rep-stosq");
	ck_assert_str_eq(pick->deed.text, "rep-stosq; 38 calls of clear_page_rep");
	ck_assert_str_eq(pick->row, "clear_page_rep");
	ck_assert_str_eq(pick->fault, "");
	ck_assert_uint_eq(pick->size, 4096);
}
END_TEST

START_TEST(callers_have_the_code_themselves)
{
	const struct kernel_pick *pick;

	ROUTINE("clear_pages:rep", 0x1000, "\x48\xC1\xE9\x03" REP_STOSQ);
	put_calls("__clear_pages_unrolled", 0);
	put_calls("clear_pages:rep", 22);
	put_calls("clear_pages:erms", 0);
	pick = pick_of("clear_page");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->says, "rep-stosq");
	ck_assert_str_eq(pick->deed.text, "rep-stosq; 22 places with clear_pages:rep");
	kernel->calls[0].count = 1;
	ck_assert_str_ne(pick_of("clear_page")->fault, "");
}
END_TEST

START_TEST(callers_disagree)
{
	const struct kernel_pick *pick;

	put_clear_page(1, 0, 37);
	pick = pick_of("clear_page");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->fault, "the call sites disagree: 1 of clear_page_orig, 37 of "
				      "clear_page_erms");
	ck_assert_str_eq(pick->deed.path, "");
}
END_TEST

/* A name that claims what its code does not do. */
START_TEST(a_name_can_lie)
{
	const struct kernel_pick *pick;

	ROUTINE("memset", 0x1000, "\xEB\x0E" RET);
	ROUTINE("memset_erms", 0x1010, REP_STOSQ RET);
	pick = pick_of("memset");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->says, "rep-stosb");
	ck_assert_str_eq(pick->deed.path, "rep-stosq");
}
END_TEST

START_TEST(inline_in_its_caller)
{
	const struct kernel_pick *pick;

	put_calls("clear_user_erms", 0);
	ROUTINE("read_zero", 0x1000, NOP3 REP_STOSB RET);
	ROUTINE("_copy_from_user", 0x2000, "\xE8\x0B\x00\x00\x00" RET);
	ROUTINE("rep_movs_alternative", 0x2010, "\x74\x04" REP_MOVSQ RET MOV RET);
	ROUTINE("memmove", 0x3000, REP_MOVSB RET);
	ROUTINE("__memcpy_flushcache", 0x4000, MOV MOVNTI CLWB RET);
	pick = pick_of("clear_user");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->says, "rep-stosb");
	ck_assert_str_eq(pick->row, "read_zero");
	pick = pick_of("copy_user");
	ck_assert_ptr_nonnull(pick);
	ck_assert_str_eq(pick->deed.path, "rep-movsq");
	ck_assert_str_eq(pick->row, "rep_movs_alternative");
	ck_assert_str_eq(pick_of("memmove")->deed.path, "rep-movsb");
	pick = pick_of("memcpy_flushcache");
	ck_assert_str_eq(pick->deed.path, "movnti");
	ck_assert_str_eq(pick->deed.flush, "clwb");
	ck_assert(pick->deed.flushes);
	ck_assert_ptr_null(pick_of("memset"));
}
END_TEST

Suite *suite_kernel(void)
{
	Suite *suite = suite_create("kernel");
	TCase *guest = tcase_create("guest"), *routines = tcase_create("routines");

	tcase_add_checked_fixture(guest, make_file, remove_file);
	tcase_add_test(guest, symbols_have_addresses_and_ends);
	tcase_add_test(guest, symbols_end_where_told);
	tcase_add_test(guest, symbols_that_are_hidden);
	tcase_add_test(guest, symbols_across_blocks);
	tcase_add_test(guest, kcore_reads_addresses);
	tcase_add_test(guest, kcore_is_no_core);
	tcase_add_test(guest, calls_are_counted);
	tcase_add_test(guest, code_in_place_of_calls_is_counted);
	suite_add_tcase(suite, guest);
	tcase_add_checked_fixture(routines, new_kernel, free_kernel);
	tcase_add_test(routines, falls_through_a_nop);
	tcase_add_test(routines, jumps_into_another_routine);
	tcase_add_test(routines, follows_both_sides_of_a_branch);
	tcase_add_test(routines, follows_only_the_calls_it_is_told);
	tcase_add_test(routines, ends_where_the_code_does);
	tcase_add_test(routines, flushes_have_names);
	tcase_add_test(routines, callers_agree);
	tcase_add_test(routines, callers_have_the_code_themselves);
	tcase_add_test(routines, callers_disagree);
	tcase_add_test(routines, a_name_can_lie);
	tcase_add_test(routines, inline_in_its_caller);
	suite_add_tcase(suite, routines);
	return suite;
}
