// SPDX-License-Identifier: MIT
/*
 * A kernel's defences: the rules of cpu-models/mitigations.tsv against values worked out by hand
 * from Linux 6.1's and 6.12's bugs.c, common.c and intel.c; what a kernel says and what its code
 * shows; the verdict. All code in here is made up.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/judge.h"
#include "harness/judge/mitigation.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"
#include "tests/unit/vendors.h"

Suite *suite_mitigation(void);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- the rules --- */

static const struct {
	const char *vendor;
	unsigned family;
	uint16_t model, stepping;
	const char *bits, *flags, *options;
	const char *built; /* `says` among it: the kernel says that it has Retbleed */
	const char *spectre_v2, *retbleed;
	const char *version; /* NULL: 6.1 */
	uint32_t microcode;
} cases[] = {
	/* No bits: retpolines, also where Retbleed has no answer on Intel. */
	{ INTEL, 6, 0x5E, 3, "", "", "", "retpoline ibrs unret", "retpoline", "vulnerable", NULL,
	  0 },
	{ INTEL, 6, 0x6A, 6, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL,
	  0 },
	{ INTEL, 18, 1, 0, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL,
	  0 },
	{ INTEL, 15, 6, 1, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL,
	  0 },
	{ "            ", 6, 0x55, 0, "", "", "", "retpoline ibrs", "retpoline", "not-affected",
	  NULL, 0 },
	{ AMD, 15, 0x6B, 1, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL,
	  0 },
	{ AMD, 20, 1, 0, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL, 0 },
	{ AMD, 21, 2, 0, "", "", "", "retpoline ibrs unret", "retpoline", "unret", NULL, 0 },
	{ AMD, 22, 0, 1, "", "", "", "retpoline ibrs unret", "retpoline", "unret", NULL, 0 },
	{ AMD, 23, 0x31, 0, "", "", "", "retpoline ibrs unret", "retpoline", "unret", NULL, 0 },
	{ AMD, 24, 0, 1, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL, 0 },
	{ AMD, 25, 1, 1, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL, 0 },
	{ HYGON, 24, 0, 1, "", "", "", "retpoline ibrs unret", "retpoline", "unret", NULL, 0 },
	{ HYGON, 23, 1, 1, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected", NULL,
	  0 },
	{ CENTAUR, 6, 0x0F, 0, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected",
	  NULL, 0 },
	{ ZHAOXIN, 6, 0x19, 0, "", "", "", "retpoline ibrs unret", "retpoline", "not-affected",
	  NULL, 0 },

	/* The CPUs that are not affected. */
	{ CENTAUR, 7, 0x3B, 0, "", "", "", "retpoline ibrs", "not-affected", "not-affected", NULL,
	  0 },
	{ ZHAOXIN, 7, 0x5B, 0, "spec_ctrl", "", "", "retpoline", "not-affected", "not-affected",
	  NULL, 0 },
	{ ZHAOXIN, 8, 0, 0, "", "", "", "retpoline", "retpoline", "not-affected", NULL, 0 },
	{ INTEL, 7, 0x3B, 0, "", "", "", "retpoline", "retpoline", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x1C, 2, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x26, 1, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x27, 1, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x35, 1, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x36, 1, "", "", "spectre_v2=off", "retpoline", "not-affected", "not-affected",
	  NULL, 0 },
	{ INTEL, 6, 0x37, 1, "", "", "", "retpoline", "retpoline", "not-affected", NULL, 0 },
	{ AMD, 6, 0x1C, 1, "", "", "", "retpoline", "retpoline", "not-affected", NULL, 0 },

	/* IBRS: Intel, affected by Retbleed, the bit, built in. */
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x4E, 3, "ibrs", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x55, 7, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x66, 3, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x7E, 5, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x8A, 1, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0xA5, 2, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0xA6, 1, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0xA7, 1, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x4F, 0, "spec_ctrl", "", "", "retpoline ibrs", "retpoline", "not-affected",
	  NULL, 0 },
	{ INTEL, 6, 0x6A, 6, "spec_ctrl", "", "", "retpoline ibrs", "retpoline", "not-affected",
	  NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "", "retpoline", "retpoline", "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl btc_no", "", "", "retpoline ibrs", "retpoline",
	  "not-affected", NULL, 0 },
	{ AMD, 23, 1, 2, "ibrs", "", "", "retpoline ibrs unret", "retpoline", "unret", NULL, 0 },
	{ AMD, 23, 0x71, 0, "ibrs btc_no", "", "", "retpoline ibrs unret", "retpoline",
	  "not-affected", NULL, 0 },
	{ AMD, 23, 1, 2, "", "", "", "retpoline ibrs", "retpoline", "?", NULL, 0 },
	/* RSBA of MSR 0x10A shows by what the kernel says, if there is that MSR. */
	{ INTEL, 6, 0x6A, 6, "spec_ctrl arch_capabilities", "", "", "retpoline ibrs says", "ibrs",
	  "ibrs", NULL, 0 },
	{ INTEL, 6, 0x6A, 6, "spec_ctrl", "", "", "retpoline ibrs says", "retpoline",
	  "not-affected", NULL, 0 },

	/* Microcode whose IBRS is not to be used; where there is a hypervisor, nobody knows. */
	{ INTEL, 6, 0x9E, 9, "spec_ctrl", "", "", "retpoline ibrs", "retpoline", "vulnerable", NULL,
	  0x80 },
	{ INTEL, 6, 0x9E, 9, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0x81 },
	{ INTEL, 6, 0x9E, 12, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 1 },
	{ INTEL, 6, 0x9E, 9, "spec_ctrl hypervisor", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL,
	  1 },
	{ INTEL, 6, 0x55, 4, "ibrs", "", "", "retpoline ibrs", "retpoline", "vulnerable", NULL,
	  0x0200003C },
	{ INTEL, 6, 0x55, 3, "ibrs", "", "", "retpoline ibrs", "ibrs", "ibrs", NULL, 0x0200003C },

	/* Enhanced IBRS: MSR 0x10A, or AutoIBRS. A flag without a reason is none. */
	{ INTEL, 6, 0x55, 7, "spec_ctrl arch_capabilities", "ibrs_enhanced", "", "retpoline ibrs",
	  "eibrs", "eibrs", NULL, 0 },
	{ INTEL, 6, 0x55, 7, "spec_ctrl arch_capabilities", "ibrs", "", "retpoline ibrs", "ibrs",
	  "ibrs", NULL, 0 },
	{ INTEL, 6, 0x55, 7, "spec_ctrl", "ibrs_enhanced", "", "retpoline ibrs", "ibrs", "ibrs",
	  NULL, 0 },
	{ AMD, 25, 0x11, 1, "autoibrs", "", "", "retpoline ibrs unret", "eibrs", "not-affected",
	  NULL, 0 },
	{ AMD, 23, 0x31, 0, "autoibrs", "", "", "retpoline unret", "eibrs", "unret", NULL, 0 },

	/* The command line. */
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "mitigations=off", "retpoline ibrs", "vulnerable",
	  "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "mitigations=off mitigations=auto", "retpoline ibrs",
	  "ibrs", "ibrs", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "nospectre_v2", "retpoline ibrs", "vulnerable",
	  "vulnerable", NULL, 0 },
	{ AMD, 23, 0x31, 0, "", "", "spectre_v2=off", "retpoline unret", "vulnerable", "unret",
	  NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=retpoline", "retpoline ibrs", "retpoline",
	  "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=retpoline", "ibrs", "ibrs", "ibrs", NULL,
	  0 },
	{ AMD, 25, 1, 1, "", "", "spectre_v2=retpoline,lfence", "retpoline", "lfence",
	  "not-affected", NULL, 0 },
	{ AMD, 25, 1, 1, "", "", "spectre_v2=retpoline,amd", "retpoline", "lfence", "not-affected",
	  NULL, 0 },
	{ "            ", 6, 0x55, 0, "", "", "spectre_v2=retpoline,lfence", "retpoline",
	  "retpoline", "not-affected", NULL, 0 },
	{ AMD, 25, 1, 1, "", "", "spectre_v2=retpoline,generic", "retpoline", "retpoline",
	  "not-affected", NULL, 0 },
	{ INTEL, 6, 0x6A, 6, "spec_ctrl", "", "spectre_v2=ibrs", "retpoline ibrs", "ibrs",
	  "not-affected", NULL, 0 },
	{ INTEL, 6, 0x6A, 6, "", "", "spectre_v2=ibrs", "retpoline ibrs", "retpoline",
	  "not-affected", NULL, 0 },
	{ AMD, 23, 0x31, 0, "ibrs", "", "spectre_v2=ibrs", "retpoline ibrs unret", "retpoline",
	  "unret", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=eibrs", "retpoline ibrs", "ibrs", "ibrs",
	  NULL, 0 },
	{ AMD, 25, 0x11, 1, "autoibrs", "", "spectre_v2=eibrs", "retpoline", "eibrs",
	  "not-affected", NULL, 0 },
	{ AMD, 25, 0x11, 1, "autoibrs", "", "spectre_v2=eibrs,retpoline", "retpoline",
	  "eibrs-retpoline", "not-affected", NULL, 0 },
	{ AMD, 25, 0x11, 1, "autoibrs", "", "spectre_v2=eibrs,lfence", "retpoline", "eibrs-lfence",
	  "not-affected", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "retbleed=off", "retpoline ibrs", "retpoline",
	  "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "retbleed=unret", "retpoline ibrs", "ibrs", "?", NULL,
	  0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "retbleed=stuff", "retpoline ibrs", "ibrs", "?", NULL,
	  0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "retbleed=stuff", "retpoline ibrs", "retpoline", "?",
	  "6.12.117+deb12-cloud-amd64", 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=on", "retpoline ibrs", "ibrs", "ibrs",
	  NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=on", "retpoline ibrs", "?", "?", "7.0.2",
	  0 },
	{ INTEL, 6, 0x5E, 3, "", "", "mitigations=auto;no_user_kernel", "retpoline ibrs", "?", "?",
	  "6.17", 0 },
	{ INTEL, 6, 0x5E, 3, "", "", "mitigations=auto,nosmt", "retpoline ibrs", "retpoline",
	  "vulnerable", "7.3.4", 0 },

	/* What it was built without. */
	{ INTEL, 6, 0x6A, 6, "", "", "", "", "vulnerable", "not-affected", NULL, 0 },
	/* A version before the first that there are rules for. */
	{ INTEL, 6, 0x6A, 6, "", "", "", "retpoline", "", "", "5.10.0-30-amd64", 0 },
	/* Rows that differ in the vendor alone. */
	{ "Any vendor  ", 4, 1, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL,
	  0 },
	{ CENTAUR, 5, 1, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ INTEL, 5, 9, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL, 0 },
	{ "Geode by NSC", 5, 4, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL,
	  0 },
	{ "Vortex86 SoC", 5, 2, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL,
	  0 },
	{ "Vortex86 SoC", 6, 0, 0, "", "", "", "retpoline", "not-affected", "not-affected", NULL,
	  0 },
	{ AMD, 5, 9, 0, "", "", "", "retpoline", "retpoline", "not-affected", NULL, 0 },
	{ INTEL, 6, 0x6A, 6, "", "", "spectre_v2=retpoline,lfence", "retpoline", "lfence",
	  "not-affected", NULL, 0 },
	{ HYGON, 24, 0, 1, "", "", "spectre_v2=retpoline,lfence", "retpoline unret", "lfence",
	  "unret", NULL, 0 },
	{ CENTAUR, 6, 0x0F, 1, "", "", "spectre_v2=retpoline,lfence", "retpoline", "lfence",
	  "not-affected", NULL, 0 },
	{ ZHAOXIN, 6, 0x19, 1, "", "", "spectre_v2=retpoline,lfence", "retpoline", "lfence",
	  "not-affected", NULL, 0 },
	{ HYGON, 24, 0, 1, "", "", "", "retpoline", "retpoline", "?", NULL, 0 },
	{ ZHAOXIN, 6, 0x19, 1, "arch_capabilities", "", "", "retpoline says", "retpoline",
	  "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x1C, 2, "arch_capabilities", "", "", "retpoline says", "not-affected",
	  "not-affected", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "spectre_v2=retpoline,generic", "retpoline ibrs",
	  "retpoline", "vulnerable", NULL, 0 },
	{ INTEL, 6, 0x55, 7, "spec_ctrl arch_capabilities", "ibrs_enhanced",
	  "spectre_v2=eibrs,retpoline", "retpoline ibrs", "eibrs-retpoline", "eibrs", NULL, 0 },
	{ INTEL, 6, 0x55, 7, "spec_ctrl arch_capabilities", "ibrs_enhanced",
	  "spectre_v2=eibrs,lfence", "retpoline ibrs", "eibrs-lfence", "eibrs", NULL, 0 },
	{ INTEL, 6, 0x5E, 3, "spec_ctrl", "", "", "retpoline ibrs", "ibrs", "ibrs",
	  "6.12.117+deb12-cloud-amd64", 0 },
	{ AMD, 23, 1, 2, "", "", "mitigations=off", "retpoline unret", "vulnerable", "vulnerable",
	  NULL, 0 },
	{ AMD, 23, 1, 2, "", "", "mitigations=auto;no_user_user", "retpoline unret", "?", "?",
	  "7.0", 0 },
};

