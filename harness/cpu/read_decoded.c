/* SPDX-License-Identifier: MIT */
/*
 * The decoded output of `cpuid` (without -r): "      enhanced REP MOVSB/STOSB  = true" below the
 * header of a leaf. The family is the lines' "synth"; the plain ones are the fields before they are
 * put together.
 */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SECTION_MAX 32
#define JOINED_MAX  512

/* Beginnings of the lines that name a bit, below a header that ends in these words. */
static const struct {
	const char *section;
	uint32_t leaf, subleaf;
	enum cpuid_register reg;
	uint8_t bit;
	const char *text;
} bits[] = {
	{ "(1/edx)", 1, 0, CPUID_EDX, 0, "x87 FPU on chip" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 1, "VME:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 1, "virtual-8086 mode enhancement" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 2, "DE:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 2, "debugging extensions" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 3, "PSE:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 3, "page size extensions" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 4, "TSC:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 4, "time stamp counter" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 5, "RDMSR and WRMSR" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 6, "PAE:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 6, "physical address extensions" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 7, "MCE:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 7, "machine check exception" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 8, "CMPXCHG8B inst" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 9, "APIC on chip" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 11, "SYSENTER and SYSEXIT" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 12, "MTRR:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 12, "memory type range registers" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 13, "PTE global bit" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 14, "MCA:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 14, "machine check architecture" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 15, "CMOV:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 15, "conditional move/compare" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 16, "PAT:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 16, "page attribute table" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 17, "PSE-36:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 17, "page size extension " },
	{ "(1/edx)", 1, 0, CPUID_EDX, 19, "CLFLUSH instruction" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 21, "DS: debug store" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 22, "ACPI:" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 23, "MMX Technology" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 24, "FXSAVE/FXRSTOR" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 25, "SSE extensions" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 26, "SSE2 extensions" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 27, "SS: self snoop" },
	{ "(1/edx)", 1, 0, CPUID_EDX, 28, "hyper-threading" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 0, "PNI/SSE3" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 1, "PCLMULDQ instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 3, "MONITOR/MWAIT" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 5, "VMX: virtual machine" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 9, "SSSE3 extensions" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 12, "FMA instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 13, "CMPXCHG16B instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 17, "PCID: process context" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 19, "SSE4.1 extensions" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 20, "SSE4.2 extensions" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 21, "x2APIC: extended xAPIC" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 22, "MOVBE instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 23, "POPCNT instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 24, "time stamp counter deadline" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 25, "AES instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 26, "XSAVE/XSTOR states" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 28, "AVX: advanced vector" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 29, "F16C half-precision" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 30, "RDRAND instruction" },
	{ "(1/ecx)", 1, 0, CPUID_ECX, 31, "hypervisor guest status" },
	{ "(7)", 7, 0, CPUID_EBX, 0, "FSGSBASE instructions" },
	{ "(7)", 7, 0, CPUID_EBX, 3, "BMI1 instructions" },
	{ "(7)", 7, 0, CPUID_EBX, 4, "HLE hardware lock elision" },
	{ "(7)", 7, 0, CPUID_EBX, 5, "AVX2: advanced vector" },
	{ "(7)", 7, 0, CPUID_EBX, 7, "SMEP supervisor mode" },
	{ "(7)", 7, 0, CPUID_EBX, 8, "BMI2 instructions" },
	{ "(7)", 7, 0, CPUID_EBX, 9, "enhanced REP MOVSB/STOSB" },
	{ "(7)", 7, 0, CPUID_EBX, 10, "INVPCID instruction" },
	{ "(7)", 7, 0, CPUID_EBX, 11, "RTM: restricted" },
	{ "(7)", 7, 0, CPUID_EBX, 16, "AVX512F: AVX-512 foundation" },
	{ "(7)", 7, 0, CPUID_EBX, 17, "AVX512DQ:" },
	{ "(7)", 7, 0, CPUID_EBX, 18, "RDSEED instruction" },
	{ "(7)", 7, 0, CPUID_EBX, 19, "ADX instructions" },
	{ "(7)", 7, 0, CPUID_EBX, 20, "SMAP: supervisor mode" },
	{ "(7)", 7, 0, CPUID_EBX, 21, "AVX512IFMA:" },
	{ "(7)", 7, 0, CPUID_EBX, 23, "CLFLUSHOPT instruction" },
	{ "(7)", 7, 0, CPUID_EBX, 24, "CLWB instruction" },
	{ "(7)", 7, 0, CPUID_EBX, 28, "AVX512CD:" },
	{ "(7)", 7, 0, CPUID_EBX, 29, "SHA instructions" },
	{ "(7)", 7, 0, CPUID_EBX, 30, "AVX512BW:" },
	{ "(7)", 7, 0, CPUID_EBX, 31, "AVX512VL:" },
	{ "(7)", 7, 0, CPUID_ECX, 2, "UMIP: user-mode" },
	{ "(7)", 7, 0, CPUID_ECX, 3, "PKU protection keys" },
	{ "(7)", 7, 0, CPUID_ECX, 8, "GFNI: Galois" },
	{ "(7)", 7, 0, CPUID_ECX, 9, "VAES instructions" },
	{ "(7)", 7, 0, CPUID_ECX, 22, "RDPID: read processor" },
	{ "(7)", 7, 0, CPUID_ECX, 27, "MOVDIRI instruction" },
	{ "(7)", 7, 0, CPUID_ECX, 28, "MOVDIR64B instruction" },
	{ "(7)", 7, 0, CPUID_EDX, 4, "fast short REP MOV" },
	{ "(7)", 7, 0, CPUID_EDX, 14, "SERIALIZE instruction" },
	{ "(7)", 7, 0, CPUID_EDX, 15, "hybrid part" },
	{ "(7)", 7, 1, CPUID_EAX, 10, "zero-length MOVSB" },
	{ "(7)", 7, 1, CPUID_EAX, 11, "fast short STOSB" },
	{ "(7)", 7, 1, CPUID_EAX, 12, "fast short CMPSB, SCASB" },
	{ "(0xd/1)", 0xD, 1, CPUID_EAX, 0, "XSAVEOPT instruction" },
	{ "(0xd/1)", 0xD, 1, CPUID_EAX, 1, "XSAVEC instruction" },
	{ "(0xd/1)", 0xD, 1, CPUID_EAX, 2, "XGETBV instruction" },
	{ "(0xd/1)", 0xD, 1, CPUID_EAX, 3, "XSAVES/XRSTORS instructions" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 11, "SYSCALL and SYSRET" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 20, "execution disable" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 20, "no-execute page" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 26, "1-GB large page support" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 27, "RDTSCP" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 29, "64-bit extensions technology" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 29, "long mode (AA-64)" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 30, "3DNow! instruction extensions" },
	{ "(0x80000001/edx)", 0x80000001, 0, CPUID_EDX, 31, "3DNow! instructions" },
	{ "(0x80000001/ecx)", 0x80000001, 0, CPUID_ECX, 0, "LAHF/SAHF supported in 64-bit" },
	{ "(0x80000001/ecx)", 0x80000001, 0, CPUID_ECX, 5, "LZCNT" },
	{ "(0x80000008/ebx)", 0x80000008, 0, CPUID_EBX, 0, "CLZERO instruction" },
};

/* The last "(...)" of a header, such as "   extended feature flags (7):". */
static bool take_section(const struct line *line, char *section, size_t room)
{
	const char *end = line->end, *at;

	while (end > line->at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end - line->at < 4 || end[-1] != ':' || end[-2] != ')')
		return false;
	end--;
	for (at = end - 1; at > line->at && *at != '('; at--)
		;
	if (*at != '(' || (size_t)(end - at) >= room)
		return false;
	memcpy(section, at, (size_t)(end - at));
	section[end - at] = '\0';
	return true;
}

/* As scan_word, with blanks nowhere: a wrap may have lost one, or put one in. */
static const char *scan_text(const char *at, const char *text)
{
	for (;; at++, text++) {
		at = scan_blanks(at);
		text = scan_blanks(text);
		if (!*text)
			return at;
		if (tolower((unsigned char)*at) != tolower((unsigned char)*text))
			return NULL;
	}
}

/* What stands behind the line's last '='; NULL where it has none. */
static const char *value_of(const struct line *line)
{
	const char *equals = memrchr(line->at, '=', (size_t)(line->end - line->at));

	return equals ? scan_blanks(equals + 1) : NULL;
}

static bool ends_in(const char *value, const char *word)
{
	const char *end = scan_text(value, word);

	return end && *end == '\n';
}

/* Which rows of the table have had their line. */
struct seen_rows {
	bool row[sizeof(bits) / sizeof(bits[0])];
	bool clflush;
};

static void take_bit(struct reading *reading, const struct line *line, const char *section,
		     struct seen_rows *seen)
{
	const char *at = scan_blanks(line->at), *value = value_of(line);
	bool on = value && ends_in(value, "true"), off = value && ends_in(value, "false");

	if (!on && !off)
		return;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		/* Sections of registers are written "(1/edx)", "(0xd/1)", "(0x80000001/edx)". */
		if (strcasecmp(section, bits[i].section) || !scan_text(at, bits[i].text))
			continue;
		reading_bits(reading, bits[i].leaf, bits[i].subleaf, bits[i].reg,
			     on ? 1u << bits[i].bit : 0, 1u << bits[i].bit);
		seen->row[i] = true;
		return;
	}
}

