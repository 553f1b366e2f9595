/* SPDX-License-Identifier: MIT */
/* lscpu: "Vendor ID:   GenuineIntel". The flags are the kernel's, but on OpenBSD, which has names
 * of its own and calls the first line "Vendor:". */
#include "harness/cpu/read.h"

#include <string.h>

/* OpenBSD, sys/arch/amd64: names of bits that differ from Linux, or do not. What is not here is not
 * read. */
static const struct flag_name openbsd_names[] = {
	{ "fpu", 1, 0, CPUID_EDX, 0 },
	{ "tsc", 1, 0, CPUID_EDX, 4 },
	{ "cx8", 1, 0, CPUID_EDX, 8 },
	{ "apic", 1, 0, CPUID_EDX, 9 },
	{ "sep", 1, 0, CPUID_EDX, 11 },
	{ "cmov", 1, 0, CPUID_EDX, 15 },
	{ "pat", 1, 0, CPUID_EDX, 16 },
	{ "cflush", 1, 0, CPUID_EDX, 19 },
	{ "cflsh", 1, 0, CPUID_EDX, 19 },
	{ "mmx", 1, 0, CPUID_EDX, 23 },
	{ "fxsr", 1, 0, CPUID_EDX, 24 },
	{ "sse", 1, 0, CPUID_EDX, 25 },
	{ "sse2", 1, 0, CPUID_EDX, 26 },
	{ "htt", 1, 0, CPUID_EDX, 28 },
	{ "sse3", 1, 0, CPUID_ECX, 0 },
	{ "pclmul", 1, 0, CPUID_ECX, 1 },
	{ "mwait", 1, 0, CPUID_ECX, 3 },
	{ "vmx", 1, 0, CPUID_ECX, 5 },
	{ "ssse3", 1, 0, CPUID_ECX, 9 },
	{ "fma3", 1, 0, CPUID_ECX, 12 },
	{ "cx16", 1, 0, CPUID_ECX, 13 },
	{ "sse4.1", 1, 0, CPUID_ECX, 19 },
	{ "sse4.2", 1, 0, CPUID_ECX, 20 },
	{ "x2apic", 1, 0, CPUID_ECX, 21 },
	{ "movbe", 1, 0, CPUID_ECX, 22 },
	{ "popcnt", 1, 0, CPUID_ECX, 23 },
	{ "deadline", 1, 0, CPUID_ECX, 24 },
	{ "tsc_deadline", 1, 0, CPUID_ECX, 24 },
	{ "aes", 1, 0, CPUID_ECX, 25 },
	{ "xsave", 1, 0, CPUID_ECX, 26 },
	{ "avx", 1, 0, CPUID_ECX, 28 },
	{ "f16c", 1, 0, CPUID_ECX, 29 },
	{ "rdrand", 1, 0, CPUID_ECX, 30 },
	{ "rdrnd", 1, 0, CPUID_ECX, 30 },
	{ "hv", 1, 0, CPUID_ECX, 31 },
	{ "fsgsbase", 7, 0, CPUID_EBX, 0 },
	{ "bmi1", 7, 0, CPUID_EBX, 3 },
	{ "avx2", 7, 0, CPUID_EBX, 5 },
	{ "smep", 7, 0, CPUID_EBX, 7 },
	{ "bmi2", 7, 0, CPUID_EBX, 8 },
	{ "erms", 7, 0, CPUID_EBX, 9 },
	{ "avx512f", 7, 0, CPUID_EBX, 16 },
	{ "rdseed", 7, 0, CPUID_EBX, 18 },
	{ "adx", 7, 0, CPUID_EBX, 19 },
	{ "smap", 7, 0, CPUID_EBX, 20 },
	{ "clflushopt", 7, 0, CPUID_EBX, 23 },
	{ "clwb", 7, 0, CPUID_EBX, 24 },
	{ "sha", 7, 0, CPUID_EBX, 29 },
	{ "umip", 7, 0, CPUID_ECX, 2 },
	{ "pku", 7, 0, CPUID_ECX, 3 },
	{ "md_clear", 7, 0, CPUID_EDX, 10 },
	{ "syscall", 0x80000001, 0, CPUID_EDX, 11 },
	{ "nxe", 0x80000001, 0, CPUID_EDX, 20 },
	{ "page1gb", 0x80000001, 0, CPUID_EDX, 26 },
	{ "rdtscp", 0x80000001, 0, CPUID_EDX, 27 },
	{ "long", 0x80000001, 0, CPUID_EDX, 29 },
	{ "lahf", 0x80000001, 0, CPUID_ECX, 0 },
	{ "svm", 0x80000001, 0, CPUID_ECX, 2 },
	{ "abm", 0x80000001, 0, CPUID_ECX, 5 },
	{ "topoext", 0x80000001, 0, CPUID_ECX, 22 },
	{ "xsaveopt", 0xD, 1, CPUID_EAX, 0 },
	{ "xsavec", 0xD, 1, CPUID_EAX, 1 },
	{ "xgetbv1", 0xD, 1, CPUID_EAX, 2 },
	{ "xsaves", 0xD, 1, CPUID_EAX, 3 },
	{ "ds", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "mon", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ds-cpl", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "est", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "tm2", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "cnxt-id", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "cntxt-id", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "xtpr", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "pdcm", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "sbf", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "pbe", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "perf", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "itsc", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "sensor", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "arat", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "fsrm", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ibrs", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ibpb", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "stibp", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "l1df", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ssbd", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "pt", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "skip", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "mperf", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "tsxfa", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "mmxx", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ffxsr", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "cmpleg", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "eapicsp", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ambx", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "itrust", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "amcr8", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "fma4", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "tce", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "nodeid", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "tbm", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "cpctr", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "dbkp", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "perftsc", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "pcctrl", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
};

/* What lscpu writes behind the flags: where one follows, the list has its end. */
static const char *const later_fields[] = {
	"Virtualization",
	"Hypervisor",
	"Caches (",
	"L1d",
	"L1i",
	"L2",
	"L3",
	"L4",
	"NUMA",
	"Vulnerab",
	"BogoMIPS",
	"Vendor",
	"Model",
	"CPU family",
	"Stepping",
};

struct summary_lines {
	struct line vendor, family, model, stepping, name, flags;
	struct flag_list list;
	bool list_ended; /* by a line that is not lscpu's */
	size_t flags_width;
	bool has_64_bits; /* of which it knows by the flags */
	bool openbsd;
	const char *foreign; /* an architecture that is no x86 */
};

static bool take(struct line *into, const struct line *line, const char *key)
{
	const char *at = into->at ? NULL : scan_key(line->at, key, ':');

	if (!at)
		return false;
	*into = (struct line){ at > line->end ? line->end : at, line->end, line->number };
	return true;
}

static void take_line(struct summary_lines *lines, const struct line *line)
{
	struct line architecture = { 0 };
	bool in_flags = lines->flags.at && !lines->list.complete && !lines->list_ended;

	if (in_flags && !memchr(line->at, ':', (size_t)(line->end - line->at))) {
		if (scan_blanks(line->at) < line->end && lines->list.line_count < FLAG_LINES_MAX)
			lines->list.lines[lines->list.line_count++] = *line;
		return;
	}
	for (size_t i = 0; in_flags && i < sizeof(later_fields) / sizeof(later_fields[0]); i++)
		lines->list.complete |= scan_word(scan_blanks(line->at), later_fields[i]) != NULL;
	if (in_flags && !lines->list.complete)
		lines->list_ended = true;
	if (take(&architecture, line, "Architecture")) {
		if (!scan_word(architecture.at, "x86_64") && !scan_word(architecture.at, "i686") &&
		    !scan_word(architecture.at, "i586") && !scan_word(architecture.at, "i386") &&
		    !scan_word(architecture.at, "amd64"))
			lines->foreign = architecture.at;
	} else if (take(&lines->vendor, line, "Vendor")) {
		lines->openbsd = true;
	} else if (take(&lines->flags, line, "Flags")) {
		lines->list.lines[0] = lines->flags;
		lines->list.line_count = 1;
		lines->flags_width = (size_t)(line->end - line->at);
	} else if (scan_key(line->at, "CPU op-mode(s)", ':')) {
		lines->has_64_bits = line_find(line, "64-bit") != NULL;
	} else {
		take(&lines->vendor, line, "Vendor ID");
		take(&lines->family, line, "CPU family");
		take(&lines->model, line, "Model");
		take(&lines->stepping, line, "Stepping");
		take(&lines->name, line, "Model name");
	}
}

static void take_summary(struct reading *reading, struct summary_lines *lines)
{
	uint32_t family, model, stepping;
	bool has_stepping = lines->stepping.at && scan_last_number(lines->stepping.at, &stepping);
	size_t length = lines->name.at ? (size_t)(lines->name.end - lines->name.at) : 0;

	if (lines->vendor.at)
		reading_vendor_named(reading, &lines->vendor);
	if (lines->family.at && lines->model.at && scan_last_number(lines->family.at, &family) &&
	    scan_last_number(lines->model.at, &model)) {
		if (!reading_signature(reading, family, model, has_stepping ? (long)stepping : -1))
			reading_warn(reading, lines->model.number,
				     "family %u, model %u: no CPU can have these", family, model);
	}
	while (length && lines->name.at[length - 1] == ' ')
		length--;
	if (length)
		reading_brand(reading, lines->name.at, length);
	if (lines->openbsd)
		read_named_flags(reading, &lines->list, openbsd_names,
				 sizeof(openbsd_names) / sizeof(openbsd_names[0]));
	else
		read_kernel_flags(reading, &lines->list);
}

static int read_lscpu(struct reading *reading, const struct dump_text *text, struct error *err)
{
	struct summary_lines lines = { 0 };
	struct line line = { 0 };

	while (line_next(text, &line))
		take_line(&lines, &line);
	if (lines.foreign)
		return error_set(err, ERROR_INPUT, "not of an x86 CPU, but of %.*s",
				 (int)strcspn(lines.foreign, "\n "), lines.foreign);
	if ((lines.list.line_count == 1 && lines.flags_width == text_cut_width(text)) ||
	    (lines.has_64_bits && !lines.openbsd && !flags_name_lm(&lines.list)))
		lines.list.complete = false;
	reading_cpu(reading, 0);
	take_summary(reading, &lines);
	return 0;
}

const struct dump_reader reader_lscpu = {
	.name = "lscpu output",
	.marks = { "Vendor ID:", "Vendor:", "CPU family:" },
	.read = read_lscpu,
};
