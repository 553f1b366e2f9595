// SPDX-License-Identifier: MIT
/* harness/cpu: signatures, bits, dumps, tables, the grammar of a CPU, and how QEMU presents it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/dump.h"
#include "harness/cpu/number.h"
#include "harness/cpu/realise.h"
#include "harness/cpu/spec.h"
#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

Suite *suite_cpu(void);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A folder of tables, which QUIRKLAB_MODELS names, for each test. */
static char folder[64];
static char *models_before;

static void put_file(const char *name, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);
	struct error err = { 0 };

	ck_assert_msg(!file_write(path, text, strlen(text), &err), "%s", err.text);
}

static void make_folder(void)
{
	const char *before = getenv("QUIRKLAB_MODELS");

	models_before = before ? xstrdup(before) : NULL;
	strcpy(folder, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("QUIRKLAB_MODELS", folder, 1);
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

static bool has(const struct cpu *cpu, const char *bit)
{
	return feature_in(&cpu->on, feature_find(bit));
}

static bool knows(const struct cpu *cpu, const char *bit)
{
	return feature_in(&cpu->known, feature_find(bit));
}

static void set(struct cpu *cpu, const char *bit, bool on)
{
	feature_put(&cpu->known, feature_find(bit), true);
	feature_put(&cpu->on, feature_find(bit), on);
}

/* --- signatures and numbers --- */

START_TEST(signatures)
{
	/* Leaf 1 EAX of real CPUs, worked out by hand. */
	static const struct {
		uint32_t eax;
		unsigned family, model, stepping;
	} rows[] = {
		{ 0x00050654, 6, 0x55, 4 },  /* Skylake-X */
		{ 0x00A20F10, 25, 0x21, 0 }, /* Vermeer: 0xF + 0xA */
		{ 0x00000F4A, 15, 4, 10 },   /* Clawhammer */
		{ 0x000307B2, 7, 0x3B,
		  2 },			 /* Zhaoxin KX-6000: the extended model counts below 15 */
		{ 0x00000543, 5, 4, 3 }, /* Pentium MMX */
		{ 0x0FFF0FFF, 270, 255, 15 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned family, model, stepping;

		signature_decode(rows[i].eax, &family, &model, &stepping);
		ck_assert_uint_eq(family, rows[i].family);
		ck_assert_uint_eq(model, rows[i].model);
		ck_assert_uint_eq(stepping, rows[i].stepping);
		ck_assert_uint_eq(signature_encode(family, model, stepping), rows[i].eax);
	}
}
END_TEST

START_TEST(a_base_family_below_6_has_no_extended_model)
{
	unsigned family, model, stepping;

	signature_decode(0x00030543, &family, &model, &stepping);
	ck_assert_uint_eq(family, 5);
	ck_assert_uint_eq(model, 4);
}
END_TEST

START_TEST(numbers)
{
	static const char *const bad[] = {
		"", "0x", "-1", "+1", " 1", "1 ", "1a", "0xg", "256", "1x", "18446744073709551616"
	};
	uint64_t value;

	ck_assert(number_read("255", 255, &value) && value == 255);
	ck_assert(number_read("0xfF", 255, &value) && value == 255);
	ck_assert(number_read("010", 255, &value) && value == 10); /* no octal */
	ck_assert(number_read("18446744073709551615", UINT64_MAX, &value) && value == UINT64_MAX);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!number_read(bad[i], 255, &value), "%s", bad[i]);
}
END_TEST

/* --- bits --- */

START_TEST(every_spelling_finds_the_bit)
{
	static const struct {
		const char *spelling, *name;
	} rows[] = {
		{ "erms", "erms" },
		{ "ERMS", "erms" },
		{ "sse4.1", "sse4_1" },
		{ "sse4-1", "sse4_1" },
		{ "pclmuldq", "pclmulqdq" },
		{ "tsc-deadline", "tsc_deadline_timer" },
		{ "sse3", "pni" },
		{ "lahf-lm", "lahf_lm" },
		{ "avx512vnni", "avx512_vnni" },
		{ "sha-ni", "sha_ni" },
		{ "dts", "dts" },
		{ "ds", "dts" },
		{ "invtsc", "nonstop_tsc" },
		{ "xd", "nx" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		int index = feature_find(rows[i].spelling);

		ck_assert_msg(index >= 0, "%s", rows[i].spelling);
		ck_assert_str_eq(features[index].name, rows[i].name);
	}
	ck_assert_int_eq(feature_find("ermsx"), -1);
	ck_assert_int_eq(feature_find("erm"), -1);
	ck_assert_int_eq(feature_find(""), -1);
}
END_TEST

START_TEST(each_bit_has_one_row)
{
	for (size_t i = 0; i < feature_count; i++) {
		ck_assert_int_eq(feature_find(features[i].name), (int)i);
		for (size_t j = 0; j < i; j++)
			ck_assert_msg(features[i].leaf != features[j].leaf ||
					      features[i].subleaf != features[j].subleaf ||
					      features[i].reg != features[j].reg ||
					      features[i].bit != features[j].bit,
				      "%s and %s", features[i].name, features[j].name);
	}
}
END_TEST

START_TEST(bits_of_the_manuals)
{
	/* Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E. */
	static const struct feature rows[] = {
		{ .name = "erms", .leaf = 7, .reg = CPUID_EBX, .bit = 9 },
		{ .name = "fsrm", .leaf = 7, .reg = CPUID_EDX, .bit = 4 },
		{ .name = "fsrs", .leaf = 7, .subleaf = 1, .reg = CPUID_EAX, .bit = 11 },
		{ .name = "fzrm", .leaf = 7, .subleaf = 1, .reg = CPUID_EAX, .bit = 10 },
		{ .name = "clzero", .leaf = 0x80000008, .reg = CPUID_EBX, .bit = 0 },
		{ .name = "clwb", .leaf = 7, .reg = CPUID_EBX, .bit = 24 },
		{ .name = "clflushopt", .leaf = 7, .reg = CPUID_EBX, .bit = 23 },
		{ .name = "movdir64b", .leaf = 7, .reg = CPUID_ECX, .bit = 28 },
		{ .name = "avx512f", .leaf = 7, .reg = CPUID_EBX, .bit = 16 },
	};
	size_t dispatch = 0;

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct feature *feature = &features[feature_find(rows[i].name)];

		ck_assert_uint_eq(feature->leaf, rows[i].leaf);
		ck_assert_uint_eq(feature->subleaf, rows[i].subleaf);
		ck_assert_int_eq(feature->reg, rows[i].reg);
		ck_assert_uint_eq(feature->bit, rows[i].bit);
		ck_assert(feature->dispatch);
	}
	for (size_t i = 0; i < feature_count; i++)
		dispatch += features[i].dispatch;
	ck_assert_uint_eq(dispatch, COUNT(rows));
}
END_TEST

START_TEST(near_names)
{
	ck_assert_str_eq(feature_near("clfushopt"), "clflushopt");
	ck_assert_str_eq(feature_near("erm"), "erms");
	ck_assert_str_eq(feature_near("clzreo"), "clzero"); /* two letters swapped */
	ck_assert_ptr_null(feature_near("nothinglikeit"));
}
END_TEST

/* --- caches --- */

static void add(struct cpuid_dump *dump, uint32_t leaf, uint32_t subleaf, uint32_t eax,
		uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	cpuid_add(dump, &(struct cpuid_leaf){ leaf, subleaf, { eax, ebx, ecx, edx } });
}

START_TEST(llc_of_intel_is_the_highest_data_level_of_leaf_4)
{
	struct cpuid_dump dump = { 0 };

	add(&dump, 0, 0, 7, 0, 0, 0);
	add(&dump, 4, 6, 0x163, 0x01C0003F, 0xFFF, 0);	/* one L3 of two: 64 x 8 x 4096 = 2 MiB */
	add(&dump, 4, 0, 0x121, 0x01C0003F, 0x3F, 0);	/* L1D: 64 x 8 x 64 = 32 KiB */
	add(&dump, 4, 3, 0x163, 0x02C0003F, 0x7FFF, 0); /* L3: 64 x 12 x 32768 = 24 MiB */
	add(&dump, 4, 2, 0x143, 0x03C0003F, 0x3FF, 0);	/* L2: 64 x 16 x 1024 = 1 MiB */
	add(&dump, 4, 4, 0x182, 0x03C0003F, 0xFFFFF,
	    0); /* an instruction cache of level 4 is none */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "GenuineIntel"), 24 << 20);
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "  Shanghai  "), 24 << 20);
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "AuthenticAMD"), 0); /* not its leaf */
	dump.leaves[0].reg[CPUID_EAX] = 3; /* leaf 4 is above the highest */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "GenuineIntel"), 0);
	cpuid_free(&dump);
}
END_TEST

