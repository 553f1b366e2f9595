// SPDX-License-Identifier: MIT
/*
 * What a paste does to a dump, done to every example: the same text in other clothes must say the
 * same, and a text with something lost or damaged must say less, with a warning, and never anything
 * else. QUIRKLAB_MUTATE="FILE..." does it to other files, and prints what it counted.
 */
#include <check.h>
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cpu/dump.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

Suite *suite_mutations(void);

#define DUMPS "tests/unit/dumps/"
#define SEEDS "tests/fuzz/seeds/"

/* --- mutations --- */

enum family {
	CLOTHES, /* the same said otherwise: all of it is still there */
	LOSS,	 /* something is lost or damaged */
};

struct source {
	const char *bytes; /* '\n' at the ends of lines, one byte a letter */
	size_t length, lines;
};

struct mutation {
	const char *name;
	enum family family;
	/* Writes variant `step`, from 0; false where there is no such. */
	bool (*make)(struct text *out, const struct source *in, size_t step, const char *argument);
	const char *argument;
	size_t most; /* variants, evenly chosen; 0: one */
};

static const char *line_end(const struct source *in, const char *at)
{
	const char *end = memchr(at, '\n', (size_t)(in->bytes + in->length - at));

	return end ? end : in->bytes + in->length;
}

/* Each line behind the argument. */
static bool before_lines(struct text *out, const struct source *in, size_t step,
			 const char *argument)
{
	const char *stop = in->bytes + in->length;

	(void)step;
	for (const char *at = in->bytes, *end; at < stop; at = end + 1) {
		end = line_end(in, at);
		text_addf(out, "%s%.*s%s", argument, (int)(end - at), at, end < stop ? "\n" : "");
	}
	return true;
}

/* Each line with the argument behind it. */
static bool behind_lines(struct text *out, const struct source *in, size_t step,
			 const char *argument)
{
	const char *stop = in->bytes + in->length;

	(void)step;
	for (const char *at = in->bytes, *end; at < stop; at = end + 1) {
		end = line_end(in, at);
		text_addf(out, "%.*s%s%s", (int)(end - at), at, argument, end < stop ? "\n" : "");
	}
	return true;
}

/* Broken off after so many columns, whatever stands there. */
static bool hard_wrap(struct text *out, const struct source *in, size_t step, const char *argument)
{
	size_t width = strtoul(argument, NULL, 10), column = 0;

	(void)step;
	for (size_t i = 0; i < in->length; i++) {
		if (in->bytes[i] != '\n' && column == width) {
			text_add(out, "\n", 1);
			column = 0;
		}
		text_add(out, &in->bytes[i], 1);
		column = in->bytes[i] == '\n' ? 0 : column + 1;
	}
	return true;
}

/* Broken off at the last blank that fits, which goes; what has no blank stays long. */
static bool soft_wrap(struct text *out, const struct source *in, size_t step, const char *argument)
{
	size_t width = strtoul(argument, NULL, 10);
	const char *stop = in->bytes + in->length;

	(void)step;
	for (const char *at = in->bytes, *end; at < stop; at = end + 1) {
		end = line_end(in, at);
		while ((size_t)(end - at) > width) {
			const char *blank = memrchr(at, ' ', width);
			const char *word = at;

			while (word < end && (*word == ' ' || *word == '\t'))
				word++;
			if (!blank || blank <= word)
				break;
			text_addf(out, "%.*s\n", (int)(blank - at), at);
			at = blank + 1;
		}
		text_addf(out, "%.*s%s", (int)(end - at), at, end < stop ? "\n" : "");
	}
	return true;
}

static bool lines_end_in(struct text *out, const struct source *in, size_t step,
			 const char *argument)
{
	(void)step;
	for (size_t i = 0; i < in->length; i++)
		if (in->bytes[i] == '\n')
			text_addf(out, "%s", argument);
		else
			text_add(out, &in->bytes[i], 1);
	return true;
}

