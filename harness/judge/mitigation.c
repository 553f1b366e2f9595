// SPDX-License-Identifier: MIT
/* From the lines and the code that a kernel's guest reported to the defences that it picked. */
#include "harness/judge/mitigation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/instruction.h"
#include "harness/util/text.h"

#define ENTRY		      "entry_SYSCALL_64_after_hwframe"
#define THUNK		      "__x86_indirect_thunk_rax"
#define UNTRAIN		      "retbleed_untrain_ret"
#define INSTRUCTION_BYTES_MAX 15

static const char *const operations[MITIGATIONS] = { "spectre_v2", "retbleed" };

/* What a kernel of each word has in its text: calls of a retpoline, IBRS at its entry. LFENCE
 * stands in place of the call, so there is none. */
enum { CODE_UNSEEN = 0, CODE_PLAIN, CODE_THUNKS, CODE_IBRS };

/* The lines, up to the first semicolon. Sources: bugs.c of Linux 6.1 and 6.12, spectre_v2_strings,
 * spectre_v2_show_state, retbleed_strings, retbleed_show_state. */
static const struct word {
	const char *operation, *line, *word;
	unsigned code;
} words[] = {
	{ "spectre_v2", "Not affected", "not-affected", CODE_PLAIN },
	{ "spectre_v2", "Vulnerable", "vulnerable", CODE_PLAIN },
	{ "spectre_v2", "Vulnerable: LFENCE", "lfence", CODE_PLAIN },
	{ "spectre_v2", "Mitigation: LFENCE", "lfence", CODE_PLAIN },
	{ "spectre_v2", "Mitigation: Retpolines", "retpoline", CODE_THUNKS },
	{ "spectre_v2", "Mitigation: IBRS", "ibrs", CODE_IBRS },
	{ "spectre_v2", "Mitigation: Enhanced IBRS", "eibrs", CODE_PLAIN },
	{ "spectre_v2", "Mitigation: Enhanced / Automatic IBRS", "eibrs", CODE_PLAIN },
	{ "spectre_v2", "Vulnerable: eIBRS with unprivileged eBPF", "eibrs", CODE_PLAIN },
	{ "spectre_v2", "Mitigation: Enhanced IBRS + LFENCE", "eibrs-lfence", CODE_PLAIN },
	{ "spectre_v2", "Mitigation: Enhanced / Automatic IBRS + LFENCE", "eibrs-lfence",
	  CODE_PLAIN },
	{ "spectre_v2", "Vulnerable: eIBRS+LFENCE with unprivileged eBPF and SMT", "eibrs-lfence",
	  CODE_PLAIN },
	{ "spectre_v2", "Mitigation: Enhanced IBRS + Retpolines", "eibrs-retpoline", CODE_THUNKS },
	{ "spectre_v2", "Mitigation: Enhanced / Automatic IBRS + Retpolines", "eibrs-retpoline",
	  CODE_THUNKS },
	{ "retbleed", "Not affected", "not-affected", CODE_UNSEEN },
	{ "retbleed", "Vulnerable", "vulnerable", CODE_UNSEEN },
	{ "retbleed", "Vulnerable: untrained return thunk / IBPB on non-AMD based uarch",
	  "vulnerable", CODE_UNSEEN },
	{ "retbleed", "Mitigation: untrained return thunk", "unret", CODE_UNSEEN },
	{ "retbleed", "Mitigation: IBPB", "ibpb", CODE_UNSEEN },
	{ "retbleed", "Mitigation: IBRS", "ibrs", CODE_UNSEEN },
	{ "retbleed", "Mitigation: Enhanced IBRS", "eibrs", CODE_UNSEEN },
	{ "retbleed", "Mitigation: Stuffing", "stuff", CODE_UNSEEN },
};

/* --- the kernel's text ----------------------------------------------------------------------- */

/*
 * The entry writes SPEC_CTRL behind an alternative: a jump over it, or, with IBRS, nothing (Linux
 * 6.1, arch/x86/entry/calling.h, IBRS_ENTER). Its first instruction is mov $0x48, %ecx.
 */
static void read_entry(struct defence *out, const struct observed_routine *entry)
{
	static const uint8_t names_msr[] = { 0xB9, 0x48, 0x00, 0x00, 0x00 };
	struct stack_registers stack = STACK_REGISTERS_INIT;
	bool jumped = false;
	struct act act;

	out->entry_known = entry->length > 0;
	for (uint16_t at = 0; at < entry->length; at = (uint16_t)(at + act.length)) {
		const size_t left = entry->length - at;

		if (left >= sizeof(names_msr) &&
		    !memcmp(entry->code + at, names_msr, sizeof(names_msr))) {
			out->ibrs_built = true;
			out->ibrs = !jumped;
			return;
		}
		instruction_decode(&act, entry->code + at,
				   left < INSTRUCTION_BYTES_MAX ? left : INSTRUCTION_BYTES_MAX, at,
				   &stack);
		if (!act.length)
			return;
		jumped = act.flow == FLOW_JUMP;
	}
}

