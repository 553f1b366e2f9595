/* SPDX-License-Identifier: MIT */
/*
 * /proc/cpuinfo: a block of "key<tabs>: value" lines for each logical CPU. Pasted ones have blanks
 * for tabs, one block of many, or a list of flags that was wrapped or cut.
 */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Keys that tell the age of the kernel: it wrote no such line before. */
static const struct {
	const char *key;
	unsigned since;
} young_keys[] = {
	{ "bugs", 3017 },
	{ "vmx flags", 5006 },
};

enum key {
	KEY_OTHER,
	KEY_PROCESSOR,
	KEY_VENDOR,
	KEY_FAMILY,
	KEY_MODEL,
	KEY_NAME,
	KEY_STEPPING,
	KEY_LEVEL,
	KEY_FLAGS,
	KEY_CLFLUSH,
	KEY_ADDRESSES,
	KEYS
};

static const char *const key_names[KEYS] = {
	[KEY_PROCESSOR] = "processor",	[KEY_VENDOR] = "vendor_id",
	[KEY_FAMILY] = "cpu family",	[KEY_MODEL] = "model",
	[KEY_NAME] = "model name",	[KEY_STEPPING] = "stepping",
	[KEY_LEVEL] = "cpuid level",	[KEY_FLAGS] = "flags",
	[KEY_CLFLUSH] = "clflush size", [KEY_ADDRESSES] = "address sizes",
};

/* Other keys of a block. Where one follows the flags, the list of flags has its end. */
static const char *const other_keys[] = {
	"microcode",	   "cpu MHz",
	"cache size",	   "physical id",
	"siblings",	   "core id",
	"cpu cores",	   "apicid",
	"initial apicid",  "fpu",
	"fpu_exception",   "wp",
	"vmx flags",	   "bugs",
	"bogomips",	   "TLB size",
	"cache_alignment", "power management",
	"fdiv_bug",	   "hlt_bug",
	"f00f_bug",	   "coma_bug",
};

/* One CPU's block. */
struct block {
	struct line values[KEYS]; /* at: NULL where there is none */
	struct flag_list flags;
	bool cut;      /* the line of flags ends where all long lines do */
	bool in_flags; /* a line without a key goes on with the flags */
	bool any;
};

/* Whether the line is "key : value"; what stands before the colon is trimmed. */
static bool cut_key(const struct line *line, const char **key, size_t *length, struct line *value)
{
	const char *colon = memchr(line->at, ':', (size_t)(line->end - line->at));
	const char *at = scan_blanks(line->at), *end = colon;

	if (!colon || colon - at > 40)
		return false;
	while (end > at && end[-1] == ' ')
		end--;
	for (const char *c = at; c < end; c++)
		if (!isalnum((unsigned char)*c) && !strchr(" _()-", *c))
			return false;
	*key = at;
	*length = (size_t)(end - at);
	*value = (struct line){ scan_blanks(colon + 1), line->end, line->number };
	if (value->at > value->end)
		value->at = value->end;
	return end > at;
}

static enum key key_of(const char *key, size_t length)
{
	for (int i = 1; i < KEYS; i++)
		if (strlen(key_names[i]) == length && !strncasecmp(key, key_names[i], length))
			return (enum key)i;
	return KEY_OTHER;
}

static bool is_kernels(const char *key, size_t length)
{
	for (size_t i = 0; i < sizeof(other_keys) / sizeof(other_keys[0]); i++)
		if (strlen(other_keys[i]) == length && !strncasecmp(key, other_keys[i], length))
			return true;
	return key_of(key, length) != KEY_OTHER;
}

static size_t trimmed(const struct line *value)
{
	size_t length = (size_t)(value->end - value->at);

	while (length && value->at[length - 1] == ' ')
		length--;
	return length;
}

static bool number_of(const struct block *block, enum key key, uint32_t *number)
{
	const struct line *value = &block->values[key];

	return value->at && scan_last_number(value->at, number);
}

static void take_signature(struct reading *reading, const struct block *block)
{
	uint32_t family, model, stepping;
	bool has_stepping = number_of(block, KEY_STEPPING, &stepping);

	if (!number_of(block, KEY_FAMILY, &family) || !number_of(block, KEY_MODEL, &model))
		return;
	if (!reading_signature(reading, family, model, has_stepping ? (long)stepping : -1))
		reading_warn(reading, block->values[KEY_MODEL].number,
			     "family %u, model %u: no CPU can have these", family, model);
}

static void warn_of_number(struct reading *reading, const struct block *block, enum key key)
{
	reading_warn(reading, block->values[key].number, "%s is cut off or damaged: unknown",
		     key_names[key]);
}

/* "46 bits physical, 48 bits virtual" */
static bool address_sizes(const struct block *block, uint32_t *physical, uint32_t *virtual)
{
	const struct line *sizes = &block->values[KEY_ADDRESSES];
	const char *at = sizes->at ? scan_decimal(sizes->at, physical) : NULL;

	at = at ? scan_word(at, " bits physical, ") : NULL;
	at = at ? scan_decimal(at, virtual) : NULL;
	return at && scan_word(at, " bits virtual") && *physical < 256 && *virtual < 256;
}