static void set_bits(struct cpu *cpu, const char *bits)
{
	CLEANUP_FREE char *copy = xstrdup(bits);
	char *save;

	for (char *bit = strtok_r(copy, " ", &save); bit; bit = strtok_r(NULL, " ", &save)) {
		int feature = feature_find(bit);

		ck_assert_int_ge(feature, 0);
		feature_put(&cpu->known, feature, true);
		feature_put(&cpu->on, feature, true);
	}
}

static struct rules *read_rules(void)
{
	CLEANUP_FREE char *path = path_models("mitigations.tsv");
	struct error err = { 0 };
	struct rules *rules;

	ck_assert_msg(!rules_read(&rules, path, &err), "%s", err.text);
	return rules;
}

START_TEST(the_rules_give_what_was_worked_out)
{
	struct rules *rules = read_rules();
	struct cpu cpu;
	struct rules_case of = { .cpu = &cpu };

	cpu_init(&cpu);
	strcpy(cpu.vendor, cases[_i].vendor);
	cpu.family = cases[_i].family;
	cpu.model = cases[_i].model;
	cpu.stepping = cases[_i].stepping;
	set_bits(&cpu, cases[_i].bits);
	of.version = cases[_i].version ? cases[_i].version : "6.1.0-57-cloud-amd64";
	of.options = cases[_i].options;
	of.flags = cases[_i].flags;
	of.built = cases[_i].built;
	of.says = strstr(cases[_i].built, "says") ? "retbleed" : "spectre_v2";
	of.microcode = cases[_i].microcode;
	ck_assert_msg(!strcmp(rules_value(rules, "spectre_v2", &of), cases[_i].spectre_v2),
		      "case %d: spectre_v2 %s", _i, rules_value(rules, "spectre_v2", &of));
	ck_assert_msg(!strcmp(rules_value(rules, "retbleed", &of), cases[_i].retbleed),
		      "case %d: retbleed %s", _i, rules_value(rules, "retbleed", &of));
	cpu_free(&cpu);
	rules_free(rules);
}
END_TEST

