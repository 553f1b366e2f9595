/* SPDX-License-Identifier: MIT */
/*
 * Readers of CPUID dumps in files. A format is a function that reads one line; the first line that a
 * format knows decides which one the file has.
 */
#include "harness/cpu/dump.h"

#include <ctype.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

#define DUMP_BYTES_MAX	(8u << 20)
#define DUMP_LEAVES_MAX 1024u

enum line_kind {
	LINE_OTHER, /* a header, a comment, another section */
	LINE_LEAF,
	LINE_CUT, /* begins as a leaf line does, and is none */
};

struct dump_line {
	struct cpuid_leaf leaf;
	bool subleaf_known; /* false: the place among lines of that leaf tells */
};

/* --- scanning -------------------------------------------------------------------------------------- */

static const char *skip(const char *text, const char *set)
{
	return text + strspn(text, set);
}

/* Exactly eight hexadecimal digits; NULL for anything else. */
static const char *scan_word(const char *text, uint32_t *value)
{
	*value = 0;
	for (int i = 0; i < 8; i++, text++) {
		if (!isxdigit((unsigned char)*text))
			return NULL;
		*value = *value << 4 | (uint32_t)(isdigit((unsigned char)*text) ?
							  *text - '0' :
							  tolower((unsigned char)*text) - 'a' + 10);
	}
	return isxdigit((unsigned char)*text) ? NULL : text;
}

static const char *scan_literal(const char *text, const char *literal)
{
	size_t length = strlen(literal);

	return text && !strncmp(text, literal, length) ? text + length : NULL;
}

/* One or two hexadecimal digits. */
static const char *scan_byte(const char *text, uint32_t *value)
{
	char digits[3] = { 0 };

	for (int i = 0; i < 2 && isxdigit((unsigned char)text[i]); i++)
		digits[i] = text[i];
	*value = (uint32_t)strtoul(digits, NULL, 16);
	return *digits ? text + strlen(digits) : NULL;
}

/* --- `cpuid -r`:  "   0x00000004 0x01: eax=0x00000122 ebx=0x01c0003f ecx=... edx=..." ----------------- */

static enum line_kind read_cpuid_r(const char *line, struct dump_line *out)
{
	static const char *const registers[] = { "eax=0x", "ebx=0x", "ecx=0x", "edx=0x" };
	const char *at = scan_literal(skip(line, " \t"), "0x");

	at = at ? scan_word(at, &out->leaf.leaf) : NULL;
	at = at ? scan_literal(skip(at, " \t"), "0x") : NULL;
	at = at ? scan_byte(at, &out->leaf.subleaf) : NULL;
	at = scan_literal(at, ":");
	if (!at)
		return LINE_OTHER;
	for (int i = 0; i < 4; i++) {
		at = scan_literal(skip(at, " \t"), registers[i]);
		at = at ? scan_word(at, &out->leaf.reg[i]) : NULL;
		if (!at)
			return LINE_CUT;
	}
	out->subleaf_known = true;
	return LINE_LEAF;
}

/* --- AIDA64:  "CPUID 00000004: 00000122-01C0003F-0000003F-00000000 [SL 01] [L1I: 32 KB]" -------------- */

static enum line_kind read_aida64(const char *line, struct dump_line *out)
{
	const char *at = scan_literal(skip(line, " \t"), "CPUID ");
	const char *subleaf;

	at = at ? scan_word(at, &out->leaf.leaf) : NULL;
	if (!at)
		return LINE_OTHER; /* also "CPUID Revision" and "CPUID Manufacturer" */
	at = skip(at, " \t:");
	for (int i = 0; i < 4; i++) {
		at = i && at ? skip(at, " \t-") : at;
		at = at ? scan_word(at, &out->leaf.reg[i]) : NULL;
	}
	if (!at)
		return LINE_CUT;
	subleaf = strstr(at, "[SL ");
	out->subleaf_known = subleaf && scan_byte(subleaf + 4, &out->leaf.subleaf);
	return LINE_LEAF;
}

typedef enum line_kind line_reader(const char *line, struct dump_line *out);
static line_reader *const formats[] = { read_cpuid_r, read_aida64 };

/* --- the whole file -------------------------------------------------------------------------------- */

/*
 * Old dumps repeat a leaf without the number of its subleaf, and leave out subleaves that are all
 * zero. Leaf 0xD subleaf 1 holds five flags; a larger EAX in its place is the size of a state
 * component: subleaf 2.
 */
