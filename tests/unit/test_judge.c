// SPDX-License-Identifier: MIT
/*
 * harness/judge: what a call did, told from the bytes it executed; what was expected; the verdict.
 * The encodings are those of the Intel and AMD manuals (instruction set reference).
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/judge.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

Suite *suite_judge(void);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- instructions --- */

struct bytes {
	const char *text;
	size_t length;
};
#define BYTES(text)                    \
	{                              \
		text, sizeof(text) - 1 \
	}

enum instruction {
	NONE,
	REP_STOSB,
	REP_STOSQ,
	REP_MOVSB,
	REP_MOVSQ,
	MOV_8,
	MOV_64,
	MOVNTI,
	CLZERO,
	MOVDIRI,
	MOVDIR64B,
	MOVUPS,
	VMOVDQU_YMM,
	VMOVDQU_ZMM,
	MOVNTDQ,
	VMOVNTDQ_YMM,
	VMOVNTDQ_ZMM,
	CLFLUSH,
	CLFLUSHOPT,
	CLWB,
	SFENCE,
	MFENCE,
	LOAD,
	RET,
	PUSH,
	CALL,
	SPILL,
	STACK_ADDRESS,
	SAVE_FRAME,
	OTHER_ADDRESS,
	STORE_FRAME,
	BACK_4,
	BACK_12,
	BACK_18,
	FLUSH_SOURCE,
	FLUSH_OTHER,
	BAD,
	UNREAD,
};

static const struct bytes encodings[] = {
	[REP_STOSB] = BYTES("\xF3\xAA"),
	[REP_STOSQ] = BYTES("\xF3\x48\xAB"),
	[REP_MOVSB] = BYTES("\xF3\xA4"),
	[REP_MOVSQ] = BYTES("\xF3\x48\xA5"),
	[MOV_8] = BYTES("\x88\x07"),	      /* mov %al, (%rdi) */
	[MOV_64] = BYTES("\x48\x89\x07"),     /* mov %rax, (%rdi) */
	[MOVNTI] = BYTES("\x48\x0F\xC3\x07"), /* movnti %rax, (%rdi) */
	[CLZERO] = BYTES("\x0F\x01\xFC"),
	[MOVDIRI] = BYTES("\x48\x0F\x38\xF9\x07"),   /* movdiri %rax, (%rdi) */
	[MOVDIR64B] = BYTES("\x66\x0F\x38\xF8\x3E"), /* movdir64b (%rsi), %rdi */
	[MOVUPS] = BYTES("\x0F\x11\x07"),	     /* movups %xmm0, (%rdi) */
	[VMOVDQU_YMM] = BYTES("\xC5\xFE\x7F\x07"),
	[VMOVDQU_ZMM] = BYTES("\x62\xF1\xFE\x48\x7F\x07"), /* vmovdqu64 */
	[MOVNTDQ] = BYTES("\x66\x0F\xE7\x07"),
	[VMOVNTDQ_YMM] = BYTES("\xC5\xFD\xE7\x07"),
	[VMOVNTDQ_ZMM] = BYTES("\x62\xF1\x7D\x48\xE7\x07"),
	[CLFLUSH] = BYTES("\x0F\xAE\x3F"),
	[CLFLUSHOPT] = BYTES("\x66\x0F\xAE\x3F"),
	[CLWB] = BYTES("\x66\x0F\xAE\x37"),
	[SFENCE] = BYTES("\x0F\xAE\xF8"),
	[MFENCE] = BYTES("\x0F\xAE\xF0"),
	[LOAD] = BYTES("\x48\x8B\x06"), /* mov (%rsi), %rax */
	[RET] = BYTES("\xC3"),
	[PUSH] = BYTES("\x50"), /* push %rax */
	[CALL] = BYTES("\xE8\x00\x00\x00\x00"),
	[SPILL] = BYTES("\x48\x89\x44\x24\x08"),	 /* mov %rax, 8(%rsp) */
	[STACK_ADDRESS] = BYTES("\x48\x8D\x7C\x24\x08"), /* lea 8(%rsp), %rdi */
	[SAVE_FRAME] = BYTES("\x48\x89\xE5"),		 /* mov %rsp, %rbp */
	[OTHER_ADDRESS] = BYTES("\x48\x89\xDF"),	 /* mov %rbx, %rdi */
	[STORE_FRAME] = BYTES("\x48\x89\x45\xF8"),	 /* mov %rax, -8(%rbp) */
	[BACK_4] = BYTES("\x75\xFC"),			 /* jnz to 2 bytes before it */
	[BACK_12] = BYTES("\x75\xF4"),			 /* jnz to 10 bytes before it */
	[BACK_18] = BYTES("\x75\xEE"),			 /* jnz to 16 bytes before it */
	[FLUSH_SOURCE] = BYTES("\x66\x0F\xAE\x3E"),	 /* clflushopt (%rsi) */
	[FLUSH_OTHER] = BYTES("\x66\x41\x0F\xAE\x38"),	 /* clflushopt (%r8) */
	[BAD] = BYTES("\x06"),				 /* push %es: none in 64-bit mode */
	[UNREAD] = BYTES("\x90"),
};

struct executed {
	enum instruction what;
	uint8_t rounds;
};

#define STEPS 16
struct script {
	uint8_t end; /* enum report_trace_end */
	struct executed steps[STEPS];
};