/* intel.c, spectre_bad_microcodes: up to that revision IBRS is not used, even where it is asked
 * for.
 */
static const struct {
	unsigned model, stepping;
	uint32_t revision;
} microcodes[] = {
	{ 0x9E, 11, 0x80 },	 { 0x9E, 10, 0x80 },	  { 0x9E, 9, 0x80 },
	{ 0x8E, 10, 0x80 },	 { 0x8E, 9, 0x80 },	  { 0x55, 3, 0x0100013E },
	{ 0x55, 4, 0x0200003C }, { 0x3D, 4, 0x28 },	  { 0x47, 1, 0x1B },
	{ 0x56, 2, 0x14 },	 { 0x56, 3, 0x07000011 }, { 0x4F, 1, 0x0B000025 },
	{ 0x45, 1, 0x21 },	 { 0x46, 1, 0x18 },	  { 0x3C, 3, 0x23 },
	{ 0x3F, 2, 0x3B },	 { 0x3F, 4, 0x10 },	  { 0x3E, 4, 0x42A },
	{ 0x2D, 6, 0x61B },	 { 0x2D, 7, 0x712 },
};

START_TEST(a_microcode_whose_ibrs_is_not_used)
{
	struct rules *rules = read_rules();
	struct cpu cpu;
	struct rules_case of = { .cpu = &cpu,
				 .version = "6.1.0",
				 .options = "spectre_v2=ibrs",
				 .flags = "",
				 .built = "retpoline ibrs",
				 .says = "",
				 .microcode = microcodes[_i].revision };

	cpu_init(&cpu);
	strcpy(cpu.vendor, INTEL);
	cpu.family = 6;
	cpu.model = microcodes[_i].model;
	cpu.stepping = microcodes[_i].stepping;
	set_bits(&cpu, "ibrs spec_ctrl");
	ck_assert_str_eq(rules_value(rules, "spectre_v2", &of), "retpoline");
	of.microcode++;
	ck_assert_str_eq(rules_value(rules, "spectre_v2", &of), "ibrs");
	cpu_free(&cpu);
	rules_free(rules);
}
END_TEST