/* "LM": UTF-16, little endian, with its mark. */
static bool wide(struct text *out, const struct source *in, size_t step, const char *argument)
{
	bool little = argument[0] == 'L';

	(void)step;
	if (argument[1] == 'M')
		text_add(out, little ? "\xFF\xFE" : "\xFE\xFF", 2);
	for (size_t i = 0; i < in->length; i++) {
		if (!little)
			text_add(out, "", 1);
		text_add(out, &in->bytes[i], 1);
		if (little)
			text_add(out, "", 1);
	}
	return true;
}

static bool prepend(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)step;
	text_addf(out, "%s", argument);
	text_add(out, in->bytes, in->length);
	return true;
}

static bool append(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)step;
	text_add(out, in->bytes, in->length);
	if (in->length && in->bytes[in->length - 1] != '\n')
		text_add(out, "\n", 1);
	text_addf(out, "%s", argument);
	return true;
}

/* "\t>    ": each of the first letter becomes the rest. */
static bool replace(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)step;
	for (size_t i = 0; i < in->length; i++)
		if (in->bytes[i] == argument[0])
			text_addf(out, "%s", argument + 1);
		else
			text_add(out, &in->bytes[i], 1);
	return true;
}

/* Runs of two blanks or more become a tab, as some mailers and tables do. */
static bool blanks_to_tab(struct text *out, const struct source *in, size_t step,
			  const char *argument)
{
	(void)step;
	(void)argument;
	for (size_t i = 0; i < in->length; i++) {
		size_t run = 0;

		while (i + run < in->length && in->bytes[i + run] == ' ')
			run++;
		text_add(out, run > 1 ? "\t" : &in->bytes[i], 1);
		i += run > 1 ? run - 1 : 0;
	}
	return true;
}

/* Runs of blanks and tabs become one blank, those at the beginning of a line nothing. */
static bool squeeze(struct text *out, const struct source *in, size_t step, const char *argument)
{
	bool start = true;

	(void)step;
	(void)argument;
	for (size_t i = 0; i < in->length; i++) {
		size_t run = 0;

		while (i + run < in->length &&
		       (in->bytes[i + run] == ' ' || in->bytes[i + run] == '\t'))
			run++;
		if (run) {
			if (!start)
				text_add(out, " ", 1);
			i += run - 1;
			continue;
		}
		text_add(out, &in->bytes[i], 1);
		start = in->bytes[i] == '\n';
	}
	return true;
}

static bool letters(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)step;
	for (size_t i = 0; i < in->length; i++) {
		unsigned char c = (unsigned char)in->bytes[i];
		char other = (char)(*argument == 'U' ? toupper(c) : tolower(c));

		text_add(out, &other, 1);
	}
	return true;
}

static bool html(struct text *out, const struct source *in, size_t step, const char *argument)
{
	static const char *const names[] = { "<&lt;", ">&gt;", "&&amp;", "\"&quot;", "'&#39;" };

	(void)step;
	(void)argument;
	for (size_t i = 0; i < in->length; i++) {
		size_t j = 0;

		while (j < 5 && names[j][0] != in->bytes[i])
			j++;
		if (j < 5)
			text_addf(out, "%s", names[j] + 1);
		else
			text_add(out, &in->bytes[i], 1);
	}
	return true;
}

static bool twice(struct text *out, const struct source *in, size_t step, const char *argument)
{
	append(out, in, step, argument);
	text_add(out, in->bytes, in->length);
	return true;
}

static bool cut(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)argument;
	text_add(out, in->bytes, step);
	return step <= in->length;
}

/* Cut, and a sentence or dots behind it. */
static bool cut_and_say(struct text *out, const struct source *in, size_t step,
			const char *argument)
{
	text_add(out, in->bytes, step);
	text_addf(out, "%s", argument);
	return step <= in->length;
}

