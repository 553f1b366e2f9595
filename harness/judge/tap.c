// SPDX-License-Identifier: MIT
/*
 * Reads TAP and KTAP line by line. Nested tests are told by their indentation and come before the
 * line that sums them up; a failed one fails the whole, unless that line is marked SKIP or TODO.
 */
#include "harness/judge/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "harness/util/text.h"

#define LEVELS_MAX  8
#define NUMBER_MOST 1000000000u

struct level {
	size_t indent;
	bool planned;
	unsigned plan, run;
	/* Of tests nested in the next test of this level, until its line comes. */
	bool nested;
	unsigned failed;
	char first[160];
};

struct reader {
	struct tap *out;
	struct level levels[LEVELS_MAX];
	size_t depth;	    /* levels in use, at least 1 */
	size_t test_indent; /* of the last test's line */
	bool after_test;    /* it was the line before */
	bool yaml;	    /* inside of its YAML block */
	size_t yaml_indent;
	bool bailed;
};

struct line {
	size_t indent;
	const char *bytes; /* behind the indentation */
	size_t length;
};

enum directive { DIRECTIVE_NONE, DIRECTIVE_SKIP, DIRECTIVE_TODO };

struct test {
	bool passed, numbered;
	unsigned number;
	const char *name;
	size_t name_length;
	enum directive directive;
	const char *why;
	size_t why_length;
};

/* --- a line --------------------------------------------------------------------------------------
 */

static bool begins(const struct line *line, const char *word)
{
	size_t length = strlen(word);

	return line->length >= length && !memcmp(line->bytes, word, length);
}

static void trim(const char **bytes, size_t *length)
{
	while (*length && (**bytes == ' ' || **bytes == '\t')) {
		++*bytes;
		--*length;
	}
	while (*length && ((*bytes)[*length - 1] == ' ' || (*bytes)[*length - 1] == '\t'))
		--*length;
}

/* Digits; returns how many, 0 where there are none or too many. */
static size_t number(unsigned *out, const char *bytes, size_t length)
{
	size_t digits = 0;

	*out = 0;
	while (digits < length && bytes[digits] >= '0' && bytes[digits] <= '9') {
		if (*out >= NUMBER_MOST / 10)
			return 0;
		*out = *out * 10 + (unsigned)(bytes[digits++] - '0');
	}
	return digits;
}

/* What follows the first # that no backslash precedes. */
static size_t find_hash(const char *bytes, size_t length)
{
	size_t at = 0;

	while (at < length && bytes[at] != '#')
		at += bytes[at] == '\\' && at + 1 < length ? 2 : 1;
	return at < length ? at : length;
}

static enum directive directive_of(const char **why, size_t *why_length, const char *bytes,
				   size_t length)
{
	enum directive found = DIRECTIVE_NONE;

	trim(&bytes, &length);
	if (length >= 4 && !strncasecmp(bytes, "SKIP", 4))
		found = DIRECTIVE_SKIP;
	else if (length >= 4 && !strncasecmp(bytes, "TODO", 4))
		found = DIRECTIVE_TODO;
	while (found && length && *bytes != ' ') { /* "SKIP:", "SKIPPED" */
		bytes++;
		length--;
	}
	trim(&bytes, &length);
	*why = bytes;
	*why_length = length;
	return found;
}

/* 1..N [# SKIP why] */
static bool read_plan(const struct line *line, unsigned *plan, const char **why, size_t *why_length)
{
	const char *rest = line->bytes + 3;
	size_t length, digits;

	if (!begins(line, "1.."))
		return false;
	length = line->length - 3;
	digits = number(plan, rest, length);
	rest += digits;
	length -= digits;
	trim(&rest, &length);
	*why = rest;
	*why_length = 0;
	if (!digits || (length && *rest != '#'))
		return false;
	if (length)
		directive_of(why, why_length, rest + 1, length - 1);
	return true;
}

/* [not ]ok [NUMBER] [- NAME] [# DIRECTIVE] */
static bool read_test(const struct line *line, struct test *test)
{
	const char *bytes = line->bytes;
	size_t length = line->length, digits, hash;

	*test = (struct test){ .passed = begins(line, "ok") };
	if (!test->passed && !begins(line, "not ok"))
		return false;
	bytes += test->passed ? 2 : 6;
	length -= test->passed ? 2 : 6;
	if (length && *bytes != ' ' && *bytes != '\t')
		return false;
	trim(&bytes, &length);
	digits = number(&test->number, bytes, length);
	test->numbered = digits && (digits == length || bytes[digits] == ' ');
	if (test->numbered) {
		bytes += digits;
		length -= digits;
		trim(&bytes, &length);
	}
	if (length && *bytes == '-') {
		bytes++;
		length--;
	}
	hash = find_hash(bytes, length);
	if (hash < length)
		test->directive = directive_of(&test->why, &test->why_length, bytes + hash + 1,
					       length - hash - 1);
	test->name = bytes;
	test->name_length = test->directive ? hash : length;
	trim(&test->name, &test->name_length);
	return true;
}

/* --- levels --------------------------------------------------------------------------------------
 */

/* The first fault is the one that is told. */
static void __attribute__((format(printf, 2, 3)))
fault(struct reader *reader, const char *format, ...)
{
	va_list arguments;

	if (*reader->out->fault)
		return;
	va_start(arguments, format);
	vsnprintf(reader->out->fault, sizeof(reader->out->fault), format, arguments);
	va_end(arguments);
}

static struct level *top(struct reader *reader)
{
	return &reader->levels[reader->depth - 1];
}