START_TEST(the_rules_say_what_they_look_at)
{
	struct rules *rules = read_rules();

	ck_assert_str_eq(rules_depends(rules), "vendor,family,model,stepping,hypervisor,spec_ctrl,"
					       "ibrs,autoibrs,arch_capabilities,btc_no");
	rules_free(rules);
}
END_TEST

/* --- rule files that are none --- */

#define HEADER "fact\tsince\tbefore\tvendor\tfamily\tmodel\tstepping\twhen\tvalue\tsource\n"
static const struct {
	const char *text, *error;
} broken[] = {
	{ "fact\tsince\n", ":1: column 3 must be 'before'" },
	{ HEADER "\t6.1\t\t\t\t\t\t\tyes\t\n", ":2: fact is ''; expected a word" },
	{ HEADER "a\tnow\t\t\t\t\t\t\tyes\t\n",
	  ":2: since is 'now'; expected a version, such as 6.1" },
	{ HEADER "a\t6,1\t\t\t\t\t\t\tyes\t\n", /* is not 6 */
	  ":2: since is '6,1'; expected a version, such as 6.1" },
	{ HEADER "a\t6.\t\t\t\t\t\t\tyes\t\n",
	  ":2: since is '6.'; expected a version, such as 6.1" },
	{ HEADER "a\t6.1\t6.1x\t\t\t\t\t\tyes\t\n",
	  ":2: before is '6.1x'; expected a version, or nothing" },
	{ HEADER "a\t6.1\t\t\t,\t\t\t\tyes\t\n", ":2: family is ','; expected numbers and commas" },
	{ HEADER "a\t6.1\t\t\t\t\t\t\tyes\t\nb\t6.1\t\t\t\t\t\ta=yse\tyes\t\n",
	  ":3: when is 'a=yse'; expected values that a row above gives" },
	{ HEADER "a\t6.1\tx\t\t\t\t\t\tyes\t\n",
	  ":2: before is 'x'; expected a version, or nothing" },
	{ HEADER "a\t6.1\t\tIntel\t\t\t\t\tyes\t\n",
	  ":2: vendor is 'Intel'; expected the 12 bytes of a vendor, or nothing" },
	{ HEADER "a\t6.1\t\t\t271\t\t\t\tyes\t\n",
	  ":2: family is '271'; expected numbers and commas" },
	{ HEADER "a\t6.1\t\t\t6\t0x1C-0x26\t\t\tyes\t\n",
	  ":2: model is '0x1C-0x26'; expected numbers and commas" },
	{ HEADER "a\t6.1\t\t\t6\t1\t16\t\tyes\t\n",
	  ":2: stepping is '16'; expected numbers and commas" },
	{ HEADER "a\t6.1\t\t\t\t\t\t\t\t\n", ":2: value is ''; expected a word" },
	{ HEADER "a\t6.1\t\t\t\t\t\tno_such_bit\tyes\t\n",
	  ":2: when is 'no_such_bit'; expected CPUID bits, FACT=VALUE, option:WORD, flag:WORD, "
	  "built:WORD, says:WORD or microcode<=NUMBER, each perhaps after a !" },
	{ HEADER "a\t6.1\t\t\t\t\t\tmicrocode<=old\tyes\t\n",
	  ":2: when is 'microcode<=old'; expected CPUID bits, FACT=VALUE, option:WORD, flag:WORD, "
	  "built:WORD, says:WORD or microcode<=NUMBER, each perhaps after a !" },
	{ HEADER "a\t6.1\t\t\t\t\t\ta=yes\tyes\t\n",
	  ":2: when is 'a=yes'; expected facts whose rows are all above" },
	{ HEADER "a\t6.1\t\t\t\t\t\tb=yes\tyes\t\nb\t6.1\t\t\t\t\t\ta=yes\tyes\t\n",
	  ":2: when is 'b=yes'; expected facts whose rows are all above" },
};