/* Line `step` is not there, or twice, by the argument. */
static bool one_line(struct text *out, const struct source *in, size_t step, const char *argument)
{
	const char *stop = in->bytes + in->length;
	size_t number = 0;

	for (const char *at = in->bytes, *end; at < stop; at = end + 1, number++) {
		size_t times = number == step ? strtoul(argument, NULL, 10) : 1;

		end = line_end(in, at);
		while (times--)
			text_addf(out, "%.*s\n", (int)(end - at), at);
	}
	return step < number;
}

/* The byte, if it is a letter or digit, becomes the argument. */
static bool damage(struct text *out, const struct source *in, size_t step, const char *argument)
{
	if (step >= in->length || !isalnum((unsigned char)in->bytes[step]))
		return false;
	text_add(out, in->bytes, step);
	text_addf(out, "%s", argument);
	text_add(out, in->bytes + step + 1, in->length - step - 1);
	return true;
}

/* A blank between two letters goes. */
static bool glue(struct text *out, const struct source *in, size_t step, const char *argument)
{
	(void)argument;
	if (step + 1 >= in->length || !step || in->bytes[step] != ' ' ||
	    !islower((unsigned char)in->bytes[step - 1]) ||
	    !islower((unsigned char)in->bytes[step + 1]))
		return false;
	text_add(out, in->bytes, step);
	text_add(out, in->bytes + step + 1, in->length - step - 1);
	return true;
}

#define ALL_LINES 1000u
static const struct mutation mutations[] = {
	{ "quoted", CLOTHES, before_lines, "> ", 0 },
	{ "quoted twice", CLOTHES, before_lines, ">> ", 0 },
	{ "indented", CLOTHES, before_lines, "        ", 0 },
	{ "indented by a tab", CLOTHES, before_lines, "\t", 0 },
	{ "trailing blanks", CLOTHES, behind_lines, "   ", 0 },
	{ "wrapped hard at 40", CLOTHES, hard_wrap, "40", 0 },
	{ "wrapped hard at 60", CLOTHES, hard_wrap, "60", 0 },
	{ "wrapped hard at 72", CLOTHES, hard_wrap, "72", 0 },
	{ "wrapped hard at 80", CLOTHES, hard_wrap, "80", 0 },
	{ "wrapped at 40", CLOTHES, soft_wrap, "40", 0 },
	{ "wrapped at 60", CLOTHES, soft_wrap, "60", 0 },
	{ "wrapped at 72", CLOTHES, soft_wrap, "72", 0 },
	{ "wrapped at 80", CLOTHES, soft_wrap, "80", 0 },
	{ "CRLF", CLOTHES, lines_end_in, "\r\n", 0 },
	{ "empty lines", CLOTHES, lines_end_in, "\n\n", 0 },
	{ "UTF-16 LE", CLOTHES, wide, "L", 0 },
	{ "UTF-16 LE with mark", CLOTHES, wide, "LM", 0 },
	{ "UTF-16 BE", CLOTHES, wide, "B", 0 },
	{ "UTF-16 BE with mark", CLOTHES, wide, "BM", 0 },
	{ "UTF-8 mark", CLOTHES, prepend, "\xEF\xBB\xBF", 0 },
	{ "shell prompt", CLOTHES, prepend, "user@host:~$ cat file\n", 0 },
	{ "prompt before", CLOTHES, prepend, "root@box:/# tool | tee x.txt\nsome message: 1\n\n",
	  0 },
	{ "fence", CLOTHES, prepend, "Here it is:\n\n```\n", 0 },
	{ "prose before", CLOTHES, prepend,
	  "Hello,\n\nmy CPU with erms and avx512f: it does not boot.\n\n", 0 },
	{ "prose after", CLOTHES, append, "```\nThanks, clwb or avx512f may matter here.\n", 0 },
	{ "prompt after", CLOTHES, append, "user@host:~$ exit\nlogout\n", 0 },
	{ "signature after", CLOTHES, append, "--\nBest regards: me\n", 0 },
	{ "tabs to a blank", CLOTHES, replace, "\t ", 0 },
	{ "tabs to blanks", CLOTHES, replace, "\t        ", 0 },
	{ "blanks to tabs", CLOTHES, replace, " \t", 0 },
	{ "runs of blanks to a tab", CLOTHES, blanks_to_tab, "", 0 },
	{ "blanks squeezed", CLOTHES, squeeze, "", 0 },
	{ "blanks that do not break", CLOTHES, replace, " \xC2\xA0", 0 },
	{ "upper case", CLOTHES, letters, "U", 0 },
	{ "lower case", CLOTHES, letters, "L", 0 },
	{ "HTML", CLOTHES, html, "", 0 },
	{ "twice", CLOTHES, twice, "", 0 },
	{ "twice with prose", CLOTHES, twice, "\nand the second:\n", 0 },
	{ "cut", LOSS, cut, "", 400 },
	{ "cut and ended", LOSS, cut_and_say, "\n", 400 },
	{ "cut and dots", LOSS, cut_and_say, "...\n", 400 },
	{ "cut and a sentence", LOSS, cut_and_say, "\nThanks for looking\n", 400 },
	{ "cut and a prompt", LOSS, cut_and_say, "\nuser@host: ~$ exit\n", 400 },
	{ "cut and a key", LOSS, cut_and_say, "\nWhat I tried: nothing\n", 400 },
	{ "a line lost", LOSS, one_line, "0", ALL_LINES },
	{ "a line twice", LOSS, one_line, "2", ALL_LINES },
	{ "a byte z", LOSS, damage, "z", 700 },
	{ "a byte ?", LOSS, damage, "?", 700 },
	{ "a byte blank", LOSS, damage, " ", 700 },
	{ "glued", LOSS, glue, "", 5000 },
};
#define MUTATIONS (sizeof(mutations) / sizeof(mutations[0]))

