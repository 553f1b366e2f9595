/* SPDX-License-Identifier: MIT */
/*
 * What is to be known of the kernel's list of flags beyond the bits of feature.c. Names and words:
 * Linux arch/x86/include/asm/cpufeatures.h, and the names that kernels before 4.20 and the updates
 * of distributions in 2018 had.
 */
#include "harness/cpu/dump_flag_names.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
const char *const flags_without_bit[] = {
	"acc_power", "amd_dcm", "amd_ibpb_ret", "amd_lbr_pmc_freeze", "amd_lbr_v2", "amd_workload_class",
	"arch_perfmon", "art", "bts", "cat_l2", "cat_l3", "cdp_l2", "cdp_l3", "centaur_mcr",
	"constant_tsc", "cpuid", "cpuid_fault", "cqm_llc", "cqm_mbm_local", "cqm_mbm_total",
	"cqm_occup_llc", "cxmmx", "cyrix_arr", "debug_swap", "eagerfpu", "ept", "ept_ad", "extd_apicid",
	"fast_cppc", "flexpriority", "ibp_disable", "ibpb_support", "ibrs_enhanced", "intel_ppin",
	"intel_stibp", "invpcid_single", "k6_mtrr", "kaiser", "longrun", "lrti", "mba", "mfence_rdtsc",
	"mp", "nonstop_tsc_s3", "nopl", "ospke", "pebs", "perfctr_l2", "perfmon_v2", "pti", "rapl",
	"recovery", "rep_good", "retpoline", "retpoline_amd", "ring3mwait", "rsb_ctxsw", "split_lock_detect",
	"tdx_guest", "tdx_host_platform", "tpr_shadow", "tsc_known_freq", "tsc_reliable",
	"unfair_spinlock", "up", "use_ibpb", "user_shstk", "vmmcall", "vpid", "x2avic", "xenpv",
	"xtopology",
};
const size_t flags_without_bit_count = COUNT(flags_without_bit);

const char *const flags_hidden[] = {
	"amd_psfd", "amd_ssb_no", "amd_ssbd", "amd_stibp", "amx_complex", "amx_fp16", "apxf",
	"arch_perfmon_ext", "autoibrs", "avx10", "avx_ifma", "avx_ne_convert", "avx_vnni_int16",
	"avx_vnni_int8", "btc_no", "cmpccxadd", "core_capabilities", "fdp_excptn_only", "fred", "fsrc",
	"fsrs", "fzrm", "hreset", "hybrid_cpu", "ibpb", "ibpb_brtype", "ibrs", "ibrs_same_mode", "kl",
	"lfence_rdtsc", "lkgs", "msrlist", "no_nested_data_bp", "no_smm_ctl_msr", "null_sel_clr_base",
	"pcommit", "pks", "prefetchi", "rao_int", "rtm_always_abort", "sbpb", "sgx1", "sgx2", "sgx_debug",
	"sgx_exinfo", "sgx_keys", "sgx_kss", "sgx_mode64", "sgx_provisionkey", "sgx_tokenkey", "sha512",
	"shstk", "sm3", "sm4", "spec_ctrl", "srbds_ctrl", "srso_no", "ssbd", "stibp", "stibp_always_on",
	"svme_addr_chk", "tsx_force_abort", "uintr", "user_msr", "wrmsrns", "xfd", "zero_fcs_fds",
};
const size_t flags_hidden_count = COUNT(flags_hidden);

/*
 * Words that lie in the list as their registers do, in every kernel. Others were moved, or hold what updates
 * brought to old kernels.
 */
static const struct {
	uint32_t leaf, subleaf;
	enum cpuid_register reg;
	int word;
} words[] = {
	{ 0x1, 0, CPUID_EDX, 0 },
	{ 0x80000001, 0, CPUID_EDX, 1 },
	{ 0x1, 0, CPUID_ECX, 4 },
	{ 0x80000001, 0, CPUID_ECX, 6 },
	{ 0x7, 0, CPUID_EBX, 9 },
	{ 0x80000008, 0, CPUID_EBX, 13 },
	{ 0x7, 0, CPUID_ECX, 16 },
};