START_TEST(what_is_no_rule_file)
{
	char path[] = "/tmp/quirklab-unit-XXXXXX";
	CLEANUP_FREE char *expected = NULL;
	struct error err = { 0 };
	struct rules *rules;
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(file_write(path, broken[_i].text, strlen(broken[_i].text), NULL), 0);
	ck_assert_int_eq(rules_read(&rules, path, &err), -1);
	ck_assert_ptr_null(rules);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	expected = xasprintf("%s%s", path, broken[_i].error);
	ck_assert_str_eq(err.text, expected);
	unlink(path);
}
END_TEST

static void put_in(const char *folder, const char *name, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);

	ck_assert_int_eq(file_write(path, text, strlen(text), NULL), 0);
}

/* Told with the expected picks of a kernel, before anything boots; no other subject has rules. */
START_TEST(rules_are_read_with_the_expected_picks)
{
	char folder[] = "/tmp/quirklab-unit-XXXXXX";
	CLEANUP_FREE char *before = xstrdup(getenv("QUIRKLAB_MODELS") ?: "");
	CLEANUP_FREE char *expect_folder = NULL, *wanted = NULL;
	struct error err = { 0 };

	ck_assert_ptr_nonnull(mkdtemp(folder));
	expect_folder = xasprintf("%s/expect", folder);
	ck_assert_int_eq(folder_make(expect_folder, NULL), 0);
	setenv("QUIRKLAB_MODELS", folder, 1);
	put_in(folder, "expect/linux-6.1.tsv",
	       "vendor\tfamily\tmodel\tstepping\tname\tmemset@any\n#depends\t\t\t\t\t\n");
	put_in(folder, "expect/glibc-2.36.tsv",
	       "vendor\tfamily\tmodel\tstepping\tname\tmemset@any\n#depends\t\t\t\t\t\n");
	ck_assert_msg(!expectations_check("linux", &err), "%s", err.text); /* no such file */
	put_in(folder, "mitigations.tsv", "fact\n");
	ck_assert_int_eq(expectations_check("linux", &err), -1);
	wanted = xasprintf("%s/mitigations.tsv:1: column 2 must be 'since'", folder);
	ck_assert_str_eq(err.text, wanted);
	put_in(folder, "mitigations.tsv", HEADER "spectre_v2\t6.1\t\t\t\t\t\t\tibrs\t\n");
	ck_assert_int_eq(expectations_check("linux", &err), -1);
	free(wanted);
	wanted =
		xasprintf("%s/mitigations.tsv: no row gives retbleed: it has lost its end", folder);
	ck_assert_str_eq(err.text, wanted);
	ck_assert_int_eq(expectations_check("glibc", NULL), 0);
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
	if (*before)
		setenv("QUIRKLAB_MODELS", before, 1);
	else
		unsetenv("QUIRKLAB_MODELS");
}
END_TEST

