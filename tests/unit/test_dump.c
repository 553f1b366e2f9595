// SPDX-License-Identifier: MIT
/* harness/cpu, readers: every format, the dirt of pastes, what is cut off, and a corpus of real
 * files. */
#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/cpu/dump.h"
#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"
#include "lab/cpuid.h"

Suite *suite_dump(void);

#define DUMPS "tests/unit/dumps/"

/* Reads a string as a file; the dump is the caller's. */
static int read_bytes(struct dump *dump, const char *bytes, size_t length, struct error *err)
{
	CLEANUP_FREE char *copy = xmalloc(length + 1);

	memcpy(copy, bytes, length);
	copy[length] = '\0';
	return dump_read(dump, copy, length, err);
}

static void read_good(struct dump *dump, const char *text)
{
	struct error err = { 0 };

	ck_assert_msg(read_bytes(dump, text, strlen(text), &err) == 0, "%s: %s", err.text, text);
	ck_assert_uint_ge(dump->cpu_count, 1);
}

static char state(const struct dump_cpu *cpu, const char *bit)
{
	int index = feature_find(bit);

	ck_assert_msg(index >= 0, "no bit %s", bit);
	if (!feature_in(&cpu->cpu.known, index)) {
		ck_assert_msg(!feature_in(&cpu->cpu.on, index), "%s is unknown and on", bit);
		return '?';
	}
	return feature_in(&cpu->cpu.on, index) ? '1' : '0';
}

/* "erms=1 fsrs=? clwb=0" */
static void check_bits(const struct dump *dump, const char *bits)
{
	CLEANUP_FREE char *copy = xstrdup(bits);

	for (char *at = strtok(copy, " "); at; at = strtok(NULL, " ")) {
		char *equals = strchr(at, '=');

		*equals = '\0';
		ck_assert_msg(state(&dump->cpus[0], at) == equals[1], "%s is %c, not %c", at,
			      state(&dump->cpus[0], at), equals[1]);
	}
}

static bool warns(const struct dump *dump, const char *words)
{
	for (size_t i = 0; i < dump->warning_count; i++)
		if (strstr(dump->warnings[i], words))
			return true;
	return false;
}

static const struct dump_leaf *leaf_of(const struct dump *dump, uint32_t leaf, uint32_t subleaf)
{
	const struct dump_cpu *cpu = &dump->cpus[0];

	for (size_t i = 0; i < cpu->leaf_count; i++)
		if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf)
			return &cpu->leaves[i];
	return NULL;
}

static void check_identity(const struct dump *dump, const char *vendor, unsigned family,
			   unsigned model, unsigned stepping)
{
	const struct dump_cpu *cpu = &dump->cpus[0];

	ck_assert(cpu->cpu.identity_known && cpu->stepping_known);
	ck_assert_str_eq(cpu->cpu.vendor, vendor);
	ck_assert_uint_eq(cpu->cpu.family, family);
	ck_assert_uint_eq(cpu->cpu.model, model);
	ck_assert_uint_eq(cpu->cpu.stepping, stepping);
}

/* --- the same CPU in every format --- */

/* Leaf 7 is 1, 0x009C0220 0x10000000 0x10; 7.1 EAX 0x810: avx-vnni and fsrs. Worked out by hand. */
#define ALL_BITS                                                                                  \
	"erms=1 avx2=1 clflushopt=1 rdseed=1 movdir64b=1 fsrm=1 avx512f=0 clwb=0 syscall=1 lm=1 " \
	"sse2=1"

