/* SPDX-License-Identifier: MIT */
/*
 * FreeBSD's boot messages: "Origin="GenuineIntel"  Id=0x506e3 ..." and
 * "Features2=0x7ffafbbf<SSE3,...>". The words are CPUID registers as they are, and the names behind
 * them say nothing more. A line that is missing is a register that is unknown: zero ones are not
 * printed either.
 */
#include "harness/cpu/read.h"

#include <stdio.h>
#include <string.h>

#define IDENTITY_MAX 512

static const struct {
	const char *key;
	uint32_t leaf, subleaf;
	enum cpuid_register reg;
} words[] = {
	{ "Features", 1, 0, CPUID_EDX },
	{ "Features2", 1, 0, CPUID_ECX },
	{ "AMD Features", 0x80000001, 0, CPUID_EDX },
	{ "AMD Features2", 0x80000001, 0, CPUID_ECX },
	{ "Structured Extended Features", 7, 0, CPUID_EBX },
	{ "Structured Extended Features2", 7, 0, CPUID_ECX },
	{ "Structured Extended Features3", 7, 0, CPUID_EDX },
	{ "XSAVE Features", 0xD, 1, CPUID_EAX },
	{ "AMD Extended Feature Extensions ID EBX", 0x80000008, 0, CPUID_EBX },
};

/* Whether a key can begin there: behind nothing, or what a system's log puts before a line. */
static bool is_start(const char *line, const char *key)
{
	while (key > line && key[-1] == ' ')
		key--;
	return key == line || key[-1] == ':' || key[-1] == ']';
}

/* The word before "=0x": the longest key that ends there. */
static int find_word(const char *start, const char *end)
{
	size_t best = 0;
	int found = -1;

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++) {
		size_t length = strlen(words[i].key);

		if (length > best && (size_t)(end - start) >= length &&
		    !strncasecmp(end - length, words[i].key, length) &&
		    is_start(start, end - length)) {
			best = length;
			found = i;
		}
	}
	return found;
}

/* A wrap may have left the name's beginning in the line before: "AMD", "Structured Extended". */
static bool key_may_be_cut(const struct dump_text *text, const struct line *line)
{
	static const char *const beginnings[] = { "AMD", "Extended", "Structured", "XSAVE" };
	const char *end = line->at;

	if (*line->at == ' ')
		return false;
	while (end > text->bytes && (end[-1] == '\n' || end[-1] == ' '))
		end--;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t length = strlen(beginnings[i]);

		if ((size_t)(end - text->bytes) >= length &&
		    !strncasecmp(end - length, beginnings[i], length))
			return true;
	}
	return false;
}

static void take_words(struct reading *reading, const struct dump_text *text,
		       const struct line *line, unsigned *have)
{
	const char *equals = line_find(line, "=0x");
	uint32_t value;
	const char *end;
	int word = equals ? find_word(line->at, equals) : -1;

	if (equals && (word < 0 || key_may_be_cut(text, line))) {
		if (line_find(line, "eatures") && line_find(line, "eatures") < equals)
			reading_warn(reading, line->number,
				     "a word of features whose name is cut off or unknown: left "
				     "out");
		return;
	}
	if (word < 0)
		return;
	end = scan_hex(equals + 3, 1, 8, &value);
	if (!end || *end != '<') {
		reading_warn(reading, line->number, "%s is cut off or damaged: unknown",
			     words[word].key);
		return;
	}
	*have |= 1u << word;
	reading_bits(reading, words[word].leaf, words[word].subleaf, words[word].reg, value,
		     UINT32_MAX);
}

static void warn_missing_words(struct reading *reading, unsigned have)
{
	char names[256] = "";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(names);

		if (!(have >> i & 1))
			snprintf(names + length, sizeof(names) - length, "%s '%s'",
				 length ? "," : "", words[i].key);
	}
	if (*names)
		reading_warn(reading, 0, "words that are zero or lost, so unknown:%s", names);
}

/* "Key = 0x..." with or without blanks round the sign; the value is whole where something follows.
 */