/* --- what a kernel shows --- */

static struct observation seen;

static void new_kernel(void)
{
	memset(&seen, 0, sizeof(seen));
	strcpy(seen.version, "6.1.0-57-cloud-amd64");
	seen.started = seen.done = seen.complete = true;
	seen.kernel = xcalloc(1, sizeof(*seen.kernel));
}

static void free_kernel(void)
{
	cpuid_free(&seen.cpuid);
	free(seen.kernel);
}

static void show_entry(const char *code, size_t length)
{
	struct observed_routine *routine = &seen.kernel->routines[seen.kernel->routine_count++];

	strcpy(routine->name, "entry_SYSCALL_64_after_hwframe");
	routine->address = 0x1000;
	routine->length = (uint16_t)length;
	memcpy(routine->code, code, length);
}
#define SHOW_ENTRY(code) show_entry(code, sizeof(code) - 1)

static void show_calls(const char *name, uint32_t count)
{
	struct observed_calls *calls = &seen.kernel->calls[seen.kernel->calls_count++];

	strcpy(calls->name, name);
	calls->count = count;
}

static void show_line(const char *name, const char *text)
{
	struct observed_fact *fact =
		&seen.kernel->vulnerabilities[seen.kernel->vulnerability_count++];

	strcpy(fact->name, name);
	strcpy(fact->text, text);
}

#define PUSH	 "\x57\x31\xFF"			/* push %rdi; xor %edi, %edi */
#define JUMP	 "\xEB\x07"			/* over the next two */
#define NOP	 "\x66\x90"			/* in place of the jump */
#define SPEC_MSR "\xB9\x48\x00\x00\x00\x0F\x30" /* mov $0x48, %ecx; wrmsr */
#define CALL	 "\xE8\x00\x00\x00\x00"
/* push $0x48b9, then three bytes that would make it the instruction */
#define LOOKALIKE "\x68\xB9\x48\x00\x00\x00\xC0"

START_TEST(an_entry_with_and_without_ibrs)
{
	static const struct {
		const char *code;
		size_t length;
		bool built, on;
	} entries[] = {
#define ENTRY(code, built, on) { code, sizeof(code) - 1, built, on }
		ENTRY(PUSH JUMP SPEC_MSR CALL, true, false),
		ENTRY(PUSH NOP SPEC_MSR CALL, true, true),
		ENTRY(PUSH NOP SPEC_MSR CALL JUMP SPEC_MSR, true, true), /* the way out as well */
		ENTRY(PUSH CALL, false, false),
		ENTRY(PUSH LOOKALIKE CALL, false, false),
		ENTRY(PUSH "\x06" SPEC_MSR, false, false), /* no instruction */
		ENTRY(NOP "\xB9\x48\x00", false, false),   /* cut off */
	};
	struct defence defence;

	defence_read(&defence, seen.kernel);
	ck_assert(!defence.entry_known && !defence.thunk_built && !defence.unret_built);
	show_entry(entries[_i].code, entries[_i].length);
	show_calls("__x86_indirect_thunk_rax", 7);
	show_calls("retbleed_untrain_ret", 0);
	defence_read(&defence, seen.kernel);
	ck_assert(defence.entry_known);
	ck_assert_int_eq(defence.ibrs_built, entries[_i].built);
	ck_assert_int_eq(defence.ibrs, entries[_i].on);
	ck_assert(defence.thunk_built && defence.unret_built);
	ck_assert_uint_eq(defence.thunk_calls, 7);
}
END_TEST

#define ALL_ENTRIES 7

