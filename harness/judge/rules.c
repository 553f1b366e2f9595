// SPDX-License-Identifier: MIT
/* Reads a rule file and finds the first row that holds. */
#include "harness/judge/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/number.h"
#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

enum column { FACT, SINCE, BEFORE, VENDOR, FAMILY, MODEL, STEPPING, WHEN, VALUE, SOURCE, COLUMNS };
static const char *const column_names[] = {
	[FACT] = "fact",     [SINCE] = "since",	  [BEFORE] = "before",	   [VENDOR] = "vendor",
	[FAMILY] = "family", [MODEL] = "model",	  [STEPPING] = "stepping", [WHEN] = "when",
	[VALUE] = "value",   [SOURCE] = "source",
};
#define IDENTITY "vendor,family,model,stepping"

struct rules {
	struct table table;
	struct text depends;
};

/* --- words ----------------------------------------------------------------------------------- */

/* The next word of a list and its length, 0 at the end. */
static const char *next_word(const char *list, char separator, size_t *length)
{
	while (*list == separator)
		list++;
	*length = (size_t)(strchrnul(list, separator) - list);
	return list;
}

static bool has_word(const char *list, char separator, const char *word)
{
	size_t length;

	for (const char *at = next_word(list, separator, &length); length;
	     at = next_word(at + length, separator, &length))
		if (length == strlen(word) && !memcmp(at, word, length))
			return true;
	return false;
}

/*
 * NAME=VALUE: the last word that begins with NAME= is this one, as the kernel has it. NAME: it is
 * there, with a value or without.
 */
static bool has_option(const char *options, const char *option)
{
	const size_t name = strcspn(option, "="), whole = strlen(option);
	bool found = false;
	size_t length;

	for (const char *at = next_word(options, ' ', &length); length;
	     at = next_word(at + length, ' ', &length)) {
		if (length < name || memcmp(at, option, name) || (length > name && at[name] != '='))
			continue;
		found = name == whole || (length == whole && !memcmp(at, option, whole));
	}
	return found;
}

/* Major and minor as one number, so that 6.12 is above 6.1; 0 for none. */
static unsigned version_read(const char *text)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10), minor = 0;

	if (end == text || major > 999)
		return 0;
	if (*end == '.')
		minor = strtoul(end + 1, &end, 10);
	return minor > 999 ? 0 : (unsigned)(major * 1000 + minor);
}

/* As a row has it: digits, perhaps a point and digits, and nothing else. */
static bool is_version(const char *text)
{
	static const char digits[] = "0123456789";
	size_t length = strspn(text, digits);

	if (length && text[length] == '.')
		length += 1 + strspn(text + length + 1, digits);
	return length && !text[length] && text[length - 1] != '.' && version_read(text);
}

/* --- conditions ------------------------------------------------------------------------------ */

enum kind { BIT, OPTION, FLAG, BUILT, SAYS, MICROCODE, OTHER_FACT };
static const struct {
	const char *begins;
	enum kind kind;
} kinds[] = {
	{ "option:", OPTION },	      { "flag:", FLAG }, { "built:", BUILT }, { "says:", SAYS },
	{ "microcode<=", MICROCODE },
};

struct condition {
	bool negated;
	enum kind kind;
	char what[64];	/* a bit, a word, a number, or the name of a fact, */
	char value[32]; /* and its value */
};

/* One word of `when`; false where it is none. A bit is one by its name in the kernel. */
static bool condition_read(struct condition *condition, const char *word, size_t length)
{
	char *equals;

	*condition = (struct condition){ .negated = *word == '!' };
	word += condition->negated;
	length -= condition->negated;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t begins = strlen(kinds[i].begins);

		if (strncmp(word, kinds[i].begins, begins))
			continue;
		condition->kind = kinds[i].kind;
		word += begins;
		length -= begins;
		break;
	}
	if (!length || length >= sizeof(condition->what))
		return false;
	memcpy(condition->what, word, length);
	if (condition->kind != BIT)
		return true;
	equals = strchr(condition->what, '=');
	if (!equals)
		return feature_find(condition->what) >= 0;
	*equals = '\0';
	condition->kind = OTHER_FACT;
	return snprintf(condition->value, sizeof(condition->value), "%s", equals + 1) <
	       (int)sizeof(condition->value);
}

enum truth { NO, YES, OPEN };