/* A nested level is over: what failed in it waits for the line that sums it up. */
static void close_level(struct reader *reader)
{
	struct level *level = top(reader), *above = level - 1;

	if (level->planned && level->run != level->plan) {
		if (!level->failed++)
			snprintf(level->first, sizeof(level->first),
				 "nested tests: %u of %u were planned", level->run, level->plan);
	}
	if (!above->failed && level->failed)
		memcpy(above->first, level->first, sizeof(above->first));
	above->failed += level->failed;
	above->nested |= level->run > 0;
	reader->depth--;
}

/* The level that a line of this indentation belongs to; NULL: too deep. */
static struct level *level_at(struct reader *reader, size_t indent)
{
	while (reader->depth > 1 && top(reader)->indent > indent)
		close_level(reader);
	if (top(reader)->indent >= indent)
		return top(reader);
	if (reader->depth == LEVELS_MAX) {
		fault(reader, "tests are nested more than %d deep", LEVELS_MAX);
		return NULL;
	}
	reader->levels[reader->depth++] = (struct level){ .indent = indent };
	return top(reader);
}

static void take_plan(struct reader *reader, struct level *level, unsigned plan, const char *why,
		      size_t why_length)
{
	struct tap *out = reader->out;

	if (level->planned)
		fault(reader, "two plans, 1..%u and 1..%u", level->plan, plan);
	level->planned = true;
	level->plan = plan;
	if (reader->depth > 1)
		return;
	out->seen = true;
	out->skip_all = !plan;
	if (!plan)
		text_printable(out->skip, sizeof(out->skip), why, why_length);
}

/* A failure counts where no line above can forgive it, or waits there. */
static void add_failure(struct reader *reader, unsigned count, const char *first)
{
	struct tap *out = reader->out;

	if (reader->depth > 1) {
		struct level *above = &reader->levels[reader->depth - 2];

		above->nested = true;
		if (!above->failed)
			snprintf(above->first, sizeof(above->first), "%s", first);
		above->failed += count;
		return;
	}
	if (!out->failed)
		snprintf(out->first, sizeof(out->first), "%s", first);
	out->failed += count;
}

static void take_test(struct reader *reader, struct level *level, const struct test *test)
{
	struct tap *out = reader->out;
	char name[160];

	level->run++;
	if (reader->depth == 1 && test->numbered)
		out->seen = true;
	if (test->numbered && test->number != level->run)
		fault(reader, "test %u comes where test %u was expected", test->number, level->run);
	text_printable(name, sizeof(name), test->name, test->name_length);
	if (!*name)
		snprintf(name, sizeof(name), "test %u", level->run);
	if (test->directive == DIRECTIVE_SKIP) {
		if (!out->skipped++)
			text_printable(out->skip, sizeof(out->skip), test->why, test->why_length);
	} else if (test->directive == DIRECTIVE_TODO) {
		out->todo++;
	} else if (level->failed) {
		add_failure(reader, level->failed, level->first);
	} else if (!test->passed) {
		add_failure(reader, 1, name);
	} else if (!level->nested) {
		out->passed++;
	}
	level->failed = 0;
	level->nested = false;
	level->first[0] = '\0';
	reader->test_indent = level->indent;
}

static void take_line(struct reader *reader, const struct line *line)
{
	const bool after_test = reader->after_test;
	const char *why;
	size_t why_length;
	struct level *level;
	struct test test;
	unsigned plan;

	if (reader->yaml) {
		reader->yaml = !(line->indent == reader->yaml_indent && begins(line, "..."));
		return;
	}
	reader->after_test = false;
	if (after_test && line->indent > reader->test_indent && line->length == 3 &&
	    begins(line, "---")) {
		reader->yaml = true;
		reader->yaml_indent = line->indent;
	} else if (begins(line, "Bail out!")) {
		char text[120];

		text_printable(text, sizeof(text), line->bytes + 9, line->length - 9);
		fault(reader, "bailed out%s%s", *text ? ":" : "", text);
		reader->bailed = true;
		reader->out->seen = true;
	} else if (begins(line, "TAP version ") || begins(line, "KTAP version ")) {
		reader->out->seen |= !line->indent;
		level_at(reader, line->indent);
	} else if (read_plan(line, &plan, &why, &why_length)) {
		level = level_at(reader, line->indent);
		if (level)
			take_plan(reader, level, plan, why, why_length);
	} else if (read_test(line, &test)) {
		level = level_at(reader, line->indent);
		if (level)
			take_test(reader, level, &test);
		reader->after_test = true;
	}
}

static void finish(struct reader *reader)
{
	const struct level *base = reader->levels;
	struct tap *out = reader->out;

	while (reader->depth > 1)
		close_level(reader);
	if (reader->yaml)
		fault(reader, "a YAML block has no end");
	if (base->failed) /* nothing summed these up */
		add_failure(reader, base->failed, base->first);
	if (!base->planned)
		fault(reader, "no plan (1..N) after %u tests", base->run);
	else if (base->run != base->plan)
		fault(reader, "%u of %u planned tests reported", base->run, base->plan);
	if (!out->seen)
		out->fault[0] = '\0';
}

void tap_read(struct tap *out, const char *bytes, size_t length)
{
	struct reader reader = { .out = out, .depth = 1, .levels = { { 0 } } };

	*out = (struct tap){ 0 };
	while (length && !reader.bailed) {
		const char *end = memchr(bytes, '\n', length);
		size_t whole = end ? (size_t)(end - bytes) : length;
		struct line line = { .bytes = bytes, .length = whole };

		if (line.length && line.bytes[line.length - 1] == '\r')
			line.length--;
		while (line.length && *line.bytes == ' ') {
			line.indent++;
			line.bytes++;
			line.length--;
		}
		if (line.length)
			take_line(&reader, &line);
		whole += end != NULL;
		bytes += whole;
		length -= whole;
	}
	finish(&reader);
}