static const struct {
	const char *file, *format, *bits;
	bool brand;
	bool whole; /* leaves 0 and 1 are whole */
} examples[] = {
	{ "aida64-new.txt", "AIDA64 report", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "archspec-windows.csv", "table of leaves", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true,
	  true },
	{ "cpuid-r.txt", "cpuid -r output", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "cpuz-thread-dump.txt", "CPU-Z report", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "everest-old-positional.txt", "AIDA64 report", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true,
	  true },
	{ "firecracker-fingerprint.json", "Firecracker CPU configuration",
	  ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	/* FreeBSD prints four words of this CPU; 7.1 and 0x80000008 are nowhere. */
	{ "freebsd-dmesg.txt", "FreeBSD boot messages", ALL_BITS " fsrs=? fzrm=? clzero=?", true,
	  false },
	{ "hwloc-pu0", "hwloc-gather-cpuid file", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "kcpuid-r.txt", "kcpuid -r output", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "libcpuid-raw.txt", "libcpuid raw dump", ALL_BITS " fsrs=? fzrm=? clzero=0", true, true },
	{ "libvirt-cpudata.xml", "libvirt <cpudata>", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true,
	  true },
	{ "lscpu.txt", "lscpu output",
	  "erms=1 avx2=1 fsrm=1 movdir64b=1 clwb=? clflushopt=? sse2=1 lm=? fsrs=? fzrm=? clzero=?",
	  true, false },
	{ "openhardwaremonitor.txt", "OpenHardwareMonitor report", ALL_BITS " fsrs=? clzero=0",
	  true, true },
	{ "plain-spaces-noeol.txt", "AIDA64 report", "erms=? fsrs=? clzero=? sse2=1", false, true },
	{ "proc-cpuinfo.txt", "/proc/cpuinfo",
	  "erms=1 avx2=1 fsrm=1 movdir64b=1 clflushopt=1 clwb=0 avx512f=0 clzero=0 fsrs=? fzrm=? "
	  "lm=1",
	  true, false },
	{ "utf16le-bom.txt", "cpuid -r output", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true, true },
	{ "x86info-r.txt", "x86info -r output", ALL_BITS " fsrs=? clzero=0", true, true },
	{ "xen-cpuid-p.txt", "xen-cpuid -p output", ALL_BITS " fsrs=1 fzrm=0 clzero=0", true,
	  true },
};

START_TEST(one_cpu_in_every_format)
{
	CLEANUP_FREE char *path = xasprintf(DUMPS "%s", examples[_i].file);
	struct cpuid_dump whole;
	struct error err = { 0 };
	struct dump dump;

	ck_assert_msg(dump_read_file(&dump, path, &err) == 0, "%s", err.text);
	ck_assert_str_eq(dump.format, examples[_i].format);
	check_identity(&dump, "ExampleChips", 6, 0x5A, 3);
	check_bits(&dump, examples[_i].bits);
	ck_assert_str_eq(dump.cpus[0].brand, examples[_i].brand ? "Example CPU 1000" : "");
	dump_whole_leaves(&dump.cpus[0], &whole);
	ck_assert_int_eq(cpuid_find(&whole, 0, 0) && cpuid_find(&whole, 1, 0), examples[_i].whole);
	cpuid_free(&whole);
	dump_free(&dump);
}
END_TEST

START_TEST(caches_and_cpus_of_an_old_report)
{
	struct cache caches[CACHES_MAX];
	struct error err = { 0 };
	struct dump dump;

	ck_assert_int_eq(dump_read_file(&dump, DUMPS "everest-old-positional.txt", &err), 0);
	/* L1D: 64 sets x 8 ways x 64 bytes; the same for instructions. */
	ck_assert_uint_eq(cpuid_caches(&dump.cpus[0], caches), 2);
	ck_assert_uint_eq(caches[0].bytes, 32768);
	ck_assert_str_eq(caches[0].type, "data");
	ck_assert_uint_eq(caches[1].ways, 8);
	ck_assert_str_eq(caches[1].type, "instruction");
	/* The second CPU of the file has two leaves only, so it is another kind. */
	ck_assert_uint_eq(dump.cpu_count, 2);
	ck_assert_uint_eq(dump.cpus[0].numbers[0].first, 1);
	ck_assert_uint_eq(dump.cpus[1].numbers[0].first, 2);
	ck_assert(warns(&dump, "2 kinds of CPU that differ: CPU 1 is the one"));
	ck_assert(warns(&dump, "leaf 0x4 is repeated without the number of its subleaf"));
	dump_free(&dump);
}
END_TEST

/* --- formats and their traps --- */

#define ZERO "CPUID 00000000: 0000000D-756E6547-6C65746E-49656E69\n" /* GenuineIntel, level 0xD */
#define ONE  "CPUID 00000001: 000306C3-00100800-7FFAFBBF-BFEBFBFF\n"

START_TEST(aida64_in_all_its_shapes)
{
	static const char *const separators[] = { ": ", "  \t", "  ", " ", " :", " : " };
	CLEANUP_FREE char *text =
		xasprintf("CPUID Manufacturer: GenuineIntel\nCPUID Revision    : 000306C3h\n"
			  "cpuid is no line\nCPUID 00000000%s0000000d-756e6547-6c65746e-49656e69\n"
			  "CPUID 00000001%s000306C3 00100800 7FFAFBBF BFEBFBFF",
			  separators[_i], separators[_i]);
	struct dump dump;

	read_good(&dump, text);
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	ck_assert_uint_eq(dump.warning_count, 2);
	ck_assert_str_eq(dump.warnings[1],
			 "not there, or not whole, so unknown: leaves 0x6 0x7 0xd 0x2 0x4 "
			 "0x80000000");
	ck_assert_str_eq(dump.warnings[0], "not said, so unknown: erms avx512f clflushopt clwb "
					   "movdir64b fsrm fzrm fsrs clzero");
	dump_free(&dump);
}
END_TEST

START_TEST(subleaves_of_aida64_are_hexadecimal)
{
	struct dump dump;

	read_good(&dump,
		  ZERO ONE "CPUID 0000000D: 00000007-00000340-00000340-00000000 [SL 00]\n"
			   "CPUID 0000000D: 00000111-00000000-00000000-00000000 [SL 09] [L2: 1 KB] "
			   "/ L3: 0 KB]\n"
			   "CPUID 0000000D: 00000100-00000240-00000000-00000000 [SL 0B]\n"
			   "CPUID 0000000D: 00000222-00000000-00000000-00000000 [SL 10]  \n");
	ck_assert_ptr_nonnull(leaf_of(&dump, 0xD, 9));
	ck_assert_uint_eq(leaf_of(&dump, 0xD, 11)->reg[CPUID_EAX], 0x100);
	ck_assert_uint_eq(leaf_of(&dump, 0xD, 16)->reg[CPUID_EAX], 0x222);
	dump_free(&dump);
}
END_TEST

START_TEST(leaf_d_without_subleaf_1)
{
	struct dump dump;

	/* Bulldozer: the second line is the AVX state, not five flags. */
	read_good(&dump, ZERO ONE "CPUID 0000000D: 00000007-00000340-000003C0-40000000\n"
				  "CPUID 0000000D: 00000100-00000240-00000000-00000000\n");
	ck_assert_ptr_null(leaf_of(&dump, 0xD, 1));
	ck_assert_uint_eq(leaf_of(&dump, 0xD, 2)->reg[CPUID_EBX], 0x240);
	check_bits(&dump, "xsaveopt=? xsavec=?");
	dump_free(&dump);
}
END_TEST

START_TEST(cpus_without_a_header)
{
	struct dump dump;

	read_good(&dump, ZERO "CPUID 00000001: 000306C3-00100800-7FFAFBBF-BFEBFBFF\n"
			      "CPUID 0000000B: 00000001-00000002-00000100-00000000\n\n" ZERO
			      "CPUID 00000001: 000306C3-02100800-7FFAFBBF-BFEBFBFF\n"
			      "CPUID 0000000B: 00000001-00000002-00000100-00000002\n");
	/* They differ in their APIC ids only. */
	ck_assert_uint_eq(dump.cpu_count, 1);
	ck_assert_uint_eq(dump.cpus[0].count, 2);
	ck_assert_uint_eq(dump.cpus[0].number_count, 1);
	ck_assert_uint_eq(dump.cpus[0].numbers[0].last, 1);
	dump_free(&dump);
}
END_TEST

START_TEST(a_hybrid_part_has_kinds)
{
	static const char p[] = "CPUID 00000000: 0000001A-756E6547-6C65746E-49656E69\n"
				"CPUID 00000001: 00090672-00100800-7FFAFBBF-BFEBFBFF\n"
				"CPUID 0000001A: 40000001-00000000-00000000-00000000\n";
	static const char e[] = "CPUID 00000000: 0000001A-756E6547-6C65746E-49656E69\n"
				"CPUID 00000001: 00090672-10100800-7FFAFBBF-BFEBFBFF\n"
				"CPUID 0000001A: 20000001-00000000-00000000-00000000\n";
	CLEANUP_FREE char *text =
		xasprintf("------[ Logical CPU #0 ]------\n%s"
			  "------[ Logical CPU #1 ]------\n%s"
			  "------[ Logical CPU #2 ]------\n%s"
			  "------[ All CPUs ]------\nCPU   0: APICID   0 / Package 0\n",
			  p, e, p);
	struct dump dump;

	read_good(&dump, text);
	ck_assert_uint_eq(dump.cpu_count, 2);
	ck_assert_int_eq(dump.cpus[0].core_type, 0x40);
	ck_assert_int_eq(dump.cpus[1].core_type, 0x20);
	ck_assert_uint_eq(dump.cpus[0].count, 2);
	ck_assert_uint_eq(dump.cpus[0].number_count, 2);
	ck_assert_uint_eq(dump.cpus[1].numbers[0].first, 1);
	dump_free(&dump);
}
END_TEST

START_TEST(leaves_that_nobody_answers_for)
{
	struct dump dump;

	/* Level 5, so leaf 7 is another leaf's answer; 0xC0000000 is garbage on Intel; 0x40000000
	 * needs the hypervisor bit. */
	read_good(
		&dump,
		"CPU 0:\n"
		"   0x00000000 0x00: eax=0x00000005 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
		"   0x00000001 0x00: eax=0x000006f6 ebx=0x00000800 ecx=0x00000000 edx=0x00000000\n"
		"   0x00000007 0x00: eax=0x00000000 ebx=0xffffffff ecx=0xffffffff edx=0xffffffff\n"
		"   0x20000000 0x00: eax=0x00000040 ebx=0x00000040 ecx=0x00000003 edx=0x00000000\n"
		"   0x40000000 0x00: eax=0x00000040 ebx=0x00000040 ecx=0x00000003 edx=0x00000000\n"
		"   0x80000000 0x00: eax=0x80000001 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
		"   0x80000001 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x20000800\n"
		"   0x80000008 0x00: eax=0x00000000 ebx=0x00000001 ecx=0x00000000 edx=0x00000000\n"
		"   0x8fffffff 0x00: eax=0x20444556 ebx=0x00000001 ecx=0x00000000 edx=0x00000000\n"
		"   0xc0000000 0x00: eax=0xc0000005 ebx=0x00000040 ecx=0x00000003 edx=0x00000000\n"
		"   0xc0000001 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 "
		"edx=0xffffffff\n");
	ck_assert_uint_eq(dump.cpus[0].leaf_count, 4);
	check_bits(&dump, "erms=0 fsrm=0 clzero=0 rng=0 lm=1");
	ck_assert(warns(&dump, "2 leaves above the highest leaf, 0x7 the first: left out"));
	dump_free(&dump);
}
END_TEST

START_TEST(centaur_has_leaves_of_its_own)
{
	struct dump dump;

	/* CentaurHauls; family 7 model 0x3B: the extended model counts from base family 6 on. */
	read_good(&dump, "CPUID 00000000: 0000000D-746E6543-736C7561-48727561\n"
			 "CPUID 00000001: 000307B2-00000800-00000000-00000000\n"
			 "CPUID C0000000: C0000005-00000000-00000000-00000000\n"
			 "CPUID C0000001: 000307B2-00000000-00000000-00000044\n");
	check_identity(&dump, "CentaurHauls", 7, 0x3B, 2);
	ck_assert_uint_eq(dump.cpus[0].leaf_count, 4);
	check_bits(&dump, "rng=1 ace=1 rng_en=0");
	dump_free(&dump);
}
END_TEST

START_TEST(odd_vendors_and_brands)
{
	struct dump dump;

	read_good(&dump, "CPUID 00000000: 00000001-68532020-20206961-68676E61\n"
			 "CPUID 00000001: 000107B1-00000000-00000000-00000000\n"
			 "CPUID 80000000: 80000004-00000000-00000000-00000000\n"
			 "CPUID 80000002: 20412020-0000422C-20202020-20202020\n"
			 "CPUID 80000003: 20202020-20202020-20202020-20202020\n"
			 "CPUID 80000004: 20202020-20202020-20202020-20202020\n");
	check_identity(&dump, "  Shanghai  ", 7, 0x1B, 1);
	ck_assert_str_eq(dump.cpus[0].brand, "  A ,B"); /* to the first NUL, blanks kept */
	dump_free(&dump);
}
END_TEST

START_TEST(other_formats_and_their_traps)
{
	static const struct {
		const char *text, *bits;
		unsigned model;
	} files[] = {
		/* xen: a policy for guests behind the machine's own */
		{ "Raw policy: 3 leaves, 0 MSRs\n CPUID:\n"
		  "  00000000:ffffffff -> 00000007:756e6547:6c65746e:49656e69\n"
		  "  00000001:ffffffff -> 000306c3:00100800:7ffafbbf:bfebfbff\n"
		  "  00000007:00000000 -> 00000000:00000200:00000000:00000000\n MSRs:\n"
		  "  000000ce -> 0000000080000000\n"
		  "Host policy: 3 leaves, 0 MSRs\n CPUID:\n"
		  "  00000000:ffffffff -> 00000007:756e6547:6c65746e:49656e69\n"
		  "  00000001:ffffffff -> 000306c3:00100800:7ffafbbf:bfebfbff\n"
		  "  00000007:00000000 -> 00000000:00000000:00000000:00000000\n",
		  "erms=1", 60 },
		/* cpu_features: a name for each test, the leaf's digits as a person writes them */
		{ "TEST_F(CpuidX86Test, HSW) {\n  cpu().SetLeaves({\n"
		  "      {{0x00000000, 0}, Leaf{0x0000000D, 0x756E6547, 0x6C65746E, 0x49656E69}},\n"
		  "      {{0x1, 0},\n       Leaf{0x000306C3, 0x00100800, 0x7FFAFBBF, "
		  "0xBFEBFBFF}},\n"
		  "      {{0x00000007, 0}, Leaf{0x00000000, 0x00000200, 0x00000000, "
		  "0x00000000}},\n",
		  "erms=1 fsrs=0 clzero=?", 60 },
		/* libcpuid: arrays longer than the CPU, and what the tests expect of it */
		{ "basic_cpuid[0]=00000007 756e6547 6c65746e 49656e69\n"
		  "basic_cpuid[1]=000306c3 00100800 7ffafbbf bfebfbff\n"
		  "basic_cpuid[7]=00000000 00000200 00000000 00000000\n"
		  "basic_cpuid[8]=00000000 00000200 00000000 00000000\n"
		  "----------------------------------------------------------------------"
		  "\nx86\n6\n",
		  "erms=1 fsrs=0", 60 },
		/* a tag of kcpuid's sections */
		{ "Basic Leafs :\n================\n"
		  "0x00000000: EAX=0x00000007, EBX=0x756e6547, ECX=0x6c65746e, EDX=0x49656e69\n"
		  "0x00000001: EAX=0x000306c3, EBX=0x00100800, ECX=0x7ffafbbf, EDX=0xbfebfbff\n"
		  "0x00000007: subleafs:\n"
		  " 0: EAX=0x00000001, EBX=0x00000200, ECX=0x00000000, EDX=0x00000000\n"
		  " 1: EAX=0x00000400, EBX=0x00000000, ECX=0x00000000, EDX=0x00000000\n",
		  "erms=1 fzrm=1 fsrs=0", 60 },
		/* FreeBSD with blanks round the signs, behind a syslog's beginning */
		{ "Jan  1 00:00:00 box kernel: CPU: Some CPU (2993.39-MHz K8-class CPU)\n"
		  "Jan  1 00:00:00 box kernel:   Origin = \"GenuineIntel\"  Id = 0x306c3  Family = "
		  "0x6  "
		  "Model = 0x3c  Stepping = 3\n"
		  "Jan  1 00:00:00 box kernel:   Structured Extended Features=0x200<ERMS>\n",
		  "erms=1 avx2=0 fsrm=?", 60 },
		/* the decoded family is the base one */
		{ "CPU 0:\n   vendor_id = \"AuthenticAMD\"\n   version information (1/eax):\n"
		  "      processor type  = primary processor (0)\n"
		  "      family          = Intel Pentium 4/.../AMD Athlon 64/Opteron/... (15)\n"
		  "      model           = 0x1 (1)\n      stepping id     = 0x1 (1)\n"
		  "      extended family = 0xa (10)\n      extended model  = 0x1 (1)\n"
		  "      (family synth)  = 0x19 (25)\n      (model synth)   = 0x11 (17)\n"
		  "   extended feature flags (7):\n"
		  "      enhanced REP MOVSB/STOSB                 = true\n"
		  "      CLWB instruction                         = false\n"
		  "   Extended Feature Extensions ID (0x80000008/ebx):\n"
		  "      CLZERO instruction                       = true\n",
		  "erms=1 clwb=0 clzero=1 fsrm=?", 17 },
		{ "machdep.cpu.vendor: GenuineIntel\nmachdep.cpu.model: 60\nmachdep.cpu.family: 6\n"
		  "machdep.cpu.stepping: 3\nmachdep.cpu.features: FPU SSE SSE2 AVX1.0\n"
		  "machdep.cpu.leaf7_features: RDWRFSGS BMI1 AVX2 ERMS\n"
		  "machdep.cpu.extfeatures: SYSCALL XD EM64T\n",
		  "erms=1 avx2=1 lm=1 clwb=? fsrm=?", 60 },
		/* Tables of MSRs are no leaves */
		{ " CPU Thread: 0\n\n Function  EAX       EBX       ECX       EDX\n"
		  " 00000000  00000007  756E6547  6C65746E  49656E69\n"
		  " 00000001  000306C3  00100800  7FFAFBBF  BFEBFBFF\n"
		  " 00000007  00000000  00000200  00000000  00000000\n\n MSR       EDX       EAX\n"
		  " 000000CE  00080838  F3011B00\n 80000000  00080838  F3011B00\n",
		  "erms=1 clwb=0 clzero=?", 60 },
		/* OpenBSD's lscpu */
		{ "Architecture: amd64\nVendor: GenuineIntel\nModel name: X\nCPU family: 6\nModel: "
		  "60\n"
		  "Stepping: 3\nFlags: fpu cflsh sse3 rdrnd tsc_deadline erms\n",
		  "erms=1 pni=1 rdrand=1 clflush=1 clwb=?", 60 },
	};
	struct dump dump;

	read_good(&dump, files[_i].text);
	ck_assert_uint_eq(dump.cpus[0].cpu.model, files[_i].model);
	ck_assert(dump.cpus[0].cpu.identity_known);
	check_bits(&dump, files[_i].bits);
	dump_free(&dump);
}
END_TEST
#define OTHER_FORMATS 9

START_TEST(firecracker_leaves_bits_to_the_host)
{
	struct dump dump;

	read_good(&dump,
		  "{\"cpuid_modifiers\": [\n"
		  "{\"leaf\": \"0x0\", \"subleaf\": \"0x0\", \"flags\": 0, \"modifiers\": [\n"
		  "{\"register\": \"eax\", \"bitmap\": "
		  "\"0b0000_0000_0000_0000_0000_0000_0000_1101\"},\n"
		  "{\"register\": \"ebx\", \"bitmap\": \"0b01110101011011100110010101000111\"},\n"
		  "{\"register\": \"ecx\", \"bitmap\": \"0b01101100011001010111010001101110\"},\n"
		  "{\"register\": \"edx\", \"bitmap\": \"0b01001001011001010110111001101001\"}]},\n"
		  "{\"leaf\": \"0x1\", \"subleaf\": \"0x0\", \"flags\": 0, \"modifiers\": [\n"
		  "{\"register\": \"eax\", \"bitmap\": \"0bxxxx000000000011xx00011011000011\"}]},\n"
		  /* erms (9) 1, clwb (24) 0, the others the host's */
		  "{\"leaf\": \"0x7\", \"subleaf\": \"0x0\", \"flags\": 1, \"modifiers\": [\n"
		  "{\"register\": \"ebx\", \"bitmap\": \"0bxxxxxxx0xxxxxxxxxxxxxx1xxxxxxxxx\"},\n"
		  "{\"register\": \"edx\", \"bitmap\": \"0b11\"}]}]}");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	check_bits(&dump, "erms=1 clwb=0 clflushopt=? fsrm=? sse2=?");
	ck_assert(warns(&dump, "leaf 0x7: edx has no pattern of 32 bits"));
	dump_free(&dump);
}
END_TEST

START_TEST(qemu_says_it_in_properties)
{
	struct dump dump;

	/* As libvirt keeps it: several answers in one file, the wanted one not the first. */
	read_good(
		&dump,
		"{\"return\": {\"model\": {\"name\": \"max\"}}, \"id\": \"1\"}\n\n"
		"{\"return\": {\"model\": {\"name\": \"base\", \"props\": {\"vendor\": "
		"\"GenuineIntel\", \"family\": 6, \"model\": 85, \"stepping\": 7, \"level\": 22,\n"
		"\"model-id\": \"Some Xeon\", \"erms\": true, \"clwb\": true, \"clzero\": false,\n"
		"\"sse4.1\": true, \"sse4-1\": true, \"kvm-hint-dedicated\": false}}}}\n");
	check_identity(&dump, "GenuineIntel", 6, 85, 7);
	ck_assert_str_eq(dump.cpus[0].brand, "Some Xeon");
	check_bits(&dump, "erms=1 clwb=1 clzero=0 sse4_1=1 fsrm=? fsrs=?");
	dump_free(&dump);
}
END_TEST

START_TEST(libvirt_cpu_of_a_domain)
{
	struct cpu_list models = { 0 };
	struct cpu *model = cpu_list_add(&models);
	struct dump dump;
	struct cpu *cpu;

	read_good(&dump, "here it is:\n<cpu mode='custom' match='exact'>\n"
			 "  <model fallback='forbid'>Made-Up</model>\n  <vendor>AMD</vendor>\n"
			 "  <feature policy='require' name='erms'/>\n"
			 "  <feature policy='disable' name='clwb'/>\n"
			 "  <feature policy='optional' name='fsrm'/>\n"
			 "  <feature policy='require' name='nosuchbit'/>\n"
			 "  <feature policy='require' name='vmx-ept'/>\n</cpu>\nthanks\n");
	ck_assert_str_eq(dump.cpus[0].cpu.libvirt_model, "Made-Up");
	ck_assert(!dump.cpus[0].cpu.identity_known);
	ck_assert_int_eq(dump_identity(&dump, NULL), 0); /* the model stands for it */
	check_bits(&dump, "erms=1 clwb=0 fsrm=? clflushopt=?");
	ck_assert(warns(&dump, "unknown feature 'nosuchbit'"));
	ck_assert(!warns(&dump, "vmx-ept"));

	/* What the model is, but for what the file says. */
	model->libvirt_model = xstrdup("made-up");
	strcpy(model->vendor, "AuthenticAMD");
	model->family = 25;
	model->model = 1;
	model->identity_known = true;
	feature_put(&model->known, feature_find("clwb"), true);
	feature_put(&model->on, feature_find("clwb"), true);
	feature_put(&model->known, feature_find("clflushopt"), true);
	feature_put(&model->on, feature_find("clflushopt"), true);
	cpu = &dump.cpus[0].cpu;
	dump_lay_over_model(cpu, &models);
	ck_assert_uint_eq(cpu->family, 25);
	check_bits(&dump, "erms=1 clwb=0 clflushopt=1 fsrm=?");
	cpu_list_free(&models);
	dump_free(&dump);
}
END_TEST

START_TEST(libvirt_domain_capabilities)
{
	struct dump dump;

	/* The models that could be used are not this CPU; the topology's <cpu/> are none. */
	read_good(&dump,
		  "<domainCapabilities><arch>x86_64</arch><cpu>\n"
		  "<mode name='host-passthrough' supported='yes'/>\n"
		  "<mode name='host-model' supported='yes'><model fallback='forbid'>Skylake</model>"
		  "<vendor>Intel</vendor><feature policy='require' name='clflushopt'/></mode>\n"
		  "<mode name='custom' supported='yes'><model usable='yes'>486</model></mode>\n"
		  "</cpu></domainCapabilities>\n");
	ck_assert_str_eq(dump.cpus[0].cpu.libvirt_model, "Skylake");
	check_bits(&dump, "clflushopt=1");
	dump_free(&dump);
	read_good(&dump,
		  "<capabilities><host><cpu><arch>x86_64</arch><model>Haswell</model>"
		  "<vendor>Intel</vendor><signature family='6' model='60' stepping='3'/>"
		  "<feature name='erms'/></cpu><topology><cells num='1'><cell id='0'><cpus num='1'>"
		  "<cpu id='0' "
		  "socket_id='0'/></cpus></cell></cells></topology></host></capabilities>");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	check_bits(&dump, "erms=1");
	dump_free(&dump);
}
END_TEST

/* --- dirt --- */

#define RAW                                                                                 \
	"CPU 0:\n"                                                                          \
	"   0x00000000 0x00: eax=0x00000007 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n" \
	"   0x00000001 0x00: eax=0x000306c3 ebx=0x00100800 ecx=0x7ffafbbf edx=0xbfebfbff\n" \
	"   0x00000007 0x00: eax=0x00000000 ebx=0x00000200 ecx=0x00000000 edx=0x00000000\n" \
	"   0x80000000 0x00: eax=0x80000001 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"

static void check_raw(const struct dump *dump)
{
	check_identity(dump, "GenuineIntel", 6, 60, 3);
	check_bits(dump, "erms=1 clwb=0 fsrs=0");
}

/* RAW with each line behind `before`, and with another end of line. */
static void dirty(struct text *out, const char *before, const char *end)
{
	const char *line = RAW;

	while (*line) {
		size_t length = strcspn(line, "\n");

		text_addf(out, "%s%.*s%s", before, (int)length, line, end);
		line += length + 1;
	}
}

static const struct {
	const char *before, *end;
} dirts[] = {
	{ "", "\r\n" },
	{ "", "\r" },
	{ "> ", "\n" },
	{ ">", "\n" },
	{ "> > ", "\n" },
	{ ">>> ", "\r\n" },
	{ "  > ", "\n" },
	{ "\t", "\n" },
	{ "[    1.234567] ", "\n" },
	{ "\033[32m", "\033[0m\n" },
	{ "\xC2\xA0\xC2\xA0", "\n" },
	{ "", "   \n\n" },
};

START_TEST(dirt_round_the_lines)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct dump dump;

	text_addf(&text, "Hi, my CPU:\nme@box:~$ cpuid -1r\n");
	dirty(&text, dirts[_i].before, dirts[_i].end);
	text_addf(&text, "me@box:~$ exit\nthanks");
	read_good(&dump, text_string(&text));
	check_raw(&dump);
	ck_assert_uint_eq(dump.warning_count, 1);
	ck_assert(warns(&dump, "not there, or not whole, so unknown: leaves 0x6 0x80000001"));
	dump_free(&dump);
}
END_TEST

