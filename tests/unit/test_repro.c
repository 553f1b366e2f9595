// SPDX-License-Identifier: MIT
/* Suite "repro": what `quirklab repro` works out without a guest. */
#include <check.h>
#include <string.h>

#include "harness/cpu/compare_leaves.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "lab/bisect.h"
#include "lab/repro.h"

/* --- the smallest set
 * ------------------------------------------------------------------------------- */

struct truth {
	uint32_t sets[3]; /* holds for whatever contains one of them */
	size_t count, asked;
};

static bool contains_one(void *context, uint32_t set)
{
	struct truth *truth = context;

	truth->asked++;
	for (size_t i = 0; i < truth->count; i++)
		if ((set & truth->sets[i]) == truth->sets[i])
			return true;
	return false;
}

START_TEST(smallest_sets_are_found)
{
	struct truth pair = { .sets = { 0x12 }, .count = 1 };
	struct truth any = { .sets = { 0x7, 0x8, 0x20 }, .count = 3 };
	struct truth none = { 0 };
	uint32_t sets[FLIP_SETS_MAX];

	ck_assert_uint_eq(flips_search(sets, 6, contains_one, &pair), 1);
	ck_assert_uint_eq(sets[0], 0x12);
	/* Two single ones; the three of 0x7 are no smallest set. */
	ck_assert_uint_eq(flips_search(sets, 6, contains_one, &any), 2);
	ck_assert_uint_eq(sets[0], 0x8);
	ck_assert_uint_eq(sets[1], 0x20);
	ck_assert_uint_eq(flips_search(sets, 6, contains_one, &none), 0);
	ck_assert_uint_eq(none.asked, 64);
}
END_TEST

static void make_cpu(struct cpu *cpu, const char *vendor, unsigned family, unsigned model)
{
	cpu_init(cpu);
	cpu->origin = CPU_DUMP;
	cpu->identity_known = true;
	memcpy(cpu->vendor, vendor, 12);
	strcpy(cpu->name, "cpu");
	cpu->family = family;
	cpu->model = model;
}

static void set_bit(struct cpu *cpu, const char *name, bool on)
{
	feature_put(&cpu->known, feature_find(name), true);
	feature_put(&cpu->on, feature_find(name), on);
}

START_TEST(flips_are_taken_over)
{
	struct flip flips[FLIPS_MAX];
	CLEANUP_TEXT struct text words = { 0 };
	struct cpu a, b, changed;
	size_t count;

	make_cpu(&a, "GenuineIntel", 6, 0x55);
	make_cpu(&b, "AuthenticAMD", 6, 0x01);
	set_bit(&a, "erms", true);
	set_bit(&b, "erms", true);
	set_bit(&b, "clzero", true); /* a does not say */
	set_bit(&b, "aes", true);    /* no dispatcher looks at it */
	count = flips_between(flips, &a, &b);
	ck_assert_uint_eq(count, 3);
	flips_write(&words, &a, &b, flips, 0x7);
	ck_assert_str_eq(
		text_string(&words),
		"vendor 'GenuineIntel' -> 'AuthenticAMD', model 85 -> 1, clzero off -> on");
	changed = a;
	flips_apply(&changed, &b, flips, 0x6);
	ck_assert_str_eq(changed.vendor, "GenuineIntel");
	ck_assert_uint_eq(changed.model, 1);
	ck_assert(feature_in(&changed.on, feature_find("clzero")));
	ck_assert(!feature_in(&a.on, feature_find("clzero")));
	cpu_free(&a);
	cpu_free(&b);
}
END_TEST

/* --- presenting a dump
 * -------------------------------------------------------------------------------- */

static const char *property(const struct realised *realised, const char *name)
{
	for (size_t i = 0; i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, name))
			return realised->property[i].value;
	return NULL;
}

/* A dump of one CPU from lines of `cpuid -r`. */
static void read_lines(struct dump *dump, const char *lines)
{
	CLEANUP_FREE char *bytes = xasprintf("CPU 0:\n%s", lines);
	struct error err = { 0 };

	ck_assert_msg(dump_read(dump, bytes, strlen(bytes), &err) == 0, "%s", err.text);
}

/* Haswell with SYSCALL off, as a 32-bit process reads it; brand "Chip, 4C"; 46 bits of address. */
static const char haswell[] =
	"   0x00000000 0x00: eax=0x0000000d ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
	"   0x00000001 0x00: eax=0x000306c3 ebx=0x00000800 ecx=0x00000001 edx=0x078bfbff\n"
	"   0x80000000 0x00: eax=0x80000008 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
	"   0x80000001 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x20100000\n"
	"   0x80000002 0x00: eax=0x70696843 ebx=0x4334202c ecx=0x00000000 edx=0x00000000\n"
	"   0x80000003 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
	"   0x80000004 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
	"   0x80000008 0x00: eax=0x0000302e ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n";