/* Lays the script's instructions one behind the other in the code image, and adds the trace. */
static uint8_t add_trace(struct observation *seen, const struct script *script, size_t *code)
{
	struct observed_trace *trace = &seen->traces[seen->trace_count];

	trace->end = script->end;
	for (size_t i = 0; i < STEPS && script->steps[i].what; i++) {
		const struct executed *executed = &script->steps[i];
		const struct bytes *bytes = &encodings[executed->what];
		struct observed_step *step = &trace->steps[trace->step_count++];

		step->rounds = executed->rounds;
		step->offset = executed->what == UNREAD ? REPORT_NO_CODE : (uint16_t)*code;
		memcpy(seen->code + *code, bytes->text, bytes->length);
		memset(seen->code_known + *code, true, bytes->length);
		*code += bytes->length;
	}
	*code += 16;
	return (uint8_t)seen->trace_count++;
}

static void decode(struct deed *deed, const struct script *first, const struct script *second)
{
	struct observation *seen = xcalloc(1, sizeof(*seen));
	struct observed_pick pick = { 0 };
	size_t code = 100;

	if (first)
		pick.trace[pick.trace_count++] = add_trace(seen, first, &code);
	if (second)
		pick.trace[pick.trace_count++] = add_trace(seen, second, &code);
	witness_decode(deed, seen, &pick);
	free(seen);
}

/* --- the witness --- */

/* What struct deed says yes to. */
enum { FENCED = 1, FLUSHED = 2, CACHED = 4 };

