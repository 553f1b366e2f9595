// SPDX-License-Identifier: MIT
/* quirklab cpuid-diff: two CPUs by leaf, subleaf, register and bit. What either does not say is no
 * difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/cpuid.h"
#include "lab/lab.h"

const struct option_row cpuid_diff_option_rows[] = {
	{ 0 },
};

static const char *const register_names[] = { "eax", "ebx", "ecx", "edx" };

static const char *bit_name(const struct dump_leaf *leaf, unsigned reg, unsigned bit)
{
	for (size_t i = 0; i < feature_count; i++)
		if (features[i].leaf == leaf->leaf && features[i].subleaf == leaf->subleaf &&
		    (unsigned)features[i].reg == reg && features[i].bit == bit)
			return features[i].name;
	return "-";
}

/* A whole register with its two values, then its bits; of a half-known one the bits only. */
static void write_register(struct text *out, const struct dump_leaf *a, const struct dump_leaf *b,
			   unsigned reg, uint32_t differs)
{
	text_addf(out, "0x%08x 0x%02x %s", a->leaf, a->subleaf, register_names[reg]);
	if ((a->known[reg] & b->known[reg]) == UINT32_MAX)
		text_addf(out, "  0x%08x  0x%08x", a->reg[reg], b->reg[reg]);
	text_addf(out, "\n");
	for (unsigned bit = 0; bit < 32; bit++)
		if (differs >> bit & 1)
			text_addf(out, "    bit %2u  %-20s %u  %u\n", bit, bit_name(a, reg, bit),
				  a->reg[reg] >> bit & 1, b->reg[reg] >> bit & 1);
}

struct diff {
	struct text *out;
	size_t bits, registers;
	size_t only_a, only_b; /* leaves that one of them has */
};

static void diff_leaves(struct diff *diff, const struct dump_leaf *a, const struct dump_leaf *b)
{
	for (unsigned reg = 0; reg < 4; reg++) {
		uint32_t differs = (a->reg[reg] ^ b->reg[reg]) & a->known[reg] & b->known[reg];

		if (!differs)
			continue;
		diff->registers++;
		diff->bits += (size_t)__builtin_popcount(differs);
		write_register(diff->out, a, b, reg, differs);
	}
}

static bool whole(const struct dump_leaf *leaf)
{
	return (leaf->known[0] & leaf->known[1] & leaf->known[2] & leaf->known[3]) == UINT32_MAX;
}

static bool empty(const struct dump_leaf *leaf)
{
	return !(leaf->reg[0] | leaf->reg[1] | leaf->reg[2] | leaf->reg[3]);
}

/* A leaf of which only one side says anything: worth a line where the other is a dump of whole
 * leaves. */
static void only_one(struct diff *diff, const struct dump_leaf *leaf, bool other_is_dump, bool of_a)
{
	if (!other_is_dump || !whole(leaf) || empty(leaf))
		return;
	diff->only_a += of_a;
	diff->only_b += !of_a;
	text_addf(diff->out, "0x%08x 0x%02x only in %s\n", leaf->leaf, leaf->subleaf,
		  of_a ? "A" : "B");
}

static int order(const struct dump_leaf *a, const struct dump_leaf *b)
{
	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? -1 : 1;
	return a->subleaf == b->subleaf ? 0 : a->subleaf < b->subleaf ? -1 : 1;
}

static bool is_dump(const struct dump_cpu *cpu)
{
	for (size_t i = 0; i < cpu->leaf_count; i++)
		if (cpu->leaves[i].leaf == 1 && whole(&cpu->leaves[i]))
			return true;
	return false;
}

static void diff_cpus(struct diff *diff, const struct dump_cpu *a, const struct dump_cpu *b)
{
	size_t i = 0, j = 0;

	while (i < a->leaf_count || j < b->leaf_count) {
		int which = i == a->leaf_count	 ? 1
			    : j == b->leaf_count ? -1
						 : order(&a->leaves[i], &b->leaves[j]);

		if (which < 0)
			only_one(diff, &a->leaves[i++], is_dump(b), true);
		else if (which > 0)
			only_one(diff, &b->leaves[j++], is_dump(a), false);
		else
			diff_leaves(diff, &a->leaves[i++], &b->leaves[j++]);
	}
}

static void name_side(struct text *out, const char *side, const struct dump_list *list)
{
	const struct dump *dump = &list->dumps[0];
	const struct cpu *cpu = &dump->cpus[0].cpu;
	char vendor[64], name[128];

	text_addf(out, "%s: %s  %s %u:%u:%u  %s\n", side,
		  text_printable(name, sizeof(name), cpu->name, strlen(cpu->name)),
		  text_printable(vendor, sizeof(vendor), cpu->vendor, strlen(cpu->vendor)),
		  cpu->family, cpu->model, cpu->stepping, dump->format);
}

static int one_cpu(struct dump_list *list, const char *word, const struct cpu_tables *tables,
		   struct error *err)
{
	if (cpuid_source(list, word, tables, err) < 0)
		return -1;
	if (list->count != 1)
		return error_set(err, ERROR_INPUT, "%s: means %zu CPUs; one was expected", word,
				 list->count);
	if (dump_identity(&list->dumps[0], err) < 0)
		return error_prefix(err, "%s", word);
	return 0;
}

static int write_diff(const struct dump_list *a, const struct dump_list *b)
{
	CLEANUP_TEXT struct text out = { 0 };
	struct diff diff = { .out = &out };

	name_side(&out, "A", a);
	name_side(&out, "B", b);
	diff_cpus(&diff, &a->dumps[0].cpus[0], &b->dumps[0].cpus[0]);
	if (!diff.registers && !diff.only_a && !diff.only_b) {
		text_addf(&out, "no difference in what both say\n");
		fwrite(out.bytes, 1, out.length, stdout);
		return STATUS_OK;
	}
	text_addf(&out, "%zu bits of %zu registers differ; %zu leaves only in A, %zu only in B\n",
		  diff.bits, diff.registers, diff.only_a, diff.only_b);
	fwrite(out.bytes, 1, out.length, stdout);
	return STATUS_FAIL;
}

int command_cpuid_diff(struct lab *lab, const struct command *command, int argc, char **argv)
{
	struct dump_list a = { 0 }, b = { 0 };
	struct cpu_tables tables = { 0 };
	struct error err = { 0 };
	int first, status;

	(void)lab;
	first = options_parse(command->options, true, argc, argv, NULL, NULL, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (argc - first != 2) {
		error_set(&err, ERROR_INPUT,
			  "cpuid-diff: two of SPEC, file, '-' and 'host' were expected");
		return lab_fail(&err);
	}
	if (cpu_tables_read(&tables, &err) < 0 || one_cpu(&a, argv[first], &tables, &err) < 0 ||
	    one_cpu(&b, argv[first + 1], &tables, &err) < 0)
		status = lab_fail(&err);
	else
		status = write_diff(&a, &b);
	dump_list_free(&a);
	dump_list_free(&b);
	cpu_tables_free(&tables);
	return status;
}