/* A line of flags of which a screen shows the beginning; others follow all the same. */
static bool is_beginning(const struct block *block)
{
	uint32_t physical, virtual;

	if (block->cut && block->flags.line_count == 1)
		return true;
	return address_sizes(block, &physical, &virtual) && virtual > 32 &&
	       !flags_name_lm(&block->flags);
}

static void take_sizes(struct reading *reading, const struct block *block)
{
	uint32_t number, other;

	if (number_of(block, KEY_LEVEL, &number))
		reading_bits(reading, 0, 0, CPUID_EAX, number, UINT32_MAX);
	else if (block->values[KEY_LEVEL].at)
		warn_of_number(reading, block, KEY_LEVEL);
	if (number_of(block, KEY_CLFLUSH, &number) && number % 8 == 0 && number < 2048)
		reading_bits(reading, 1, 0, CPUID_EBX, number / 8 << 8, 0xFF00);
	else if (block->values[KEY_CLFLUSH].at)
		warn_of_number(reading, block, KEY_CLFLUSH);
	if (address_sizes(block, &number, &other))
		reading_bits(reading, 0x80000008u, 0, CPUID_EAX, number | other << 8, 0xFFFF);
	else if (block->values[KEY_ADDRESSES].at)
		warn_of_number(reading, block, KEY_ADDRESSES);
}

/* Every kernel writes these; what they say is not in the flags. */
static void warn_missing_lines(struct reading *reading, const struct block *block)
{
	static const enum key expected[] = { KEY_LEVEL, KEY_CLFLUSH, KEY_ADDRESSES, KEY_FLAGS };
	char names[80] = "";

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		size_t length = strlen(names);

		if (!block->values[expected[i]].at)
			snprintf(names + length, sizeof(names) - length, "%s '%s'",
				 length ? "," : "", key_names[expected[i]]);
	}
	if (*names)
		reading_warn(reading, 0, "lines that are not there, so unknown:%s", names);
}

static void end_block(struct reading *reading, struct block *block)
{
	const struct line *vendor = &block->values[KEY_VENDOR], *name = &block->values[KEY_NAME];
	uint32_t number;

	if (!block->any)
		return;
	reading_cpu(reading, number_of(block, KEY_PROCESSOR, &number) ? (long)number : -1);
	if (vendor->at)
		reading_vendor_named(reading, vendor);
	take_signature(reading, block);
	take_sizes(reading, block);
	warn_missing_lines(reading, block);
	if (name->at)
		reading_brand(reading, name->at, trimmed(name));
	block->flags.complete &= !is_beginning(block);
	read_kernel_flags(reading, &block->flags);
	*block = (struct block){ 0 };
}

static void take_key(struct reading *reading, struct block *block, enum key key, const char *text,
		     size_t length, const struct line *value)
{
	if (block->flags.line_count && key != KEY_FLAGS && is_kernels(text, length))
		block->flags.complete = true;
	if (key && block->values[key].at)
		end_block(reading, block);
	block->in_flags = key == KEY_FLAGS;
	block->any |= key != KEY_OTHER;
	for (size_t i = 0; i < sizeof(young_keys) / sizeof(young_keys[0]); i++)
		if (strlen(young_keys[i].key) == length &&
		    !strncmp(young_keys[i].key, text, length) &&
		    block->flags.kernel_least < young_keys[i].since)
			block->flags.kernel_least = young_keys[i].since;
	if (key)
		block->values[key] = *value;
	if (key == KEY_FLAGS) {
		block->flags.lines[0] = *value;
		block->flags.line_count = 1;
	}
}

static int read_cpuinfo(struct reading *reading, const struct dump_text *text, struct error *err)
{
	const size_t width = text_cut_width(text);
	struct block block = { 0 };
	struct line line = { 0 };

	(void)err;
	while (line_next(text, &line)) {
		struct line value;
		const char *key;
		size_t length;

		if (cut_key(&line, &key, &length, &value)) {
			enum key known = key_of(key, length);

			if (known == KEY_PROCESSOR && block.any)
				end_block(reading, &block);
			take_key(reading, &block, known, key, length, &value);
			if (known == KEY_FLAGS)
				block.cut = (size_t)(line.end - line.at) == width;
		} else if (scan_blanks(line.at) >= line.end) {
			/* An empty line ends a block, but some pastes have one after every line. */
			if (block.values[KEY_FLAGS].at && block.flags.complete)
				end_block(reading, &block);
		} else if (block.in_flags && block.flags.line_count < FLAG_LINES_MAX) {
			block.flags.lines[block.flags.line_count++] = line;
		}
	}
	end_block(reading, &block);
	return 0;
}

const struct dump_reader reader_cpuinfo = {
	.name = "/proc/cpuinfo",
	.marks = { "vendor_id", "flags ", "flags:", "cpu family" },
	.read = read_cpuinfo,
};