/* Bits of those words that some kernels named elsewhere. */
static const char *const without_place[] = { "intel_pt", "amd_ibpb", "ibpb", "ibrs", "stibp", "amd_ssbd", "virt_ssbd",
	"amd_stibp", "cppc", "waitpkg", "la57" };

/*
 * The kernel that first named a flag, where that matters: the bits on which dispatchers depend, and names
 * that tell the age of a kernel. Of the former no version is earlier than the truth, of the latter none
 * is later; names that security updates brought to old kernels tell no age.
 */
static const struct {
	const char *name;
	unsigned since;
} first_named[] = {
	{ "erms", 3000 }, { "clflushopt", 3015 }, { "avx512f", 3015 }, { "clwb", 4002 },
	{ "clzero", 4005 }, { "movdiri", 5000 }, { "movdir64b", 5000 }, { "fsrm", 5006 },
	{ "xsavec", 3015 }, { "xsaveopt", 2036 }, { "avx2", 3000 },
	{ "cpuid", 4011 }, { "split_lock_detect", 5007 }, { "rapl", 5008 }, { "arch_lbr", 5009 },
	{ "serialize", 5009 }, { "tsxldtrk", 5009 }, { "enqcmd", 5010 }, { "bus_lock_detect", 5012 },
	{ "avx_vnni", 5012 }, { "avx512_fp16", 5012 }, { "v_spec_ctrl", 5012 }, { "hfi", 5018 },
	{ "ibt", 5018 }, { "perfmon_v2", 5019 }, { "x2avic", 6000 }, { "amd_lbr_v2", 6001 },
	{ "lam", 6004 }, { "user_shstk", 6006 },
};

/*
 * Names of mitigations, which the kernel sets from the bits of Intel and from those of AMD, and a name of two
 * bits. Of a vendor that is not here nobody knows which bit it is.
 */
static const struct {
	const char *name, *vendor, *bit; /* bit "": no single one */
} of_vendor[] = {
	{ "ibrs", "GenuineIntel", "spec_ctrl" },
	{ "ibrs", "AuthenticAMD", "ibrs" }, { "ibrs", "HygonGenuine", "ibrs" },
	{ "ibpb", "AuthenticAMD", "ibpb" }, { "ibpb", "HygonGenuine", "ibpb" },
	{ "stibp", "GenuineIntel", "stibp" },
	{ "stibp", "AuthenticAMD", "amd_stibp" }, { "stibp", "HygonGenuine", "amd_stibp" },
	{ "ssbd", "GenuineIntel", "ssbd" },
	{ "vnmi", "AuthenticAMD", "vnmi" }, { "vnmi", "HygonGenuine", "vnmi" },
};

/* clang-format on */

int flag_place(const struct feature *feature)
{
	for (size_t i = 0; i < COUNT(without_place); i++)
		if (!strcmp(feature->name, without_place[i]))
			return -1;
	for (size_t i = 0; i < COUNT(words); i++)
		if (words[i].leaf == feature->leaf && words[i].subleaf == feature->subleaf &&
		    words[i].reg == feature->reg)
			return words[i].word * 32 + feature->bit;
	return -1;
}

unsigned flag_since(const char *name)
{
	for (size_t i = 0; i < COUNT(first_named); i++)
		if (!strcmp(name, first_named[i].name))
			return first_named[i].since;
	return 0;
}

const char *flag_of_vendor(const char *name, const char *vendor)
{
	const char *bit = NULL;

	for (size_t i = 0; i < COUNT(of_vendor); i++) {
		if (strcmp(name, of_vendor[i].name))
			continue;
		if (!memcmp(vendor, of_vendor[i].vendor, 12))
			return strcmp(of_vendor[i].bit, name) ? of_vendor[i].bit : NULL;
		bit = "";
	}
	return bit;
}
