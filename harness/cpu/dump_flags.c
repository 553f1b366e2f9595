/* SPDX-License-Identifier: MIT */
/*
 * Lists of flags by name. The kernel's list tells of every bit that it can name, on or off, but
 * where a paste has damaged it: what was lost there is unknown. Glued and split names are read
 * where there is one way to read them, with a warning.
 *
 * The kernel writes flags in the order of its words and bits. A list that keeps that order tells
 * what a damaged name, or a lost end, can have been. Another list tells only what it names.
 */
#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "harness/cpu/dump_flag_names.h"
#include "harness/cpu/read.h"

#define TOKENS_MAX  1024u
#define NAME_MOST   40u
#define SLOTS	    2048u /* of the hash table: more than twice the names there are */
#define NO_PLACE    (-1)
#define IN_ORDER    16u	  /* so many names in order are the kernel's list, and no accident */
#define FIRST_FLAG  "fpu" /* of every list: all that can run Linux have it */
#define NO_FLAG	    (-1)
#define WITHOUT_BIT 10000 /* + the index in flags_without_bit */

/* What a list made of the flags: kept, since every CPU of a file repeats the same list. */
struct flag_result {
	struct feature_set known, on;
	int rep_good;
};

struct flag_table {
	short slots[SLOTS]; /* 0: free; else the flag + 1 */
	struct feature_set hidden;
	int places[FEATURE_WORDS * 64];
	/* the list that was read last */
	char *last;
	size_t last_length;
	char last_vendor[12];
	bool last_complete;
	struct flag_result result;
};

/* --- names --- */

static const char *flag_name(int flag)
{
	return flag >= WITHOUT_BIT ? flags_without_bit[flag - WITHOUT_BIT] : features[flag].name;
}

static size_t hash(const char *name, size_t length)
{
	uint32_t value = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		value = (value ^ (unsigned char)name[i]) * 16777619u;
	return value % SLOTS;
}

static void put_name(struct flag_table *table, int flag)
{
	const char *name = flag_name(flag);
	size_t slot = hash(name, strlen(name));

	while (table->slots[slot])
		slot = (slot + 1) % SLOTS;
	table->slots[slot] = (short)(flag + 1);
}

static int find_name(const struct flag_table *table, const char *name, size_t length)
{
	if (!length || length > NAME_MOST)
		return NO_FLAG;
	for (size_t slot = hash(name, length); table->slots[slot]; slot = (slot + 1) % SLOTS) {
		const char *other = flag_name(table->slots[slot] - 1);

		if (!strncmp(other, name, length) && !other[length])
			return table->slots[slot] - 1;
	}
	return NO_FLAG;
}