START_TEST(llc_of_amd)
{
	struct cpuid_dump dump = { 0 };

	add(&dump, 0, 0, 0x10, 0, 0, 0);
	add(&dump, 0x80000000, 0, 0x8000001E, 0, 0, 0);
	add(&dump, 0x80000001, 0, 0, 0, 0, 0);
	add(&dump, 0x80000006, 0, 0, 0, 0x02006140, 0x01009140); /* L2 512 KiB, L3 64 x 512 KiB */
	add(&dump, 0x8000001D, 3, 0x163, 0x03C0003F, 0x3FFF, 0); /* 64 x 16 x 16384 = 16 MiB */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "AuthenticAMD"), 32 << 20);
	dump.leaves[2].reg[CPUID_ECX] = 1u << 22; /* TOPOEXT */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "HygonGenuine"), 16 << 20);
	dump.leaves[1].reg[CPUID_EAX] = 0x80000008; /* 0x8000001D is above the highest */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "AuthenticAMD"), 32 << 20);
	dump.leaves[3].reg[CPUID_EDX] = 0x01000140; /* 32 MiB of no associativity: switched off */
	ck_assert_uint_eq(cpu_llc_from_dump(&dump, "AuthenticAMD"), 512 << 10);
	cpuid_free(&dump);
}
END_TEST

/* --- CPUs and their leaves --- */

static void intel(struct cpu *cpu)
{
	cpu_init(cpu);
	strcpy(cpu->name, "test");
	strcpy(cpu->vendor, "GenuineIntel");
	cpu->identity_known = true;
	cpu->family = 6;
	cpu->model = 0x55;
	cpu->stepping = 4;
}

START_TEST(what_a_dump_says)
{
	struct cpuid_dump dump = { 0 };
	struct error err = { 0 };
	struct cpu cpu;

	add(&dump, 0, 0, 0xD, 0x756E6547, 0x6C65746E, 0x49656E69); /* GenuineIntel */
	add(&dump, 1, 0, 0x50654, 0x00100800, 0x80000001, 1u << 26);
	add(&dump, 7, 0, 0, 1u << 9, 0, 0);
	add(&dump, 7, 1, 1u << 11, 0, 0, 0); /* above 7.0 EAX: of no meaning */
	add(&dump, 0x80000000, 0, 0x80000007, 0, 0, 0);
	add(&dump, 0x80000008, 0, 0, 1, 0, 0); /* above the highest */
	ck_assert_int_eq(cpu_from_dump(&cpu, &dump, &err), 0);
	ck_assert_str_eq(cpu.vendor, "GenuineIntel");
	ck_assert_uint_eq(cpu.model, 0x55);
	ck_assert_uint_eq(cpu.line_bytes, 64);
	ck_assert_int_eq(cpu.level, 0xD);
	ck_assert(has(&cpu, "pni") && has(&cpu, "hypervisor") && has(&cpu, "sse2") &&
		  has(&cpu, "erms"));
	ck_assert(knows(&cpu, "clwb") && !has(&cpu, "clwb"));
	ck_assert(knows(&cpu, "fsrs") && !has(&cpu, "fsrs"));
	ck_assert(knows(&cpu, "clzero") && !has(&cpu, "clzero"));
	ck_assert(!knows(&cpu, "xsaveopt")); /* in range, and not in the dump: nobody knows */
	cpu_free(&cpu);
	cpuid_free(&dump);
}
END_TEST