static enum truth holds(const struct rules *rules, const struct condition *condition,
			const struct rules_case *of)
{
	const char *value;
	uint64_t revision;
	bool is = false;

	switch (condition->kind) {
	case BIT:
		is = feature_in(&of->cpu->on, feature_find(condition->what));
		break;
	case OPTION:
		is = has_option(of->options, condition->what);
		break;
	case FLAG:
		is = has_word(of->flags, ' ', condition->what);
		break;
	case BUILT:
		is = has_word(of->built, ' ', condition->what);
		break;
	case SAYS:
		is = has_word(of->says, ' ', condition->what);
		break;
	case MICROCODE:
		is = number_read(condition->what, UINT32_MAX, &revision) &&
		     of->microcode <= revision;
		break;
	case OTHER_FACT:
		value = rules_value(rules, condition->what, of);
		if (!strcmp(value, RULES_OPEN))
			return OPEN;
		is = !strcmp(value, condition->value);
		break;
	}
	return is != condition->negated ? YES : NO;
}

/* --- rows ------------------------------------------------------------------------------------ */

static const char *cell(const struct rules *rules, size_t row, enum column column)
{
	return table_cell(&rules->table, row, (int)column);
}

/* Numbers, separated by commas; none: any. */
static bool in_list(const char *list, unsigned number)
{
	size_t length;
	const char *at = next_word(list, ',', &length);

	if (!length)
		return true;
	for (; length; at = next_word(at + length, ',', &length))
		if (strtoul(at, NULL, at[0] == '0' && (at[1] | 0x20) == 'x' ? 16 : 10) == number)
			return true;
	return false;
}

static bool is_list(const char *list, uint64_t most)
{
	size_t length;
	uint64_t number;

	if (*list && !list[strspn(list, ",")]) /* it would stand for any */
		return false;
	for (const char *at = next_word(list, ',', &length); length;
	     at = next_word(at + length, ',', &length)) {
		char text[16];

		if (length >= sizeof(text))
			return false;
		memcpy(text, at, length);
		text[length] = '\0';
		if (!number_read(text, most, &number))
			return false;
	}
	return true;
}

static bool is_about(const struct rules *rules, size_t row, const char *fact,
		     const struct rules_case *of)
{
	const unsigned version = version_read(of->version);
	const char *before = cell(rules, row, BEFORE), *vendor = cell(rules, row, VENDOR);

	return !strcmp(cell(rules, row, FACT), fact) &&
	       version >= version_read(cell(rules, row, SINCE)) &&
	       (!*before || version < version_read(before)) &&
	       (!*vendor || !strcmp(vendor, of->cpu->vendor)) &&
	       in_list(cell(rules, row, FAMILY), of->cpu->family) &&
	       in_list(cell(rules, row, MODEL), of->cpu->model) &&
	       in_list(cell(rules, row, STEPPING), of->cpu->stepping);
}

/* All of its conditions; one that does not hold decides, whatever is open. */
static enum truth row_holds(const struct rules *rules, size_t row, const struct rules_case *of)
{
	enum truth all = YES;
	size_t length;

	for (const char *at = next_word(cell(rules, row, WHEN), ' ', &length); length;
	     at = next_word(at + length, ' ', &length)) {
		struct condition condition;
		enum truth one;

		condition_read(&condition, at, length);
		one = holds(rules, &condition, of);
		if (one == NO)
			return NO;
		if (one == OPEN)
			all = OPEN;
	}
	return all;
}

const char *rules_value(const struct rules *rules, const char *fact, const struct rules_case *of)
{
	for (size_t row = 0; row < rules->table.row_count; row++) {
		enum truth truth;

		if (!is_about(rules, row, fact, of))
			continue;
		truth = row_holds(rules, row, of);
		if (truth == OPEN)
			return RULES_OPEN;
		if (truth == YES)
			return cell(rules, row, VALUE);
	}
	return "";
}

/* --- reading --------------------------------------------------------------------------------- */

static int refuse(const struct rules *rules, size_t row, enum column column, const char *expected,
		  struct error *err)
{
	return error_set(err, ERROR_INPUT, "%s:%u: %s is '%.60s'; expected %s", rules->table.path,
			 rules->table.lines[row], column_names[column], cell(rules, row, column),
			 expected);
}

/* Every row of a fact is above the rows that look at it: no rule can ask itself. */
static bool is_above(const struct rules *rules, const char *fact, size_t row)
{
	bool found = false;

	for (size_t i = 0; i < rules->table.row_count; i++) {
		if (strcmp(cell(rules, i, FACT), fact))
			continue;
		if (i >= row)
			return false;
		found = true;
	}
	return found;
}

