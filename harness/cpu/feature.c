/* SPDX-License-Identifier: MIT */
/*
 * The table of named CPUID bits, and how to find one by any of its spellings.
 *
 * Leaf, register and bit: Intel SDM vol. 2A (CPUID), AMD APM vol. 3 appendix E. Names: Linux 7.3
 * arch/x86/include/asm/cpufeatures.h; QEMU 7.2 target/i386/cpu.c (also what TCG enables); libvirt
 * 9.0 cpu_map/x86_features.xml. Bits that the kernel keeps out of /proc/cpuinfo have the name of
 * its constant. The properties for FZRM, FSRS and FSRC came with QEMU 8.0.
 */
#include "harness/cpu/feature.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "harness/util/text.h"

#define BIT(LEAF, SUBLEAF, REGISTER, NUMBER, NAME, QEMU, LIBVIRT, ...)                          \
	{                                                                                       \
		.leaf = (LEAF), .subleaf = (SUBLEAF), .reg = CPUID_##REGISTER, .bit = (NUMBER), \
		.name = (NAME), .qemu = (QEMU), .libvirt = (LIBVIRT), __VA_ARGS__               \
	}

/* clang-format off */
const struct feature features[] = {
	/* leaf 0x1, ECX */
	BIT(0x1, 0, ECX, 0, "pni", "pni", "pni", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 1, "pclmulqdq", "pclmulqdq", "pclmuldq", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 2, "dtes64", "dtes64", "dtes64"),
	BIT(0x1, 0, ECX, 3, "monitor", "monitor", "monitor", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 4, "ds_cpl", "ds-cpl", "ds_cpl"),
	BIT(0x1, 0, ECX, 5, "vmx", "vmx", "vmx"),
	BIT(0x1, 0, ECX, 6, "smx", "smx", "smx"),
	BIT(0x1, 0, ECX, 7, "est", "est", "est"),
	BIT(0x1, 0, ECX, 8, "tm2", "tm2", "tm2"),
	BIT(0x1, 0, ECX, 9, "ssse3", "ssse3", "ssse3", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 10, "cid", "cid", "cid"),
	BIT(0x1, 0, ECX, 11, "sdbg", NULL, NULL),
	BIT(0x1, 0, ECX, 12, "fma", "fma", "fma", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 13, "cx16", "cx16", "cx16", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 14, "xtpr", "xtpr", "xtpr"),
	BIT(0x1, 0, ECX, 15, "pdcm", "pdcm", "pdcm"),
	BIT(0x1, 0, ECX, 17, "pcid", "pcid", "pcid"),
	BIT(0x1, 0, ECX, 18, "dca", "dca", "dca"),
	BIT(0x1, 0, ECX, 19, "sse4_1", "sse4.1", "sse4.1", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 20, "sse4_2", "sse4.2", "sse4.2", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 21, "x2apic", "x2apic", "x2apic"),
	BIT(0x1, 0, ECX, 22, "movbe", "movbe", "movbe", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 23, "popcnt", "popcnt", "popcnt", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 24, "tsc_deadline_timer", "tsc-deadline", "tsc-deadline"),
	BIT(0x1, 0, ECX, 25, "aes", "aes", "aes", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 26, "xsave", "xsave", "xsave", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 28, "avx", "avx", "avx", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 29, "f16c", "f16c", "f16c", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 30, "rdrand", "rdrand", "rdrand", .tcg_since = 7002),
	BIT(0x1, 0, ECX, 31, "hypervisor", "hypervisor", "hypervisor", .tcg_since = 7002),
	/* leaf 0x1, EDX */
	BIT(0x1, 0, EDX, 0, "fpu", "fpu", "fpu", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 1, "vme", "vme", "vme"),
	BIT(0x1, 0, EDX, 2, "de", "de", "de", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 3, "pse", "pse", "pse", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 4, "tsc", "tsc", "tsc", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 5, "msr", "msr", "msr", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 6, "pae", "pae", "pae", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 7, "mce", "mce", "mce", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 8, "cx8", "cx8", "cx8", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 9, "apic", "apic", "apic", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 11, "sep", "sep", "sep", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 12, "mtrr", "mtrr", "mtrr", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 13, "pge", "pge", "pge", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 14, "mca", "mca", "mca", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 15, "cmov", "cmov", "cmov", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 16, "pat", "pat", "pat", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 17, "pse36", "pse36", "pse36", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 18, "pn", "pn", "pn"),
	BIT(0x1, 0, EDX, 19, "clflush", "clflush", "clflush", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 21, "dts", "ds", "ds"),
	BIT(0x1, 0, EDX, 22, "acpi", "acpi", "acpi", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 23, "mmx", "mmx", "mmx", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 24, "fxsr", "fxsr", "fxsr", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 25, "sse", "sse", "sse", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 26, "sse2", "sse2", "sse2", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 27, "ss", "ss", "ss", .tcg_since = 7002),
	BIT(0x1, 0, EDX, 28, "ht", "ht", "ht"),
	BIT(0x1, 0, EDX, 29, "tm", "tm", "tm"),
	BIT(0x1, 0, EDX, 30, "ia64", "ia64", "ia64"),
	BIT(0x1, 0, EDX, 31, "pbe", "pbe", "pbe"),
	/* leaf 0x6, EAX */
	BIT(0x6, 0, EAX, 0, "dtherm", NULL, NULL),
	BIT(0x6, 0, EAX, 1, "ida", NULL, NULL),
	BIT(0x6, 0, EAX, 2, "arat", "arat", "arat", .tcg_since = 7002),
	BIT(0x6, 0, EAX, 4, "pln", NULL, NULL),
	BIT(0x6, 0, EAX, 6, "pts", NULL, NULL),
	BIT(0x6, 0, EAX, 7, "hwp", NULL, NULL),
	BIT(0x6, 0, EAX, 8, "hwp_notify", NULL, NULL),
	BIT(0x6, 0, EAX, 9, "hwp_act_window", NULL, NULL),
	BIT(0x6, 0, EAX, 10, "hwp_epp", NULL, NULL),
	BIT(0x6, 0, EAX, 11, "hwp_pkg_req", NULL, NULL),
	BIT(0x6, 0, EAX, 19, "hfi", NULL, NULL),
	/* leaf 0x6, ECX */
	BIT(0x6, 0, ECX, 0, "aperfmperf", NULL, NULL),
	BIT(0x6, 0, ECX, 3, "epb", NULL, NULL),
	/* leaf 0x7, subleaf 0, EBX */
	BIT(0x7, 0, EBX, 0, "fsgsbase", "fsgsbase", "fsgsbase", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 1, "tsc_adjust", "tsc-adjust", "tsc_adjust"),
	BIT(0x7, 0, EBX, 2, "sgx", "sgx", "sgx"),
	BIT(0x7, 0, EBX, 3, "bmi1", "bmi1", "bmi1", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 4, "hle", "hle", "hle"),
	BIT(0x7, 0, EBX, 5, "avx2", "avx2", "avx2", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 6, "fdp_excptn_only", NULL, NULL),
	BIT(0x7, 0, EBX, 7, "smep", "smep", "smep", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 8, "bmi2", "bmi2", "bmi2", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 9, "erms", "erms", "erms", .tcg_since = 7002, .dispatch = true),
	BIT(0x7, 0, EBX, 10, "invpcid", "invpcid", "invpcid"),
	BIT(0x7, 0, EBX, 11, "rtm", "rtm", "rtm"),
	BIT(0x7, 0, EBX, 12, "cqm", NULL, "cmt"),
	BIT(0x7, 0, EBX, 13, "zero_fcs_fds", NULL, NULL),
	BIT(0x7, 0, EBX, 14, "mpx", "mpx", "mpx", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 15, "rdt_a", NULL, NULL),
	BIT(0x7, 0, EBX, 16, "avx512f", "avx512f", "avx512f", .dispatch = true),
	BIT(0x7, 0, EBX, 17, "avx512dq", "avx512dq", "avx512dq"),
	BIT(0x7, 0, EBX, 18, "rdseed", "rdseed", "rdseed", .tcg_since = 10000),
	BIT(0x7, 0, EBX, 19, "adx", "adx", "adx", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 20, "smap", "smap", "smap", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 21, "avx512ifma", "avx512ifma", "avx512ifma"),
	BIT(0x7, 0, EBX, 22, "pcommit", "pcommit", "pcommit", .tcg_since = 7002),
	BIT(0x7, 0, EBX, 23, "clflushopt", "clflushopt", "clflushopt",
	    .tcg_since = 7002, .dispatch = true),
	BIT(0x7, 0, EBX, 24, "clwb", "clwb", "clwb", .tcg_since = 7002, .dispatch = true),
	BIT(0x7, 0, EBX, 25, "intel_pt", "intel-pt", "intel-pt"),
	BIT(0x7, 0, EBX, 26, "avx512pf", "avx512pf", "avx512pf"),
	BIT(0x7, 0, EBX, 27, "avx512er", "avx512er", "avx512er"),
	BIT(0x7, 0, EBX, 28, "avx512cd", "avx512cd", "avx512cd"),
	BIT(0x7, 0, EBX, 29, "sha_ni", "sha-ni", "sha-ni"),
	BIT(0x7, 0, EBX, 30, "avx512bw", "avx512bw", "avx512bw"),
	BIT(0x7, 0, EBX, 31, "avx512vl", "avx512vl", "avx512vl"),
	/* leaf 0x7, subleaf 0, ECX */
	BIT(0x7, 0, ECX, 1, "avx512vbmi", "avx512vbmi", "avx512vbmi"),
	BIT(0x7, 0, ECX, 2, "umip", "umip", "umip", .tcg_since = 7002),
	BIT(0x7, 0, ECX, 3, "pku", "pku", "pku", .tcg_since = 7002),
	BIT(0x7, 0, ECX, 5, "waitpkg", "waitpkg", "waitpkg"),
	BIT(0x7, 0, ECX, 6, "avx512_vbmi2", "avx512vbmi2", "avx512vbmi2"),
	BIT(0x7, 0, ECX, 7, "shstk", NULL, NULL),
	BIT(0x7, 0, ECX, 8, "gfni", "gfni", "gfni"),
	BIT(0x7, 0, ECX, 9, "vaes", "vaes", "vaes", .tcg_since = 7002),
	BIT(0x7, 0, ECX, 10, "vpclmulqdq", "vpclmulqdq", "vpclmulqdq"),
	BIT(0x7, 0, ECX, 11, "avx512_vnni", "avx512vnni", "avx512vnni"),
	BIT(0x7, 0, ECX, 12, "avx512_bitalg", "avx512bitalg", "avx512bitalg"),
	BIT(0x7, 0, ECX, 13, "tme", NULL, NULL),
	BIT(0x7, 0, ECX, 14, "avx512_vpopcntdq", "avx512-vpopcntdq", "avx512-vpopcntdq"),
	BIT(0x7, 0, ECX, 16, "la57", "la57", "la57", .tcg_since = 7002),
	BIT(0x7, 0, ECX, 22, "rdpid", "rdpid", "rdpid"),
	BIT(0x7, 0, ECX, 23, "kl", NULL, NULL),
	BIT(0x7, 0, ECX, 24, "bus_lock_detect", "bus-lock-detect", "bus-lock-detect"),
	BIT(0x7, 0, ECX, 25, "cldemote", "cldemote", "cldemote"),
	BIT(0x7, 0, ECX, 27, "movdiri", "movdiri", "movdiri"),
	BIT(0x7, 0, ECX, 28, "movdir64b", "movdir64b", "movdir64b", .dispatch = true),
	BIT(0x7, 0, ECX, 29, "enqcmd", NULL, NULL),
	BIT(0x7, 0, ECX, 30, "sgx_lc", "sgxlc", "sgxlc"),
	BIT(0x7, 0, ECX, 31, "pks", "pks", "pks", .tcg_since = 7002),
	/* leaf 0x7, subleaf 0, EDX */
	BIT(0x7, 0, EDX, 1, "sgx_keys", NULL, NULL),
	BIT(0x7, 0, EDX, 2, "avx512_4vnniw", "avx512-4vnniw", "avx512-4vnniw"),
	BIT(0x7, 0, EDX, 3, "avx512_4fmaps", "avx512-4fmaps", "avx512-4fmaps"),
	BIT(0x7, 0, EDX, 4, "fsrm", "fsrm", "fsrm", .tcg_since = 8000, .dispatch = true),
	BIT(0x7, 0, EDX, 5, "uintr", NULL, NULL),
	BIT(0x7, 0, EDX, 8, "avx512_vp2intersect", "avx512-vp2intersect", "avx512-vp2intersect"),
	BIT(0x7, 0, EDX, 9, "srbds_ctrl", NULL, NULL),
	BIT(0x7, 0, EDX, 10, "md_clear", "md-clear", "md-clear"),
	BIT(0x7, 0, EDX, 11, "rtm_always_abort", NULL, NULL),
	BIT(0x7, 0, EDX, 13, "tsx_force_abort", NULL, NULL),
	BIT(0x7, 0, EDX, 14, "serialize", "serialize", "serialize"),
	BIT(0x7, 0, EDX, 15, "hybrid_cpu", NULL, NULL),
	BIT(0x7, 0, EDX, 16, "tsxldtrk", "tsx-ldtrk", "tsx-ldtrk"),
	BIT(0x7, 0, EDX, 18, "pconfig", NULL, "pconfig"),
	BIT(0x7, 0, EDX, 19, "arch_lbr", "arch-lbr", "arch-lbr"),
	BIT(0x7, 0, EDX, 20, "ibt", NULL, NULL),
	BIT(0x7, 0, EDX, 22, "amx_bf16", "amx-bf16", "amx-bf16"),
	BIT(0x7, 0, EDX, 23, "avx512_fp16", "avx512-fp16", "avx512-fp16"),
	BIT(0x7, 0, EDX, 24, "amx_tile", "amx-tile", "amx-tile"),
	BIT(0x7, 0, EDX, 25, "amx_int8", "amx-int8", "amx-int8"),
	BIT(0x7, 0, EDX, 26, "spec_ctrl", "spec-ctrl", "spec-ctrl"),
	BIT(0x7, 0, EDX, 27, "stibp", "stibp", "stibp"),
	BIT(0x7, 0, EDX, 28, "flush_l1d", NULL, NULL),
	BIT(0x7, 0, EDX, 29, "arch_capabilities", "arch-capabilities", "arch-capabilities"),
	BIT(0x7, 0, EDX, 30, "core_capabilities", "core-capability", "core-capability"),
	BIT(0x7, 0, EDX, 31, "ssbd", "ssbd", "ssbd"),
	/* leaf 0x7, subleaf 1, EAX */
	BIT(0x7, 1, EAX, 0, "sha512", NULL, NULL),
	BIT(0x7, 1, EAX, 1, "sm3", NULL, NULL),
	BIT(0x7, 1, EAX, 2, "sm4", NULL, NULL),
	BIT(0x7, 1, EAX, 3, "rao_int", NULL, NULL),
	BIT(0x7, 1, EAX, 4, "avx_vnni", "avx-vnni", "avx-vnni"),
	BIT(0x7, 1, EAX, 5, "avx512_bf16", "avx512-bf16", "avx512-bf16"),
	BIT(0x7, 1, EAX, 7, "cmpccxadd", NULL, NULL),
	BIT(0x7, 1, EAX, 8, "arch_perfmon_ext", NULL, NULL),
	BIT(0x7, 1, EAX, 10, "fzrm", NULL, NULL,
	    .qemu_new = "fzrm", .qemu_since = 8000, .tcg_since = 8000, .dispatch = true),
	BIT(0x7, 1, EAX, 11, "fsrs", NULL, NULL,
	    .qemu_new = "fsrs", .qemu_since = 8000, .tcg_since = 8000, .dispatch = true),
	BIT(0x7, 1, EAX, 12, "fsrc", NULL, NULL,
	    .qemu_new = "fsrc", .qemu_since = 8000, .tcg_since = 8000),
	BIT(0x7, 1, EAX, 17, "fred", NULL, NULL),
	BIT(0x7, 1, EAX, 18, "lkgs", NULL, NULL),
	BIT(0x7, 1, EAX, 19, "wrmsrns", NULL, NULL),
	BIT(0x7, 1, EAX, 21, "amx_fp16", NULL, NULL),
	BIT(0x7, 1, EAX, 22, "hreset", NULL, NULL),
	BIT(0x7, 1, EAX, 23, "avx_ifma", NULL, NULL),
	BIT(0x7, 1, EAX, 26, "lam", NULL, NULL),
	BIT(0x7, 1, EAX, 27, "msrlist", NULL, NULL),
	/* leaf 0x7, subleaf 1, EDX */
	BIT(0x7, 1, EDX, 4, "avx_vnni_int8", NULL, NULL),
	BIT(0x7, 1, EDX, 5, "avx_ne_convert", NULL, NULL),
	BIT(0x7, 1, EDX, 8, "amx_complex", NULL, NULL),
	BIT(0x7, 1, EDX, 10, "avx_vnni_int16", NULL, NULL),
	BIT(0x7, 1, EDX, 14, "prefetchi", NULL, NULL),
	BIT(0x7, 1, EDX, 15, "user_msr", NULL, NULL),
	BIT(0x7, 1, EDX, 19, "avx10", NULL, NULL),
	BIT(0x7, 1, EDX, 21, "apxf", NULL, NULL),
	/* leaf 0xD, subleaf 1, EAX */
	BIT(0xD, 1, EAX, 0, "xsaveopt", "xsaveopt", "xsaveopt", .tcg_since = 7002),
	BIT(0xD, 1, EAX, 1, "xsavec", "xsavec", "xsavec"),
	BIT(0xD, 1, EAX, 2, "xgetbv1", "xgetbv1", "xgetbv1", .tcg_since = 7002),
	BIT(0xD, 1, EAX, 3, "xsaves", "xsaves", "xsaves"),
	BIT(0xD, 1, EAX, 4, "xfd", "xfd", "xfd"),
	/* leaf 0x12, subleaf 0, EAX */
	BIT(0x12, 0, EAX, 0, "sgx1", "sgx1", "sgx1"),
	BIT(0x12, 0, EAX, 1, "sgx2", "sgx2", "sgx2"),
	/* leaf 0x12, subleaf 0, EBX */
	BIT(0x12, 0, EBX, 0, "sgx_exinfo", "sgx-exinfo", "sgx-exinfo"),
	/* leaf 0x12, subleaf 1, EAX */
	BIT(0x12, 1, EAX, 1, "sgx_debug", "sgx-debug", "sgx-debug"),
	BIT(0x12, 1, EAX, 2, "sgx_mode64", "sgx-mode64", "sgx-mode64"),
	BIT(0x12, 1, EAX, 4, "sgx_provisionkey", "sgx-provisionkey", "sgx-provisionkey"),
	BIT(0x12, 1, EAX, 5, "sgx_tokenkey", "sgx-tokenkey", "sgx-tokenkey"),
	BIT(0x12, 1, EAX, 7, "sgx_kss", "sgx-kss", "sgx-kss"),
	/* leaf 0x80000001, ECX */
	BIT(0x80000001, 0, ECX, 0, "lahf_lm", "lahf-lm", "lahf_lm", .tcg_since = 7002),
	BIT(0x80000001, 0, ECX, 1, "cmp_legacy", "cmp-legacy", "cmp_legacy"),
	BIT(0x80000001, 0, ECX, 2, "svm", "svm", "svm", .tcg_since = 7002),
	BIT(0x80000001, 0, ECX, 3, "extapic", "extapic", "extapic"),
	BIT(0x80000001, 0, ECX, 4, "cr8_legacy", "cr8legacy", "cr8legacy", .tcg_since = 7002),
	BIT(0x80000001, 0, ECX, 5, "abm", "abm", "abm", .tcg_since = 7002),
	BIT(0x80000001, 0, ECX, 6, "sse4a", "sse4a", "sse4a", .tcg_since = 7002),
	BIT(0x80000001, 0, ECX, 7, "misalignsse", "misalignsse", "misalignsse"),
	BIT(0x80000001, 0, ECX, 8, "3dnowprefetch", "3dnowprefetch", "3dnowprefetch"),
	BIT(0x80000001, 0, ECX, 9, "osvw", "osvw", "osvw"),
	BIT(0x80000001, 0, ECX, 10, "ibs", "ibs", "ibs"),
	BIT(0x80000001, 0, ECX, 11, "xop", "xop", "xop"),
	BIT(0x80000001, 0, ECX, 12, "skinit", "skinit", "skinit"),
	BIT(0x80000001, 0, ECX, 13, "wdt", "wdt", "wdt"),
	BIT(0x80000001, 0, ECX, 15, "lwp", "lwp", "lwp"),
	BIT(0x80000001, 0, ECX, 16, "fma4", "fma4", "fma4"),
	BIT(0x80000001, 0, ECX, 17, "tce", "tce", "tce"),
	BIT(0x80000001, 0, ECX, 19, "nodeid_msr", "nodeid-msr", "nodeid_msr"),
	BIT(0x80000001, 0, ECX, 21, "tbm", "tbm", "tbm"),
	BIT(0x80000001, 0, ECX, 22, "topoext", "topoext", "topoext"),
	BIT(0x80000001, 0, ECX, 23, "perfctr_core", "perfctr-core", "perfctr_core"),
	BIT(0x80000001, 0, ECX, 24, "perfctr_nb", "perfctr-nb", "perfctr_nb"),
	BIT(0x80000001, 0, ECX, 26, "bpext", NULL, NULL),
	BIT(0x80000001, 0, ECX, 27, "ptsc", NULL, NULL),
	BIT(0x80000001, 0, ECX, 28, "perfctr_llc", NULL, NULL),
	BIT(0x80000001, 0, ECX, 29, "mwaitx", NULL, NULL),
	/* leaf 0x80000001, EDX */
	BIT(0x80000001, 0, EDX, 11, "syscall", "syscall", "syscall", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 20, "nx", "nx", "nx", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 22, "mmxext", "mmxext", "mmxext", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 25, "fxsr_opt", "fxsr-opt", "fxsr_opt"),
	BIT(0x80000001, 0, EDX, 26, "pdpe1gb", "pdpe1gb", "pdpe1gb", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 27, "rdtscp", "rdtscp", "rdtscp", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 29, "lm", "lm", "lm", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 30, "3dnowext", "3dnowext", "3dnowext", .tcg_since = 7002),
	BIT(0x80000001, 0, EDX, 31, "3dnow", "3dnow", "3dnow", .tcg_since = 7002),
	/* leaf 0x80000007, EBX */
	BIT(0x80000007, 0, EBX, 0, "overflow_recov", NULL, NULL),
	BIT(0x80000007, 0, EBX, 1, "succor", NULL, NULL),
	BIT(0x80000007, 0, EBX, 3, "smca", NULL, NULL),
	/* leaf 0x80000007, EDX */
	BIT(0x80000007, 0, EDX, 7, "hw_pstate", NULL, NULL),
	BIT(0x80000007, 0, EDX, 8, "nonstop_tsc", "invtsc", "invtsc"),
	BIT(0x80000007, 0, EDX, 9, "cpb", NULL, NULL),
	BIT(0x80000007, 0, EDX, 11, "proc_feedback", NULL, NULL),
	/* leaf 0x80000008, EBX */
	BIT(0x80000008, 0, EBX, 0, "clzero", "clzero", "clzero", .dispatch = true),
	BIT(0x80000008, 0, EBX, 1, "irperf", NULL, NULL),
	BIT(0x80000008, 0, EBX, 2, "xsaveerptr", "xsaveerptr", "xsaveerptr"),
	BIT(0x80000008, 0, EBX, 4, "rdpru", NULL, NULL),
	BIT(0x80000008, 0, EBX, 9, "wbnoinvd", "wbnoinvd", "wbnoinvd"),
	BIT(0x80000008, 0, EBX, 12, "ibpb", "ibpb", "ibpb"),
	BIT(0x80000008, 0, EBX, 14, "ibrs", "ibrs", "ibrs"),
	BIT(0x80000008, 0, EBX, 15, "amd_stibp", "amd-stibp", "amd-stibp"),
	BIT(0x80000008, 0, EBX, 17, "stibp_always_on", NULL, NULL),
	BIT(0x80000008, 0, EBX, 19, "ibrs_same_mode", NULL, NULL),
	BIT(0x80000008, 0, EBX, 23, "amd_ppin", NULL, NULL),
	BIT(0x80000008, 0, EBX, 24, "amd_ssbd", "amd-ssbd", "amd-ssbd"),
	BIT(0x80000008, 0, EBX, 25, "virt_ssbd", "virt-ssbd", "virt-ssbd"),
	BIT(0x80000008, 0, EBX, 26, "amd_ssb_no", "amd-no-ssb", "amd-no-ssb"),
	BIT(0x80000008, 0, EBX, 27, "cppc", NULL, NULL),
	BIT(0x80000008, 0, EBX, 28, "amd_psfd", NULL, NULL),
	BIT(0x80000008, 0, EBX, 29, "btc_no", NULL, NULL),
	BIT(0x80000008, 0, EBX, 31, "brs", NULL, NULL),
	/* leaf 0x8000000A, EDX */
	BIT(0x8000000A, 0, EDX, 0, "npt", "npt", "npt"),
	BIT(0x8000000A, 0, EDX, 1, "lbrv", "lbrv", "lbrv"),
	BIT(0x8000000A, 0, EDX, 2, "svm_lock", "svm-lock", "svm-lock"),
	BIT(0x8000000A, 0, EDX, 3, "nrip_save", "nrip-save", "nrip-save"),
	BIT(0x8000000A, 0, EDX, 4, "tsc_scale", "tsc-scale", "tsc-scale"),
	BIT(0x8000000A, 0, EDX, 5, "vmcb_clean", "vmcb-clean", "vmcb-clean"),
	BIT(0x8000000A, 0, EDX, 6, "flushbyasid", "flushbyasid", "flushbyasid"),
	BIT(0x8000000A, 0, EDX, 7, "decodeassists", "decodeassists", "decodeassists"),
	BIT(0x8000000A, 0, EDX, 10, "pausefilter", "pause-filter", "pause-filter"),
	BIT(0x8000000A, 0, EDX, 12, "pfthreshold", "pfthreshold", "pfthreshold"),
	BIT(0x8000000A, 0, EDX, 13, "avic", "avic", "avic"),
	BIT(0x8000000A, 0, EDX, 15, "v_vmsave_vmload", "v-vmsave-vmload", "v-vmsave-vmload"),
	BIT(0x8000000A, 0, EDX, 16, "vgif", "vgif", "vgif"),
	BIT(0x8000000A, 0, EDX, 20, "v_spec_ctrl", NULL, NULL),
	BIT(0x8000000A, 0, EDX, 25, "vnmi", NULL, NULL),
	BIT(0x8000000A, 0, EDX, 28, "svme_addr_chk", "svme-addr-chk", "svme-addr-chk"),
	/* leaf 0x8000001F, EAX */
	BIT(0x8000001F, 0, EAX, 0, "sme", NULL, NULL),
	BIT(0x8000001F, 0, EAX, 1, "sev", NULL, NULL),
	BIT(0x8000001F, 0, EAX, 3, "sev_es", NULL, NULL),
	BIT(0x8000001F, 0, EAX, 4, "sev_snp", NULL, NULL),
	/* leaf 0x80000021, EAX */
	BIT(0x80000021, 0, EAX, 0, "no_nested_data_bp", NULL, NULL),
	BIT(0x80000021, 0, EAX, 2, "lfence_rdtsc", NULL, NULL),
	BIT(0x80000021, 0, EAX, 6, "null_sel_clr_base", NULL, NULL),
	BIT(0x80000021, 0, EAX, 8, "autoibrs", NULL, NULL, .qemu_new = "auto-ibrs", .qemu_since = 8001),
	BIT(0x80000021, 0, EAX, 9, "no_smm_ctl_msr", NULL, NULL),
	BIT(0x80000021, 0, EAX, 27, "sbpb", NULL, NULL),
	BIT(0x80000021, 0, EAX, 28, "ibpb_brtype", NULL, NULL),
	BIT(0x80000021, 0, EAX, 29, "srso_no", NULL, NULL),
	/* leaf 0xC0000001, EDX */
	BIT(0xC0000001, 0, EDX, 2, "rng", "xstore", NULL),
	BIT(0xC0000001, 0, EDX, 3, "rng_en", "xstore-en", NULL),
	BIT(0xC0000001, 0, EDX, 6, "ace", "xcrypt", NULL),
	BIT(0xC0000001, 0, EDX, 7, "ace_en", "xcrypt-en", NULL),
	BIT(0xC0000001, 0, EDX, 8, "ace2", "ace2", NULL),
	BIT(0xC0000001, 0, EDX, 9, "ace2_en", "ace2-en", NULL),
	BIT(0xC0000001, 0, EDX, 10, "phe", "phe", NULL),
	BIT(0xC0000001, 0, EDX, 11, "phe_en", "phe-en", NULL),
	BIT(0xC0000001, 0, EDX, 12, "pmm", "pmm", NULL),
	BIT(0xC0000001, 0, EDX, 13, "pmm_en", "pmm-en", NULL),
};
/* clang-format on */
const size_t feature_count = sizeof(features) / sizeof(features[0]);