/* A name as a paste has it, maybe in capitals. */
static int find_any_case(const struct flag_table *table, const char *name, size_t length)
{
	int flag = find_name(table, name, length);
	char lower[NAME_MOST];

	if (flag != NO_FLAG || length > NAME_MOST)
		return flag;
	for (size_t i = 0; i < length; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	return find_name(table, lower, length);
}

static struct flag_table *table_of(struct reading *reading)
{
	struct flag_table *table;

	if (reading->flags)
		return reading->flags;
	table = reading->flags = xcalloc(1, sizeof(*table));
	for (int i = 0; i < (int)feature_count; i++) {
		put_name(table, i);
		table->places[i] = flag_place(&features[i]);
	}
	for (int i = 0; i < (int)flags_without_bit_count; i++)
		put_name(table, WITHOUT_BIT + i);
	for (size_t i = 0; i < flags_hidden_count; i++) {
		int flag = find_name(table, flags_hidden[i], strlen(flags_hidden[i]));

		if (flag >= 0 && flag < WITHOUT_BIT)
			feature_put(&table->hidden, flag, true);
	}
	return table;
}

void flags_free(struct flag_table *table)
{
	if (table)
		free(table->last);
	free(table);
}

/* --- tokens --- */

struct token {
	const char *at;
	size_t length;
	unsigned line;
	bool last_of_line;
	int flag;
};

struct tokens {
	struct token list[TOKENS_MAX];
	size_t count;
};

/* "v_vms" at the end of a line, "ave_vmload" at the start of the next: one name, if it is one. */
static int join(const struct flag_table *table, const struct token *token, const struct token *next)
{
	char joined[NAME_MOST + 1];

	if (!token->last_of_line || (token->flag != NO_FLAG && next->flag != NO_FLAG) ||
	    token->length + next->length > NAME_MOST)
		return NO_FLAG;
	memcpy(joined, token->at, token->length);
	memcpy(joined + token->length, next->at, next->length);
	return find_name(table, joined, token->length + next->length);
}

/* The tokens of one line, added to the others. */
static void cut_line(struct tokens *tokens, const struct line *line, const struct flag_table *table)
{
	const char *at = line->at;

	while (at < line->end && tokens->count < TOKENS_MAX) {
		size_t length = 0;

		while (at < line->end && (*at == ' ' || *at == ','))
			at++;
		while (at + length < line->end && at[length] != ' ' && at[length] != ',')
			length++;
		if (!length)
			break;
		tokens->list[tokens->count++] = (struct token){ at, length, line->number, false,
								find_any_case(table, at, length) };
		at += length;
	}
	if (tokens->count)
		tokens->list[tokens->count - 1].last_of_line = true;
}

/* "smapxsaveopt": where the second name begins; 0 where there is no way to read it, or several. */
static size_t split(const struct flag_table *table, const struct token *token)
{
	size_t found = 0;

	for (size_t i = 2; i + 2 <= token->length; i++) {
		if (find_name(table, token->at, i) == NO_FLAG ||
		    find_name(table, token->at + i, token->length - i) == NO_FLAG)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* Whether a longer name begins with these bytes. */
static bool may_go_on(const char *at, size_t length)
{
	for (size_t i = 0; i < feature_count; i++)
		if (!strncmp(features[i].name, at, length) && features[i].name[length])
			return true;
	for (size_t i = 0; i < flags_without_bit_count; i++)
		if (!strncmp(flags_without_bit[i], at, length) && flags_without_bit[i][length])
			return true;
	return false;
}

/* What a line behind the first one of a list is. */
enum line_is { LINE_OF_LIST, LINE_OF_PROSE, LINE_WITHOUT_NAMES };

/*
 * Whether the tokens from `first` on go on with the list: most of them are names. A sentence that
 * mentions a few flags ("clwb or avx512f may matter") does not say that the CPU has them.
 */
static enum line_is judge_line(const struct tokens *tokens, size_t first,
			       const struct flag_table *table)
{
	size_t names = 0, strangers = 0;

	for (size_t i = first; i < tokens->count; i++) {
		const struct token *token = &tokens->list[i];

		if (token->flag != NO_FLAG || split(table, token) ||
		    (i && i == first && join(table, token - 1, token) != NO_FLAG))
			names++;
		else if (!token->last_of_line || !may_go_on(token->at, token->length))
			strangers++;
	}
	if (!names)
		return LINE_WITHOUT_NAMES;
	return names > strangers ? LINE_OF_LIST : LINE_OF_PROSE;
}

/*
 * All lines that belong to the list. Behind it there may be prose, or the dots of who cut it.
 * Returns false for the dots, and for a line that may be of the list for all one can tell.
 */
static bool cut_tokens(struct reading *reading, struct tokens *tokens, const struct flag_list *list,
		       const struct flag_table *table)
{
	tokens->count = 0;
	for (size_t i = 0; i < list->line_count; i++) {
		size_t first = tokens->count;
		enum line_is is;

		cut_line(tokens, &list->lines[i], table);
		is = i ? judge_line(tokens, first, table) : LINE_OF_LIST;
		if (is == LINE_OF_LIST)
			continue;
		tokens->count = first;
		if (is == LINE_WITHOUT_NAMES)
			return !line_find(&list->lines[i], "...");
		reading_warn(reading, list->lines[i].number,
			     "more prose than flags: the flags that it mentions are not read");
		return false;
	}
	return true;
}

/* --- the kernel's list --- */

/* Between these places a name may have been lost. */
struct gap {
	int from, to;
};
#define GAPS_MAX 64u

struct list_state {
	struct flag_table *table;
	const char *vendor;
	struct flag_result *result;
	struct feature_set seen;
	struct gap gaps[GAPS_MAX];
	size_t gap_count;
	bool open_gap; /* the last one has no end yet */
	int last;      /* place of the last name that has one */
	unsigned placed;
	bool in_order;
	bool cut;	 /* the end of the list may be lost */
	unsigned kernel; /* as old as this, or younger */
};

static void put_place(struct list_state *state, int place)
{
	if (place == NO_PLACE)
		return;
	state->in_order &= place > state->last;
	if (state->open_gap)
		state->gaps[state->gap_count - 1].to = place;
	state->open_gap = false;
	state->last = place;
	state->placed++;
}

static void take(struct list_state *state, int flag)
{
	const char *name = flag_name(flag), *other = flag_of_vendor(name, state->vendor);
	unsigned since = flag_since(name);
	int place = NO_PLACE;

	if (since > state->kernel)
		state->kernel = since;
	if (!strcmp(name, "rep_good"))
		state->result->rep_good = 1;
	if (flag < WITHOUT_BIT)
		feature_put(&state->seen, flag, true);
	if (other)
		flag = *other ? find_name(state->table, other, strlen(other)) : NO_FLAG;
	else if (flag < WITHOUT_BIT)
		place = state->table->places[flag];
	if (flag != NO_FLAG && flag < WITHOUT_BIT) {
		feature_put(&state->result->known, flag, true);
		feature_put(&state->result->on, flag, true);
	}
	put_place(state, place);
}

static void damage(struct list_state *state)
{
	if (state->open_gap)
		return;
	if (state->gap_count == GAPS_MAX) {
		state->in_order = false;
		return;
	}
	state->gaps[state->gap_count++] = (struct gap){ state->last, INT32_MAX };
	state->open_gap = true;
}

/* One token that is no name; returns how many tokens were used up. */
static size_t mend(struct reading *reading, struct list_state *state, const struct tokens *tokens,
		   size_t i)
{
	const struct token *token = &tokens->list[i];
	int length = token->length < NAME_MOST ? (int)token->length : (int)NAME_MOST;
	size_t at = split(state->table, token);

	if (at) {
		reading_warn(reading, token->line, "'%.*s' read as two flags, '%.*s' and '%.*s'",
			     length, token->at, (int)at, token->at, length - (int)at,
			     token->at + at);
		take(state, find_name(state->table, token->at, at));
		take(state, find_name(state->table, token->at + at, token->length - at));
		return 1;
	}
	damage(state);
	if (i + 1 == tokens->count && may_go_on(token->at, token->length))
		reading_warn(reading, token->line, "the list of flags is cut off in '%.*s'", length,
			     token->at);
	else
		reading_warn(reading, token->line, "unknown flag '%.*s'", length, token->at);
	return 1;
}

static bool has_taken(const struct list_state *state, int flag)
{
	return flag != NO_FLAG && flag < WITHOUT_BIT && feature_in(&state->seen, flag);
}

/* Kernels of 2010 called two bits "dts": the debug store, and far behind it the thermal sensor. */
static int flag_of(const struct list_state *state, const struct token *token)
{
	int sensor = find_name(state->table, "dtherm", strlen("dtherm"));

	if (token->flag == find_name(state->table, "dts", strlen("dts")) &&
	    has_taken(state, token->flag) && !has_taken(state, sensor) &&
	    has_taken(state, find_name(state->table, "pln", strlen("pln"))))
		return sensor;
	return token->flag;
}

/* Of these no kernel has written the name: here it is another one, damaged. */
static bool is_never_written(const struct list_state *state, int flag)
{
	return flag < WITHOUT_BIT && features[flag].dispatch &&
	       feature_in(&state->table->hidden, flag);
}

static void read_tokens(struct reading *reading, struct list_state *state,
			const struct tokens *tokens)
{
	if (tokens->count && tokens->list[0].flag != find_name(state->table, FIRST_FLAG, 3)) {
		reading_warn(reading, tokens->list[0].line,
			     "the list of flags does not begin with '" FIRST_FLAG
			     "': its beginning may be lost");
		damage(state);
	}
	for (size_t i = 0; i < tokens->count;) {
		const struct token *token = &tokens->list[i], *next = token + 1;
		int joined = i + 1 < tokens->count ? join(state->table, token, next) : NO_FLAG;
		int flag = flag_of(state, token);

		if (joined != NO_FLAG) {
			reading_warn(reading, token->line,
				     "'%.*s' and '%.*s' of line %u read as one flag",
				     (int)token->length, token->at, (int)next->length, next->at,
				     next->line);
			take(state, joined);
			i += 2;
		} else if (flag == NO_FLAG) {
			i += mend(reading, state, tokens, i);
		} else if (state->cut && i + 1 == tokens->count &&
			   may_go_on(token->at, token->length)) {
			reading_warn(reading, token->line,
				     "the list of flags ends in '%.*s', which may be cut",
				     (int)token->length, token->at);
			damage(state);
			i++;
		} else if (has_taken(state, flag)) {
			/* The kernel names each once: here it is a piece of another name. */
			reading_warn(reading, token->line, "flag '%.*s' is there twice",
				     (int)token->length, token->at);
			damage(state);
			i++;
		} else if (is_never_written(state, flag)) {
			reading_warn(
				reading, token->line,
				"flag '%.*s' is one that Linux never names: it may be another, "
				"damaged",
				(int)token->length, token->at);
			damage(state);
			i++;
		} else {
			take(state, flag);
			i++;
		}
	}
}

/* Whether a name that is not in the list may all the same have been in the original. */
static bool may_be_lost(const struct list_state *state, int feature)
{
	bool ordered = state->in_order && state->placed >= IN_ORDER;
	int place = state->table->places[feature];

	if (!state->gap_count && !state->cut)
		return false;
	if (!ordered || place == NO_PLACE || (state->cut && place > state->last))
		return true;
	for (size_t i = 0; i < state->gap_count; i++)
		if (place > state->gaps[i].from && place < state->gaps[i].to)
			return true;
	return false;
}

/* What the list does not name, and could: off. */
static void note_missing(struct reading *reading, struct list_state *state)
{
	struct flag_result *result = state->result;
	char unsure[200] = "";

	for (int i = 0; i < (int)feature_count; i++) {
		unsigned since;

		if (feature_in(&result->known, i) || feature_in(&state->table->hidden, i) ||
		    flag_of_vendor(features[i].name, state->vendor) || may_be_lost(state, i))
			continue;
		since = flag_since(features[i].name);
		if (since <= state->kernel) {
			feature_put(&result->known, i, true);
		} else if (features[i].dispatch &&
			   strlen(unsure) + strlen(features[i].name) + 2 < sizeof(unsure)) {
			strcat(unsure, " ");
			strcat(unsure, features[i].name);
		}
	}
	if (*unsure)
		reading_warn(reading, 0,
			     "not in the list of flags, but nothing shows that the kernel was "
			     "young enough to name them:%s",
			     unsure);
}

static bool same_list(const struct flag_table *table, const struct flag_list *list,
		      const char *vendor)
{
	const char *from = list->lines[0].at, *to = list->lines[list->line_count - 1].end;

	return table->last && table->last_length == (size_t)(to - from) &&
	       table->last_complete == list->complete && !memcmp(table->last_vendor, vendor, 12) &&
	       !memcmp(table->last, from, table->last_length);
}

static void remember(struct flag_table *table, const struct flag_list *list, const char *vendor)
{
	const char *from = list->lines[0].at, *to = list->lines[list->line_count - 1].end;

	free(table->last);
	table->last_length = (size_t)(to - from);
	table->last = xmalloc(table->last_length);
	memcpy(table->last, from, table->last_length);
	memcpy(table->last_vendor, vendor, 12);
	table->last_complete = list->complete;
}

/* Rows of feature.c lie register by register, so that each is written once. */
static void write_result(struct reading *reading, const struct flag_result *result)
{
	uint32_t value = 0, known = 0;

	for (size_t i = 0; i < feature_count; i++) {
		const struct feature *feature = &features[i], *next = feature + 1;

		if (feature_in(&result->known, (int)i))
			known |= 1u << feature->bit;
		if (feature_in(&result->on, (int)i))
			value |= 1u << feature->bit;
		if (i + 1 < feature_count && next->leaf == feature->leaf &&
		    next->subleaf == feature->subleaf && next->reg == feature->reg)
			continue;
		if (known)
			reading_bits(reading, feature->leaf, feature->subleaf, feature->reg, value,
				     known);
		value = known = 0;
	}
	if (result->rep_good >= 0)
		reading->rep_good = result->rep_good;
}

static void vendor_of(const struct reading *reading, char *vendor)
{
	memset(vendor, 0, 12);
	for (size_t i = 0; i < reading->leaf_count; i++) {
		const struct dump_leaf *leaf = &reading->leaves[i];

		if (leaf->leaf || leaf->subleaf)
			continue;
		memcpy(vendor, &leaf->reg[CPUID_EBX], 4);
		memcpy(vendor + 4, &leaf->reg[CPUID_EDX], 4);
		memcpy(vendor + 8, &leaf->reg[CPUID_ECX], 4);
	}
}

bool flags_name_lm(const struct flag_list *list)
{
	for (size_t i = 0; i < list->line_count; i++) {
		const char *end = list->lines[i].end;

		for (const char *at = list->lines[i].at, *next; at < end; at = next) {
			at = scan_blanks(at);
			next = at + strcspn(at, " \n");
			if (next - at == 2 && !strncasecmp(at, "lm", 2))
				return true;
		}
	}
	return false;
}

void read_kernel_flags(struct reading *reading, const struct flag_list *list)
{
	struct flag_table *table = table_of(reading);
	struct list_state state = { .table = table,
				    .result = &table->result,
				    .last = NO_PLACE,
				    .in_order = true,
				    .kernel = list->kernel_least };
	struct tokens *tokens;
	char vendor[12];

	if (!list->line_count)
		return;
	vendor_of(reading, vendor);
	if (same_list(table, list, vendor)) {
		write_result(reading, &table->result);
		return;
	}
	remember(table, list, vendor);
	table->result = (struct flag_result){ .rep_good = -1 };
	state.vendor = vendor;
	tokens = xmalloc(sizeof(*tokens));
	state.cut = !cut_tokens(reading, tokens, list, table) || !list->complete;
	read_tokens(reading, &state, tokens);
	if (tokens->count == TOKENS_MAX)
		damage(&state);
	if (state.cut)
		reading_warn(reading, 0,
			     "nothing shows that the list of flags is whole: one of its end that "
			     "is missing is unknown, not off");
	if (tokens->count)
		note_missing(reading, &state);
	free(tokens);
	write_result(reading, &table->result);
}

/* --- other systems' lists --- */

static bool take_named(struct reading *reading, const char *at, size_t length,
		       const struct flag_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(names[i].name) != length || strncasecmp(names[i].name, at, length))
			continue;
		if (reading && names[i].leaf != FLAG_NOT_KEPT)
			reading_bits(reading, names[i].leaf, names[i].subleaf, names[i].reg,
				     1u << names[i].bit, 1u << names[i].bit);
		return true;
	}
	return false;
}

/* As judge_line: names of either system are more than other words. */
static bool is_named_line(const struct tokens *tokens, size_t first, const struct flag_name *names,
			  size_t count)
{
	size_t known = 0;

	for (size_t i = first; i < tokens->count; i++) {
		const struct token *token = &tokens->list[i];

		known += token->flag != NO_FLAG ||
			 take_named(NULL, token->at, token->length, names, count);
	}
	return known * 2 > tokens->count - first;
}

/* A name that a wrap broke in two, or that the end of the text may have cut. */
static bool is_broken(const struct tokens *tokens, size_t i, const struct flag_name *names,
		      size_t count, char joined[NAME_MOST + 1])
{
	const struct token *token = &tokens->list[i], *next = token + 1;

	if (i + 1 == tokens->count || !token->last_of_line ||
	    token->length + next->length > NAME_MOST)
		return false;
	memcpy(joined, token->at, token->length);
	memcpy(joined + token->length, next->at, next->length);
	joined[token->length + next->length] = '\0';
	return take_named(NULL, joined, strlen(joined), names, count);
}

/* A name of Linux for a bit that the other system calls otherwise. */
static bool is_named_otherwise(int flag, const struct flag_name *names, size_t count)
{
	if (flag < 0 || flag >= (int)feature_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (names[i].leaf == features[flag].leaf &&
		    names[i].subleaf == features[flag].subleaf &&
		    names[i].reg == features[flag].reg && names[i].bit == features[flag].bit)
			return true;
	return false;
}

/* Once is enough: a second one is a piece of another name. */
static void warn_twice(struct reading *reading, const struct tokens *tokens, size_t i)
{
	const struct token *token = &tokens->list[i];

	for (size_t j = 0; j < i; j++) {
		if (tokens->list[j].length != token->length ||
		    strncasecmp(tokens->list[j].at, token->at, token->length))
			continue;
		reading_warn(reading, token->line,
			     "flag '%.*s' is there twice: one of them may be a piece of another",
			     (int)token->length, token->at);
		return;
	}
}

static void add_stranger(char *names, size_t room, const struct token *token)
{
	size_t used = strlen(names);

	snprintf(names + used, room - used, " %.*s",
		 token->length < NAME_MOST ? (int)token->length : (int)NAME_MOST, token->at);
}

void read_named_flags(struct reading *reading, const struct flag_list *list,
		      const struct flag_name *names, size_t count)
{
	const struct flag_table *table = table_of(reading);
	struct tokens *tokens = xcalloc(1, sizeof(*tokens));
	char joined[NAME_MOST + 1], strangers[120] = "";

	for (size_t i = 0; i < list->line_count; i++) {
		size_t first = tokens->count;

		cut_line(tokens, &list->lines[i], table);
		if (!i || is_named_line(tokens, first, names, count))
			continue;
		tokens->count = first;
		reading_warn(reading, list->lines[i].number,
			     "no line of flags: what it mentions is not read");
		break;
	}
	for (size_t i = 0; i < tokens->count; i++) {
		const struct token *token = &tokens->list[i];

		if (is_broken(tokens, i, names, count, joined)) {
			take_named(reading, joined, strlen(joined), names, count);
			i++;
		} else if (i + 1 < tokens->count || token->at[token->length]) {
			warn_twice(reading, tokens, i);
			if (!take_named(reading, token->at, token->length, names, count) &&
			    (token->flag == NO_FLAG ||
			     is_named_otherwise(token->flag, names, count)))
				add_stranger(strangers, sizeof(strangers), token);
		} else {
			reading_warn(reading, token->line,
				     "the text ends in a flag, which may be "
				     "cut: unknown");
		}
	}
	if (*strangers)
		reading_warn(reading, list->lines[0].number,
			     "flags that are unknown, or damaged:%s", strangers);
	if (tokens->count && !list->complete)
		reading_warn(reading, list->lines[0].number,
			     "nothing shows that this list of flags is whole");
	free(tokens);
}