START_TEST(encodings)
{
	static const struct {
		const char *mark;
		size_t length;
		int zero_at; /* of the two bytes of a letter; -1: one byte a letter */
	} codes[] = {
		{ "\xEF\xBB\xBF", 3, -1 },
		{ "\xFF\xFE", 2, 1 },
		{ "\xFE\xFF", 2, 0 },
		{ "", 0, 1 },
		{ "", 0, 0 },
	};
	CLEANUP_TEXT struct text text = { 0 };
	struct error err = { 0 };
	struct dump dump;

	text_add(&text, codes[_i].mark, codes[_i].length);
	for (const char *c = RAW; *c; c++) {
		if (codes[_i].zero_at == 0)
			text_add(&text, "", 1);
		text_add(&text, c, 1);
		if (codes[_i].zero_at == 1)
			text_add(&text, "", 1);
	}
	ck_assert_msg(read_bytes(&dump, text.bytes, text.length, &err) == 0, "%s", err.text);
	check_raw(&dump);
	dump_free(&dump);
}
END_TEST

START_TEST(wrapped_lines)
{
	struct dump dump;

	/* Between registers, and in the middle of one. */
	read_good(
		&dump,
		"   0x00000000 0x00: eax=0x00000007 ebx=0x756e6547 ecx=0x6c65746e\nedx=0x49656e69\n"
		"   0x00000001 0x00: eax=0x000306c3 ebx=0x00100800 ecx=0x7ffa\nfbbf "
		"edx=0xbfebfbff\n"
		"   0x00000007 0x00: eax=0x00000000 ebx=0x00000200 ecx=0x00000000 "
		"edx=0x00000000\n");
	check_raw(&dump);
	ck_assert(warns(&dump, "line 1: wrapped: read together with line 2"));
	ck_assert(warns(&dump, "line 3: wrapped: read together with line 4"));
	dump_free(&dump);
}
END_TEST