/* --- what is compared --- */

static bool is_identified(const struct dump *dump)
{
	return dump->cpu_count && dump->cpus[0].cpu.identity_known;
}

static const struct dump_leaf *find_leaf(const struct dump_cpu *cpu, const struct dump_leaf *like)
{
	for (size_t i = 0; i < cpu->leaf_count; i++)
		if (cpu->leaves[i].leaf == like->leaf && cpu->leaves[i].subleaf == like->subleaf)
			return &cpu->leaves[i];
	return NULL;
}

/* Says in `why` what `other` claims and `cpu` does not. */
static bool claims_more(const struct dump_cpu *other, const struct dump_cpu *cpu, struct text *why)
{
	size_t before = why->length;

	for (size_t i = 0; i < other->leaf_count; i++) {
		const struct dump_leaf *leaf = &other->leaves[i], *true_leaf = find_leaf(cpu, leaf);

		for (int reg = 0; reg < 4; reg++) {
			uint32_t known = true_leaf ? true_leaf->known[reg] : 0;
			uint32_t wrong = leaf->known[reg] & ~known;

			/* Above the highest leaf there is none, and its bits are off. */
			if (!true_leaf && leaf->leaf < 0x40000000u && cpu->cpu.level >= 0 &&
			    leaf->leaf > (uint32_t)cpu->cpu.level)
				wrong &= leaf->reg[reg];
			if (true_leaf)
				wrong |= (leaf->reg[reg] ^ true_leaf->reg[reg]) & leaf->known[reg];
			if (wrong)
				text_addf(why, " leaf 0x%x.%u %c bits 0x%08x", leaf->leaf,
					  leaf->subleaf, "abcd"[reg], wrong);
		}
	}
	for (int i = 0; i < (int)feature_count; i++) {
		bool known = feature_in(&other->cpu.known, i);

		if (known && (!feature_in(&cpu->cpu.known, i) ||
			      feature_in(&cpu->cpu.on, i) != feature_in(&other->cpu.on, i)))
			text_addf(why, " %s=%d", features[i].name, feature_in(&other->cpu.on, i));
	}
	if (other->rep_good >= 0 && other->rep_good != cpu->rep_good)
		text_addf(why, " rep_good=%d", other->rep_good);
	if (other->cpu.level >= 0 && other->cpu.level != cpu->cpu.level)
		text_addf(why, " level=%d", other->cpu.level);
	if (other->cpu.libvirt_model &&
	    (!cpu->cpu.libvirt_model || strcmp(other->cpu.libvirt_model, cpu->cpu.libvirt_model)))
		text_addf(why, " model=%s", other->cpu.libvirt_model);
	if (other->cpu.llc_bytes && other->cpu.llc_bytes != cpu->cpu.llc_bytes)
		text_addf(why, " llc=%llu", (unsigned long long)other->cpu.llc_bytes);
	return why->length > before;
}