_Static_assert(sizeof(features) / sizeof(features[0]) <= FEATURE_WORDS * 64,
	       "a feature_set has a bit for every feature");

/* Spellings that no column of the table has. */
static const struct {
	const char *spelling, *name;
} aliases[] = {
	{ "sse3", "pni" },	 { "xd", "nx" },     { "i64", "lm" },
	{ "ffxsr", "fxsr_opt" }, { "lzcnt", "abm" }, { "constant_tsc", "nonstop_tsc" },
};

/* Equal but for case, and for '-', '_' and '.', which each project uses in its own way. */
static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		bool mark_a = strchr("-_.", *a), mark_b = strchr("-_.", *b);

		if (mark_a != mark_b)
			return false;
		if (!mark_a && tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
	}
	return !*a && !*b;
}

int feature_find(const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (same_name(name, aliases[i].spelling)) {
			name = aliases[i].name;
			break;
		}
	for (size_t i = 0; i < feature_count; i++)
		if (same_name(name, features[i].name))
			return (int)i;
	for (size_t i = 0; i < feature_count; i++) {
		const char *others[] = { features[i].qemu, features[i].qemu_new,
					 features[i].libvirt };

		for (size_t j = 0; j < 3; j++)
			if (others[j] && same_name(name, others[j]))
				return (int)i;
	}
	return -1;
}

const char *feature_near(const char *name)
{
	const char *near = NULL;
	size_t least = strlen(name) <= 4 ? 2 : 3; /* a hint must be nearer than this */

	for (size_t i = 0; i < feature_count; i++) {
		size_t distance = name_distance(name, features[i].name);

		if (distance < least) {
			least = distance;
			near = features[i].name;
		}
	}
	return near;
}