static bool take_number(const struct line *line, const char *key, uint32_t *value)
{
	const char *at = line_find(line, key);

	at = at ? scan_word(scan_blanks(at + strlen(key)), "=") : NULL;
	at = at ? scan_whole_number(scan_blanks(at), value) : NULL;
	return at != NULL;
}

/* The line, or, where a wrap has broken it, the line and the next. */
static void whole_identity(const struct dump_text *text, const struct line *line,
			   char joined[IDENTITY_MAX], struct line *out)
{
	static const char *const keys[] = { "Id", "Family", "Model", "Stepping" };
	struct line next = *line;
	size_t a = (size_t)(line->end - line->at), b;
	bool whole = true;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		whole &= line_find(line, keys[i]) != NULL;
	*out = *line;
	if (whole || !line_next(text, &next) || !strncmp(next.at, "  ", 2) ||
	    line_find(&next, "eatures"))
		return;
	b = (size_t)(next.end - next.at);
	if (a + b + 2 > IDENTITY_MAX)
		return;
	memcpy(joined, line->at, a);
	memcpy(joined + a, next.at, b);
	joined[a + b] = '\n';
	joined[a + b + 1] = '\0';
	*out = (struct line){ joined, joined + a + b, line->number };
}

static void take_identity(struct reading *reading, const struct dump_text *text,
			  const struct line *first)
{
	const char *at = line_find(first, "Origin");
	uint32_t id, family, model, stepping;
	bool has_numbers;
	char joined[IDENTITY_MAX];
	struct line whole, *line = &whole;

	if (!at)
		return;
	whole_identity(text, first, joined, &whole);
	at = line_find(line, "Origin");

	at = at ? scan_word(scan_blanks(at + 6), "=") : NULL;
	at = at ? scan_word(scan_blanks(at), "\"") : NULL;
	if (!at)
		return;
	if (line->end - at > 12 && at[12] == '"')
		reading_vendor(reading, at);
	else
		reading_warn(reading, line->number, "a vendor has 12 characters, this one has not");
	has_numbers = take_number(line, "Family", &family) && take_number(line, "Model", &model) &&
		      take_number(line, "Stepping", &stepping);
	if (take_number(line, "Id", &id)) {
		unsigned id_family, id_model, id_stepping;

		signature_decode(id, &id_family, &id_model, &id_stepping);
		if (has_numbers &&
		    (id_family != family || id_model != model || id_stepping != stepping))
			reading_warn(reading, line->number,
				     "Id and Family, Model, Stepping differ: the signature is "
				     "unknown");
		else if (line_find(line, "Family"))
			reading_bits(reading, 1, 0, CPUID_EAX, id, UINT32_MAX);
	} else if (has_numbers) {
		reading_warn(reading, line->number,
			     "Id is cut off, damaged or not there: the signature is put together "
			     "from Family, Model, Stepping");
		reading_signature(reading, family, model, (long)stepping);
	} else {
		reading_warn(reading, line->number, "the signature is cut off or damaged: unknown");
	}
}

/* "CPU: BRAND (2993.39-MHz K8-class CPU)" */
static void take_brand(struct reading *reading, const struct line *line)
{
	const char *start = line_find(line, "CPU: "), *end;

	if (!start)
		return;
	start += 5;
	end = memmem(start, (size_t)(line->end - start), "-MHz", 4);
	while (end && end > start && *end != '(')
		end--;
	while (end && end > start && end[-1] == ' ')
		end--;
	if (end > start)
		reading_brand(reading, start, (size_t)(end - start));
}

static int read_freebsd(struct reading *reading, const struct dump_text *text, struct error *err)
{
	struct line line = { 0 };
	unsigned have = 0;

	(void)err;
	while (line_next(text, &line)) {
		take_brand(reading, &line);
		take_identity(reading, text, &line);
		take_words(reading, text, &line, &have);
	}
	warn_missing_words(reading, have);
	return 0;
}

const struct dump_reader reader_freebsd = {
	.name = "FreeBSD boot messages",
	.marks = { "Features=0x", "Features2=0x", "Origin=\"", "Origin = \"" },
	.read = read_freebsd,
};