static const struct deed_row {
	struct script script;
	unsigned facts;
	const char *path, *text, *flush;
} deeds[] = {
	{ { .steps = { { REP_STOSB, 7 }, { RET, 1 } } }, 0, "rep-stosb", "rep-stosb", "" },
	{ { .steps = { { REP_STOSQ, 7 }, { MOV_8, 7 }, { RET, 1 } } },
	  CACHED,
	  "rep-stosq",
	  "rep-stosq; head/tail mov",
	  "" },
	/* a rep of few rounds is a head, a loop of stores the main path */
	{ { .steps = { { REP_STOSB, 3 }, { MOV_64, 7 } } },
	  CACHED,
	  "mov",
	  "mov; head/tail rep-stosb",
	  "" },
	{ { .steps = { { REP_MOVSB, 7 } } }, 0, "rep-movsb", "rep-movsb", "" },
	{ { .steps = { { REP_MOVSQ, 7 } } }, 0, "rep-movsq", "rep-movsq", "" },
	{ { .steps = { { MOVNTI, 7 }, { SFENCE, 1 }, { RET, 1 } } },
	  FENCED | FLUSHED,
	  "movnti",
	  "movnti; sfence",
	  "" },
	{ { .steps = { { MOVNTI, 7 }, { MFENCE, 1 } } },
	  FENCED | FLUSHED,
	  "movnti",
	  "movnti; mfence",
	  "" },
	{ { .steps = { { MOVNTI, 7 }, { RET, 1 } } }, FLUSHED, "movnti", "movnti", "" },
	{ { .steps = { { SFENCE, 1 }, { MOVNTI, 7 } } },
	  FLUSHED,
	  "movnti",
	  "movnti; sfence before the last store",
	  "" },
	{ { .steps = { { MOVNTI, 7 }, { SFENCE, 1 }, { MOV_8, 3 } } },
	  CACHED,
	  "movnti",
	  "movnti; head/tail mov; sfence before the last store",
	  "" },
	{ { .steps = { { CLZERO, 7 }, { MOV_64, 7 }, { SFENCE, 1 } } },
	  FENCED | CACHED,
	  "clzero",
	  "clzero; head/tail mov; sfence",
	  "" },
	{ { .steps = { { MOVDIRI, 7 } } }, FLUSHED, "movdiri", "movdiri", "" },
	{ { .steps = { { MOVDIR64B, 7 } } }, FLUSHED, "movdir64b", "movdir64b", "" },
	{ { .steps = { { MOVUPS, 7 } } }, 0, "mov-xmm", "mov-xmm", "" },
	{ { .steps = { { VMOVDQU_YMM, 7 } } }, 0, "mov-ymm", "mov-ymm", "" },
	{ { .steps = { { VMOVDQU_ZMM, 7 } } }, 0, "mov-zmm", "mov-zmm", "" },
	{ { .steps = { { MOVNTDQ, 7 } } }, FLUSHED, "movntdq-xmm", "movntdq-xmm", "" },
	{ { .steps = { { VMOVNTDQ_YMM, 7 } } }, FLUSHED, "movntdq-ymm", "movntdq-ymm", "" },
	{ { .steps = { { VMOVNTDQ_ZMM, 7 } } }, FLUSHED, "movntdq-zmm", "movntdq-zmm", "" },
	/* head and tail, each written back */
	{ { .steps = { { MOV_8, 7 }, { CLWB, 1 }, { MOVNTI, 7 }, { MOV_8, 3 }, { CLWB, 1 } } },
	  FLUSHED | CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb",
	  "clwb" },
	{ { .steps = { { MOV_8, 7 }, { CLWB, 1 }, { MOVNTI, 7 }, { MOV_8, 3 } } },
	  CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb",
	  "clwb" },
	{ { .steps = { { MOV_8, 7 }, { MOVNTI, 7 }, { MOV_8, 3 }, { CLWB, 1 } } },
	  CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb",
	  "clwb" },
	/* both flushed at the end is well; so is one piece of code for both */
	{ { .steps = { { MOV_8, 7 }, { MOVNTI, 7 }, { MOV_8, 3 }, { CLWB, 1 }, { CLWB, 1 } } },
	  FLUSHED | CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb",
	  "clwb" },
	{ { .steps = { { MOV_8, 7 }, { CLWB, 2 }, { MOVNTI, 7 } } },
	  FLUSHED | CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb",
	  "clwb" },
	{ { .steps = { { MOV_8, 7 }, { CLWB, 1 }, { MOVNTI, 7 }, { MOV_8, 3 }, { CLFLUSH, 1 } } },
	  FLUSHED | CACHED,
	  "movnti",
	  "movnti; head/tail mov + clwb/clflush",
	  "mixed" },
	/* a line stored and flushed in one loop: 3 + 3 + 4 bytes, then back over them */
	{ { .steps = { { LOAD, 7 }, { MOV_64, 7 }, { CLFLUSHOPT, 7 }, { BACK_12, 7 } } },
	  FLUSHED,
	  "clflushopt-copy",
	  "clflushopt-copy",
	  "" },
	{ { .steps = { { LOAD, 7 }, { MOV_64, 7 }, { CLWB, 7 }, { BACK_12, 7 }, { SFENCE, 1 } } },
	  FENCED | FLUSHED,
	  "clwb-copy",
	  "clwb-copy; sfence",
	  "" },
	/* a whole line a flush (6 + 4 bytes); two lines a flush (6 + 6 + 4) leave one unflushed */
	{ { .steps = { { VMOVDQU_ZMM, 7 }, { CLFLUSHOPT, 7 }, { BACK_12, 7 } } },
	  FLUSHED,
	  "clflushopt-copy",
	  "clflushopt-copy",
	  "" },
	{ { .steps = { { VMOVDQU_ZMM, 7 },
		       { VMOVDQU_ZMM, 7 },
		       { CLFLUSHOPT, 7 },
		       { BACK_18, 7 } } },
	  FLUSHED,
	  "mov-zmm",
	  "mov-zmm; clflushopt",
	  "clflushopt" },
	/* what is flushed is the source: no copy of that kind, and no tail written back */
	{ { .steps = { { LOAD, 7 }, { MOV_64, 7 }, { FLUSH_SOURCE, 7 }, { BACK_12, 7 } } },
	  0,
	  "mov",
	  "mov",
	  "" },
	{ { .steps = { { LOAD, 7 }, { MOVNTI, 7 }, { MOV_8, 3 }, { FLUSH_SOURCE, 1 } } },
	  CACHED,
	  "movnti",
	  "movnti; head/tail mov",
	  "" },
	/* by a register that is neither's it may be what was kept of the destination */
	{ { .steps = { { LOAD, 7 }, { MOVNTI, 7 }, { MOV_8, 3 }, { FLUSH_OTHER, 1 } } },
	  FLUSHED | CACHED,
	  "movnti",
	  "movnti; head/tail mov + clflushopt",
	  "clflushopt" },
	/* a copy whose tail goes another way */
	{ { .steps = { { LOAD, 7 },
		       { MOV_64, 7 },
		       { CLFLUSHOPT, 7 },
		       { BACK_12, 7 },
		       { MOVNTI, 2 },
		       { MOV_8, 3 },
		       { CLWB, 1 } } },
	  FLUSHED | CACHED,
	  "clflushopt-copy",
	  "clflushopt-copy; head/tail movnti/mov + clwb",
	  "clwb" },
	/* two loops, one behind the other, are no copy of that kind */
	{ { .steps = { { MOV_8, 7 }, { BACK_4, 7 }, { CLFLUSHOPT, 7 }, { RET, 1 } } },
	  FLUSHED,
	  "mov",
	  "mov; clflushopt",
	  "clflushopt" },
	/* a jump that was taken once closes no loop */
	{ { .steps = { { LOAD, 7 }, { MOV_64, 7 }, { CLFLUSHOPT, 7 }, { BACK_12, 1 } } },
	  FLUSHED,
	  "mov",
	  "mov; clflushopt",
	  "clflushopt" },
	/* the stack: pushes, calls, spills, and a local variable by its address */
	{ { .steps = { { PUSH, 7 },
		       { CALL, 7 },
		       { SPILL, 7 },
		       { SAVE_FRAME, 1 },
		       { STORE_FRAME, 7 },
		       { STACK_ADDRESS, 1 },
		       { MOV_64, 7 },
		       { OTHER_ADDRESS, 1 },
		       { MOV_8, 1 } } },
	  0,
	  "mov",
	  "mov",
	  "" },
	{ { .steps = { { STACK_ADDRESS, 1 }, { MOV_64, 7 }, { REP_STOSQ, 7 }, { RET, 1 } } },
	  FLUSHED,
	  "",
	  "nothing stored",
	  "" },
	{ { .steps = { { RET, 1 } } }, FLUSHED, "", "nothing stored", "" },
	/* bytes that are not there, or are no instruction */
	{ { .steps = { { UNREAD, 1 }, { BAD, 1 }, { MOVNTI, 7 } } },
	  FLUSHED,
	  "movnti",
	  "movnti; 2 instructions unread",
	  "" },
	/* an instruction that raised #UD was reached all the same */
	{ { .end = REPORT_TRACE_FAULTED, .steps = { { CLZERO, 1 } } },
	  FLUSHED,
	  "clzero",
	  "clzero; not to the return",
	  "" },
};

START_TEST(a_deed)
{
	const struct deed_row *row = &deeds[_i];
	struct deed deed;

	decode(&deed, &row->script, NULL);
	ck_assert_str_eq(deed.path, row->path);
	ck_assert_str_eq(deed.text, row->text);
	ck_assert_str_eq(deed.flush, row->flush);
	ck_assert_int_eq(deed.fence_last, (row->facts & FENCED) != 0);
	ck_assert_int_eq(deed.flushes, (row->facts & FLUSHED) != 0);
	ck_assert_int_eq(deed.cached, (row->facts & CACHED) != 0);
	ck_assert_int_eq(deed.returned, row->script.end == REPORT_TRACE_RETURNED);
}
END_TEST

