// SPDX-License-Identifier: MIT
/* What `quirklab repro` tells of a CPU: its picks, and the differences between asked and seen. */
#include <string.h>

#include "harness/cpu/compare_leaves.h"
#include "harness/util/cleanup.h"
#include "lab/repro.h"

#define NAMES_WIDTH 96 /* of a list of names, before it goes on in the next line */

/* --- who it is
 * ------------------------------------------------------------------------------------ */

static void write_expected(struct text *out, const struct repro_story *story)
{
	const struct repro_expected *expected = story->expected;
	const struct cpu *row = story->target->row;

	text_addf(out, "  expected   ");
	if (expected->source == EXPECTED_TABLE) {
		text_addf(out, "by the golden tables\n");
	} else if (expected->source == EXPECTED_ROW) {
		text_addf(out, "by the golden row %s: the same CPU in all that a pick depends on\n",
			  row->name);
	} else {
		text_addf(out, "by replay of the %s on this host: ",
			  story->target->cpu.edit_count ? "edited CPU"
			  : story->target->from_file	? "dump"
							: "CPU");
		if (row)
			text_addf(out, "it differs from the row %s in %s\n", row->name,
				  *expected->differs ? expected->differs : "its edits");
		else
			text_addf(out, "the catalogue has no such CPU\n");
	}
	for (int i = 0; i < (int)feature_count; i++)
		if (feature_in(&expected->open, i))
			text_addf(out,
				  "             %s is not said by the source: taken as off%s "
				  "(%s,+%s: as "
				  "on)\n",
				  features[i].name,
				  row && feature_in(&row->on, i) ? ", though the row has it" : "",
				  story->target->from_file ? "FILE" : "CPU", features[i].name);
}

static void write_identity(struct text *out, const struct repro_story *story)
{
	const struct cpu *cpu = &story->target->cpu, *row = story->target->row;
	const struct dump *dump = &story->target->dump;
	char vendor[64], brand[256];

	text_addf(out, "%s\n  signature  %s %u:%u:%u", cpu->name,
		  text_printable(vendor, sizeof(vendor), cpu->vendor, strlen(cpu->vendor)),
		  cpu->family, cpu->model, cpu->stepping);
	if (row && *row->uarch)
		text_addf(out, ", %s (%s)", row->name, row->uarch);
	text_addf(out, "\n");
	if (story->target->from_file) {
		text_addf(out, "  from       %s", dump->format);
		if (dump->cpu_count > 1)
			text_addf(out, ", which has %zu kinds of CPU: the first, CPU %u, is taken",
				  dump->cpu_count, dump->cpus[0].numbers[0].first);
		text_addf(out, "\n");
	}
	if (*dump->cpus[0].brand)
		text_addf(out, "  brand      %s\n",
			  text_printable(brand, sizeof(brand), dump->cpus[0].brand,
					 strlen(dump->cpus[0].brand)));
	text_addf(out, "  guest      %s under %s; QEMU %s, libvirt %s%s%s\n", story->result->image,
		  story->result->accel, connection_qemu_text(story->guest->connection),
		  connection_libvirt_text(story->guest->connection),
		  *story->result->kernel ? ", Linux " : "", story->result->kernel);
	write_expected(out, story);
}

/* --- its picks
 * ------------------------------------------------------------------------------------- */

static size_t longer(size_t width, const char *text)
{
	return strlen(text) > width ? strlen(text) : width;
}

static void write_picks(struct text *out, const struct cell_result *result)
{
	size_t name = strlen("pick"), expected = strlen("expected"), says = strlen("says"),
	       does = strlen("does"), row = strlen("row");

	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];

		if (strlen(pick->operation) + 1 + strlen(pick->class) > name)
			name = strlen(pick->operation) + 1 + strlen(pick->class);
		expected = longer(expected, pick->expected);
		says = longer(says, pick->says);
		does = longer(does, pick->does);
		row = longer(row, pick->row);
	}
	text_addf(out, "\n%-*s  %-*s  %-*s  %-*s  %-*s  %s\n", (int)name, "pick", (int)expected,
		  "expected", (int)says, "says", (int)does, "does", (int)row, "row", "because");
	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];
		CLEANUP_FREE char *called = xasprintf("%s@%s", pick->operation, pick->class);

		text_addf(out, "%-*s  %-*s  %-*s  %-*s  %-*s  %s\n", (int)name, called,
			  (int)expected, *pick->expected ? pick->expected : "-", (int)says,
			  *pick->says ? pick->says : "-", (int)does, *pick->does ? pick->does : "-",
			  (int)row, *pick->row ? pick->row : "-", pick->reason);
		if (pick->verdict != VERDICT_PASS)
			text_addf(out, "%*s  ^ %s%s%s\n", (int)name, "",
				  verdict_name(pick->verdict),
				  strncmp(pick->why, "mismatch", 8) ? ": " : "",
				  strncmp(pick->why, "mismatch", 8) ? pick->why : pick->why + 8);
	}
}