static const struct hypervisor qemu_7_2 = { .qemu_version = 7002 };

START_TEST(a_dump_is_presented)
{
	CLEANUP_TEXT struct text notes = { 0 };
	struct realised realised;
	struct error err = { 0 };
	struct dump dump;

	read_lines(&dump, haswell);
	set_bit(&dump.cpus[0].cpu, "syscall", false); /* the reader would leave it open */
	ck_assert_int_eq(realise_dump(&realised, &dump.cpus[0].cpu, &dump.cpus[0], REALISE_BARE,
				      &qemu_7_2, &notes, &err),
			 0);
	ck_assert_str_eq(property(&realised, "level"), "13");
	ck_assert_str_eq(property(&realised, "xlevel"), "2147483656");
	ck_assert_str_eq(property(&realised, "phys-bits"), "46");
	ck_assert_str_eq(property(&realised, "model-id"), "Chip, 4C");
	/* -cpu has no way to write a comma. */
	ck_assert_ptr_null(strstr(text_string(&realised.qemu), "model-id"));
	ck_assert_str_eq(property(&realised, "syscall"), "on");
	ck_assert_ptr_nonnull(strstr(text_string(&notes), "syscall is off in the dump"));
	realised_free(&realised);
	dump_free(&dump);
}
END_TEST

START_TEST(what_cannot_be_told_is_left_out)
{
	CLEANUP_TEXT struct text notes = { 0 };
	struct realised realised;
	struct error err = { 0 };
	struct dump dump;

	read_lines(&dump, haswell);
	strcpy(dump.cpus[0].brand, "Athlon XP (Palomin\x7f?00+");
	for (size_t i = 0; i < dump.cpus[0].leaf_count; i++)
		if (dump.cpus[0].leaves[i].leaf == 0x80000008u)
			dump.cpus[0].leaves[i].reg[CPUID_EAX] = 0x3000 | 60;
	ck_assert_int_eq(realise_dump(&realised, &dump.cpus[0].cpu, &dump.cpus[0], REALISE_BARE,
				      &qemu_7_2, &notes, &err),
			 0);
	ck_assert_ptr_null(property(&realised, "model-id"));
	ck_assert_ptr_null(property(&realised, "phys-bits"));
	ck_assert_ptr_nonnull(strstr(text_string(&notes), "Palomin\\x7f?00+"));
	ck_assert_ptr_nonnull(strstr(text_string(&notes), "60 bits of physical address"));
	realised_free(&realised);
	dump_free(&dump);
}
END_TEST

START_TEST(a_cpu_below_the_baseline_is_refused)
{
	struct realised realised;
	struct error err = { 0 };
	struct cpu cpu;

	make_cpu(&cpu, "GenuineIntel", 11, 1); /* Knights Corner */
	set_bit(&cpu, "lm", true);
	set_bit(&cpu, "sse2", false);
	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &qemu_7_2, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "has no sse2"));
	cpu_free(&cpu);
}
END_TEST

/* --- what QEMU says of itself
 * -------------------------------------------------------------------------- */

START_TEST(qemu_is_asked)
{
	static const char reply[] =
		"{\"return\":{\"model\":{\"name\":\"max\",\"props\":{\"erms\":true,"
		"\"clzero\":false,\"fsrs\":true,\"x-big\":18446744073709551615}}}}";
	struct hypervisor hypervisor = qemu_7_2;
	struct error err = { 0 };

	guest_read_cpu_answer(&hypervisor, reply, &err);
	ck_assert(hypervisor.asked);
	ck_assert(realise_is_native(feature_find("erms"), &hypervisor));
	ck_assert(!realise_is_native(feature_find("clzero"), &hypervisor));
	ck_assert_str_eq(realise_property(feature_find("clzero"), &hypervisor), "clzero");
	/* The version says no, QEMU says yes: QEMU is right. */
	ck_assert_str_eq(realise_property(feature_find("fsrs"), &hypervisor), "fsrs");
	ck_assert_ptr_null(realise_property(feature_find("clwb"), &hypervisor));
	hypervisor = qemu_7_2;
	guest_read_cpu_answer(&hypervisor, "{\"error\":{}}", &err);
	ck_assert(!hypervisor.asked);
	ck_assert_int_eq(err.kind, ERROR_LAB);
}
END_TEST

/* --- asked and seen, leaf by leaf
 * ---------------------------------------------------------------------- */

