// SPDX-License-Identifier: MIT
/*
 * Fuzzes one reader of CPUs in files, READER (rules.mk makes a program of each): it gets every
 * text, whatever its marks say. What was read must keep the promises of dump.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/read.h"

#ifndef READER
#define READER reader_aida64 /* for analysers, which know no rules.mk */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void check_leaves(const struct dump_cpu *cpu)
{
	for (size_t i = 0; i < cpu->leaf_count; i++) {
		const struct dump_leaf *leaf = &cpu->leaves[i], *before = leaf - 1;

		check(leaf->leaf != 3);
		check(!i || before->leaf < leaf->leaf ||
		      (before->leaf == leaf->leaf && before->subleaf < leaf->subleaf));
		for (int reg = 0; reg < 4; reg++)
			check(!(leaf->reg[reg] & ~leaf->known[reg]));
	}
}

static void check_dump(const struct dump *dump)
{
	for (size_t i = 0; i < dump->cpu_count; i++) {
		const struct dump_cpu *cpu = &dump->cpus[i];

		check(cpu->number_count > 0 && cpu->count > 0);
		check(!i || dump->cpus[i - 1].numbers[0].first <= cpu->numbers[0].first);
		check(strlen(cpu->brand) <= 48);
		check_leaves(cpu);
		for (size_t word = 0; word < FEATURE_WORDS; word++)
			check(!(cpu->cpu.on.word[word] & ~cpu->cpu.known.word[word]));
		check(cpu->cpu.family <= 270 && cpu->cpu.model <= 255 && cpu->cpu.stepping <= 15);
	}
	for (size_t i = 0; i < dump->warning_count; i++)
		for (const char *c = dump->warnings[i]; *c; c++)
			check(*c >= ' ' && *c <= '~');
}

static void read_all(const struct dump_reader *reader, char *bytes, size_t length)
{
	struct dump dump = { .format = reader->name };
	struct dump_text text = { bytes, length };
	struct error err = { 0 };
	struct reading reading;

	if (text_clean(&text))
		return;
	reading_begin(&reading, &dump);
	if (reader->lines)
		read_leaf_lines(&reading, &text, reader->lines);
	else if (reader->read(&reading, &text, &err))
		check(*err.text && err.kind == ERROR_INPUT);
	reading_end(&reading);
	check_dump(&dump);
	dump_free(&dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *copy = xmalloc(length + 1);

	if (length)
		memcpy(copy, bytes, length);
	copy[length] = '\0';
	read_all(&READER, copy, length);
	free(copy);
	return 0;
}