/* --- asked, realised, seen
 * ---------------------------------------------------------------------------- */

/* A list of names, wrapped below its heading. */
static void write_names(struct text *out, const char *heading, const char *const *names,
			size_t count)
{
	size_t column = strlen(heading), indent = 13;

	if (!count)
		return;
	text_addf(out, "  %s", heading);
	for (size_t i = 0; i < count; i++) {
		if (column + strlen(names[i]) + 1 > NAMES_WIDTH) {
			text_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		text_addf(out, " %s", names[i]);
		column += strlen(names[i]) + 1;
	}
	text_addf(out, "\n");
}

static size_t names_of(const char **names, const struct feature_set *set)
{
	size_t count = 0;

	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(set, (int)i))
			names[count++] = features[i].name;
	return count;
}

/* Each name that a mismatch names, once. */
static void write_mismatches(struct text *out, const struct repro_story *story)
{
	const struct cell_result *result = story->result;
	const char *said[64];
	size_t count = 0;

	for (size_t i = 0; i < result->pick_count; i++)
		for (size_t j = 0; j < result->picks[i].depends_count; j++) {
			const char *name = result->picks[i].depends[j];
			bool again = false;

			for (size_t k = 0; k < count; k++)
				again |= !strcmp(said[k], name);
			if (!again && count < 64)
				said[count++] = name;
		}
	if (count)
		write_names(out, "picks depend on, and not seen as asked:", said, count);
	else
		text_addf(out, "  every bit and field that a pick depends on is seen as asked\n");
}

static void write_bits(struct text *out, const struct repro_story *story)
{
	const struct cpu *cpu = &story->target->cpu;
	const struct cpu_difference *difference = &story->result->difference;
	const struct hypervisor *hypervisor = &story->guest->hypervisor;
	const char *names[FEATURE_WORDS * 64];
	size_t native = 0, asked = 0, count;
	struct feature_set inert = { 0 }, unnamed = { 0 }, refused = { 0 };
	struct cpu seen;

	if (cpu_from_dump(&seen, story->seen, NULL) < 0)
		return;
	for (int i = 0; i < (int)feature_count; i++) {
		if (!feature_in(&cpu->known, i) || !feature_in(&cpu->on, i))
			continue;
		asked++;
		if (!feature_in(&seen.on, i))
			continue;
		native += realise_is_native(i, hypervisor);
		feature_put(&inert, i, !realise_is_native(i, hypervisor));
	}
	cpu_free(&seen);
	for (size_t i = 0; i < difference->missing_count; i++) {
		int index = feature_find(difference->missing[i]);
		bool named = realise_property(index, hypervisor) != NULL;

		feature_put(&unnamed, index, !named);
		feature_put(&refused, index, named);
	}
	count = names_of(names, &inert);
	text_addf(
		out,
		"\nbits\n  asked on %zu: %zu that %s has, %zu inert (advertised, not implemented), "
		"%zu not presented\n",
		asked, native, story->result->accel, count, difference->missing_count);
	write_mismatches(out, story);
	write_names(out, "inert:", names, count);
	count = names_of(names, &unnamed);
	write_names(out, "not presented, this QEMU has no property for it:", names, count);
	count = names_of(names, &refused);
	write_names(out, "not presented, though QEMU has a property for it:", names, count);
	write_names(out, "seen, not asked:", difference->extra, difference->extra_count);
	write_names(out, "identity differs in:", difference->identity, difference->identity_count);
}

/* --- what no property sets
 * ------------------------------------------------------------------------------ */

static const char *const registers[] = { "EAX", "EBX", "ECX", "EDX" };

static void write_gap_bits(struct text *out, const struct leaf_gap *gap)
{
	for (unsigned bit = 0; bit < 32; bit++)
		if (gap->differs >> bit & 1)
			text_addf(out, " %x.%x.%s[%u]=%u", gap->leaf, gap->subleaf,
				  registers[gap->reg], bit, gap->asked >> bit & 1);
}