START_TEST(a_dump_without_leaf_1_is_none)
{
	struct cpuid_dump dump = { 0 };
	struct error err = { 0 };
	struct cpu cpu;

	add(&dump, 0, 0, 1, 0, 0, 0);
	ck_assert_int_eq(cpu_from_dump(&cpu, &dump, &err), -1);
	ck_assert_str_eq(err.text, "the CPUID dump has no leaf 1");
	cpuid_free(&dump);
}
END_TEST

START_TEST(a_cpu_and_its_leaves)
{
	/* A size, and the leaf and register that must say it. */
	static const struct {
		const char *vendor;
		uint64_t llc;
		uint32_t leaf;
		enum cpuid_register reg;
		uint32_t mask, value;
	} rows[] = {
		/* 13.75 MiB = 64 x 14080 x 16: sets - 1 */
		{ "GenuineIntel", 14417920, 4, CPUID_ECX, 0xFFFFFFFF, 14079 },
		{ "AuthenticAMD", 32 << 20, 0x80000006, CPUID_EDX, 0xFFFC0000, 64u << 18 },
		/* 768 KiB is no multiple of 512 KiB: the L2's field */
		{ "AuthenticAMD", 768 << 10, 0x80000006, CPUID_ECX, 0xFFFF0000, 768u << 16 },
		/* 1000 bytes: neither */
		{ "HygonGenuine", 1000, 0x80000001, CPUID_ECX, 1u << 22, 1u << 22 },
		{ "  Shanghai  ", 8 << 20, 4, CPUID_EAX, 0x1F, 3 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct cpuid_dump dump;
		struct error err = { 0 };
		struct cpu cpu, back;
		const struct cpuid_leaf *leaf;

		intel(&cpu);
		memcpy(cpu.vendor, rows[i].vendor, 13);
		cpu.llc_bytes = rows[i].llc;
		cpu.line_bytes = 64;
		set(&cpu, "erms", true);
		set(&cpu, "fsrs", true);
		set(&cpu, "clwb", false);
		cpu_to_dump(&cpu, &dump);
		leaf = cpuid_find(&dump, rows[i].leaf, 0);
		ck_assert_ptr_nonnull(leaf);
		ck_assert_uint_eq(leaf->reg[rows[i].reg] & rows[i].mask, rows[i].value);
		ck_assert_uint_eq(cpuid_find(&dump, 1, 0)->reg[CPUID_EAX], 0x50654);
		ck_assert_uint_eq(cpuid_find(&dump, 1, 0)->reg[CPUID_EBX], 8u << 8);
		ck_assert_uint_eq(cpuid_find(&dump, 7, 0)->reg[CPUID_EAX], 1);
		ck_assert_int_eq(cpu_from_dump(&back, &dump, &err), 0);
		ck_assert_uint_eq(back.llc_bytes, rows[i].llc);
		ck_assert(has(&back, "erms") && has(&back, "fsrs") && !has(&back, "clwb") &&
			  !has(&back, "avx2"));
		cpuid_free(&dump);
	}
}
END_TEST

START_TEST(a_low_level_has_no_leaf_above_it)
{
	struct cpuid_dump dump;
	struct cpu cpu;

	intel(&cpu);
	set(&cpu, "erms", true);
	cpu.level = 4;
	cpu_to_dump(&cpu, &dump);
	ck_assert_uint_eq(cpuid_find(&dump, 0, 0)->reg[CPUID_EAX], 4);
	ck_assert_ptr_null(cpuid_find(&dump, 7, 0));
	cpuid_free(&dump);
}
END_TEST

START_TEST(asked_and_seen)
{
	struct cpu_difference difference;
	struct cpu asked, seen;

	intel(&asked);
	intel(&seen);
	set(&asked, "erms", true);
	set(&asked, "fsrs", true);
	set(&asked, "clwb", false);
	set(&seen, "erms", true);
	set(&seen, "clwb", true);
	set(&seen, "avx2", true); /* nobody asked */
	seen.stepping = 5;
	seen.level = 13;
	cpu_compare(&asked, &seen, &difference);
	ck_assert_uint_eq(difference.missing_count, 1);
	ck_assert_str_eq(difference.missing[0], "fsrs");
	ck_assert_uint_eq(difference.extra_count, 1);
	ck_assert_str_eq(difference.extra[0], "clwb");
	ck_assert_uint_eq(difference.identity_count, 1);
	ck_assert_str_eq(difference.identity[0], "stepping");
	asked.identity_known = false;
	asked.level = 7;
	cpu_compare(&asked, &seen, &difference);
	ck_assert_uint_eq(difference.identity_count, 1);
	ck_assert_str_eq(difference.identity[0], "level");
}
END_TEST

/* --- dumps in files --- */

static int parse(struct cpuid_dump *dump, const char *text, struct error *err)
{
	return dump_parse(dump, "x.txt", text, strlen(text), err);
}

START_TEST(lines_of_cpuid_r)
{
	struct cpuid_dump dump;
	struct error err = { 0 };

	ck_assert_int_eq(parse(&dump,
			       "CPU 0:\r\n"
			       "   0x00000000 0x00: eax=0x00000007 ebx=0x756e6547 ecx=0x6c65746e "
			       "edx=0x49656e69\r\n"
			       "   0x00000004 0x1f: eax=0x00000122 ebx=0x01c0003f ecx=0x0000003f "
			       "edx=0x00000000\r\n"
			       "CPU 1:\r\n"
			       "   0x00000000 0x00: eax=0x00000001 ebx=0x00000000 ecx=0x00000000 "
			       "edx=0x00000000\r\n",
			       &err),
			 0);
	ck_assert_uint_eq(dump.count, 2); /* the first CPU only */
	ck_assert_uint_eq(cpuid_find(&dump, 0, 0)->reg[CPUID_EAX], 7);
	ck_assert_uint_eq(cpuid_find(&dump, 4, 0x1F)->reg[CPUID_EBX], 0x01C0003F);
	cpuid_free(&dump);
}
END_TEST

START_TEST(lines_of_aida64)
{
	/* The separators of six versions of the tool, a subleaf in hexadecimal, and other lines. */
	static const char *const texts[] = {
		"------[ CPUID Registers / Logical CPU #0 ]------\n"
		"CPUID Revision    : 000D0670h\nCPUID Manufacturer: GenuineIntel\n"
		"CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69 [GenuineIntel]\n"
		"CPUID 0000000D: 00000001-00000002-00000003-00000004 [SL 10] [L2: 512 KB] / L3: 0 "
		"KB]",
		"CPUID 00000000  \t0000000D-756E6547-6C65746E-49656E69\n"
		"CPUID 0000000D  \t00000001-00000002-00000003-00000004 [SL 10]\n",
		"CPUID 00000000 :0000000d-756e6547-6c65746e-49656e69\n"
		"CPUID 0000000D :00000001-00000002-00000003-00000004 [SL 10]\n",
		"CPUID 00000000 0000000D 756E6547 6C65746E 49656E69\n"
		"CPUID 0000000D 00000001 00000002 00000003 00000004 [SL 10]\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct cpuid_dump dump;
		struct error err = { 0 };

		ck_assert_msg(!parse(&dump, texts[i], &err), "%s", err.text);
		ck_assert_uint_eq(dump.count, 2);
		ck_assert_uint_eq(cpuid_find(&dump, 0, 0)->reg[CPUID_EDX], 0x49656E69);
		ck_assert_ptr_nonnull(cpuid_find(&dump, 0xD, 16));
		cpuid_free(&dump);
	}
}
END_TEST

START_TEST(a_subleaf_by_its_place)
{
	/* As Bulldozer's: the second line of leaf 0xD is a state component, so subleaf 2. */
	struct cpuid_dump dump;
	struct error err = { 0 };

	ck_assert_int_eq(parse(&dump,
			       "CPUID 00000000: 0000000D-68747541-444D4163-69746E65\n"
			       "CPUID 00000004: 00000121-01C0003F-0000003F-00000000\n"
			       "CPUID 00000004: 00000122-01C0003F-0000003F-00000000\n"
			       "CPUID 0000000D: 00000007-00000340-000003C0-40000000\n"
			       "CPUID 0000000D: 00000100-00000240-00000000-00000000\n",
			       &err),
			 0);
	ck_assert_uint_eq(cpuid_find(&dump, 4, 1)->reg[CPUID_EAX], 0x122);
	ck_assert_ptr_null(cpuid_find(&dump, 0xD, 1));
	ck_assert_uint_eq(cpuid_find(&dump, 0xD, 2)->reg[CPUID_EAX], 0x100);
	cpuid_free(&dump);
}
END_TEST

START_TEST(files_that_are_no_dump)
{
	static const char *const texts[] = { "", "\n\n", "nothing of the kind\n" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct cpuid_dump dump;
		struct error err = { 0 };

		ck_assert_int_eq(parse(&dump, texts[i], &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_msg(!strncmp(err.text, "x.txt: ", 7), "%s", err.text);
	}
}
END_TEST

START_TEST(a_dump_in_utf_16)
{
	static const char line[] = "CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69\r\n";
	char wide[2 + 2 * sizeof(line)] = "\xFF\xFE";
	struct cpuid_dump dump;
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(line) - 1; i++)
		wide[2 + 2 * i] = line[i];
	ck_assert_int_eq(dump_parse(&dump, "x", wide, 2 + 2 * (sizeof(line) - 1), &err), 0);
	ck_assert_uint_eq(cpuid_find(&dump, 0, 0)->reg[CPUID_EAX], 13);
	cpuid_free(&dump);
}
END_TEST

START_TEST(intel_hides_syscall_from_32_bit_tools)
{
	CLEANUP_FREE char *path = xasprintf("%s/Some CPU.v2.txt", folder);
	struct error err = { 0 };
	struct cpu cpu;

	put_file("Some CPU.v2.txt", "CPUID 00000000: 00000007-756E6547-6C65746E-49656E69\n"
				    "CPUID 00000001: 000506A3-00100800-00000000-178BFBFF\n"
				    "CPUID 80000000: 80000008-00000000-00000000-00000000\n"
				    "CPUID 80000001: 00000000-00000000-00000121-2C100000\n");
	ck_assert_int_eq(dump_read_cpu(&cpu, path, &err), 0);
	ck_assert_str_eq(cpu.name, "Some-CPU.v2");
	ck_assert_int_eq(cpu.origin, CPU_DUMP);
	ck_assert(has(&cpu, "lm") && has(&cpu, "syscall"));
	cpu_free(&cpu);
}
END_TEST

/* --- tables --- */

#define HEADER \
	"vendor\tfamily\tmodel\tstepping_min\tstepping_max\tname\terms\tfsrm\tline\tllc\textra\n"
#define SKYLAKE "GenuineIntel\t6\t0x55\t0\t15\tskylake-x\t1\t0\t64\t14417920\t\n"

START_TEST(tables_that_are_not_read)
{
	static const struct {
		const char *text, *error; /* behind "PATH" */
	} rows[] = {
		{ "", ": is empty; a header row was expected" },
		{ "vendor\tfamily\n", ":1: there is no column 'model'" },
		{ HEADER "GenuineIntel\t6\n",
		  ":2: 2 fields separated by tabs; the header names 11 columns" },
		{ HEADER "GenuineIntel\t271\t0x55\t0\t15\tx\t1\t0\t64\t\t\n",
		  ":2: family is '271'; expected a number of at most 270" },
		{ HEADER SKYLAKE "GenuineIntel\t6\t0x156\t0\t15\tx\t1\t0\t64\t\t\n",
		  ":3: model is '0x156'; expected a number of at most 255" },
		{ HEADER "Intel\t6\t0x55\t0\t15\tx\t1\t0\t64\t\t\n",
		  ":2: vendor is 'Intel'; expected the 12 bytes of leaf 0" },
		{ HEADER "GenuineIntel\t6\t0x55\t7\t3\tx\t1\t0\t64\t\t\n",
		  ":2: stepping_max is '3'; expected a stepping not below stepping_min" },
		{ HEADER "GenuineIntel\t6\t0x55\t0\t15\tx\tm\t0\t64\t\t\n",
		  ":2: erms is 'm'; expected 1, 0 or nothing" },
		{ HEADER "GenuineIntel\t6\t0x55\t0\t15\ta/b\t1\t0\t64\t\t\n",
		  ":2: name is 'a/b'; expected letters, digits and -_.+, a letter or digit first" },
		{ HEADER "GenuineIntel\t6\t0x55\t0\t15\tx\t1\t0\t63\t\t\n",
		  ":2: line is '63'; expected bytes of a cache line, in steps of 8" },
		{ HEADER "GenuineIntel\t6\t0x55\t0\t15\tx\t1\t0\t64\t4G\t\n",
		  ":2: llc is '4G'; expected bytes of the last-level cache, at most 4 GiB" },
		{ HEADER "GenuineIntel\t6\t0x55\t0\t15\tx\t1\t0\t64\t\tavx2,hyper\n",
		  ":2: extra is 'avx2,hyper'; expected flags of the kernel separated by commas" },
		{ HEADER SKYLAKE SKYLAKE,
		  ":3: name is 'skylake-x'; expected a name that no row above has" },
		{ "vendor\tfamily\tmodel\tstepping_min\tstepping_max\tname\tclfushopt\n",
		  ":1: column 'clfushopt' is neither a field nor a CPUID bit; do you mean "
		  "clflushopt?" },
		{ "vendor\tvendor\n", ":1: two columns are named 'vendor'" },
		{ "vendor\t\n", ":1: column 2 has no name" },
	};
	CLEANUP_FREE char *path = xasprintf("%s/catalogue.tsv", folder);

	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP_FREE char *expected = xasprintf("%s%s", path, rows[i].error);
		struct cpu_list list = { 0 };
		struct error err = { 0 };

		put_file("catalogue.tsv", rows[i].text);
		ck_assert_int_eq(catalogue_read(&list, path, CPU_CATALOGUE, &err), -1);
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_str_eq(err.text, expected);
		cpu_list_free(&list);
	}
}
END_TEST

START_TEST(a_nul_byte_in_a_table)
{
	static const char text[] = HEADER SKYLAKE "Genuine\0ntel\t6\n";
	CLEANUP_FREE char *path = xasprintf("%s/catalogue.tsv", folder);
	CLEANUP_FREE char *expected =
		xasprintf("%s:3: holds a NUL byte; a table is plain text", path);
	struct cpu_list list = { 0 };
	struct error err = { 0 };

	ck_assert_int_eq(file_write(path, text, sizeof(text) - 1, NULL), 0);
	ck_assert_int_eq(catalogue_read(&list, path, CPU_CATALOGUE, &err), -1);
	ck_assert_str_eq(err.text, expected);
	cpu_list_free(&list);
}
END_TEST

START_TEST(a_row_of_the_catalogue)
{
	CLEANUP_FREE char *path = xasprintf("%s/catalogue.tsv", folder);
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	const struct cpu *cpu;

	/* CRLF, a bit that is open, further flags, and no newline at the end. */
	put_file("catalogue.tsv",
		 "vendor\tfamily\tmodel\tstepping_min\tstepping_max\tname\tuarch\terms\t"
		 "fsrm\tline\tllc\textra\tnote\r\n"
		 "  Shanghai  \t7\t0x3B\t2\t9\tkx-6000\tLuJiaZui\t1\t\t64\t4194304\t"
		 "hypervisor,avx2\twhy not");
	ck_assert_msg(!catalogue_read(&list, path, CPU_CATALOGUE, &err), "%s", err.text);
	ck_assert_uint_eq(list.count, 1);
	cpu = list.cpus;
	ck_assert_str_eq(cpu->name, "kx-6000");
	ck_assert_str_eq(cpu->vendor, "  Shanghai  ");
	ck_assert_uint_eq(cpu->family, 7);
	ck_assert_uint_eq(cpu->model, 0x3B);
	ck_assert_uint_eq(cpu->stepping, 2);
	ck_assert_uint_eq(cpu->stepping_max, 9);
	ck_assert_str_eq(cpu->uarch, "LuJiaZui");
	ck_assert_str_eq(cpu->note, "why not");
	ck_assert_uint_eq(cpu->line_bytes, 64);
	ck_assert_uint_eq(cpu->llc_bytes, 4194304);
	ck_assert(has(cpu, "erms") && has(cpu, "hypervisor") && has(cpu, "avx2"));
	ck_assert(!knows(cpu, "fsrm") && !knows(cpu, "clwb"));
	cpu_list_free(&list);
}
END_TEST

/* --- the grammar --- */

static void put_tables(void)
{
	put_file("catalogue.tsv",
		 "vendor\tfamily\tmodel\tstepping_min\tstepping_max\tname\terms\textra\n"
		 "AuthenticAMD\t15\t0x05\t0\t7\tk8-old\t0\t\n"
		 "AuthenticAMD\t15\t0x05\t8\t15\tk8-new\t0\t\n"
		 "CentaurHauls\t6\t0x0F\t0\t15\tnano\t0\t\n"
		 "GenuineIntel\t6\t0x0F\t0\t15\tmerom\t0\t\n"
		 "GenuineIntel\t6\t0x55\t0\t15\tskylake-x\t1\t\n"
		 "GenuineIntel\t6\t0x55\t0\t15\tskylake-x-hypervisor\t1\thypervisor\n"
		 "GenuineIntel\t6\t0x55\t15\t15\tskylake-x-s15\t1\t\n"
		 "GenuineIntel\t6\t0x66\t0\t15\tonly-a-guest\t1\thypervisor\n");
	put_file("unknown.tsv", "vendor\tfamily\tmodel\tstepping_min\tstepping_max\tname\textra\n"
				"GenuineIntel\t6\t0x55\t0\t15\tskylake-x-guest\thypervisor\n"
				"GenuineIntel\t6\t0x54\t0\t15\tbelow-skylake-x\t\n");
	put_file("models.tsv", "name\tvendor\tfamily\tmodel\tstepping\terms\tclear_page@4k\tnote\n"
			       "Haswell\tGenuineIntel\t6\t0x3C\t4\t1\trep-stosb\t\n");
}

/* The names that SPEC gives, or the error, in `out`. */
static void parse_spec(struct text *out, const char *spec)
{
	struct cpu_tables tables;
	struct cpu_list list = { 0 };
	struct error err = { 0 };

	ck_assert_msg(!cpu_tables_read(&tables, &err), "%s", err.text);
	if (spec_parse(&list, spec, &tables, &err)) {
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		ck_assert_uint_eq(list.count, 0);
		text_addf(out, "! %s", err.text);
	}
	for (size_t i = 0; i < list.count; i++)
		text_addf(out, "%s%s %u:%u:%u", i ? " " : "", list.cpus[i].name,
			  list.cpus[i].family, list.cpus[i].model, list.cpus[i].stepping);
	cpu_list_free(&list);
	cpu_tables_free(&tables);
}

START_TEST(what_a_spec_means)
{
	static const struct {
		const char *spec, *means;
	} rows[] = {
		{ "skylake-x", "skylake-x 6:85:0" },
		{ "Skylake-X", "skylake-x 6:85:0" },
		{ "6:85", "skylake-x 6:85:0" }, /* the catalogue's, not its twin of unknown.tsv */
		/* nor what is that CPU again in a guest, or with its last stepping alone */
		{ "6:85:15", "skylake-x:15 6:85:15" },
		{ "skylake-x-s15", "skylake-x-s15 6:85:15" },
		{ "skylake-x-hypervisor", "skylake-x-hypervisor 6:85:0" },
		{ "6:0x66", "only-a-guest 6:102:0" },
		{ "intel/0x6:0x55:7", "skylake-x:7 6:85:7" },
		{ "skylake-x:7", "skylake-x:7 6:85:7" },
		{ "6:15", "nano 6:15:0 merom 6:15:0" },
		{ "centaur/6:15", "nano 6:15:0" },
		{ "GenuineIntel/6:15", "merom 6:15:0" },
		{ "amd/15:5", "k8-old 15:5:0 k8-new 15:5:8" },
		{ "amd/15:5:10", "k8-new:10 15:5:10" },
		{ "6:84", "below-skylake-x 6:84:0" },
		{ "intel/6:200", "intel-6-0xC8 6:200:0" },
		{ "Virtual CPU /270:255:15", "Virtual-CPU--270-0xFF-s15 270:255:15" },
		{ "model:haswell", "model:Haswell 6:60:4" },
		{ "model:Unheard-Of", "model:Unheard-Of 0:0:0" },
		{ "skylake-x,+fsrs,-erms", "skylake-x,+fsrs,-erms 6:85:0" },
		{ "skylake-x,stepping=0x7,family=15", "skylake-x,stepping=0x7,family=15 15:85:7" },
		{ "skylake-x,vendor=  Shanghai  ", "skylake-x,vendor=--Shanghai-- 6:85:0" },
		/* and what nothing means */
		{ "", "! an empty CPU; expected NAME, [VENDOR/]FAMILY:MODEL[:STEPPING], model:NAME "
		      "or a "
		      "file" },
		{ "skylake-y", "! no CPU 'skylake-y': do you mean skylake-x?" },
		{ "merom2000000", "! no CPU 'merom2000000'" },
		{ "intel", "! 'intel' is a vendor, no CPU: intel/FAMILY:MODEL was expected" },
		{ "AuthenticAMD",
		  "! 'AuthenticAMD' is a vendor, no CPU: AuthenticAMD/FAMILY:MODEL was expected" },
		{ "Haswell", "! no CPU 'Haswell': do you mean model:Haswell?" },
		{ "6:999", "! '6:999': model is 999; expected a number from 0 to 255" },
		{ "271:1", "! '271:1': family is 271; expected a number from 0 to 270" },
		{ "6:85:16", "! '6:85:16': stepping is 16; expected a number from 0 to 15" },
		{ "6:200",
		  "! 6:200: no CPU of the catalogue has this family and model; to make one up, say "
		  "whose: intel/6:200" },
		{ "intle/6:85", "! 'intle/6:85': no such file, and no CPU: do you mean intel?" },
		{ "./nowhere", "! './nowhere': no such file, and no CPU" },
		{ "model:", "! 'model:': expected the name of a libvirt CPU model behind model:" },
		{ "skylake-x,erms",
		  "! 'erms' is no edit; expected +BIT, -BIT, or one of vendor= family= "
		  "model= stepping= level=: do you mean +erms?" },
		{ "skylake-x,+erns", "! edit '+erns': no such CPUID bit: do you mean erms?" },
		{ "skylake-x,stpping=3",
		  "! 'stpping=3' is no edit; expected +BIT, -BIT, or one of vendor= "
		  "family= model= stepping= level=: do you mean stepping?" },
		{ "skylake-x,stepping=16",
		  "! edit 'stepping=16': expected a number from 0 to 15, decimal or "
		  "0x hexadecimal" },
		{ "skylake-x,level=0", "! edit 'level=0': expected a number from 1 to 65535, "
				       "decimal or 0x hexadecimal" },
		{ "skylake-x,vendor=adm",
		  "! edit 'vendor=adm': no vendor (intel, amd, hygon, zhaoxin, "
		  "centaur, or the 12 bytes of leaf 0): do you mean amd?" },
		{ "skylake-x,",
		  "! '' is no edit; expected +BIT, -BIT, or one of vendor= family= model= "
		  "stepping= level=" },
	};

	put_tables();
	for (size_t i = 0; i < COUNT(rows); i++) {
		CLEANUP_TEXT struct text out = { 0 };

		parse_spec(&out, rows[i].spec);
		ck_assert_str_eq(text_string(&out), rows[i].means);
	}
}
END_TEST

START_TEST(a_file_and_its_edits)
{
	CLEANUP_FREE char *spec = xasprintf("%s/a,b.txt,+fsrs,stepping=9", folder);
	struct cpu_tables tables = { 0 };
	struct cpu_list list = { 0 };
	struct error err = { 0 };

	put_file("a,b.txt", "CPUID 00000000: 00000007-756E6547-6C65746E-49656E69\n"
			    "CPUID 00000001: 000506A3-00100800-00000000-178BFBFF\n");
	ck_assert_msg(!spec_parse(&list, spec, &tables, &err), "%s", err.text);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.cpus[0].name, "a-b,+fsrs,stepping=9");
	ck_assert_uint_eq(list.cpus[0].stepping, 9);
	ck_assert_uint_eq(list.cpus[0].edit_count, 2);
	ck_assert_str_eq(list.cpus[0].edits[0], "+fsrs");
	ck_assert(has(&list.cpus[0], "fsrs"));
	cpu_list_free(&list);
}
END_TEST