/* What a wrap leaves of a row of numbers may be whole as a number, and look like a row. */
START_TEST(wrapped_numbers)
{
	static const char *const tops[] = { "", "\n" };

	for (size_t i = 0; i < 2; i++) {
		CLEANUP_TEXT struct text text = { 0 };
		struct dump dump;

		/* At 19 columns the third piece of each row is digits alone. */
		text_addf(&text, "0, 0, 7, 1835104325%s\n, 1936746856, 11307%s\n20368%s\n", tops[i],
			  tops[i], tops[i]);
		text_addf(&text, "1, 0, 329379, 10506\n24, 532341759, 3950\n49983\n");
		read_good(&dump, text_string(&text));
		check_identity(&dump, "ExampleChips", 6, 90, 3);
		dump_free(&dump);
	}
	/* At blanks: the second piece is no leaf 0x80000008. */
	struct dump dump;

	read_good(&dump, "0, 0, 7, 1835104325, 1936746856, 1130720368\n"
			 "1, 0, 329379, 1050624, 532341759, 395049983\n2147483648, 0,\n"
			 "2147483656, 0, 0, 0\n2147483649, 0, 0, 0,\n289, 739248128\n");
	ck_assert_ptr_null(leaf_of(&dump, 0x80000008u, 0));
	dump_free(&dump);
}
END_TEST

START_TEST(half_a_register_is_none)
{
	struct dump dump;

	read_good(
		&dump,
		"   0x00000000 0x00: eax=0x00000007 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
		"   0x00000001 0x00: eax=0x000306c3 ebx=0x00100800 ecx=0x7ffafbbf edx=0xbfebfbff\n"
		"   0x00000007 0x00: eax=0x00000000 ebx=0x00000200 ecx=0x0000");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	check_bits(&dump, "erms=1 movdir64b=? fsrm=?"); /* ebx is whole, ecx and edx are not */
	ck_assert(warns(&dump, "line 3: leaf 0x7 is cut off or damaged at ecx"));
	dump_free(&dump);
	/* A blank amid numbers with commas: from there on nothing is sure, and nothing shifts. */
	read_good(&dump, "0, 0, 7, 1835104325, 1936746856, 1130720368\n"
			 "1, 0, 329379, 10 50624, 532341759, 395049983\n"
			 "7, 0, 1, 10224160, 268435456, 1 6\n");
	check_bits(&dump, "pni=? sse2=? erms=1 movdir64b=1 fsrm=?");
	ck_assert(warns(&dump, "line 2: leaf 0x1 is cut off or damaged at ebx"));
	dump_free(&dump);
	/* Numbers of any width: the last one of the text may have lost digits. */
	read_good(&dump, "1 0 0 0 0 => 7 756e6547 6c65746e 49656e69\n"
			 "1 1 0 0 0 => 306c3 100800 7ffafbbf bfeb");
	ck_assert_uint_eq(leaf_of(&dump, 1, 0)->known[CPUID_EDX], 0);
	check_bits(&dump, "avx=1 sse2=?");
	dump_free(&dump);
}
END_TEST

/* --- capitals, wraps, empty lines, whole documents --- */

/* As hard as a mailer breaks it. */
static char *fold(const char *text, size_t width)
{
	struct text out = { 0 };

	for (size_t column = 0; *text; text++) {
		if (column == width && *text != '\n')
			text_add(&out, "\n", 1), column = 0;
		text_add(&out, text, 1);
		column = *text == '\n' ? 0 : column + 1;
	}
	return out.bytes;
}

static char *capitals(const char *text)
{
	char *copy = xstrdup(text);

	for (char *c = copy; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return copy;
}

#define QMP                                                                                        \
	"{\n  \"return\": {\n    \"model\": {\n      \"name\": \"max\"\n    }\n  }\n}\n\n"         \
	"{\n  \"return\": {\n    \"model\": {\n      \"name\": \"base\",\n      \"props\": {\n"    \
	"        \"vendor\": \"GenuineIntel\",\n        \"family\": 6,\n        \"model\": 85,\n"  \
	"        \"stepping\": 7,\n        \"level\": 22,\n        \"model-id\": \"Some Xeon\",\n" \
	"        \"erms\": true,\n        \"clwb\": true,\n        "                               \
	"\"vmx-entry-load-perf-global-ctrl\": "                                                    \
	"false,\n        \"clzero\": false\n      }\n    }\n  }\n}\n"

#define CPU_XML                                                                                \
	"<cpu mode='custom' match='exact' check='partial'>\n"                                  \
	"  <model fallback='forbid'>Skylake-Server-IBRS</model><vendor>Intel</vendor>\n"       \
	"  <!-- what the guest's kernel needs -->\n"                                           \
	"  <topology sockets='1' dies='1' cores='2' threads='1'/><maxphysaddr mode='emulate' " \
	"bits='46'/>\n"                                                                        \
	"  <feature policy='require' name='erms'/><feature policy='disable' name='clwb'/>\n"   \
	"  <feature policy='force' name='clflushopt'/></cpu>\n"

static const struct {
	const char *text, *bits, *vendor, *model;
} documents[] = {
	{ QMP, "erms=1 clwb=1 clzero=0 fsrm=?", "GenuineIntel", NULL },
	{ CPU_XML, "erms=1 clwb=0 clflushopt=1 fsrm=?", "GenuineIntel", "Skylake-Server-IBRS" },
	{ "[{\"vendor\": \"AuthenticAMD\", \"leaves\": [{\"leaf\": 0, \"subleaf\": 0, \"eax\": 7, "
	  "\"ebx\": 1752462657, \"ecx\": 1145913699, \"edx\": 1769238117}, {\"leaf\": 1, "
	  "\"subleaf\": 0, \"eax\": 8392466, \"ebx\": 0, \"ecx\": 0, \"edx\": 0}, {\"leaf\": 7, "
	  "\"subleaf\": 0, \"eax\": 0, \"ebx\": 512, \"ecx\": 0, \"edx\": 0}]}]\n",
	  "erms=1 clwb=0 fsrs=0 sse2=0", "AuthenticAMD", NULL },
	{ "<cpudata arch='x86'>\n"
	  "<cpuid eax_in='0x0' ecx_in='0x0' eax='0x7' ebx='0x756e6547' ecx='0x6c65746e' "
	  "edx='0x49656e69'/>\n<cpuid eax_in='0x1' ecx_in='0x0' eax='0x306c3' ebx='0x0' "
	  "ecx='0x0' edx='0x0'/>\n<cpuid eax_in='0x7' ecx_in='0x0' eax='0x0' ebx='0x200' "
	  "ecx='0x0' edx='0x0'/>\n</cpudata>\n",
	  "erms=1 clwb=0 fsrs=0", "GenuineIntel", NULL },
};

static bool check_document(const char *text, int i, const char *warning)
{
	struct dump dump;
	bool warned;

	read_good(&dump, text);
	check_bits(&dump, documents[i].bits);
	ck_assert_str_eq(dump.cpus[0].cpu.vendor, documents[i].vendor);
	ck_assert_int_eq(dump_identity(&dump, NULL), 0);
	if (documents[i].model)
		ck_assert_int_eq(strcasecmp(dump.cpus[0].cpu.libvirt_model, documents[i].model), 0);
	warned = warns(&dump, warning);
	dump_free(&dump);
	return warned;
}

START_TEST(documents_in_other_clothes)
{
	static const char words[] = "wrapped: broken words are read as one";
	static const size_t widths[] = { 40, 60, 72, 80 };
	CLEANUP_FREE char *loud = capitals(documents[_i].text);

	ck_assert(!check_document(documents[_i].text, _i, words));
	ck_assert(check_document(loud, _i, "names are read without regard to capitals"));
	for (size_t i = 0; i < 4; i++) {
		CLEANUP_FREE char *folded = fold(documents[_i].text, widths[i]);
		CLEANUP_FREE char *both = fold(loud, widths[i]);
		/* Between two words there is nothing to mend. */
		bool warned = check_document(folded, _i, words);

		ck_assert(warned || i);
		ck_assert_int_eq(check_document(both, _i, words), warned);
	}
}
END_TEST

START_TEST(capitals_that_are_lost)
{
	struct error err = { 0 };
	struct dump dump;

	/* A model's name is libvirt's, in whatever letters. */
	struct cpu_list models = { 0 };
	struct cpu *model = cpu_list_add(&models);

	model->libvirt_model = xstrdup("Made-Up");
	read_good(&dump, "<CPU><MODEL>MADE-UP</MODEL></CPU>");
	dump_lay_over_model(&dump.cpus[0].cpu, &models);
	ck_assert_str_eq(dump.cpus[0].cpu.libvirt_model, "Made-Up");
	cpu_list_free(&models);
	dump_free(&dump);
	/* A vendor that is nobody's has letters that nobody knows; what is known of old is known.
	 */
	read_good(&dump, "VENDOR_ID : EXAMPLECHIPS\nCPU FAMILY : 6\nMODEL : 90\nFLAGS : FPU LM\n");
	ck_assert(!dump.cpus[0].vendor_known);
	ck_assert(warns(&dump, "vendor 'EXAMPLECHIPS' is no known one, and its capitals are not "
			       "sure: unknown"));
	ck_assert_int_eq(dump_identity(&dump, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "vendor missing in this /proc/cpuinfo"));
	dump_free(&dump);
	read_good(&dump, "vendor_id : examplechips\ncpu family : 6\nmodel : 90\nflags : fpu lm\n");
	ck_assert(!dump.cpus[0].vendor_known);
	dump_free(&dump);
	read_good(&dump, "VENDOR_ID : CYRIXINSTEAD\nCPU FAMILY : 6\nMODEL : 2\nFLAGS : FPU\n");
	ck_assert_str_eq(dump.cpus[0].cpu.vendor, "CyrixInstead");
	dump_free(&dump);
	read_good(&dump, "MACHDEP.CPU.VENDOR: GENUINEINTEL\nMACHDEP.CPU.MODEL: 60\n"
			 "MACHDEP.CPU.FEATURES: FPU SSE2\n");
	ck_assert_uint_eq(dump.cpus[0].cpu.family, 6); /* Intel's, as every Mac's */
	ck_assert(dump.cpus[0].cpu.identity_known);
	dump_free(&dump);
}
END_TEST

/* <model vendor_id> is what the guest sees; <vendor> is asked of the host. */
START_TEST(a_vendor_of_a_definition)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct dump dump;

	read_good(&dump, "<cpu><model vendor_id='MadeUpVendor'>Made-Up</model><vendor>AMD</vendor>"
			 "<signature family='6' model='60'/></cpu>");
	ck_assert_str_eq(dump.cpus[0].cpu.vendor, "MadeUpVendor");
	ck_assert_uint_eq(dump.cpus[0].cpu.model, 60);
	dump_free(&dump);
	read_good(&dump,
		  "<cpu><model vendor_id='MadeUp'>Made-Up</model><vendor>AMD</vendor></cpu>");
	ck_assert(!dump.cpus[0].vendor_known);
	ck_assert(warns(&dump, "a vendor has 12 characters, this one has not"));
	dump_free(&dump);
	/* The tag that is cut may have lost digits: nothing of it is taken. */
	text_addf(&text, "<cpu><model>Made-Up</model>");
	for (int i = 0; i < 40; i++)
		text_addf(&text, "<feature policy='require' name='erms'/>\n");
	text_addf(&text, "<signature family='6' model='6");
	read_good(&dump, text_string(&text));
	check_bits(&dump, "erms=1");
	ck_assert(!dump.cpus[0].model_known);
	ck_assert(warns(&dump, "the XML is cut off or damaged"));
	dump_free(&dump);
}
END_TEST