static const struct script abandoned = { .end = REPORT_TRACE_ABANDONED,
					 .steps = { { MOVNTI, 4 } } };
static const struct script scaled = { .steps = { { MOVNTI, 7 }, { MOV_8, 3 }, { SFENCE, 1 } } };
static const struct script scaled_other = { .steps = { { MOV_64, 7 }, { RET, 1 } } };

START_TEST(two_traces)
{
	struct deed deed;

	decode(&deed, &abandoned, &scaled);
	ck_assert_str_eq(deed.path, "movnti");
	ck_assert_str_eq(deed.text, "movnti; head/tail mov; sfence"); /* the tail is the second's */
	ck_assert(deed.fence_last && deed.returned);
	decode(&deed, &abandoned, NULL);
	ck_assert_str_eq(deed.text, "movnti; not to the return");
	ck_assert(!deed.fence_last && !deed.returned);
	decode(&deed, &abandoned, &scaled_other);
	ck_assert_str_eq(deed.path, "movnti|mov");
	decode(&deed, NULL, NULL);
	ck_assert_str_eq(deed.path, "");
	ck_assert_str_eq(deed.text, "");
}
END_TEST

/* --- the golden picks --- */

static char folder[64];
static char *models_before;

static void put_file(const char *name, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);
	struct error err = { 0 };

	ck_assert_msg(!file_write(path, text, strlen(text), &err), "%s", err.text);
}

#define EXPECT_HEADER \
	"vendor\tfamily\tmodel\tstepping\tname\tclear_extent@llc\tmemcpy_flushcache@4k\n"
#define EXPECT_DEPENDS                                                                       \
	"#depends\t\t\t\t\tvendor,family,model,stepping,misc_enable,erms,clzero\tline,clwb," \
	"clflushopt\n"
#define EXPECT_ROW "GenuineIntel\t6\t0x6A\t0\ticelake-x\tmovnti\tmovnti\n"

static void make_folder(void)
{
	CLEANUP_FREE char *expect = NULL;
	const char *before = getenv("QUIRKLAB_MODELS");
	struct error err = { 0 };

	models_before = before ? xstrdup(before) : NULL;
	strcpy(folder, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	expect = xasprintf("%s/expect", folder);
	ck_assert_msg(!folder_make(expect, &err), "%s", err.text);
	setenv("QUIRKLAB_MODELS", folder, 1);
	put_file("expect/dispatch.tsv", EXPECT_HEADER EXPECT_DEPENDS EXPECT_ROW
		 "GenuineIntel\t6\t0x55\t0\tskylake-x\trep-stosb\t\n");
	put_file("models.tsv", "name\tvendor\tfamily\tmodel\tstepping\tclear_extent@llc\tnote\n"
			       "Haswell\tGenuineIntel\t6\t0x3C\t4\tmovnti\t\n");
}

static void remove_folder(void)
{
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
	if (models_before)
		setenv("QUIRKLAB_MODELS", models_before, 1);
	else
		unsetenv("QUIRKLAB_MODELS");
	free(models_before);
}

static struct expectations *read_expectations(const char *subject, const char *version)
{
	struct expectations *expectations;
	struct error err = { 0 };

	ck_assert_msg(!expectations_read(&expectations, subject, version, &err), "%s", err.text);
	return expectations;
}

START_TEST(golden_picks)
{
	struct expectations *expectations = read_expectations("dispatch", NULL);
	struct cpu cpu;

	ck_assert_uint_eq(expectations_columns(expectations), 2);
	ck_assert_str_eq(expectations_column(expectations, 1), "memcpy_flushcache@4k");
	ck_assert_str_eq(expectations_depends(expectations, 1), "line,clwb,clflushopt");
	cpu_init(&cpu);
	strcpy(cpu.name, "icelake-x");
	ck_assert_str_eq(expectations_pick(expectations, &cpu, "clear_extent", "llc"), "movnti");
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "clear_extent", "4k"));
	strcpy(cpu.name, "icelake-x:6"); /* the row, shown with another stepping of it */
	ck_assert_str_eq(expectations_pick(expectations, &cpu, "clear_extent", "llc"), "movnti");
	strcpy(cpu.name, "skylake-x");
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "memcpy_flushcache", "4k"));
	strcpy(cpu.name, "icelake");
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "clear_extent", "llc"));
	strcpy(cpu.name, "icelake-x");
	cpu.edits[cpu.edit_count++] = xstrdup("+fsrs");
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "clear_extent", "llc"));
	cpu_free(&cpu);
	strcpy(cpu.name, "icelake-x");
	cpu.origin = CPU_DUMP; /* a file of that name */
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "clear_extent", "llc"));
	cpu.origin = CPU_MODEL;
	cpu.libvirt_model = xstrdup("Haswell");
	ck_assert_str_eq(expectations_pick(expectations, &cpu, "clear_extent", "llc"), "movnti");
	ck_assert_ptr_null(expectations_pick(expectations, &cpu, "memcpy_flushcache", "4k"));
	cpu_free(&cpu);
	expectations_free(expectations);
}
END_TEST