static const struct {
	const char *line, *says;
	uint32_t calls;
	bool ibrs;
	const char *fault;
} lines[] = {
	{ "Not affected", "not-affected", 0, false, "" },
	{ "Vulnerable; IBPB: disabled; STIBP: disabled", "vulnerable", 0, false, "" },
	{ "Vulnerable: LFENCE; STIBP: disabled", "lfence", 0, false, "" },
	{ "Mitigation: Retpolines; STIBP: disabled; RSB filling", "retpoline", 4000, false, "" },
	{ "Mitigation: IBRS; IBPB: conditional", "ibrs", 0, true, "" },
	{ "Mitigation: Enhanced IBRS", "eibrs", 0, false, "" },
	{ "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional", "eibrs", 0, false, "" },
	{ "Mitigation: Enhanced / Automatic IBRS + Retpolines; RSB", "eibrs-retpoline", 1, false,
	  "" },
	{ "Mitigation: Enhanced / Automatic IBRS + LFENCE; RSB", "eibrs-lfence", 0, false, "" },
	{ "Mitigation: Prayers; RSB filling", "", 0, false, "" },
	/* Words and code. */
	{ "Mitigation: Retpolines", "retpoline", 0, false,
	  "says retpoline, and no indirect call goes through a retpoline" },
	{ "Mitigation: IBRS", "ibrs", 0, false,
	  "says ibrs, and the system call's entry does not set IBRS" },
	{ "Mitigation: IBRS", "ibrs", 9, true,
	  "says ibrs, and an indirect call goes through a retpoline" },
	{ "Vulnerable", "vulnerable", 0, true,
	  "says vulnerable, and the system call's entry sets IBRS" },
};

START_TEST(a_line_and_the_code_behind_it)
{
	struct mitigation got;

	ck_assert(!mitigation_read(&got, 0, seen.kernel));
	show_line("retbleed", "Vulnerable");
	ck_assert(!mitigation_read(&got, 0, seen.kernel));
	show_line("spectre_v2", lines[_i].line);
	show_calls("__x86_indirect_thunk_rax", lines[_i].calls);
	if (lines[_i].ibrs)
		SHOW_ENTRY(PUSH NOP SPEC_MSR);
	else
		SHOW_ENTRY(PUSH JUMP SPEC_MSR);
	ck_assert(mitigation_read(&got, 0, seen.kernel));
	ck_assert_str_eq(got.operation, "spectre_v2");
	ck_assert_str_eq(got.says, lines[_i].says);
	ck_assert_str_eq(got.fault, lines[_i].fault);
	ck_assert(!strchr(got.line, ';'));
	ck_assert(mitigation_read(&got, 1, seen.kernel));
	ck_assert_str_eq(got.operation, "retbleed");
	ck_assert_str_eq(got.says, "vulnerable");
	ck_assert_str_eq(got.does, "");
}
END_TEST

/* --- the verdict --- */

static struct cpu asked;
static struct cell_result result;
static struct expectations *expectations;

static void convene(void)
{
	struct error err = { 0 };

	new_kernel();
	memset(&result, 0, sizeof(result));
	ck_assert_msg(!expectations_read(&expectations, "linux", "6.1.0", &err), "%s", err.text);
	cpu_init(&asked);
	strcpy(asked.name, "skylake");
	strcpy(asked.vendor, INTEL);
	asked.identity_known = true;
	asked.family = 6;
	asked.model = 0x5E;
	asked.stepping = 3;
	show_calls("__x86_indirect_thunk_rax", 4000);
	SHOW_ENTRY(PUSH JUMP SPEC_MSR);
	show_line("spectre_v2", "Mitigation: Retpolines; STIBP: disabled");
	show_line("retbleed", "Vulnerable");
}

static void adjourn(void)
{
	expectations_free(expectations);
	cell_result_free(&result);
	cpu_free(&asked);
	free_kernel();
}

static const struct pick *verdict_of(const char *operation)
{
	judge(&result, &asked, &seen, expectations);
	for (size_t i = 0; i < result.pick_count; i++)
		if (!strcmp(result.picks[i].operation, operation))
			return &result.picks[i];
	ck_abort_msg("no pick for %s", operation);
	return NULL;
}

static void expect(const char *operation, enum verdict verdict, const char *why)
{
	const struct pick *pick = verdict_of(operation);

	ck_assert_str_eq(pick->why, why);
	ck_assert_str_eq(verdict_name(pick->verdict), verdict_name(verdict));
}

static void see(const char *bits)
{
	struct cpu cpu;

	cpu_copy(&cpu, &asked);
	memset(&cpu.known, 0, sizeof(cpu.known));
	memset(&cpu.on, 0, sizeof(cpu.on));
	set_bits(&cpu, bits);
	cpuid_free(&seen.cpuid);
	cpu_to_dump(&cpu, &seen.cpuid);
	cpu_free(&cpu);
}

START_TEST(a_defence_that_is_right)
{
	const struct pick *pick;

	see("");
	expect("retbleed", VERDICT_PASS, "");
	pick = verdict_of("spectre_v2");
	ck_assert_int_eq(pick->verdict, VERDICT_PASS);
	ck_assert_str_eq(pick->class, "any");
	ck_assert_str_eq(pick->expected, "retpoline");
	ck_assert_str_eq(pick->says, "retpoline");
	ck_assert_str_eq(pick->reason, "Mitigation: Retpolines");
	ck_assert_str_eq(pick->does,
			 "4000 calls of __x86_indirect_thunk_rax; no IBRS at the system "
			 "call's entry");
}
END_TEST