static bool is_given(const struct rules *rules, const struct condition *condition)
{
	for (size_t i = 0; i < rules->table.row_count; i++)
		if (!strcmp(cell(rules, i, FACT), condition->what) &&
		    !strcmp(cell(rules, i, VALUE), condition->value))
			return true;
	return false;
}

/* A bit by its name in the table, whatever the spelling of the condition; each once. */
static void add_depends(struct rules *rules, const struct condition *condition)
{
	const char *bit = features[feature_find(condition->what)].name;

	if (!has_word(text_string(&rules->depends), ',', bit))
		text_addf(&rules->depends, ",%s", bit);
}

static int check_when(struct rules *rules, size_t row, struct error *err)
{
	size_t length;

	for (const char *at = next_word(cell(rules, row, WHEN), ' ', &length); length;
	     at = next_word(at + length, ' ', &length)) {
		struct condition condition;
		uint64_t number;

		if (!condition_read(&condition, at, length) ||
		    (condition.kind == MICROCODE &&
		     !number_read(condition.what, UINT32_MAX, &number)))
			return refuse(rules, row, WHEN,
				      "CPUID bits, FACT=VALUE, option:WORD, flag:WORD, built:WORD, "
				      "says:WORD or microcode<=NUMBER, each perhaps after a !",
				      err);
		if (condition.kind == OTHER_FACT && !is_above(rules, condition.what, row))
			return refuse(rules, row, WHEN, "facts whose rows are all above", err);
		if (condition.kind == OTHER_FACT && !is_given(rules, &condition))
			return refuse(rules, row, WHEN, "values that a row above gives", err);
		if (condition.kind == BIT)
			add_depends(rules, &condition);
	}
	return 0;
}

static int check_row(struct rules *rules, size_t row, struct error *err)
{
	if (!*cell(rules, row, FACT) || strchr(cell(rules, row, FACT), ' '))
		return refuse(rules, row, FACT, "a word", err);
	if (!is_version(cell(rules, row, SINCE)))
		return refuse(rules, row, SINCE, "a version, such as 6.1", err);
	if (*cell(rules, row, BEFORE) && !is_version(cell(rules, row, BEFORE)))
		return refuse(rules, row, BEFORE, "a version, or nothing", err);
	if (*cell(rules, row, VENDOR) && strlen(cell(rules, row, VENDOR)) != 12)
		return refuse(rules, row, VENDOR, "the 12 bytes of a vendor, or nothing", err);
	if (!is_list(cell(rules, row, FAMILY), FAMILY_MAX))
		return refuse(rules, row, FAMILY, "numbers and commas", err);
	if (!is_list(cell(rules, row, MODEL), MODEL_MAX))
		return refuse(rules, row, MODEL, "numbers and commas", err);
	if (!is_list(cell(rules, row, STEPPING), STEPPING_MAX))
		return refuse(rules, row, STEPPING, "numbers and commas", err);
	if (!*cell(rules, row, VALUE) || strchr(cell(rules, row, VALUE), ' ') ||
	    strlen(cell(rules, row, VALUE)) >= sizeof(((struct condition *)0)->value))
		return refuse(rules, row, VALUE, "a word", err);
	return check_when(rules, row, err);
}

int rules_read(struct rules **out, const char *path, struct error *err)
{
	struct rules *rules = xcalloc(1, sizeof(*rules));

	*out = NULL;
	text_addf(&rules->depends, IDENTITY);
	if (table_read(&rules->table, path, err))
		goto fail;
	for (int i = 0; i < COLUMNS; i++)
		if (table_column(&rules->table, column_names[i]) != i) {
			error_set(err, ERROR_INPUT, "%s:1: column %d must be '%s'", path, i + 1,
				  column_names[i]);
			goto fail;
		}
	for (size_t row = 0; row < rules->table.row_count; row++)
		if (check_row(rules, row, err))
			goto fail;
	*out = rules;
	return 0;
fail:
	rules_free(rules);
	return -1;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	table_free(&rules->table);
	text_free(&rules->depends);
	free(rules);
}

bool rules_have(const struct rules *rules, const char *fact)
{
	return is_above(rules, fact, rules->table.row_count);
}

const char *rules_depends(const struct rules *rules)
{
	return text_string(&rules->depends);
}