START_TEST(the_longest_version_that_fits)
{
	static const struct {
		const char *version, *path;
	} rows[] = {
		{ "6.1.0-57-cloud-amd64", "mov" },
		{ "6.1.0-58", "movnti" },
		{ "6.1.2", "rep-stosq" },
		{ "6.1", "rep-stosq" },
		{ "6.12.3", "mov" },
		{ "6.10", "rep-stosb" },
		{ "7.3.4", "clzero" },
		{ NULL, "clzero" },
	};
	static const char form[] = "vendor\tfamily\tmodel\tstepping\tname\tclear_page@4k\n"
				   "#depends\t\t\t\t\terms\n"
				   "GenuineIntel\t6\t0x6A\t0\ticelake-x\t%s\n";
	static const struct {
		const char *file, *path;
	} files[] = {
		{ "expect/linux.tsv", "clzero" },      { "expect/linux-6.1.tsv", "rep-stosq" },
		{ "expect/linux-6.12.tsv", "mov" },    { "expect/linux-6.tsv.old", "movnti" },
		{ "expect/linuxes.tsv", "rep-stosb" }, { "expect/linux-6.1.0.tsv", "movnti" },
		{ "expect/linux-6.tsv", "rep-stosb" }, { "expect/linux-6.1.0-57-cloud.tsv", "mov" },
	};
	struct cpu cpu;

	cpu_init(&cpu);
	strcpy(cpu.name, "icelake-x");
	for (size_t i = 0; i < COUNT(files); i++) {
		char text[256];

		snprintf(text, sizeof(text), form, files[i].path);
		put_file(files[i].file, text);
	}
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct expectations *expectations = read_expectations("linux", rows[i].version);

		ck_assert_str_eq(expectations_pick(expectations, &cpu, "clear_page", "4k"),
				 rows[i].path);
		expectations_free(expectations);
	}
	ck_assert_ptr_null(read_expectations("glibc", "2.36"));
}
END_TEST