/* An edited CPU is in no table; the rules need none. */
START_TEST(a_defence_of_a_cpu_of_no_table)
{
	asked.edits[asked.edit_count++] = xstrdup("+spec-ctrl");
	set_bits(&asked, "spec_ctrl");
	see("spec_ctrl");
	expect("spectre_v2", VERDICT_FAIL, "expected ibrs, says 'Mitigation: Retpolines'");
	strcpy(seen.kernel->options, "spectre_v2=retpoline");
	expect("spectre_v2", VERDICT_PASS, "");
}
END_TEST

START_TEST(a_bit_that_did_not_reach_the_guest)
{
	set_bits(&asked, "spec_ctrl");
	see("");
	expect("spectre_v2", VERDICT_MISMATCH, "mismatch: spec_ctrl");
	expect("retbleed", VERDICT_MISMATCH, "mismatch: spec_ctrl");
	strcpy(seen.kernel->options, "spectre_v2=retpoline"); /* now it decides nothing */
	expect("spectre_v2", VERDICT_PASS, "");
	asked.model = 0x6A;
	see("");
	seen.kernel->options[0] = '\0';
	strcpy(seen.kernel->vulnerabilities[1].text, "Not affected");
	expect("spectre_v2", VERDICT_PASS, "");
	expect("retbleed", VERDICT_PASS, "");
}
END_TEST

START_TEST(a_defence_that_its_code_lacks)
{
	see("");
	seen.kernel->calls[0].count = 0;
	expect("spectre_v2", VERDICT_FAIL,
	       "says retpoline, and no indirect call goes through a retpoline");
}
END_TEST

START_TEST(a_defence_with_other_words)
{
	see("");
	strcpy(seen.kernel->vulnerabilities[0].text, "Mitigation: Prayers; RSB filling");
	expect("spectre_v2", VERDICT_FAIL, "expected retpoline, says 'Mitigation: Prayers'");
	seen.kernel->vulnerability_count = 0;
	expect("spectre_v2", VERDICT_FAIL, "expected retpoline, says ''");
}
END_TEST

START_TEST(a_defence_that_cannot_be_judged)
{
	see("");
	seen.kernel->routine_count = 0; /* nobody knows whether IBRS was built in */
	expect("spectre_v2", VERDICT_SKIP, "the rules leave this case open");
	ck_assert_str_eq(verdict_of("spectre_v2")->expected, "");
	expectations_free(expectations);
	expectations = NULL;
	expect("spectre_v2", VERDICT_SKIP, "no rules for this kernel");
	ck_assert_str_eq(verdict_of("spectre_v2")->says, "retpoline");
}
END_TEST

START_TEST(the_microcode_decides)
{
	asked.model = 0x9E;
	asked.stepping = 9;
	see("spec_ctrl");
	strcpy(seen.kernel->microcode, "0x1");
	expect("spectre_v2", VERDICT_PASS, "");
	strcpy(seen.kernel->microcode, "0x84");
	expect("spectre_v2", VERDICT_FAIL, "expected ibrs, says 'Mitigation: Retpolines'");
}
END_TEST

Suite *suite_mitigation(void)
{
	Suite *suite = suite_create("mitigation");
	TCase *rules = tcase_create("rules"), *kernels = tcase_create("kernels"),
	      *verdicts = tcase_create("verdicts");

	tcase_add_loop_test(rules, the_rules_give_what_was_worked_out, 0, COUNT(cases));
	tcase_add_loop_test(rules, a_microcode_whose_ibrs_is_not_used, 0, COUNT(microcodes));
	tcase_add_test(rules, the_rules_say_what_they_look_at);
	tcase_add_loop_test(rules, what_is_no_rule_file, 0, COUNT(broken));
	tcase_add_test(rules, rules_are_read_with_the_expected_picks);
	suite_add_tcase(suite, rules);
	tcase_add_checked_fixture(kernels, new_kernel, free_kernel);
	tcase_add_loop_test(kernels, an_entry_with_and_without_ibrs, 0, ALL_ENTRIES);
	tcase_add_loop_test(kernels, a_line_and_the_code_behind_it, 0, COUNT(lines));
	suite_add_tcase(suite, kernels);
	tcase_add_checked_fixture(verdicts, convene, adjourn);
	tcase_add_test(verdicts, a_defence_that_is_right);
	tcase_add_test(verdicts, a_defence_of_a_cpu_of_no_table);
	tcase_add_test(verdicts, a_bit_that_did_not_reach_the_guest);
	tcase_add_test(verdicts, a_defence_that_its_code_lacks);
	tcase_add_test(verdicts, a_defence_with_other_words);
	tcase_add_test(verdicts, a_defence_that_cannot_be_judged);
	tcase_add_test(verdicts, the_microcode_decides);
	suite_add_tcase(suite, verdicts);
	return suite;
}