/* The numbers of the signature, of which the "synth" ones are whole. */
struct signature_lines {
	uint32_t base_family, base_model, stepping, extended_family, extended_model, family, model;
	unsigned have; /* bit i: the i-th number of the table */
	unsigned line;
};

static const struct {
	const char *text;
	size_t offset;
} signature_texts[] = {
	{ "family ", offsetof(struct signature_lines, base_family) },
	{ "model ", offsetof(struct signature_lines, base_model) },
	{ "stepping id", offsetof(struct signature_lines, stepping) },
	{ "extended family", offsetof(struct signature_lines, extended_family) },
	{ "extended model", offsetof(struct signature_lines, extended_model) },
	{ "(family synth)", offsetof(struct signature_lines, family) },
	{ "(model synth)", offsetof(struct signature_lines, model) },
};

#define HAVE_FIELDS   0x1Fu
#define HAVE_SYNTH    0x60u
#define HAVE_STEPPING 0x04u

/* "family = Intel Pentium Pro/... (6)", "extended model = 0x3 (3)": the number in the last
 * parentheses. */
static bool last_number(const struct line *line, uint32_t *number)
{
	const char *at = memrchr(line->at, '(', (size_t)(line->end - line->at));
	const char *end = at ? scan_decimal(at + 1, number) : NULL;

	return end && *end == ')';
}