START_TEST(empty_lines_in_a_leaf)
{
	struct dump dump;

	read_good(&dump,
		  "TEST_F(CpuidX86Test, HSW) {\n\n"
		  "      {{0x00000000, 0},\n\n       Leaf{0x0000000D, 0x756E6547, 0x6C65746E, "
		  "0x49656E69}},\n\n      {{0x1, 0},\n\n       Leaf{0x000306C3, 0x00100800, "
		  "0x7FFAFBBF, 0xBFEBFBFF}},\n\n");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	ck_assert(warns(&dump, "line 3: wrapped: read together with line 5"));
	ck_assert(warns(&dump, "line 7: wrapped: read together with line 9"));
	dump_free(&dump);
}
END_TEST

/* --- what a loss between two lines leaves: a line that names it --- */

#define CPUINFO(flags, rest)                                                           \
	"processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n" \
	"model name\t: Some Xeon\nstepping\t: 8\ncpuid level\t: 32\nflags\t\t: " flags "\n" rest

#define LIBCPUID(middle)                                              \
	"basic_cpuid[0]=00000005 756e6547 6c65746e 49656e69\n"        \
	"basic_cpuid[1]=000306c3 00100800 7ffafbbf bfebfbff\n"        \
	"basic_cpuid[2]=00000000 00000000 00000000 00000000\n" middle \
	"basic_cpuid[5]=00000000 00000000 00000000 00000000\n"        \
	"ext_cpuid[0]=80000001 00000000 00000000 00000000\n"          \
	"ext_cpuid[1]=00000000 00000000 00000000 00000000\n"
#define CSV_HEAD "0, 0, 7, 1970169159, 1818588270, 1231384169\n"
#define DARWIN_HEAD                                                                        \
	"machdep.cpu.vendor: GenuineIntel\nmachdep.cpu.model: 60\nmachdep.cpu.family: 6\n" \
	"machdep.cpu.stepping: 3\nmachdep.cpu.features: "
#define DARWIN_TAIL \
	"\nmachdep.cpu.leaf7_features: ERMS\nmachdep.cpu.extfeatures: EM64T\nmachdep.x: 1\n"
#define FIRECRACKER(modifiers)                                                         \
	"{\"cpuid_modifiers\": [{\"leaf\": \"0x7\", \"subleaf\": \"0x0\", \"flags\": " \
	"1, " modifiers "}]}"

static const struct {
	const char *text, *warning; /* NULL: none of losses */
} losses[] = {
	{ LIBCPUID("basic_cpuid[4]=00000000 00000000 00000000 00000000\n"), NULL },
	{ LIBCPUID(""), "lost from the arrays, so unknown: leaves 0x4" },
	{ ZERO ONE "CPUID 00000004: 00000121-01C0003F-0000003F-00000000 [SL 00]\n",
	  "the list of caches, 1 there, is not whole, or does not show its end" },
	{ ZERO ONE "CPUID 00000004: 00000121-01C0003F-0000003F-00000000 [SL 00]\n"
		   "CPUID 00000004: 00000122-01C0003F-0000003F-00000000 [SL 01]\n",
	  "the list of caches, 2 there, is not whole, or does not show its end" },
	{ CSV_HEAD "1, 0, 198339, 1050624, 532341759, 395049983\n",
	  "leaf 0x1 is the last one, and not the highest: edx may be cut, so unknown" },
	{ FIRECRACKER(
		  "\"modifiers\": [{\"register\": \"edz\", \"bitmap\": "
		  "\"0b00000000000000000000000000000000\"}, {\"register\": \"eax\", \"bitmap\": "
		  "\"0b00000000000000000000000000000000\"}]"),
	  "leaf 0x7: a pattern without its register" },
	{ FIRECRACKER(
		  "\"modifierz\": []}, {\"leaf\": \"0x6\", \"subleaf\": \"0x0\", \"modifiers\": "
		  "[{\"register\": \"eax\", \"bitmap\": "
		  "\"0b00000000000000000000000000000000\"}]"),
	  "leaf 0x7: no list of registers" },
	{ "<cpu><model>X</model><feature policy='require' nzme='erms'/></cpu>",
	  "a feature without a name" },
	{ "<cpu><model>X</model><feazure policy='require' name='erms'/></cpu>",
	  "an element that looks like a feature: unknown" },
	{ "<cpu><model>X</model><feature polizy='require' name='erms'/></cpu>",
	  "a feature without a policy: unknown" },
	{ "<cpu><model>X</model><signature fzmily='6' model='60'/></cpu>",
	  "a signature without family or model: unknown" },
	{ "<cpu><model>X</model><counter name='tsc' frequency='1'/></cpu>", NULL },
	{ DARWIN_HEAD "FPU SSE SSE2" DARWIN_TAIL, NULL },
	{ DARWIN_HEAD "FPU SSE SSE" DARWIN_TAIL,
	  "flag 'SSE' is there twice: one of them may be a piece of another" },
	{ DARWIN_HEAD "FPU S?E SSE2" DARWIN_TAIL, "flags that are unknown, or damaged: S?E" },
	{ DARWIN_HEAD "FPU NX" DARWIN_TAIL, "flags that are unknown, or damaged: NX" },
	{ DARWIN_HEAD "FPU SSE2\n", "nothing shows that this list of flags is whole" },
	{ DARWIN_HEAD "FPU SSE2\n", "1 of the lists features, leaf7_features and extfeatures" },
	{ CPUINFO("fpu lm fzrm cpuid", "bugs\t\t: x\n"),
	  "flag 'fzrm' is one that Linux never names: it may be another, damaged" },
	{ "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nflags : fpu lm\nbugs : x\n",
	  "lines that are not there, so unknown: 'cpuid level', 'clflush size', 'address sizes'" },
	{ "  Origin=\"GenuineIntel\"  Id=0x306c3  Family=0x6  Model=0x3c  Stepping=3\n"
	  "  Features=0xbfebfbff<FPU>\n  AMD Features=0x2c100800<LM>\n",
	  "words that are zero or lost, so unknown: 'Features2'," },
	{ "  Origin=\"GenuineIntel\"  Id=0x30?c3  Family=0x6  Model=0x3c  Stepping=3\n"
	  "  Features=0xbfebfbff<FPU>\n",
	  "Id is cut off, damaged or not there: the signature is put together from Family, Model, "
	  "Stepping" },
	{ "CPU 0:\n   vendor_id = \"GenuineIntel\"\n   version information (1/eax):\n"
	  "      (family synth)  = 0x6 (6)\n      (model synth)   = 0x3c (60)\n"
	  "   feature information (1/edx):\n      SSE2 extensions = true\n",
	  "lines that are not there or damaged, so unknown: (CLFLUSH line size)" },
	{ "{\"return\": {\"model\": {\"props\": {\"vendor\": \"GenuineIntel\", \"family\": 6, "
	  "\"model\": 85, \"stepping\": 7, \"erms\": true}}}}",
	  "no level: unknown" },
	{ "vendor_id : Genuine ntel\ncpu family : 6\nmodel : 60\nflags : fpu lm\n",
	  "the vendor is damaged: unknown" },
	{ ZERO ONE, "not there, or not whole, so unknown: leaves 0x6 0x7 0xd 0x2 0x4 0x80000000" },
};