START_TEST(too_many_edits)
{
	CLEANUP_TEXT struct text spec = { 0 }, out = { 0 };

	put_tables();
	text_addf(&spec, "merom");
	for (int i = 0; i < 17; i++)
		text_addf(&spec, ",+de");
	parse_spec(&out, text_string(&spec));
	ck_assert_str_eq(text_string(&out), "! more than 16 edits of one CPU");
}
END_TEST

/* --- how it is presented --- */

static const struct hypervisor tcg_7_2 = { .qemu_version = 7002, .libvirt_version = 9000000 };
static const struct hypervisor tcg_10_0 = { .qemu_version = 10000, .libvirt_version = 11003000 };

static const char *property(const struct realised *realised, const char *name)
{
	for (size_t i = 0; i < realised->property_count; i++)
		if (!strcmp(realised->property[i].name, name))
			return realised->property[i].value;
	return "none";
}

START_TEST(a_bare_cpu)
{
	struct realised realised;
	struct error err = { 0 };
	struct cpu cpu;

	intel(&cpu);
	set(&cpu, "erms", true);
	set(&cpu, "avx512f", true);
	set(&cpu, "fsrs", true);
	set(&cpu, "clwb", false);
	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &tcg_7_2, &err), 0);
	ck_assert_ptr_null(realised.model);
	ck_assert_str_eq(property(&realised, "vendor"), "GenuineIntel");
	ck_assert_str_eq(property(&realised, "family"), "6");
	ck_assert_str_eq(property(&realised, "model"), "85");
	ck_assert_str_eq(property(&realised, "stepping"), "4");
	ck_assert_str_eq(property(&realised, "x-force-features"), "on");
	ck_assert_str_eq(property(&realised, "erms"), "on");
	ck_assert_str_eq(property(&realised, "avx512f"), "on");
	ck_assert_str_eq(property(&realised, "clwb"), "none");
	ck_assert_str_eq(property(&realised, "lm"), "on"); /* baseline */
	ck_assert_str_eq(property(&realised, "apic"), "on");
	ck_assert_str_eq(property(&realised, "cx16"), "none");
	ck_assert_str_eq(property(&realised, "fsrs"), "none");
	ck_assert_str_eq(property(&realised, "level"), "7");
	ck_assert(feature_in(&realised.unavailable, feature_find("fsrs")));
	ck_assert(feature_in(&realised.forced, feature_find("avx512f")));
	ck_assert(!feature_in(&realised.forced, feature_find("erms")));
	ck_assert_ptr_nonnull(strstr(text_string(&realised.qemu), ",erms=on"));
	realised_free(&realised);

	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &tcg_10_0, &err), 0);
	ck_assert_str_eq(property(&realised, "fsrs"), "on");
	ck_assert(!feature_in(&realised.unavailable, feature_find("fsrs")));
	realised_free(&realised);
}
END_TEST