void defence_read(struct defence *out, const struct observed_kernel *kernel)
{
	*out = (struct defence){ 0 };
	for (size_t i = 0; i < kernel->routine_count; i++)
		if (!strcmp(kernel->routines[i].name, ENTRY))
			read_entry(out, &kernel->routines[i]);
	for (size_t i = 0; i < kernel->calls_count; i++) {
		if (!strcmp(kernel->calls[i].name, THUNK)) {
			out->thunk_built = true;
			out->thunk_calls = kernel->calls[i].count;
		}
		out->unret_built |= !strcmp(kernel->calls[i].name, UNTRAIN);
	}
}

/* --- what it says ---------------------------------------------------------------------------- */

static const char *line_of(const struct observed_kernel *kernel, const char *operation)
{
	for (size_t i = 0; i < kernel->vulnerability_count; i++)
		if (!strcmp(kernel->vulnerabilities[i].name, operation))
			return kernel->vulnerabilities[i].text;
	return NULL;
}

static const struct word *word_of(const char *operation, const char *line)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i].operation, operation) && !strcmp(words[i].line, line))
			return &words[i];
	return NULL;
}

/* The code is evidence only where its entry and a retpoline could be seen. */
static void compare_code(struct mitigation *out, unsigned code,
			 const struct observed_kernel *kernel)
{
	const bool wants_thunks = code == CODE_THUNKS, wants_ibrs = code == CODE_IBRS;
	struct defence defence;
	bool thunks;

	if (code == CODE_UNSEEN)
		return;
	defence_read(&defence, kernel);
	thunks = defence.thunk_calls;
	snprintf(out->does, sizeof(out->does), "%u calls of " THUNK "; %s", defence.thunk_calls,
		 defence.ibrs	       ? "IBRS at the system call's entry"
		 : defence.entry_known ? "no IBRS at the system call's entry"
				       : "the system call's entry was not found");
	if (thunks != wants_thunks)
		snprintf(out->fault, sizeof(out->fault),
			 "says %s, and %s indirect call goes through a "
			 "retpoline",
			 out->says, thunks ? "an" : "no");
	else if (defence.entry_known && defence.ibrs != wants_ibrs)
		snprintf(out->fault, sizeof(out->fault), "says %s, and the system call's entry %s",
			 out->says, defence.ibrs ? "sets IBRS" : "does not set IBRS");
}

bool mitigation_read(struct mitigation *out, size_t which, const struct observed_kernel *kernel)
{
	const char *line = line_of(kernel, operations[which]);
	const struct word *word;

	*out = (struct mitigation){ .operation = operations[which] };
	if (!line)
		return false;
	snprintf(out->line, sizeof(out->line), "%.*s", (int)strcspn(line, ";"), line);
	word = word_of(out->operation, out->line);
	if (!word)
		return true;
	snprintf(out->says, sizeof(out->says), "%s", word->word);
	compare_code(out, word->code, kernel);
	return true;
}

/* --- what it should -------------------------------------------------------------------------- */

/* The vulnerabilities by which it says that the CPU is affected. */
static void add_affected(struct text *out, const struct observed_kernel *kernel)
{
	for (size_t i = 0; i < kernel->vulnerability_count; i++)
		if (strncmp(kernel->vulnerabilities[i].text, "Not affected", 12))
			text_addf(out, "%s ", kernel->vulnerabilities[i].name);
}

int mitigation_check(const struct rules *rules, struct error *err)
{
	for (size_t i = 0; i < MITIGATIONS; i++)
		if (!rules_have(rules, operations[i]))
			return error_set(err, ERROR_INPUT, "no row gives %s: it has lost its end",
					 operations[i]);
	return 0;
}

const char *mitigation_expected(const struct rules *rules, const char *operation,
				const struct cpu *cpu, const struct observation *observation)
{
	const struct observed_kernel *kernel = observation->kernel;
	CLEANUP_TEXT struct text says = { 0 };
	struct defence defence;
	struct rules_case of = { .cpu = cpu,
				 .version = observation->version,
				 .options = kernel->options,
				 .flags = kernel->flags,
				 .microcode = (uint32_t)strtoul(kernel->microcode, NULL, 0) };
	char built[32];

	defence_read(&defence, kernel);
	if (!defence.entry_known) /* nobody knows what it was built with */
		return RULES_OPEN;
	snprintf(built, sizeof(built), "%s%s%s", defence.thunk_built ? "retpoline " : "",
		 defence.ibrs_built ? "ibrs " : "", defence.unret_built ? "unret " : "");
	add_affected(&says, kernel);
	of.built = built;
	of.says = text_string(&says);
	return rules_value(rules, operation, &of);
}