/* Whether the mutant knows fewer bits of those that the program shows. */
static bool claims_less(const struct dump_cpu *other, const struct dump_cpu *cpu, struct text *why)
{
	size_t before = why->length;

	for (int i = 0; i < (int)feature_count; i++)
		if (feature_in(&cpu->cpu.known, i) && !feature_in(&other->cpu.known, i))
			text_addf(why, " %s", features[i].name);
	if (cpu->stepping_known && !other->stepping_known)
		text_addf(why, " stepping");
	if (cpu->rep_good >= 0 && other->rep_good != cpu->rep_good)
		text_addf(why, " rep_good");
	for (size_t i = 0; i < cpu->leaf_count; i++) {
		const struct dump_leaf *leaf = &cpu->leaves[i], *found = find_leaf(other, leaf);

		for (int reg = 0; reg < 4; reg++)
			if (leaf->known[reg] & ~(found ? found->known[reg] : 0))
				text_addf(why, " leaf 0x%x.%u %c", leaf->leaf, leaf->subleaf,
					  "abcd"[reg]);
	}
	return why->length > before;
}

/* A line that the whole text's list does not have: what is not said is one of these lines. */
static bool warns_anew(const struct dump *mutant, const struct dump *whole)
{
	if (mutant->warnings_dropped > whole->warnings_dropped)
		return true;
	for (size_t i = 0; i < mutant->warning_count; i++) {
		bool old = false;

		for (size_t j = 0; j < whole->warning_count && !old; j++)
			old = !strcmp(mutant->warnings[i], whole->warnings[j]);
		if (!old)
			return true;
	}
	return false;
}

/* --- counting --- */

struct tally {
	size_t read, refused, guessed, silent, less;
	bool shown[3];
};

struct run {
	struct tally tallies[MUTATIONS];
	bool verbose;
};

static int read_copy(struct dump *dump, const char *bytes, size_t length)
{
	CLEANUP_FREE char *copy = xmalloc(length + 1);
	struct error err = { 0 };

	if (length)
		memcpy(copy, bytes, length);
	copy[length] = '\0';
	return dump_read(dump, copy, length, &err);
}

static void show(const struct run *run, struct tally *tally, int what, const char *file,
		 const struct mutation *mutation, size_t step, const char *why)
{
	static const char *const names[] = { "REFUSED", "GUESS", "SILENT" };

	if (!run->verbose || (tally->shown[what] && !getenv("QUIRKLAB_MUTATE_ALL")))
		return;
	tally->shown[what] = true;
	printf("%s %s, %s, step %zu:%.300s\n", names[what], file, mutation->name, step, why);
}