START_TEST(leaves_are_compared)
{
	struct leaf_gap gaps[16];
	struct cpuid_dump seen = { 0 };
	struct dump dump;
	size_t count;

	read_lines(&dump, haswell);
	dump_whole_leaves(&dump.cpus[0], &seen);
	ck_assert_uint_eq(leaves_compare(gaps, 16, &dump.cpus[0], &seen), 0);
	for (size_t i = 0; i < seen.count; i++) {
		if (seen.leaves[i].leaf == 1) {
			seen.leaves[i].reg[CPUID_EAX] ^= 0x1000; /* type, bit 12 */
			seen.leaves[i].reg[CPUID_ECX] ^= 1;	 /* pni: a named bit */
		}
		if (seen.leaves[i].leaf == 0x80000008u)
			seen.leaves[i].reg[CPUID_ECX] = 7;
	}
	count = leaves_compare(gaps, 16, &dump.cpus[0], &seen);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(gaps[0].leaf, 1);
	ck_assert_uint_eq(gaps[0].differs, 0x1000);
	ck_assert_str_eq(gaps[0].subject->what, "processor type");
	ck_assert_uint_eq(gaps[1].leaf, 0x80000008u);
	ck_assert_uint_eq(gaps[1].seen, 7);
	cpuid_free(&seen);
	dump_free(&dump);
}
END_TEST

/* --- options and names
 * --------------------------------------------------------------------------------- */

static int parse(struct repro_options *options, const char *line, struct error *err)
{
	CLEANUP_FREE char *copy = xstrdup(line);
	char *words[16] = { 0 };
	int count = 0;

	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		words[count++] = word;
	return repro_options_parse(options, count, words, err);
}

START_TEST(options_that_go_together)
{
	static const struct {
		const char *line, *error; /* NULL: good */
	} rows[] = {
		{ "repro skylake-x", NULL },
		{ "repro skylake-x --image linux --strict", NULL },
		{ "repro skylake-x --against x --op memset", NULL },
		{ "repro skylake-x --against x --op memset@llc --no-boot", NULL },
		{ "repro", "one SPEC" },
		{ "repro a b", "one SPEC" },
		{ "repro skylake-x --shell --gdb", "only one at a time" },
		{ "repro skylake-x --shell --image bare", "needs Linux" },
		{ "repro skylake-x --against x", "go together" },
		{ "repro skylake-x --op memset", "go together" },
		{ "repro skylake-x --no-boot", "--against" },
		{ "repro skylake-x --op memset@8k --against x", "memset@4k|half|llc|2llc" },
		{ "repro skylake-x --keep --against x --op memset", "--against boots bare" },
		{ "repro skylake-x --image disk", "bare or linux" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct repro_options options;
		struct error err = { 0 };
		int first = parse(&options, rows[i].line, &err);

		if (!rows[i].error) {
			ck_assert_msg(first > 0, "%s: %s", rows[i].line, err.text);
			continue;
		}
		ck_assert_msg(first == OPTIONS_BAD, "%s", rows[i].line);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_msg(strstr(err.text, rows[i].error), "%s: %s", rows[i].line, err.text);
	}
}
END_TEST

START_TEST(a_shell_means_linux)
{
	struct repro_options options;

	ck_assert_int_gt(parse(&options, "repro skylake-x --shell", NULL), 0);
	ck_assert_int_eq(options.image, GUEST_LINUX);
}
END_TEST

START_TEST(names_are_safe)
{
	CLEANUP_FREE char *name = NULL;
	struct cpu cpu;

	make_cpu(&cpu, "GenuineIntel", 6, 1);
	strcpy(cpu.name, "skylake-x:4,+fsrs $(x)/..");
	name = repro_name(&cpu);
	ck_assert_str_eq(name, "repro-skylake-x-4--fsrs---x--..");
	cpu_free(&cpu);
}
END_TEST

START_TEST(a_shell_needs_a_static_program)
{
	struct error err = { 0 };

	ck_assert_int_eq(initramfs_write_shell("/dev/null/x", "/bin/true", "#!", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "busybox-static"));
	ck_assert_int_eq(initramfs_write_shell("/dev/null/x", "/nothing", "#!", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "busybox-static"));
}
END_TEST

Suite *suite_repro(void);
Suite *suite_repro(void)
{
	Suite *suite = suite_create("repro");
	TCase *flips = tcase_create("flips"), *dumps = tcase_create("dumps"),
	      *options = tcase_create("options");

	tcase_add_test(flips, smallest_sets_are_found);
	tcase_add_test(flips, flips_are_taken_over);
	suite_add_tcase(suite, flips);
	tcase_add_test(dumps, a_dump_is_presented);
	tcase_add_test(dumps, what_cannot_be_told_is_left_out);
	tcase_add_test(dumps, a_cpu_below_the_baseline_is_refused);
	tcase_add_test(dumps, qemu_is_asked);
	tcase_add_test(dumps, leaves_are_compared);
	suite_add_tcase(suite, dumps);
	tcase_add_test(options, options_that_go_together);
	tcase_add_test(options, a_shell_means_linux);
	tcase_add_test(options, names_are_safe);
	tcase_add_test(options, a_shell_needs_a_static_program);
	suite_add_tcase(suite, options);
	return suite;
}
