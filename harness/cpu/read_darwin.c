/* SPDX-License-Identifier: MIT */
/*
 * macOS, sysctl machdep.cpu: "machdep.cpu.leaf7_features: RDWRFSGS BMI1 AVX2 ERMS ...". A list
 * knows what it names. Apple put no x86 CPU but those of Intel's family 6 into a Mac.
 */
#include "harness/cpu/read.h"

#include <string.h>

static const struct flag_name names[] = {
	{ "FPU", 1, 0, CPUID_EDX, 0 },
	{ "TSC", 1, 0, CPUID_EDX, 4 },
	{ "CX8", 1, 0, CPUID_EDX, 8 },
	{ "APIC", 1, 0, CPUID_EDX, 9 },
	{ "SEP", 1, 0, CPUID_EDX, 11 },
	{ "CMOV", 1, 0, CPUID_EDX, 15 },
	{ "PAT", 1, 0, CPUID_EDX, 16 },
	{ "CLFSH", 1, 0, CPUID_EDX, 19 },
	{ "MMX", 1, 0, CPUID_EDX, 23 },
	{ "FXSR", 1, 0, CPUID_EDX, 24 },
	{ "SSE", 1, 0, CPUID_EDX, 25 },
	{ "SSE2", 1, 0, CPUID_EDX, 26 },
	{ "SSE3", 1, 0, CPUID_ECX, 0 },
	{ "PCLMULQDQ", 1, 0, CPUID_ECX, 1 },
	{ "VMX", 1, 0, CPUID_ECX, 5 },
	{ "SSSE3", 1, 0, CPUID_ECX, 9 },
	{ "FMA", 1, 0, CPUID_ECX, 12 },
	{ "CX16", 1, 0, CPUID_ECX, 13 },
	{ "PCID", 1, 0, CPUID_ECX, 17 },
	{ "SSE4.1", 1, 0, CPUID_ECX, 19 },
	{ "SSE4.2", 1, 0, CPUID_ECX, 20 },
	{ "x2APIC", 1, 0, CPUID_ECX, 21 },
	{ "MOVBE", 1, 0, CPUID_ECX, 22 },
	{ "POPCNT", 1, 0, CPUID_ECX, 23 },
	{ "AES", 1, 0, CPUID_ECX, 25 },
	{ "XSAVE", 1, 0, CPUID_ECX, 26 },
	{ "AVX1.0", 1, 0, CPUID_ECX, 28 },
	{ "F16C", 1, 0, CPUID_ECX, 29 },
	{ "RDRAND", 1, 0, CPUID_ECX, 30 },
	{ "VMM", 1, 0, CPUID_ECX, 31 },
	{ "RDWRFSGS", 7, 0, CPUID_EBX, 0 },
	{ "BMI1", 7, 0, CPUID_EBX, 3 },
	{ "AVX2", 7, 0, CPUID_EBX, 5 },
	{ "SMEP", 7, 0, CPUID_EBX, 7 },
	{ "BMI2", 7, 0, CPUID_EBX, 8 },
	{ "ERMS", 7, 0, CPUID_EBX, 9 },
	{ "INVPCID", 7, 0, CPUID_EBX, 10 },
	{ "AVX512F", 7, 0, CPUID_EBX, 16 },
	{ "RDSEED", 7, 0, CPUID_EBX, 18 },
	{ "ADX", 7, 0, CPUID_EBX, 19 },
	{ "SMAP", 7, 0, CPUID_EBX, 20 },
	{ "CLFSOPT", 7, 0, CPUID_EBX, 23 },
	{ "CLWB", 7, 0, CPUID_EBX, 24 },
	{ "FSREPMOV", 7, 0, CPUID_EDX, 4 },
	{ "SYSCALL", 0x80000001, 0, CPUID_EDX, 11 },
	{ "XD", 0x80000001, 0, CPUID_EDX, 20 },
	{ "1GBPAGE", 0x80000001, 0, CPUID_EDX, 26 },
	{ "RDTSCP", 0x80000001, 0, CPUID_EDX, 27 },
	{ "EM64T", 0x80000001, 0, CPUID_EDX, 29 },
	{ "LAHF", 0x80000001, 0, CPUID_ECX, 0 },
	{ "LZCNT", 0x80000001, 0, CPUID_ECX, 5 },
	{ "TSCI", 0x80000007, 0, CPUID_EDX, 8 },
	{ "DS", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "HTT", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "PSN", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "MON", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "DSCPL", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "CID", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "TPR", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "SEGLIM64", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "TSCTMR", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "TSC_THREAD_OFFSET", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "FPU_CSDS", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "FDPEO", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "IPT", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "MDCLEAR", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "IBRS", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "STIBP", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "L1DF", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "ACAPMSR", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "CCAPMSR", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "SSBD", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "PREFETCHW", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "PREFETCHWT1", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "SGX", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "SGXLC", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "TSXFA", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX512VNNI", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX512BITALG", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX512VPCDQ", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX512VBMI", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX5124VNNIW", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "AVX5124FMAPS", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "PQM", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
	{ "PQE", FLAG_NOT_KEPT, 0, CPUID_EAX, 0 },
};

#define LISTS 3u /* that sysctl has */

static const char *value_of(const struct line *line, const char *key)
{
	const char *at = scan_word(scan_blanks(line->at), "machdep.cpu.");

	return at ? scan_key(at, key, ':') : NULL;
}

static void end_list(struct reading *reading, struct flag_list *list)
{
	if (list->line_count)
		read_named_flags(reading, list, names, sizeof(names) / sizeof(names[0]));
	*list = (struct flag_list){ .line_count = 0 };
}

static int read_darwin(struct reading *reading, const struct dump_text *text, struct error *err)
{
	uint32_t family = 0, model = 0, stepping = 0;
	bool has_family = false, has_model = false, has_stepping = false, intel = false;
	struct flag_list list = { .line_count = 0 };
	struct line line = { 0 };
	unsigned lists = 0;

	(void)err;
	reading_cpu(reading, 0);
	while (line_next(text, &line)) {
		const char *at = value_of(&line, "vendor");
		struct line rest = line;

		if (at && line.end - at >= 12) {
			reading_vendor(reading, at);
			intel = !strncasecmp(at, "GenuineIntel", 12);
		}
		at = value_of(&line, "brand_string");
		if (at && at < line.end)
			reading_brand(reading, at, (size_t)(line.end - at));
		at = value_of(&line, "family");
		has_family |= at && scan_last_number(at, &family);
		at = value_of(&line, "model");
		has_model |= at && scan_last_number(at, &model);
		at = value_of(&line, "stepping");
		has_stepping |= at && scan_last_number(at, &stepping);
		rest.at = value_of(&line, "features");
		rest.at = rest.at ? rest.at : value_of(&line, "leaf7_features");
		rest.at = rest.at ? rest.at : value_of(&line, "extfeatures");
		if (list.line_count && (rest.at || line_find(&line, "machdep."))) {
			list.complete = true;
			end_list(reading, &list);
		}
		lists += rest.at && rest.at < rest.end;
		if (rest.at && rest.at < rest.end)
			list.lines[list.line_count++] = rest;
		else if (list.line_count && list.line_count < FLAG_LINES_MAX &&
			 scan_blanks(line.at) < line.end)
			list.lines[list.line_count++] = line;
	}
	end_list(reading, &list);
	if (lists < LISTS)
		reading_warn(reading, 0,
			     "%u of the lists features, leaf7_features and extfeatures: what the "
			     "others name is unknown",
			     lists);
	if (!has_family && intel && has_model) {
		reading_warn(reading, 0, "no family: 6, as every Intel CPU in a Mac");
		family = 6;
		has_family = true;
	}
	if (has_family && has_model &&
	    !reading_signature(reading, family, model, has_stepping ? (long)stepping : -1))
		reading_warn(reading, 0, "family %u, model %u: no CPU can have these", family,
			     model);
	return 0;
}

const struct dump_reader reader_darwin = {
	.name = "sysctl machdep.cpu of macOS",
	.marks = { "machdep.cpu." },
	.read = read_darwin,
};