/* The end of a list that a screen, or cut(1), has cut off is unknown; a whole list says what is
 * off. */
START_TEST(lines_cut_at_a_width)
{
	/* As long as the line of flags, but for its last letter. */
	static const char bugs[] = "bugs\t\t: spectre_v1 spectre_v2 spec_store_bypass swapgs eibrs";
	static const char flags[] = "fpu tsc cx8 cmov mmx fxsr sse sse2 syscall nx lm";
	CLEANUP_TEXT struct text whole = { 0 }, cut = { 0 }, early = { 0 }, lscpu = { 0 };
	struct dump dump;

	text_addf(&whole, CPUINFO("%s", "%s_pbrsb\nclflush size\t: 64\n"), flags, bugs);
	read_good(&dump, text_string(&whole));
	check_bits(&dump, "sse2=1 erms=0");
	dump_free(&dump);
	text_addf(&cut, CPUINFO("%s", "%.*s\nclflush size\t: 64\n"), flags,
		  (int)(strlen("flags\t\t: ") + strlen(flags)), bugs);
	read_good(&dump, text_string(&cut));
	check_bits(&dump, "sse2=1 erms=?");
	ck_assert(warns(&dump, "nothing shows that the list of flags is whole"));
	dump_free(&dump);
	/* Of 64 bits, and no lm. */
	text_addf(&early, CPUINFO("%s", "%s\n"), "fpu vme de pse tsc msr pae mce cx8 apic",
		  "address sizes\t: 46 bits physical, 48 bits virtual");
	read_good(&dump, text_string(&early));
	check_bits(&dump, "tsc=1 sse2=? erms=?");
	dump_free(&dump);
	text_addf(&lscpu,
		  "Architecture: x86_64\nCPU op-mode(s): 32-bit, 64-bit\nVendor ID: GenuineIntel\n"
		  "CPU family: 6\nModel: 143\nStepping: 8\nFlags: fpu vme de pse tsc msr pae\n"
		  "Virtualization: VT-x\n");
	read_good(&dump, text_string(&lscpu));
	check_bits(&dump, "tsc=1 sse2=? erms=?");
	dump_free(&dump);
}
END_TEST

START_TEST(a_loss_is_named)
{
	static const char *const all[] = { "lost from the arrays",   "without a name",
					   "looks like a feature",   "is there twice",
					   "unknown, or damaged:",   "of the lists features",
					   "list of flags is whole", "no list of registers" };
	struct dump dump;

	read_good(&dump, losses[_i].text);
	if (losses[_i].warning)
		ck_assert_msg(warns(&dump, losses[_i].warning), "no '%s', but '%s'",
			      losses[_i].warning, dump.warning_count ? dump.warnings[0] : "");
	for (size_t i = 0; !losses[_i].warning && i < sizeof(all) / sizeof(all[0]); i++)
		ck_assert_msg(!warns(&dump, all[i]), "a whole text, and '%s'", all[i]);
	dump_free(&dump);
}
END_TEST

START_TEST(the_thermal_sensor_was_called_dts)
{
	struct dump dump;

	read_good(&dump, CPUINFO("fpu dts acpi lm pln pts dts", "bugs\t\t: x\n"));
	check_bits(&dump, "dts=1 dtherm=1 pln=1");
	ck_assert(!warns(&dump, "is there twice"));
	dump_free(&dump);
	/* Without the sensor's neighbour it is a piece of another name. */
	read_good(&dump, CPUINFO("fpu dts acpi lm dts", "bugs\t\t: x\n"));
	check_bits(&dump, "dts=1 dtherm=?");
	ck_assert(warns(&dump, "flag 'dts' is there twice"));
	dump_free(&dump);
}
END_TEST

/* --- lists of flags --- */

#define ORDERED                                                                            \
	"fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov mmx fxsr sse sse2 " \
	"syscall nx lm pni aes xsave avx avx2"

static const struct {
	const char *text, *bits, *warning;
} lists[] = {
	/* What is not named is off, but for what the kernel never names; bugs: 3.17 or younger. */
	{ CPUINFO("fpu sse2 lm rep_good cpuid erms avx512f", "bugs\t\t: x\n"),
	  "erms=1 avx512f=1 clwb=0 clflushopt=0 fsrm=? movdir64b=? fsrs=? fzrm=? fsrc=? lm=1",
	  "nothing shows that the kernel was young enough to name them: movdir64b fsrm" },
	/* Intel VMX lines came with 5.6, which could name both. */
	{ CPUINFO("fpu sse2 lm rep_good cpuid erms", "vmx flags\t: vnmi\nbugs\t\t: x\n"),
	  "fsrm=0 movdir64b=0 fsrs=? avx512f=0", NULL },
	/* Glued by a line's wrap */
	{ CPUINFO("fpu sssyscall lm smapxsaveopt cpuid", "bugs\t\t: x\n"),
	  "ss=1 syscall=1 smap=1 xsaveopt=1 erms=0",
	  "'smapxsaveopt' read as two flags, 'smap' and" },
	/* Split by a wrap that a paste made into a line's end */
	{ CPUINFO("fpu lm er\nms clflushopt", "bugs\t\t: x\n"), "erms=1 clflushopt=1",
	  "'er' and 'ms' of line 9 read as one flag" },
	{ CPUINFO("fpu lm avx\n512f clflushopt", "bugs\t\t: x\n"), "avx512f=1 avx=0",
	  "read as one flag" },
	{ CPUINFO("fpu lm erms\nclflushopt cpuid", "bugs\t\t: x\n"), "erms=1 clflushopt=1 clwb=0",
	  NULL },
	/* A word that is none: what may have stood near it is unknown */
	{ CPUINFO("fpu sse2 lm pni cpuid avx er?s xsaveopt", "bugs\t\t: x\n"),
	  "erms=? avx=1 xsaveopt=1 sse=? clflushopt=?", "unknown flag 'er?s'" },
	/* In the kernel's order: it can have been a name between the neighbours' places */
	{ CPUINFO(ORDERED " er?s rdseed xsaveopt", "bugs\t\t: x\n"),
	  "erms=? invpcid=? avx=1 rdseed=1 dca=0 smap=0", "unknown flag 'er?s'" },
	/* In that order and cut: what comes before the last name and is not there is off */
	{ CPUINFO(ORDERED " erms", ""), "erms=1 dca=0 hle=0 rtm=? xsaveopt=?",
	  "nothing shows that the list of flags is whole" },
	/* A name is there once: a second one is a piece of another */
	{ CPUINFO("fpu lm avx avx erms cpuid", "bugs\t\t: x\n"), "avx=1 avx2=? erms=1 clwb=?",
	  "flag 'avx' is there twice" },
	/* The beginning is lost */
	{ CPUINFO("se sse2 lm erms cpuid", "bugs\t\t: x\n"), "sse=? sse2=1 erms=1 mmx=?",
	  "does not begin with 'fpu'" },
	/* vnmi is a bit of AMD's, and of Intel's an MSR's */
	{ CPUINFO("fpu lm erms vnmi cpuid", "bugs\t\t: x\n"), "erms=1 vnmi=? clwb=0", NULL },
	/* In capitals */
	{ CPUINFO("FPU LM ERMS CPUID", "BUGS\t\t: X\n"), "erms=1 clwb=0", NULL },
	/* What follows is no line of the kernel's */
	{ CPUINFO("fpu lm cpuid erms", "What I tried : nothing\n"), "erms=1 clwb=? pni=?",
	  "nothing shows that the list of flags is whole" },
	/* Cut off: nothing behind the list, so its end may be missing, and the last word is half */
	{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nstepping\t: 8\n"
	  "flags\t\t: fpu sse2 lm pni cpuid avx erms clflu",
	  "erms=1 sse=? clflushopt=? clwb=? xsaveopt=? fsrm=?", "is cut off in 'clflu'" },
	{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nstepping\t: 8\n"
	  "flags\t\t: fpu sse2 lm pni cpuid avx",
	  "avx=? erms=?", "the list of flags ends in 'avx', which may be cut" },
	/* Prose behind the list is none of it; dots say that something was cut */
	{ CPUINFO("fpu lm cpuid erms\nThanks for looking", "bugs\t\t: x\n"), "erms=1 clwb=0",
	  NULL },
	{ CPUINFO("fpu lm cpuid erms\n[...]", "bugs\t\t: x\n"), "erms=1 clwb=? xsaveopt=? pni=?",
	  "nothing shows that the list of flags is whole" },
	/* A sentence that mentions flags does not say that the CPU has them */
	{ CPUINFO("fpu lm cpuid erms\nThanks, clwb or fsrm may matter.", "bugs\t\t: x\n"),
	  "erms=1 clwb=? fsrm=? pni=?", "line 9: more prose than flags" },
	{ CPUINFO("fpu lm cpuid erms\nno clwb", ""), "erms=1 clwb=?", "more prose than flags" },
	/* ibrs on Intel is the bit spec_ctrl */
	{ CPUINFO("fpu lm cpuid ibrs ibpb stibp ssbd", "bugs\t\t: x\n"),
	  "spec_ctrl=1 ibrs=? stibp=1 ssbd=1 ibpb=?", NULL },
	/* A kernel of nobody knows when */
	{ CPUINFO("fpu sse2 lm", "bogomips\t: 1\n"), "erms=? clwb=? avx=0",
	  "young enough to name them: " },
};

START_TEST(lists_of_flags)
{
	struct dump dump;

	read_good(&dump, lists[_i].text);
	check_identity(&dump, "GenuineIntel", 6, 143, 8);
	check_bits(&dump, lists[_i].bits);
	if (lists[_i].warning)
		ck_assert_msg(warns(&dump, lists[_i].warning), "no warning '%s'",
			      lists[_i].warning);
	dump_free(&dump);
}
END_TEST