START_TEST(a_linux_guest_is_spared)
{
	static const char *const never[] = { "pcid",	 "invpcid",  "serialize", "xsavec",
					     "rtm",	 "hle",	     "vmx",	  "avx512f",
					     "amx_tile", "intel_pt", "cx16",	  "avx512_vnni" };
	struct realised realised;
	struct error err = { 0 };
	struct cpu cpu;

	intel(&cpu);
	for (size_t i = 0; i < COUNT(never); i++)
		set(&cpu, never[i], true);
	set(&cpu, "clzero", true);
	set(&cpu, "xsave", true);
	ck_assert_int_eq(realise(&realised, &cpu, REALISE_LINUX, &tcg_7_2, &err), 0);
	for (size_t i = 0; i < COUNT(never); i++) {
		int index = feature_find(never[i]);

		ck_assert_str_eq(property(&realised, features[index].qemu), "none");
		ck_assert(feature_in(&realised.unavailable, index));
	}
	ck_assert_str_eq(property(&realised, "clzero"), "on");
	ck_assert_str_eq(property(&realised, "xgetbv1"), "on"); /* or CR4.OSXSAVE loops for ever */
	realised_free(&realised);

	ck_assert_int_eq(realise(&realised, &cpu, REALISE_LINUX, &tcg_10_0, &err), 0);
	ck_assert_str_eq(property(&realised, "cx16"), "on");
	ck_assert_str_eq(property(&realised, "pcid"), "none");
	realised_free(&realised);

	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &tcg_7_2, &err), 0);
	ck_assert_str_eq(property(&realised, "pcid"), "on");
	realised_free(&realised);
}
END_TEST