static void try_one(struct run *run, const char *file, const struct dump *whole, size_t which,
		    const struct source *in, size_t step)
{
	const struct mutation *mutation = &mutations[which];
	struct tally *tally = &run->tallies[which];
	CLEANUP_TEXT struct text out = { 0 };
	CLEANUP_TEXT struct text more = { 0 };
	CLEANUP_TEXT struct text less = { 0 };
	struct dump mutant = { 0 };
	bool refused, worse;

	if (!mutation->make(&out, in, step, mutation->argument))
		return;
	refused = read_copy(&mutant, text_string(&out), out.length) != 0;
	tally->read++;
	if (refused || (is_identified(whole) && !is_identified(&mutant))) {
		tally->refused++;
		if (mutation->family == CLOTHES)
			show(run, tally, 0, file, mutation, step, "");
	}
	if (refused)
		return;
	/* Without an identity nothing is done with what was read. */
	if (is_identified(whole) && !is_identified(&mutant)) {
		dump_free(&mutant);
		return;
	}
	if (claims_more(&mutant.cpus[0], &whole->cpus[0], &more)) {
		tally->guessed++;
		show(run, tally, 1, file, mutation, step, text_string(&more));
	}
	worse = claims_less(&mutant.cpus[0], &whole->cpus[0], &less);
	tally->less += worse;
	if (worse && !warns_anew(&mutant, whole)) {
		tally->silent++;
		show(run, tally, 2, file, mutation, step, text_string(&less));
	}
	dump_free(&mutant);
}

static size_t variants(const struct mutation *mutation, const struct source *in)
{
	if (!mutation->most)
		return 1;
	return mutation->most == ALL_LINES ? in->lines : in->length;
}

/* The text as it is meant: one byte a letter, and plain ends of lines. */
static void plain_text(struct text *out, const char *bytes, size_t length)
{
	bool is_wide = length > 1 && (unsigned char)bytes[0] == 0xFF;

	for (size_t i = is_wide ? 2 : 0; i < length; i += is_wide ? 2 : 1)
		if (bytes[i] != '\r')
			text_add(out, &bytes[i], 1);
}

static void try_file(struct run *run, const char *path, size_t thin)
{
	CLEANUP_TEXT struct text text = { 0 };
	CLEANUP_FREE char *bytes = NULL;
	struct source in = { 0 };
	struct dump whole;
	size_t length;

	ck_assert_msg(file_read(path, 16 << 20, &bytes, &length, NULL) == 0, "%s", path);
	plain_text(&text, bytes, length);
	in.bytes = text_string(&text);
	in.length = text.length;
	for (size_t i = 0; i < in.length; i++)
		in.lines += in.bytes[i] == '\n';
	ck_assert_msg(read_copy(&whole, in.bytes, in.length) == 0, "%s", path);
	for (size_t i = 0; i < MUTATIONS; i++) {
		size_t all = variants(&mutations[i], &in);
		size_t step = mutations[i].most ? all / mutations[i].most * thin : 1;

		if (mutations[i].most == ALL_LINES)
			step = all / 150 + 1;
		for (size_t j = 0; j < all; j += step ? step : 1)
			try_one(run, strrchr(path, '/') + 1, &whole, i, &in, j);
	}
	dump_free(&whole);
}

static void print_run(const struct run *run)
{
	printf("%-26s %8s %8s %8s %8s %8s\n", "mutation", "read", "refused", "less", "silent",
	       "guessed");
	for (size_t i = 0; i < MUTATIONS; i++) {
		const struct tally *tally = &run->tallies[i];

		printf("%-26s %8zu %8zu %8zu %8zu %8zu\n", mutations[i].name, tally->read,
		       tally->refused, tally->less, tally->silent, tally->guessed);
	}
}

/* --- the examples --- */

/* Formats that have no example among the dumps. */
static const char *const seeds[] = {
	SEEDS "fuzz_read_cpu_xml/cpu-xml", SEEDS "fuzz_read_json/qmp",
	SEEDS "fuzz_read_json/own-json",   SEEDS "fuzz_read_cpu_features/cpu_features",
	SEEDS "fuzz_read_darwin/darwin",   SEEDS "fuzz_read_decoded/decoded",
	SEEDS "fuzz_read_lscpu/openbsd",
};
#define SEED_COUNT (sizeof(seeds) / sizeof(seeds[0]))

/* Files whose vendor is a word, not registers. */
static const char *const in_words[] = { "cpuinfo", "lscpu",  "freebsd", "cpu-xml",
					"qmp",	   "darwin", "decoded" };