START_TEST(blocks_of_cpuinfo)
{
	struct dump dump;

	read_good(&dump,
		  CPUINFO("fpu lm rep_good",
			  "bugs\t\t: x\naddress sizes\t: 46 bits physical, 48 bits "
			  "virtual\n\n") "processor\t: 1\n"
					 "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: "
					 "143\nmodel name\t: Some "
					 "Xeon\nstepping\t: 8\ncpuid level\t: 32\nflags\t\t: fpu "
					 "lm rep_good\nbugs\t\t: x\n"
					 "address sizes\t: 46 bits physical, 48 bits virtual\n\n");
	ck_assert_uint_eq(dump.cpu_count, 1);
	ck_assert_uint_eq(dump.cpus[0].count, 2);
	ck_assert_int_eq(dump.cpus[0].rep_good, 1);
	ck_assert_int_eq(dump.cpus[0].cpu.level, 32);
	ck_assert_uint_eq(leaf_of(&dump, 0x80000008, 0)->reg[CPUID_EAX], 48 << 8 | 46);
	dump_free(&dump);
	/* Nobody's stepping: unknown, and said so. */
	read_good(
		&dump,
		"vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nflags : fpu lm\nbugs : x\n");
	ck_assert(dump.cpus[0].cpu.identity_known && !dump.cpus[0].stepping_known);
	ck_assert(warns(&dump, "no stepping"));
	dump_free(&dump);
}
END_TEST

/* --- cut off, refused --- */

START_TEST(every_beginning_of_every_example)
{
	CLEANUP_FREE char *path = xasprintf(DUMPS "%s", examples[_i].file);
	CLEANUP_FREE char *bytes = NULL;
	bool identified = false;
	size_t length;

	ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &length, NULL), 0);
	for (size_t cut = 0; cut <= length; cut += length > 2000 ? 7 : 1) {
		struct error err = { 0 };
		struct dump dump;

		if (read_bytes(&dump, bytes, cut, &err)) {
			ck_assert_int_eq(err.kind, ERROR_INPUT);
			continue;
		}
		/* Never another CPU, and never a bit that the whole file does not have. */
		if (dump.cpus[0].vendor_known)
			ck_assert_str_eq(dump.cpus[0].cpu.vendor, "ExampleChips");
		if (dump.cpus[0].cpu.identity_known) {
			ck_assert_uint_eq(dump.cpus[0].cpu.family, 6);
			ck_assert_uint_eq(dump.cpus[0].cpu.model, 0x5A);
			identified = true;
		}
		ck_assert_int_ne(state(&dump.cpus[0], "avx512f"), '1');
		ck_assert_int_ne(state(&dump.cpus[0], "clzero"), '1');
		dump_free(&dump);
	}
	ck_assert(identified);
}
END_TEST

START_TEST(cut_off_xml_and_json)
{
	struct dump dump;

	read_good(&dump,
		  "<cpudata arch='x86'>\n"
		  "<cpuid eax_in='0x0' ecx_in='0x0' eax='0x7' ebx='0x756e6547' ecx='0x6c65746e' "
		  "edx='0x49656e69'/>\n<cpuid eax_in='0x1' ecx_in='0x0' eax='0x306c3' ebx='0x0' "
		  "ecx='0x0' edx='0x0'/>\n<cpuid eax_in='0x7' ecx_in='0x0' eax='0x0' ebx='0x2");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	check_bits(&dump, "erms=?");
	ck_assert(warns(&dump, "the XML is cut off"));
	dump_free(&dump);
	read_good(
		&dump,
		"[{\"leaves\": [{\"leaf\": 0, \"subleaf\": 0, \"eax\": 7, \"ebx\": 1970169159, "
		"\"ecx\": 1818588270, \"edx\": 1231384169}, {\"leaf\": 1, \"subleaf\": 0, \"eax\": "
		"198339, \"ebx\": 0, \"ecx\": 0, \"edx\": 0}, {\"leaf\": 7, \"subleaf\": 0, \"ea");
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	check_bits(&dump, "erms=?");
	ck_assert(warns(&dump, "the JSON is cut off"));
	dump_free(&dump);
}
END_TEST

/* A string with its length, NUL bytes inside and all. */
#define BYTES(string) string, sizeof(string) - 1

static const struct {
	const char *bytes;
	size_t length;
	const char *message;
} refused[] = {
	{ BYTES(""), "empty" },
	{ BYTES(" \n\t\r\n"), "empty" },
	{ BYTES("\x7F"
		"ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0"),
	  "binary" },
	{ BYTES("BZh9 no archive at all"), "archive" },
	{ BYTES("Dear all,\nit does not boot.\n"), "nothing that tells of an x86 CPU" },
	{ BYTES("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n"
		"CPU implementer\t: 0x41\n"),
	  "not of an x86 CPU, but of Arm" },
	{ BYTES("Architecture: aarch64\nVendor ID: ARM\nModel: 1\nFlags: fp asimd\n"),
	  "not of an x86 CPU, but of aarch64" },
	{ BYTES("<cpudata arch='arm'><cpuid/></cpudata>"), "not of an x86 CPU, but of arm" },
	{ BYTES("<cpu><arch>ppc64le</arch><model>POWER9</model></cpu>"), "but of ppc64le" },
};