static void take_signature(struct signature_lines *lines, const struct line *line)
{
	const char *at = scan_blanks(line->at);
	uint32_t number;

	for (unsigned i = 0; i < sizeof(signature_texts) / sizeof(signature_texts[0]); i++) {
		if (!scan_text(at, signature_texts[i].text) || !value_of(line) ||
		    !last_number(line, &number))
			continue;
		memcpy((char *)lines + signature_texts[i].offset, &number, sizeof(number));
		lines->have |= 1u << i;
		lines->line = line->number;
		return;
	}
}

static void put_signature(struct reading *reading, struct signature_lines *lines)
{
	long stepping = lines->have & HAVE_STEPPING ? (long)lines->stepping : -1;

	if (!(lines->have & (HAVE_FIELDS | HAVE_SYNTH)))
		return;
	if ((lines->have & HAVE_SYNTH) == HAVE_SYNTH) {
		if (!reading_signature(reading, lines->family, lines->model, stepping))
			reading_warn(reading, lines->line, "no CPU can have this family and model");
	} else if ((lines->have & HAVE_FIELDS) == HAVE_FIELDS && lines->base_family < 16 &&
		   lines->base_model < 16 && lines->stepping < 16 && lines->extended_family < 256 &&
		   lines->extended_model < 16) {
		reading_bits(reading, 1, 0, CPUID_EAX,
			     lines->extended_family << 20 | lines->extended_model << 16 |
				     lines->base_family << 8 | lines->base_model << 4 |
				     lines->stepping,
			     0x0FFF0FFFu);
	} else {
		reading_warn(reading, lines->line,
			     "the version information is cut off: the signature is "
			     "unknown");
	}
	*lines = (struct signature_lines){ 0 };
}

static void take_strings(struct reading *reading, const struct line *line, struct seen_rows *seen)
{
	const char *at = scan_blanks(line->at), *value = value_of(line);
	uint32_t units;

	if (!value)
		return;
	if (scan_word(at, "vendor_id") && *value == '"' && line->end - value >= 14 &&
	    value[13] == '"')
		reading_vendor(reading, value + 1);
	if (scan_word(at, "brand = \"")) {
		const char *start = at + 9, *end = memrchr(start, '"', (size_t)(line->end - start));

		if (end)
			reading_brand(reading, start, (size_t)(end - start));
	}
	if (scan_word(at, "CLFLUSH line size") && last_number(line, &units) && units < 256) {
		reading_bits(reading, 1, 0, CPUID_EBX, units << 8, 0xFF00);
		seen->clflush = true;
	}
}

/*
 * Lines are indented by three blanks or more, so one that is not is what a wrap has broken off, and
 * so is one that begins with the '='. Joined as they are: names are compared without their blanks.
 */