START_TEST(golden_picks_that_are_not_read)
{
	static const struct {
		const char *text, *error; /* behind "FOLDER/expect/dispatch.tsv" */
	} rows[] = {
		{ EXPECT_HEADER EXPECT_ROW, ":2: the first row must begin with #depends" },
		{ "name\tclear_page@4k\n#depends\terms\n", ":1: column 1 must be 'vendor'" },
		{ "vendor\tfamily\tmodel\tstepping\tname\tclear_page\n#depends\t\t\t\t\terms\n",
		  ":1: column 'clear_page' is not OP@CLASS" },
		{ "vendor\tfamily\tmodel\tstepping\tname\tclear_page@4k\n#depends\t\t\t\t\terms,"
		  "fsrn\n",
		  ":2: clear_page@4k depends on 'fsrn', which is no CPUID bit and no field of the "
		  "identity; do you mean fsrm?" },
		{ EXPECT_HEADER EXPECT_DEPENDS
		  "GenuineIntel\t6\t0x6A\t0\ticelake-x\tmovnt\tmovnti\n",
		  ":3: clear_extent@llc is 'movnt', which is no path; expected mov, rep-stosb, "
		  "movnti ..." },
		{ EXPECT_HEADER EXPECT_DEPENDS EXPECT_ROW EXPECT_ROW,
		  ":4: 'icelake-x' has a row already, in line 3" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP_FREE char *expected =
			xasprintf("%s/expect/dispatch.tsv%s", folder, rows[i].error);
		struct expectations *expectations;
		struct error err = { 0 };

		put_file("expect/dispatch.tsv", rows[i].text);
		ck_assert_int_eq(expectations_read(&expectations, "dispatch", NULL, &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_str_eq(err.text, expected);
		ck_assert_ptr_null(expectations);
	}
}
END_TEST

/* --- verdicts --- */

/* One CPU before the judge: Ice Lake with ERMS, CLWB and CLFLUSHOPT, as asked and as seen. */
struct court {
	struct cpu asked;
	struct observation seen;
	struct expectations *expectations;
	struct cell_result result;
	size_t code;
};
static struct court court;

static void set(struct cpu *cpu, const char *bit, bool on)
{
	feature_put(&cpu->known, feature_find(bit), true);
	feature_put(&cpu->on, feature_find(bit), on);
}

static void see(struct cpu *cpu)
{
	cpuid_free(&court.seen.cpuid);
	cpu_to_dump(cpu, &court.seen.cpuid);
}

static void convene(void)
{
	make_folder();
	memset(&court, 0, sizeof(court));
	cpu_init(&court.asked);
	strcpy(court.asked.name, "icelake-x");
	strcpy(court.asked.vendor, "GenuineIntel");
	court.asked.identity_known = true;
	court.asked.family = 6;
	court.asked.model = 0x6A;
	court.asked.line_bytes = 64;
	set(&court.asked, "erms", true);
	set(&court.asked, "clwb", true);
	set(&court.asked, "clflushopt", true);
	set(&court.asked, "clzero", false);
	set(&court.asked, "fsrs", true);
	see(&court.asked);
	court.seen.started = court.seen.done = court.seen.complete = true;
	court.expectations = read_expectations("dispatch", NULL);
}

static void adjourn(void)
{
	expectations_free(court.expectations);
	cpuid_free(&court.seen.cpuid);
	cell_result_free(&court.result);
	cpu_free(&court.asked);
	remove_folder();
}

static const struct script good_clear = { .steps = { { MOVNTI, 7 }, { SFENCE, 1 } } };
static const struct script good_copy = {
	.steps = { { MOV_8, 7 }, { CLWB, 1 }, { MOVNTI, 7 }, { MOV_8, 3 }, { CLWB, 1 } }
};

static void testify(const char *operation, const char *class, const char *says,
		    const struct script *script)
{
	struct observed_pick *pick = &court.seen.picks[court.seen.pick_count++];

	strcpy(pick->operation, operation);
	strcpy(pick->class, class);
	strcpy(pick->says, says);
	pick->size = 4096;
	pick->executable = REPORT_EXECUTABLE_YES;
	if (script)
		pick->trace[pick->trace_count++] = add_trace(&court.seen, script, &court.code);
}

static void testify_well(void)
{
	testify("clear_extent", "llc", "movnti", &good_clear);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
}

static void expect(enum verdict verdict, const char *reason)
{
	judge(&court.result, &court.asked, &court.seen, court.expectations);
	ck_assert_str_eq(court.result.reason, reason);
	ck_assert_str_eq(verdict_name(court.result.verdict), verdict_name(verdict));
}

START_TEST(a_pass)
{
	testify_well();
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.pick_count, 2);
	ck_assert_str_eq(court.result.picks[0].expected, "movnti");
	ck_assert_str_eq(court.result.picks[0].says, "movnti");
	ck_assert_str_eq(court.result.picks[0].does, "movnti; sfence");
	ck_assert_str_eq(court.result.picks[0].why, "");
	ck_assert_uint_eq(court.result.picks[0].size, 4096);
	ck_assert_str_eq(court.result.picks[1].does, "movnti; head/tail mov + clwb");
}
END_TEST

START_TEST(a_wrong_path)
{
	static const struct script stosb = { .steps = { { REP_STOSB, 7 } } };

	testify("clear_extent", "llc", "rep-stosb", &stosb);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	strcpy(court.seen.picks[0].row, "skylake-x");
	expect(VERDICT_FAIL,
	       "clear_extent@llc: expected movnti, says rep-stosb (row skylake-x), does "
	       "rep-stosb");
	ck_assert_int_eq(court.result.picks[1].verdict, VERDICT_PASS);
}
END_TEST

START_TEST(says_one_thing_and_does_another)
{
	static const struct script mov = { .steps = { { MOV_64, 7 }, { SFENCE, 1 } } };

	testify("clear_extent", "llc", "movnti", &mov);
	testify("memcpy_flushcache", "4k", "movnti", &mov);
	expect(VERDICT_FAIL,
	       "clear_extent@llc: expected movnti, says movnti (no row), does mov; and 1 more");
}
END_TEST

START_TEST(no_fence)
{
	static const struct script unfenced = { .steps = { { MOVNTI, 7 }, { RET, 1 } } };

	testify("clear_extent", "llc", "movnti", &unfenced);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	expect(VERDICT_FAIL, "clear_extent@llc: movnti without a fence after the last store");
}
END_TEST

START_TEST(no_fence_behind_a_weak_tail)
{
	static const struct script unfenced = { .steps = { { MOV_64, 7 }, { MOVNTI, 2 } } };

	court.asked.edits[court.asked.edit_count++] = xstrdup("-erms"); /* nothing is expected */
	testify("clear_extent", "llc", "mov", &unfenced);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	expect(VERDICT_FAIL, "clear_extent@llc: mov without a fence after the last store");
}
END_TEST

START_TEST(not_to_the_return)
{
	testify("clear_extent", "llc", "movnti", &abandoned);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	expect(VERDICT_FAIL,
	       "clear_extent@llc: movnti was not seen to its return: no fence was seen");
	/* Where the CPU cannot execute it, nothing further can be demanded. */
	court.seen.picks[0].executable = REPORT_EXECUTABLE_NO;
	expect(VERDICT_PASS, "");
}
END_TEST

START_TEST(an_unflushed_tail)
{
	static const struct script unflushed = {
		.steps = { { MOV_8, 7 }, { CLWB, 1 }, { MOVNTI, 7 }, { MOV_8, 3 } }
	};

	testify("clear_extent", "llc", "movnti", &good_clear);
	testify("memcpy_flushcache", "4k", "movnti", &unflushed);
	expect(VERDICT_FAIL,
	       "memcpy_flushcache@4k: movnti with a cached store that nothing flushes");
}
END_TEST

START_TEST(a_lesser_flush)
{
	static const struct script clflush = {
		.steps = { { MOV_8, 7 }, { CLFLUSH, 1 }, { MOVNTI, 7 } }
	};

	testify("clear_extent", "llc", "movnti", &good_clear);
	testify("memcpy_flushcache", "4k", "movnti", &clflush);
	expect(VERDICT_FAIL,
	       "memcpy_flushcache@4k: head and tail are flushed with clflush; this CPU has clwb");
	/* The CPU that is seen decides; here it has nothing better, as was asked. */
	set(&court.asked, "clwb", false);
	set(&court.asked, "clflushopt", false);
	see(&court.asked);
	expect(VERDICT_PASS, "");
}
END_TEST

START_TEST(a_mismatch_names_its_bits)
{
	struct cpu seen = court.asked;

	set(&seen, "erms", false);
	set(&seen, "fsrs", false); /* no pick of these depends on it */
	set(&seen, "clwb", false);
	seen.line_bytes = 32;
	see(&seen);
	testify("clear_extent", "llc", "rep-stosb", NULL); /* whatever it says */
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	expect(VERDICT_MISMATCH, "mismatch: erms, line, clwb");
	ck_assert_uint_eq(court.result.picks[0].depends_count, 1);
	ck_assert_str_eq(court.result.picks[0].depends[0], "erms");
	ck_assert_uint_eq(court.result.picks[1].depends_count, 2);
	ck_assert_uint_eq(court.result.difference.missing_count, 3);
}
END_TEST

START_TEST(a_fail_is_worse_than_a_mismatch)
{
	static const struct script clflush = {
		.steps = { { MOV_8, 7 }, { CLFLUSH, 1 }, { MOVNTI, 7 } }
	};
	struct cpu seen = court.asked;

	set(&seen, "erms", false);
	see(&seen);
	testify("clear_extent", "llc", "movnti", &good_clear);
	testify("memcpy_flushcache", "4k", "movnti", &clflush);
	expect(VERDICT_FAIL,
	       "memcpy_flushcache@4k: head and tail are flushed with clflush; this CPU has clwb");
	ck_assert_int_eq(court.result.picks[0].verdict, VERDICT_MISMATCH);
}
END_TEST

START_TEST(bits_that_no_pick_depends_on_are_only_listed)
{
	struct cpu seen = court.asked;

	set(&seen, "fsrs", false);
	set(&seen, "avx2", true);
	see(&seen);
	testify_well();
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.difference.missing_count, 1);
	ck_assert_str_eq(court.result.difference.missing[0], "fsrs");
}
END_TEST

START_TEST(another_stepping)
{
	struct cpu seen = court.asked;

	seen.stepping = 6;
	see(&seen);
	testify_well();
	expect(VERDICT_MISMATCH, "mismatch: stepping");
	ck_assert_int_eq(court.result.picks[1].verdict, VERDICT_PASS); /* does not depend on it */
}
END_TEST

START_TEST(fast_strings_switched_off)
{
	testify_well();
	court.seen.misc_enable = REPORT_MISC_ENABLE_CLEAR;
	expect(VERDICT_MISMATCH, "mismatch: misc_enable");
	court.seen.misc_enable = REPORT_MISC_ENABLE_SET;
	expect(VERDICT_PASS, "");
}
END_TEST

START_TEST(a_path_that_does_its_work_badly)
{
	testify_well();
	court.seen.check_count = 1;
	court.seen.checks[0] = (struct observed_check){
		.path = "movnti",
		.operation = "clear_extent",
		.what = "a byte behind the end was written",
		.cases = 300,
		.failures = 4,
		.length = 65,
		.offset = 7,
	};
	expect(VERDICT_FAIL,
	       "clear_extent@llc: movnti failed 4 of 300 checks, first: a byte behind the end was "
	       "written (length 65, offset 7)");
	ck_assert_int_eq(court.result.picks[1].verdict, VERDICT_PASS);
}
END_TEST

START_TEST(a_pick_that_never_came)
{
	testify("clear_extent", "llc", "movnti", &good_clear);
	expect(VERDICT_FAIL, "memcpy_flushcache@4k: no pick for memcpy_flushcache@4k");
	ck_assert_uint_eq(court.result.pick_count, 2);
	court.seen.done = false; /* it may still have come: the caller knows how the guest ended */
	judge(&court.result, &court.asked, &court.seen, court.expectations);
	ck_assert_uint_eq(court.result.pick_count, 1);
}
END_TEST

START_TEST(no_witness)
{
	testify("clear_extent", "llc", "movnti", NULL);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	expect(VERDICT_FAIL, "clear_extent@llc: says movnti, and no store was witnessed");
}
END_TEST

START_TEST(skips)
{
	testify_well();
	court.asked.edits[court.asked.edit_count++] = xstrdup("+de");
	expect(VERDICT_SKIP, "no expected pick for an edited CPU");
	free(court.asked.edits[--court.asked.edit_count]);
	court.asked.origin = CPU_DUMP;
	expect(VERDICT_SKIP, "no expected pick for a CPU of no table");
	court.asked.origin = CPU_CATALOGUE;
	strcpy(court.asked.name, "skylake-x");
	strcpy(court.seen.picks[0].says, "movnti");
	expect(VERDICT_FAIL,
	       "clear_extent@llc: expected rep-stosb, says movnti (no row), does movnti");
	ck_assert_int_eq(court.result.picks[1].verdict, VERDICT_SKIP); /* an empty cell */
	expectations_free(court.expectations);
	court.expectations = NULL;
	expect(VERDICT_SKIP, "no expected picks for this subject");
}
END_TEST

START_TEST(no_expectation_excuses_a_lie)
{
	static const struct script mov = { .steps = { { MOV_64, 7 } } };

	testify("clear_extent", "llc", "movnti", &mov);
	testify("memcpy_flushcache", "4k", "movnti", &good_copy);
	court.asked.origin = CPU_SIGNATURE;
	expect(VERDICT_FAIL, "clear_extent@llc: says movnti (no row), does mov");
}
END_TEST

START_TEST(an_exception_ended_it)
{
	testify_well();
	court.seen.complete = false;
	court.seen.fault = true;
	court.seen.fault_vector = 14;
	court.seen.fault_rip = 0x10203F;
	court.seen.fault_error = 2;
	court.seen.fault_cr2 = 0xDEAD000;
	expect(VERDICT_CRASHED, "exception 14 at 0x10203f (error code 0x2, CR2 0xdead000)");
}
END_TEST

START_TEST(a_report_without_cpuid)
{
	testify_well();
	cpuid_free(&court.seen.cpuid);
	expect(VERDICT_CRASHED, "the CPUID dump has no leaf 0");
}
END_TEST

/* --- a kernel that is the subject --- */

static void show_routine(const char *name, uint64_t address, const char *code, size_t length)
{
	struct observed_kernel *kernel = court.seen.kernel;
	struct observed_routine *routine = &kernel->routines[kernel->routine_count++];

	strcpy(routine->name, name);
	routine->address = address;
	routine->length = (uint16_t)length;
	memcpy(routine->code, code, length);
}

/* A kernel with copy_page and clwb(); its golden picks say that copy_page is known to be wrong. */
static void show_kernel(const char *copy_page, size_t length, const char *known)
{
	CLEANUP_FREE char *text =
		xasprintf("vendor\tfamily\tmodel\tstepping\tname\tcopy_page@4k\tknown\n"
			  "#depends\t\t\t\t\terms\t\n"
			  "GenuineIntel\t6\t0x6A\t0\ticelake-x\trep-movsq\t%s\n",
			  known);

	put_file("expect/linux-6.1.tsv", text);
	expectations_free(court.expectations);
	court.expectations = read_expectations("linux", "6.1.0-57");
	court.seen.kernel = xcalloc(1, sizeof(*court.seen.kernel));
	strcpy(court.seen.kernel->flags, " erms");
	show_routine("copy_page", 0x1000, copy_page, length);
	show_routine("clean_cache_range", 0x2000, "\x66\x0F\xAE\x30\xC3", 5); /* clwb; ret */
}

#define REP_MOVSQ "\xF3\x48\xA5\xC3"
#define LOOP_MOV  "\x48\x89\x07\x75\xFB\xC3"

START_TEST(a_kernel)
{
	show_kernel(REP_MOVSQ, 4, "");
	expect(VERDICT_PASS, "");
	ck_assert_uint_eq(court.result.pick_count, 2);
	ck_assert_str_eq(court.result.picks[0].says, "rep-movsq");
	ck_assert_str_eq(court.result.picks[0].row, "copy_page");
	ck_assert_uint_eq(court.result.picks[0].size, 4096);
	ck_assert_str_eq(court.result.picks[1].operation, "clwb");
	ck_assert_str_eq(court.result.picks[1].does, "clwb");
	ck_assert_str_eq(court.result.kernel_seen->flags, " erms");
	free(court.seen.kernel);
}
END_TEST

START_TEST(a_kernel_that_is_known_to_be_wrong)
{
	show_kernel(LOOP_MOV, 6, "memset@any copy_page@4k: the reference");
	expect(VERDICT_FAIL,
	       "copy_page@4k: expected rep-movsq, says mov (row copy_page), does mov; "
	       "known: the reference");
	free(court.seen.kernel);
}
END_TEST

START_TEST(a_kernel_that_is_wrong_elsewhere)
{
	show_kernel(LOOP_MOV, 6, "xcopy_page@4k copy_page@4kx: the reference");
	expect(VERDICT_FAIL,
	       "copy_page@4k: expected rep-movsq, says mov (row copy_page), does mov");
	free(court.seen.kernel);
}
END_TEST

START_TEST(a_kernel_with_a_lesser_flush)
{
	show_kernel(REP_MOVSQ, 4, "");
	court.seen.kernel->routines[1].code[3] = 0x38; /* clflushopt */
	expect(VERDICT_FAIL, "clwb@any: flushes with clflushopt; this CPU has clwb");
	free(court.seen.kernel);
}
END_TEST

START_TEST(a_kernel_of_which_nothing_is_seen)
{
	show_kernel(REP_MOVSQ, 4, "");
	court.seen.kernel->routine_count = 0;
	expect(VERDICT_FAIL, "copy_page@4k: no pick for copy_page@4k");
	ck_assert_int_eq(court.result.picks[0].verdict, VERDICT_SKIP); /* clwb */
	free(court.seen.kernel);
}
END_TEST

START_TEST(verdicts_by_name)
{
	enum verdict verdict;

	for (unsigned i = 0; i < VERDICTS; i++) {
		ck_assert(verdict_find(verdict_name((enum verdict)i), &verdict));
		ck_assert_uint_eq(verdict, i);
	}
	ck_assert(!verdict_find("passed", &verdict));
}
END_TEST

Suite *suite_judge(void)
{
	Suite *suite = suite_create("judge");
	TCase *witness = tcase_create("witness"), *golden = tcase_create("golden picks"),
	      *verdicts = tcase_create("verdicts");

	tcase_add_loop_test(witness, a_deed, 0, COUNT(deeds));
	tcase_add_test(witness, two_traces);
	suite_add_tcase(suite, witness);
	tcase_add_checked_fixture(golden, make_folder, remove_folder);
	tcase_add_test(golden, golden_picks);
	tcase_add_test(golden, the_longest_version_that_fits);
	tcase_add_test(golden, golden_picks_that_are_not_read);
	suite_add_tcase(suite, golden);
	tcase_add_checked_fixture(verdicts, convene, adjourn);
	tcase_add_test(verdicts, a_pass);
	tcase_add_test(verdicts, a_wrong_path);
	tcase_add_test(verdicts, says_one_thing_and_does_another);
	tcase_add_test(verdicts, no_fence);
	tcase_add_test(verdicts, no_fence_behind_a_weak_tail);
	tcase_add_test(verdicts, not_to_the_return);
	tcase_add_test(verdicts, an_unflushed_tail);
	tcase_add_test(verdicts, a_lesser_flush);
	tcase_add_test(verdicts, a_mismatch_names_its_bits);
	tcase_add_test(verdicts, a_fail_is_worse_than_a_mismatch);
	tcase_add_test(verdicts, bits_that_no_pick_depends_on_are_only_listed);
	tcase_add_test(verdicts, another_stepping);
	tcase_add_test(verdicts, fast_strings_switched_off);
	tcase_add_test(verdicts, a_path_that_does_its_work_badly);
	tcase_add_test(verdicts, a_pick_that_never_came);
	tcase_add_test(verdicts, no_witness);
	tcase_add_test(verdicts, skips);
	tcase_add_test(verdicts, no_expectation_excuses_a_lie);
	tcase_add_test(verdicts, an_exception_ended_it);
	tcase_add_test(verdicts, a_report_without_cpuid);
	tcase_add_test(verdicts, a_kernel);
	tcase_add_test(verdicts, a_kernel_that_is_known_to_be_wrong);
	tcase_add_test(verdicts, a_kernel_that_is_wrong_elsewhere);
	tcase_add_test(verdicts, a_kernel_with_a_lesser_flush);
	tcase_add_test(verdicts, a_kernel_of_which_nothing_is_seen);
	tcase_add_test(verdicts, verdicts_by_name);
	suite_add_tcase(suite, verdicts);
	return suite;
}
