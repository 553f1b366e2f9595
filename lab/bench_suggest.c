// SPDX-License-Identifier: MIT
/* From measurements to the quirk row that they argue for: movnti past the last-level cache. */
#include <string.h>
#include <time.h>

#include "lab/bench.h"

/* The rule that a row can take away is: from the last-level cache on, movnti (memset,
 * clear_extent). So it is judged by what was measured there. */
struct tally {
	size_t count[CONCLUSIONS];
	const struct bench_line *first_good, *first_bad;
	size_t all;
};

static bool is_about_nt(const struct bench_line *line, uint64_t llc)
{
	const char *operation = line->measured.path->operation;

	return !line->reference && !strcmp(line->measured.path->path, "movnti") &&
	       line->measured.bytes >= llc / 4096 * 4096 &&
	       (!strcmp(operation, "memset") || !strcmp(operation, "clear_extent"));
}

static void count_up(struct tally *tally, const struct bench_result *result)
{
	for (size_t i = 0; i < result->line_count; i++) {
		const struct bench_line *line = &result->lines[i];

		if (!is_about_nt(line, result->machine.cpu.llc_bytes))
			continue;
		tally->all++;
		tally->count[line->conclusion]++;
		if (line->conclusion == CONCLUSION_GOOD && !tally->first_good)
			tally->first_good = line;
		if (line->conclusion == CONCLUSION_BAD && !tally->first_bad)
			tally->first_bad = line;
	}
}

/* The reference of a line's group stands before it. */
static const struct bench_line *reference_of(const struct bench_line *line)
{
	while (!line->reference)
		line--;
	return line;
}

static void add_figures(struct text *out, const struct bench_line *line)
{
	const struct bench_line *reference = reference_of(line);
	char size[32];

	bench_size_text(size, sizeof(size), line->measured.bytes);
	text_addf(out, "%s of %s, %u thread%s: %s %.2f GB/s, movnti %.2f GB/s (%+.1f %%)",
		  line->measured.path->operation, size, line->measured.threads,
		  line->measured.threads == 1 ? "" : "s", reference->measured.path->path,
		  reference->statistics.median, line->statistics.median,
		  100 * (line->comparison.ratio - 1));
}

static void add_row(struct text *out, const struct bench_result *result,
		    const struct bench_line *line)
{
	const struct bench_machine *machine = &result->machine;
	const struct bench_line *reference = reference_of(line);
	char size[32], day[16];
	time_t clock = time(NULL);
	struct tm tm;

	localtime_r(&clock, &tm);
	strftime(day, sizeof(day), "%Y-%m-%d", &tm);
	bench_size_text(size, sizeof(size), line->measured.bytes);
	text_addf(out,
		  "\t{\n"
		  "\t\t.name = \"family-%u-model-%02x\",\n"
		  "\t\t.vendor = \"%s\",\n"
		  "\t\t.family = %u,\n"
		  "\t\t.models = { 0x%02X },\n"
		  "\t\t.model_count = 1,\n"
		  "\t\tALL_STEPPINGS,\n"
		  "\t\t.quirks = DISPATCH_NT_BAD,\n"
		  "\t\t.reason = \"%s, %s to movnti: %s %.2f to %.2f GB/s\",\n"
		  "\t\t.source = \"quirklab bench, %s\",\n"
		  "\t},\n",
		  machine->cpu.family, machine->cpu.model, machine->cpu.vendor, machine->cpu.family,
		  machine->cpu.model, machine->brand, reference->measured.path->path, size,
		  reference->statistics.median, line->statistics.median, day);
}

static void add_against_row(struct text *out, const struct dispatch_quirk_row *row,
			    const struct tally *tally)
{
	text_addf(out, "The quirk table has %s (NT_BAD) for this CPU; ", row->name);
	if (tally->first_bad)
		text_addf(out, "this machine agrees: ");
	else
		text_addf(out, "this machine argues against it: ");
	add_figures(out, tally->first_bad ? tally->first_bad : tally->first_good);
	text_addf(out, ".\n");
}

void bench_suggest(struct text *out, const struct bench_result *result)
{
	const struct dispatch_quirk_row *row = result->machine.cpu.row;
	struct tally tally = { 0 };

	count_up(&tally, result);
	if (!tally.all) {
		text_addf(out, "No row is suggested: nothing was measured of movnti from the "
			       "last-level cache on, in memset or clear_extent.\n");
	} else if (tally.first_good && tally.first_bad) {
		text_addf(out, "No row is suggested: movnti is not bad throughout.\n  good: ");
		add_figures(out, tally.first_good);
		text_addf(out, "\n  bad:  ");
		add_figures(out, tally.first_bad);
		text_addf(out, "\n");
	} else if (!tally.first_good && !tally.first_bad) {
		text_addf(out,
			  "No row is suggested: of %zu measurements past the last-level cache %zu "
			  "show no difference, %zu are uncertain and %zu noisy.\n",
			  tally.all, tally.count[CONCLUSION_SAME],
			  tally.count[CONCLUSION_UNCERTAIN], tally.count[CONCLUSION_NOISY]);
	} else if (row) {
		add_against_row(out, row, &tally);
	} else if (tally.first_good) {
		text_addf(out,
			  "No row is needed: movnti is good in %zu of %zu measurements from "
			  "the last-level cache on, and bad in none.\n  ",
			  tally.count[CONCLUSION_GOOD], tally.all);
		add_figures(out, tally.first_good);
		text_addf(out, "\n");
	} else {
		text_addf(out,
			  "movnti is bad in %zu of %zu measurements from the last-level cache on, "
			  "and good in none: for tests/dispatch/quirks.c,\n\n",
			  tally.count[CONCLUSION_BAD], tally.all);
		add_row(out, result, tally.first_bad);
	}
}