static bool is_rest(const struct line *line)
{
	const char *at = scan_blanks(line->at);

	return at < line->end && (at - line->at < 3 || *at == '=') && !scan_word(at, "CPU");
}

static void join_rest(const struct dump_text *text, struct line *line, char joined[JOINED_MAX],
		      struct line *out)
{
	struct line next = *line;
	size_t used = (size_t)(line->end - line->at);

	*out = *line;
	if (scan_blanks(line->at) - line->at < 3 || used + 2 > JOINED_MAX)
		return;
	while (line_next(text, &next) && is_rest(&next)) {
		size_t length = (size_t)(next.end - next.at);

		if (used + length + 2 > JOINED_MAX)
			return;
		if (out->at != joined)
			memcpy(joined, line->at, used);
		memcpy(joined + used, next.at, length);
		used += length;
		joined[used] = '\n';
		joined[used + 1] = '\0';
		*out = (struct line){ joined, joined + used, line->number };
		*line = next;
	}
}

static bool is_seen(const struct seen_rows *seen, const struct feature *feature, bool *has_row)
{
	bool found = false;

	*has_row = false;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if (bits[i].leaf != feature->leaf || bits[i].subleaf != feature->subleaf ||
		    bits[i].reg != feature->reg || bits[i].bit != feature->bit)
			continue;
		*has_row = true;
		found |= seen->row[i];
	}
	return found;
}

/* Whether a line of this leaf has been seen; where none has, all of its lines may be lost. */
static bool has_leaf(const struct seen_rows *seen, uint32_t leaf)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		found |= seen->row[i] && bits[i].leaf == leaf;
	return found;
}

/* The program has all of these lines for every CPU; those of 3DNow! are AMD's. */
static bool is_expected(const struct seen_rows *seen, const struct feature *feature)
{
	if (feature->leaf == 0x80000001u)
		return feature->reg != CPUID_EDX || feature->bit < 30;
	if (feature->leaf == 0xDu)
		return has_leaf(seen, 0xD) || has_leaf(seen, 7);
	return feature->leaf == 1 || has_leaf(seen, feature->leaf);
}

static void warn_missing_lines(struct reading *reading, const struct seen_rows *seen)
{
	char names[160] = "";
	unsigned lost = 0;

	for (size_t i = 0; i < feature_count; i++) {
		size_t length = strlen(names);
		bool has_row, is = is_seen(seen, &features[i], &has_row);

		/* Those that dispatchers depend on are named anyway. */
		if (!has_row || is || features[i].dispatch || !is_expected(seen, &features[i]))
			continue;
		lost++;
		snprintf(names + length, sizeof(names) - length, " %s", features[i].name);
	}
	if (lost || !seen->clflush)
		reading_warn(reading, 0, "%u lines that are not there or damaged, so unknown:%s%s",
			     lost + !seen->clflush, seen->clflush ? "" : " (CLFLUSH line size)",
			     names);
}

static void take_line(struct reading *reading, const struct line *line,
		      struct signature_lines *signature, char section[SECTION_MAX],
		      struct seen_rows *seen)
{
	const char *at = scan_word(scan_blanks(line->at), "CPU");
	const char *end;
	uint32_t number;

	end = at ? scan_decimal(scan_blanks(at), &number) : NULL;
	if (at && *(end ? end : at) == ':') {
		put_signature(reading, signature);
		reading_cpu(reading, end ? (long)number : -1);
		*section = '\0';
	} else if (!take_section(line, section, SECTION_MAX)) {
		if (!strcasecmp(section, "(1/eax)"))
			take_signature(signature, line);
		take_bit(reading, line, section, seen);
		take_strings(reading, line, seen);
	}
}

static int read_decoded(struct reading *reading, const struct dump_text *text, struct error *err)
{
	struct signature_lines signature = { 0 };
	char section[SECTION_MAX] = "", joined[JOINED_MAX];
	struct line line = { 0 }, whole;
	struct seen_rows seen = { 0 };

	(void)err;
	while (line_next(text, &line)) {
		join_rest(text, &line, joined, &whole);
		take_line(reading, &whole, &signature, section, &seen);
	}
	put_signature(reading, &signature);
	warn_missing_lines(reading, &seen);
	return 0;
}

const struct dump_reader reader_decoded = {
	.name = "decoded output of cpuid",
	.marks = { "(1/eax)", "(1/edx)", "(family synth)", "vendor_id = \"" },
	.read = read_decoded,
};