/* "0x4 EAX EBX", or with -v each register with its two values. */
static void write_subject(struct text *out, const struct leaf_gap *gaps, size_t count,
			  const struct leaf_subject *subject, bool verbose)
{
	uint32_t last = 0;
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct leaf_gap *gap = &gaps[i];

		if (gap->subject != subject)
			continue;
		if (!any)
			text_addf(out, "  %s:", subject ? subject->what : "leaves of no name here");
		if (subject && subject->bits)
			write_gap_bits(out, gap);
		else if (!any || gap->leaf != last)
			text_addf(out, " 0x%x", gap->leaf);
		last = gap->leaf;
		any = true;
	}
	if (!any)
		return;
	text_addf(out, "\n");
	if (subject && subject->reader)
		text_addf(out, "      depends on it: %s\n", subject->reader);
	for (size_t i = 0; i < count && verbose; i++)
		if (gaps[i].subject == subject)
			text_addf(out, "      0x%08x 0x%02x %s  asked 0x%08x  seen 0x%08x\n",
				  gaps[i].leaf, gaps[i].subleaf, registers[gaps[i].reg],
				  gaps[i].asked, gaps[i].seen);
}

/* Whether there was anything to tell. */
static bool write_llc(struct text *out, const struct repro_story *story)
{
	uint64_t asked = story->target->cpu.llc_bytes;
	uint64_t seen = cpu_llc_from_dump(story->seen, story->target->cpu.vendor);

	if (!asked || seen == asked)
		return false;
	text_addf(out,
		  "  last-level cache: asked %llu KiB, the guest sees %llu KiB; extents are judged "
		  "by "
		  "the guest's\n",
		  (unsigned long long)asked >> 10, (unsigned long long)seen >> 10);
	return true;
}

static void write_gaps(struct text *out, const struct repro_story *story)
{
	struct leaf_gap *gaps = xcalloc(LEAF_GAPS_MAX, sizeof(*gaps));
	size_t count =
		leaves_compare(gaps, LEAF_GAPS_MAX, &story->target->dump.cpus[0], story->seen);
	bool any;

	text_addf(out,
		  "\nnot presented as asked (QEMU has no property for it), and what depends on "
		  "it\n");
	any = write_llc(out, story) || count;
	for (size_t i = 0; i <= leaf_subject_count; i++)
		write_subject(out, gaps, count, i < leaf_subject_count ? &leaf_subjects[i] : NULL,
			      story->verbose);
	if (!any)
		text_addf(out, "  nothing\n");
	free(gaps);
}

static void write_notes(struct text *out, const struct repro_story *story)
{
	const struct dump *dump = &story->target->dump;
	const char *line = text_string(story->notes);
	int hypervisor = feature_find("hypervisor");
	bool of_guest = story->target->from_file && feature_in(&story->target->cpu.on, hypervisor);

	if (!*line && !of_guest && !dump->warning_count)
		return;
	text_addf(out, "\nnotes\n");
	if (of_guest)
		text_addf(out, "  the dump is of a guest: its hypervisor bit is presented, its "
			       "hypervisor's leaves are not\n");
	while (*line) {
		int length = (int)strcspn(line, "\n");

		text_addf(out, "  %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
	for (size_t i = 0; i < dump->warning_count; i++)
		text_addf(out, "  the file: %s\n", dump->warnings[i]);
	if (dump->warnings_dropped)
		text_addf(out, "  the file: %zu more\n", dump->warnings_dropped);
}

/* As `cpuid -r` writes them. */
static void write_seen(struct text *out, const struct cpuid_dump *seen)
{
	text_addf(out, "\nCPUID as the guest saw it\nCPU 0:\n");
	for (size_t i = 0; i < seen->count; i++) {
		const struct cpuid_leaf *leaf = &seen->leaves[i];

		text_addf(out, "   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n",
			  leaf->leaf, leaf->subleaf, leaf->reg[0], leaf->reg[1], leaf->reg[2],
			  leaf->reg[3]);
	}
}

/* --- all of it
 * ---------------------------------------------------------------------------------------- */

void repro_write(struct text *out, const struct repro_story *story)
{
	const struct cell_result *result = story->result;

	write_identity(out, story);
	if (result->pick_count)
		write_picks(out, result);
	if (story->seen->count) {
		write_bits(out, story);
		write_gaps(out, story);
	}
	write_notes(out, story);
	if (story->verbose)
		write_seen(out, story->seen);
	text_addf(out, "\n%s: ", result->cell);
	if (result->verdict == VERDICT_MISMATCH) /* says so itself */
		text_addf(out, "%s\n", result->reason);
	else
		text_addf(out, "%s%s%s\n", verdict_name(result->verdict),
			  *result->reason ? ": " : "", result->reason);
}