static bool is_in_words(const char *file)
{
	for (size_t i = 0; i < sizeof(in_words) / sizeof(in_words[0]); i++)
		if (strstr(file, in_words[i]))
			return true;
	return false;
}

/* Whose vendor is nobody's: its capitals cannot be known. */
static bool is_of_nobody(const char *file)
{
	return strstr(file, DUMPS) ? is_in_words(file) : strstr(file, "cpu-xml") != NULL;
}

/*
 * What the text cannot tell: a vendor or a model whose letters are others, a number that has lost
 * its last digits before the end of its line, or which of two stands where one was.
 */
static bool tells_nothing(const struct mutation *mutation, const char *file)
{
	bool short_numbers = strstr(file, ".csv") || strstr(file, "hwloc");

	if (mutation->make == letters)
		return is_of_nobody(file);
	if (mutation->make == damage)
		return !strcmp(mutation->argument, " ") ||
		       (!strcmp(mutation->argument, "z") && is_in_words(file)) ||
		       strstr(file, "cpu-xml");
	return mutation->make == cut_and_say && mutation->argument[0] == '\n' &&
	       (short_numbers || strstr(file, "cpuinfo") || strstr(file, "lscpu") ||
		strstr(file, "darwin"));
}

/*
 * Losses that nothing shows, of all that are tried: "avx2" that became "avx", "smep" that became
 * "sme", a list whose last name went where the original says no end either.
 */
#define SILENT_MOST 7u

static size_t check_file(struct run *run, const char *path)
{
	size_t silent = 0;

	memset(run->tallies, 0, sizeof(run->tallies));
	try_file(run, path, 4);
	for (size_t i = 0; i < MUTATIONS; i++) {
		const struct tally *tally = &run->tallies[i];
		bool clothes = mutations[i].family == CLOTHES;

		silent += tally->silent;
		if (tells_nothing(&mutations[i], path))
			continue;
		ck_assert_msg(!tally->guessed, "%s, %s: %zu of %zu say what the file does not",
			      path, mutations[i].name, tally->guessed, tally->read);
		ck_assert_msg(!clothes || (tally->read && !tally->refused && !tally->silent),
			      "%s, %s: refused, or less is known and nobody says so", path,
			      mutations[i].name);
	}
	return silent;
}

START_TEST(examples)
{
	struct run *run = xcalloc(1, sizeof(*run));
	DIR *folder = opendir(DUMPS);
	struct dirent *entry;
	size_t silent = 0;
	unsigned files = 0;

	run->verbose = getenv("QUIRKLAB_MUTATE_ALL") != NULL;
	ck_assert_ptr_nonnull(folder);
	while ((entry = readdir(folder))) {
		CLEANUP_FREE char *path = xasprintf(DUMPS "%s", entry->d_name);

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "README.md"))
			continue;
		files++;
		silent += check_file(run, path);
	}
	for (size_t i = 0; i < SEED_COUNT; i++)
		silent += check_file(run, seeds[i]);
	closedir(folder);
	free(run);
	ck_assert_uint_ge(files, 18);
	ck_assert_msg(silent <= SILENT_MOST, "%zu losses that nobody says, not %u at most", silent,
		      SILENT_MOST);
}
END_TEST

START_TEST(other_files)
{
	const char *names = getenv("QUIRKLAB_MUTATE");
	CLEANUP_FREE char *copy = xstrdup(names ? names : "");
	struct run run = { .verbose = true };

	if (!names)
		return;
	for (char *at = strtok(copy, " \n"); at; at = strtok(NULL, " \n"))
		try_file(&run, at, 1);
	print_run(&run);
}
END_TEST

Suite *suite_mutations(void)
{
	Suite *suite = suite_create("mutations");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 600);
	tcase_add_test(all, examples);
	tcase_add_test(all, other_files);
	suite_add_tcase(suite, all);
	return suite;
}