static uint32_t subleaf_by_place(const struct cpuid_dump *dump, const struct cpuid_leaf *leaf)
{
	uint32_t next = 0;

	for (size_t i = 0; i < dump->count; i++)
		if (dump->leaves[i].leaf == leaf->leaf && dump->leaves[i].subleaf >= next)
			next = dump->leaves[i].subleaf + 1;
	return leaf->leaf == 0xD && next == 1 && leaf->reg[CPUID_EAX] > 0x3F ? 2 : next;
}

/* UTF-16LE with its mark, as PowerShell writes it, to bytes; what is not ASCII becomes '?'. */
static char *to_ascii(const char *bytes, size_t length)
{
	bool wide = length >= 2 && !memcmp(bytes, "\xFF\xFE", 2);
	size_t step = wide ? 2 : 1, from = wide ? 2 : 0, to = 0;
	char *out = xmalloc(length + 1);

	if (length >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3))
		from = 3;
	for (; from + step <= length; from += step)
		out[to++] = !bytes[from] || (wide && bytes[from + 1]) ? '?' : bytes[from];
	out[to] = '\0';
	return out;
}

/* Returns 1 where the next CPU of the file begins, 0 to go on, -1 on error. */
static int read_line(struct cpuid_dump *dump, line_reader **format, const char *line,
		     const char *where, struct error *err)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct dump_line read = { 0 };
		enum line_kind kind;

		if (*format && *format != formats[i])
			continue;
		kind = formats[i](line, &read);
		if (kind == LINE_OTHER)
			continue;
		if (kind == LINE_CUT)
			return error_set(err, ERROR_INPUT,
					 "%s: the line of leaf 0x%x is cut off; expected four "
					 "registers of 8 hexadecimal digits",
					 where, read.leaf.leaf);
		*format = formats[i];
		if (read.leaf.leaf == 0 && cpuid_find(dump, 0, 0))
			return 1;
		if (!read.subleaf_known)
			read.leaf.subleaf = subleaf_by_place(dump, &read.leaf);
		if (dump->count == DUMP_LEAVES_MAX)
			return error_set(err, ERROR_INPUT, "%s: more than %u leaves", where,
					 DUMP_LEAVES_MAX);
		if (!cpuid_find(dump, read.leaf.leaf, read.leaf.subleaf))
			cpuid_add(dump, &read.leaf);
		return 0;
	}
	return 0;
}

int dump_parse(struct cpuid_dump *dump, const char *path, const char *bytes, size_t length,
	       struct error *err)
{
	CLEANUP_FREE char *text = to_ascii(bytes, length);
	line_reader *format = NULL;
	unsigned number = 0;
	int result = 0;

	*dump = (struct cpuid_dump){ 0 };
	for (char *line = text; line && !result;) {
		char *end = strchr(line, '\n');
		CLEANUP_FREE char *where = xasprintf("%s:%u", path, ++number);

		if (end)
			*end = '\0';
		result = read_line(dump, &format, line, where, err);
		line = end ? end + 1 : NULL;
	}
	if (result >= 0 && format)
		return 0;
	if (result >= 0)
		error_set(err, ERROR_INPUT,
			  "%s: no CPUID dump that this version reads; expected lines of `cpuid -r` or of "
			  "AIDA64",
			  path);
	cpuid_free(dump);
	return -1;
}

/* A file's name as a CPU's: without the folder and the last suffix, and without what no name has. */
static void name_after(char *name, size_t room, const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	char *base = basename(copy), *dot = strrchr(base, '.');

	if (dot && dot > base)
		*dot = '\0';
	snprintf(name, room, "%s", base);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c))
			*c = '-';
}

int dump_read_cpu(struct cpu *cpu, const char *path, struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	struct cpuid_dump dump;
	size_t length;
	int lm = feature_find("lm"), syscall = feature_find("syscall");

	cpu_init(cpu);
	if (file_read(path, DUMP_BYTES_MAX, &bytes, &length, err) ||
	    dump_parse(&dump, path, bytes, length, err))
		return -1;
	if (cpu_from_dump(cpu, &dump, err)) {
		cpuid_free(&dump);
		return error_prefix(err, "%s", path);
	}
	cpuid_free(&dump);
	name_after(cpu->name, CPU_NAME_MAX - 32, path);
	/* Intel hides SYSCALL from 32-bit processes, and most tools are such; it is there with LM. */
	if (!memcmp(cpu->vendor, "GenuineIntel", 12) && feature_in(&cpu->on, lm))
		feature_put(&cpu->on, syscall, true);
	if (feature_in(&cpu->on, feature_find("hypervisor")))
		snprintf(cpu->note, sizeof(cpu->note), "the dump was taken in a guest");
	return 0;
}