START_TEST(files_that_are_refused)
{
	struct error err = { 0 };
	struct dump dump;

	ck_assert_int_eq(read_bytes(&dump, refused[_i].bytes, refused[_i].length, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_msg(strstr(err.text, refused[_i].message) != NULL, "%s", err.text);
	ck_assert_ptr_null(dump.cpus);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
	char path[] = "/tmp/quirklab-dump-XXXXXX";
	int fd = mkstemp(path);
	struct error err = { 0 };
	struct dump dump;

	ck_assert_int_ge(fd, 0);
	/* A hole of 256 MB and one byte is refused by its size. */
	ck_assert_int_eq(ftruncate(fd, (off_t)DUMP_BYTES_MAX + 1), 0);
	ck_assert_int_eq(dump_read_file(&dump, path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "larger than 256 MB"));
	close(fd);
	unlink(path);
	ck_assert_int_eq(dump_read_file(&dump, path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
	ck_assert_int_eq(dump_read_file(&dump, "/tmp", &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "/tmp: is a folder"));
}
END_TEST

START_TEST(no_identity_says_what_is_missing)
{
	struct error err = { 0 };
	struct dump dump;

	read_good(&dump, "vendor_id : AuthenticAMD\nflags : fpu lm erms clzero\nbugs : x\n");
	ck_assert_int_eq(dump_identity(&dump, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "family, model missing"));
	check_bits(&dump, "erms=1 clzero=1");
	dump_free(&dump);
}
END_TEST

/* Privacy: the serial number of a Pentium III, and what a machine's maker wrote into its reports.
 */
START_TEST(no_serial_number_comes_out)
{
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_TEXT struct text warnings = { 0 };
	struct dump_list list = { .count = 1 };
	struct cpu_tables tables = { 0 };
	struct dump dump;

	read_good(&dump, "DMI System Serial Number : SECRET-123\nCPUID 00000000: "
			 "00000003-756E6547-6C65746E-49656E69\nCPUID 00000001: 000006A0-0-0\n"
			 "CPUID 00000001: 000006A0-00000000-00000000-00000000\n"
			 "CPUID 00000003: 00000000-00000000-5EC2E7A0-5EC2E7B1\n");
	list.dumps = &dump;
	ck_assert_ptr_null(leaf_of(&dump, 3, 0));
	for (size_t i = 0; i < cpuid_format_count; i++)
		if (strcmp(cpuid_formats[i].name, "qemu")) /* no long mode, no guest */
			ck_assert_int_eq(cpuid_formats[i].write(&out, &warnings, &list, &tables,
								NULL),
					 0);
	cpuid_describe(&out, &list, &tables);
	ck_assert_ptr_null(strcasestr(text_string(&out), "5ec2e7"));
	ck_assert_ptr_null(strstr(text_string(&out), "SECRET"));
	ck_assert_ptr_null(strstr(text_string(&warnings), "SECRET"));
	dump_free(&dump);
}
END_TEST

/* --- what is written is read back --- */

START_TEST(formats_that_come_back)
{
	static const char *const names[] = { "cpuid-r", "json", "tsv", "libvirt" };
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_TEXT struct text warnings = { 0 };
	struct dump_list list = { .count = 1 };
	struct cpu_tables tables = { 0 };
	struct dump dump, again;
	struct error err = { 0 };

	ck_assert_int_eq(dump_read_file(&dump, DUMPS "cpuid-r.txt", &err), 0);
	list.dumps = &dump;
	for (size_t i = 0; i < cpuid_format_count; i++)
		if (!strcmp(cpuid_formats[i].name, names[_i]))
			ck_assert_int_eq(cpuid_formats[i].write(&out, &warnings, &list, &tables,
								&err),
					 0);
	ck_assert_uint_eq(warnings.length, 0);
	read_good(&again, text_string(&out));
	ck_assert_uint_eq(again.warning_count, dump.warning_count);
	ck_assert(warns(&again, "not there, or not whole, so unknown: leaves 0x6 0x80000007"));
	ck_assert_uint_eq(again.cpus[0].leaf_count, dump.cpus[0].leaf_count);
	ck_assert_mem_eq(again.cpus[0].leaves, dump.cpus[0].leaves,
			 dump.cpus[0].leaf_count * sizeof(*dump.cpus[0].leaves));
	dump_free(&again);
	dump_free(&dump);
}
END_TEST

/* --- bounds --- */

START_TEST(many_cpus_stay_small)
{
	CLEANUP_TEXT struct text text = { 0 };
	struct dump dump;

	/* 20 000 CPUs, no two with the same leaf 2: only some kinds are kept, and it is said. */
	for (unsigned i = 0; i < 20000; i++)
		text_addf(&text, ZERO ONE "CPUID 00000002: %08X-00000000-00000000-00000000\n", i);
	read_good(&dump, text_string(&text));
	ck_assert_uint_le(dump.cpu_count, 64);
	ck_assert(warns(&dump, "CPUs that differ: the rest is left out"));
	check_identity(&dump, "GenuineIntel", 6, 60, 3);
	dump_free(&dump);
	/* A CPU with more leaves than there can be, and more bad lines than anyone reads. */
	text_free(&text);
	text_addf(&text, ZERO ONE);
	for (unsigned i = 0; i < 5000; i++)
		text_addf(
			&text,
			"CPUID 00000004: 00000001-00000001-00000001-00000001\nCPUID 00000005: 1\n");
	read_good(&dump, text_string(&text));
	ck_assert_uint_le(dump.cpus[0].leaf_count, 1024);
	ck_assert_uint_le(dump.warning_count, 64);
	ck_assert_uint_gt(dump.warnings_dropped, 4000);
	dump_free(&dump);
}
END_TEST

START_TEST(this_machine)
{
	struct error err = { 0 };
	struct dump dump;

	ck_assert_msg(dump_read_host(&dump, &err) == 0, "%s", err.text);
	ck_assert(dump.cpus[0].cpu.identity_known);
	check_bits(&dump, "lm=1 sse2=1 syscall=1");
	ck_assert_ptr_null(leaf_of(&dump, 3, 0));
	dump_free(&dump);
}
END_TEST

/* --- the corpus --- */

/*
 * index.tsv: file format vendor family model stepping brand leaves ncpus cpu_index flags. Every
 * file of it must give that identity and those flags; files that say no identity are known by the
 * empty columns.
 */
static const struct dump_cpu *cpu_numbered(const struct dump *dump, unsigned number)
{
	for (size_t i = 0; i < dump->cpu_count; i++)
		for (size_t j = 0; j < dump->cpus[i].number_count; j++)
			if (number >= dump->cpus[i].numbers[j].first &&
			    number <= dump->cpus[i].numbers[j].last)
				return &dump->cpus[i];
	return &dump->cpus[0];
}

static bool has_flag(const struct dump_cpu *cpu, const char *flag)
{
	int index = feature_find(strcmp(flag, "hybrid") ? flag : "hybrid_cpu");

	if (!strncmp(flag, "note:", 5))
		return true;
	if (!strncmp(flag, "coretype=", 9))
		return cpu->core_type == (int)strtol(flag + 9, NULL, 16);
	if (!strcmp(flag, "rep_good"))
		return cpu->rep_good == 1;
	return index >= 0 && feature_in(&cpu->cpu.known, index) && feature_in(&cpu->cpu.on, index);
}

/* Bits of which the index says every one that is set, of every format that has registers. */
static const char *const judged[] = { "erms",	   "fsrm",   "fzrm",	"fsrs",
				      "fsrc",	   "clzero", "clwb",	"clflushopt",
				      "movdir64b", "avx2",   "avx512f", "xsaveopt" };

static bool lists_flag(const char *flags, const char *flag)
{
	size_t length = strlen(flag);

	for (const char *at = flags; (at = strstr(at, flag)); at += length)
		if ((at == flags || at[-1] == ',' || at[-1] == ' ') && strchr(", ", at[length]))
			return true;
	return false;
}

/* What is said of files that are whole: each is true of the original as well. */
static const char *const clean_warnings[] = {
	"syscall is off beside lm",
	"is repeated without the number of its subleaf",
	"not said, so unknown",
	"not there, or not whole, so unknown: leaves",
	"not in the list of flags, but nothing shows",
	"the list of caches, ",
	"above the highest leaf",
	"kinds of CPU that differ",
	"leaf 1 EAX has processor type 1",
};

/* Lines that a file without any damage has no reason for. */
static unsigned strange_warnings(const struct dump *dump, const char *file)
{
	unsigned strange = dump->warnings_dropped ? 1 : 0;

	for (size_t i = 0; i < dump->warning_count; i++) {
		bool known = false;

		for (size_t j = 0; j < sizeof(clean_warnings) / sizeof(clean_warnings[0]); j++)
			known |= strstr(dump->warnings[i], clean_warnings[j]) != NULL;
		if (!known)
			fprintf(stderr, "%s: a clean file, and: %s\n", file, dump->warnings[i]);
		strange += !known;
	}
	return strange;
}

static unsigned check_row(const struct table *table, size_t row, const char *folder)
{
	const char *file = table_cell(table, row, table_column(table, "file"));
	const char *format = table_cell(table, row, table_column(table, "format"));
	const char *vendor = table_cell(table, row, table_column(table, "vendor"));
	const char *flags = table_cell(table, row, table_column(table, "flags"));
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, file);
	CLEANUP_FREE char *copy = xstrdup(flags);
	const struct dump_cpu *cpu;
	struct error err = { 0 };
	unsigned bad = 0, numbers[4];
	const char *fields[] = { "family", "model", "stepping", "cpu_index" };
	struct dump dump;

	if (dump_read_file(&dump, path, &err) < 0) {
		fprintf(stderr, "%s: %s\n", file, err.text);
		return 1;
	}
	for (size_t i = 0; i < 4; i++)
		numbers[i] =
			(unsigned)strtoul(table_cell(table, row, table_column(table, fields[i])),
					  NULL, 10);
	cpu = cpu_numbered(&dump, numbers[3]);
	if (*vendor)
		bad += !cpu->vendor_known || strcmp(cpu->cpu.vendor, vendor);
	if (*table_cell(table, row, table_column(table, "family")))
		bad += !cpu->cpu.identity_known || cpu->cpu.family != numbers[0] ||
		       cpu->cpu.model != numbers[1] || cpu->cpu.stepping != numbers[2];
	else
		bad += cpu->cpu.identity_known;
	for (char *flag = strtok(copy, ", "); flag; flag = strtok(NULL, ", "))
		if (!has_flag(cpu, flag)) {
			fprintf(stderr, "%s: no %s\n", file, flag);
			bad++;
		}
	/* Lists by name: the index's own reader lost what a wrapped paste has. */
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]) && strncmp(file, "pasted/", 7);
	     i++)
		if (has_flag(cpu, judged[i]) && !lists_flag(flags, judged[i])) {
			fprintf(stderr, "%s (%s): %s is a guess\n", file, format, judged[i]);
			bad++;
		}
	/* Pastes are dirty, each in its way; one list of archspec's is cut. */
	if (strncmp(file, "pasted/", 7) && strcmp(file, "cpuinfo/linux-centos7-cascadelake"))
		bad += strange_warnings(&dump, file);
	if (bad)
		fprintf(stderr, "%s: %u claims do not hold\n", file, bad);
	dump_free(&dump);
	return bad != 0;
}

START_TEST(corpus)
{
	const char *folder =
		getenv("QUIRKLAB_CORPUS") ? getenv("QUIRKLAB_CORPUS") : "../shared/corpus";
	CLEANUP_FREE char *index = xasprintf("%s/index.tsv", folder);
	struct error err = { 0 };
	struct table table;
	unsigned bad = 0;

	if (access(index, R_OK)) {
		printf("dump: no corpus at %s: skipped (QUIRKLAB_CORPUS=FOLDER names one)\n",
		       folder);
		return;
	}
	ck_assert_msg(table_read(&table, index, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < table.row_count; i++)
		bad += check_row(&table, i, folder);
	printf("dump: corpus: %zu rows, %u bad\n", table.row_count, bad);
	table_free(&table);
	ck_assert_uint_eq(bad, 0);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

Suite *suite_dump(void)
{
	Suite *suite = suite_create("dump");
	TCase *formats = tcase_create("formats"), *dirt = tcase_create("dirt"),
	      *refusals = tcase_create("refusals"), *files = tcase_create("corpus");

	tcase_add_loop_test(formats, one_cpu_in_every_format, 0, COUNT(examples));
	tcase_add_test(formats, caches_and_cpus_of_an_old_report);
	tcase_add_loop_test(formats, aida64_in_all_its_shapes, 0, 6);
	tcase_add_test(formats, subleaves_of_aida64_are_hexadecimal);
	tcase_add_test(formats, leaf_d_without_subleaf_1);
	tcase_add_test(formats, cpus_without_a_header);
	tcase_add_test(formats, a_hybrid_part_has_kinds);
	tcase_add_test(formats, leaves_that_nobody_answers_for);
	tcase_add_test(formats, centaur_has_leaves_of_its_own);
	tcase_add_test(formats, odd_vendors_and_brands);
	tcase_add_loop_test(formats, other_formats_and_their_traps, 0, OTHER_FORMATS);
	tcase_add_test(formats, firecracker_leaves_bits_to_the_host);
	tcase_add_test(formats, qemu_says_it_in_properties);
	tcase_add_test(formats, libvirt_cpu_of_a_domain);
	tcase_add_test(formats, libvirt_domain_capabilities);
	tcase_add_loop_test(formats, formats_that_come_back, 0, 4);
	tcase_add_test(formats, this_machine);
	suite_add_tcase(suite, formats);
	tcase_add_loop_test(dirt, dirt_round_the_lines, 0, COUNT(dirts));
	tcase_add_loop_test(dirt, encodings, 0, 5);
	tcase_add_test(dirt, wrapped_lines);
	tcase_add_test(dirt, wrapped_numbers);
	tcase_add_test(dirt, lines_cut_at_a_width);
	tcase_add_test(dirt, half_a_register_is_none);
	tcase_add_loop_test(dirt, documents_in_other_clothes, 0, COUNT(documents));
	tcase_add_test(dirt, capitals_that_are_lost);
	tcase_add_test(dirt, a_vendor_of_a_definition);
	tcase_add_test(dirt, empty_lines_in_a_leaf);
	tcase_add_loop_test(dirt, a_loss_is_named, 0, COUNT(losses));
	tcase_add_test(dirt, the_thermal_sensor_was_called_dts);
	tcase_add_loop_test(dirt, lists_of_flags, 0, COUNT(lists));
	tcase_add_test(dirt, blocks_of_cpuinfo);
	suite_add_tcase(suite, dirt);
	tcase_set_timeout(refusals, 60);
	tcase_add_loop_test(refusals, every_beginning_of_every_example, 0, COUNT(examples));
	tcase_add_test(refusals, cut_off_xml_and_json);
	tcase_add_loop_test(refusals, files_that_are_refused, 0, COUNT(refused));
	tcase_add_test(refusals, files_that_cannot_be_read);
	tcase_add_test(refusals, no_identity_says_what_is_missing);
	tcase_add_test(refusals, no_serial_number_comes_out);
	tcase_add_test(refusals, many_cpus_stay_small);
	suite_add_tcase(suite, refusals);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, corpus);
	suite_add_tcase(suite, files);
	return suite;
}