START_TEST(a_named_model)
{
	struct cpu_tables tables = { 0 };
	struct cpu_list list = { 0 };
	struct realised realised;
	struct error err = { 0 };

	ck_assert_int_eq(spec_parse(&list, "model:Skylake-Client,+fsrm,-erms,+fsrs,stepping=9",
				    &tables, &err),
			 0);
	ck_assert_int_eq(realise(&realised, list.cpus, REALISE_BARE, &tcg_7_2, &err), 0);
	ck_assert_str_eq(realised.model, "Skylake-Client");
	ck_assert_str_eq(text_string(&realised.qemu),
			 "x-force-features=on,fsrm=on,erms=off,stepping=9");
	ck_assert(feature_in(&realised.unavailable, feature_find("fsrs")));
	realised_free(&realised);
	ck_assert_int_eq(realise(&realised, list.cpus, REALISE_LINUX, &tcg_7_2, &err), 0);
	ck_assert_str_eq(property(&realised, "pcid"), "off");
	ck_assert_str_eq(property(&realised, "avx512f"), "off");
	ck_assert_str_eq(property(&realised, "vendor"), "none");
	realised_free(&realised);
	cpu_list_free(&list);
}
END_TEST

START_TEST(cpus_that_cannot_be_presented)
{
	struct realised realised;
	struct error err = { 0 };
	struct cpu cpu;

	intel(&cpu);
	strcpy(cpu.vendor, "a,vendor=b,c");
	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &tcg_7_2, &err), -1);
	ck_assert_str_eq(err.text,
			 "test: vendor 'a,vendor=b,c': byte 2 cannot be told to QEMU; expected "
			 "12 printable characters, no comma");
	intel(&cpu);
	set(&cpu, "lm", false);
	ck_assert_int_eq(realise(&realised, &cpu, REALISE_BARE, &tcg_7_2, &err), -1);
	ck_assert_str_eq(err.text, "test: has no long mode (lm); the guests are 64-bit programs");
}
END_TEST

Suite *suite_cpu(void)
{
	Suite *suite = suite_create("cpu");
	TCase *tests = tcase_create("cpu");

	tcase_add_checked_fixture(tests, make_folder, remove_folder);
	tcase_add_test(tests, signatures);
	tcase_add_test(tests, a_base_family_below_6_has_no_extended_model);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, every_spelling_finds_the_bit);
	tcase_add_test(tests, each_bit_has_one_row);
	tcase_add_test(tests, bits_of_the_manuals);
	tcase_add_test(tests, near_names);
	tcase_add_test(tests, llc_of_intel_is_the_highest_data_level_of_leaf_4);
	tcase_add_test(tests, llc_of_amd);
	tcase_add_test(tests, what_a_dump_says);
	tcase_add_test(tests, a_dump_without_leaf_1_is_none);
	tcase_add_test(tests, a_cpu_and_its_leaves);
	tcase_add_test(tests, a_low_level_has_no_leaf_above_it);
	tcase_add_test(tests, asked_and_seen);
	tcase_add_test(tests, lines_of_cpuid_r);
	tcase_add_test(tests, lines_of_aida64);
	tcase_add_test(tests, a_subleaf_by_its_place);
	tcase_add_test(tests, files_that_are_no_dump);
	tcase_add_test(tests, a_dump_in_utf_16);
	tcase_add_test(tests, intel_hides_syscall_from_32_bit_tools);
	tcase_add_test(tests, tables_that_are_not_read);
	tcase_add_test(tests, a_nul_byte_in_a_table);
	tcase_add_test(tests, a_row_of_the_catalogue);
	tcase_add_test(tests, what_a_spec_means);
	tcase_add_test(tests, a_file_and_its_edits);
	tcase_add_test(tests, too_many_edits);
	tcase_add_test(tests, a_bare_cpu);
	tcase_add_test(tests, a_linux_guest_is_spared);
	tcase_add_test(tests, a_named_model);
	tcase_add_test(tests, cpus_that_cannot_be_presented);
	suite_add_tcase(suite, tests);
	return suite;
}
