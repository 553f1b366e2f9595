// SPDX-License-Identifier: MIT
/* Where the CPUs of cpuid and cpuid-diff come from, and what is worked out of them there. */
#include <stdlib.h>
#include <string.h>

#include "lab/cpuid.h"

static struct dump *add(struct dump_list *list)
{
	list->dumps = xrealloc(list->dumps, (list->count + 1) * sizeof(*list->dumps));
	list->dumps[list->count] = (struct dump){ 0 };
	return &list->dumps[list->count++];
}

static int add_spec(struct dump_list *list, const char *word, const struct cpu_tables *tables,
		    struct error *err)
{
	struct cpu_list cpus = { 0 };

	if (spec_parse(&cpus, word, tables, err) < 0)
		return -1;
	for (size_t i = 0; i < cpus.count; i++)
		dump_from_cpu(add(list), &cpus.cpus[i]);
	cpu_list_free(&cpus);
	return 0;
}

int cpuid_source(struct dump_list *list, const char *word, const struct cpu_tables *tables,
		 struct error *err)
{
	bool host = !strcmp(word, "host");
	struct dump *dump;
	int result;

	if (!host && strcmp(word, "-") && !spec_is_path(word, tables))
		return add_spec(list, word, tables, err);
	dump = add(list);
	result = host ? dump_read_host(dump, err) : dump_read_file(dump, word, err);
	if (result < 0) {
		list->count--;
		return -1;
	}
	for (size_t i = 0; i < dump->cpu_count; i++) {
		struct cpu *cpu = &dump->cpus[i].cpu;

		dump_name_after(cpu->name, CPU_NAME_MAX - 32, word);
		dump_lay_over_model(cpu, &tables->models);
	}
	return 0;
}

void dump_list_free(struct dump_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		dump_free(&list->dumps[i]);
	free(list->dumps);
	*list = (struct dump_list){ 0 };
}

/* How many bits are known of both and differ. */
static unsigned contradictions(const struct cpu *a, const struct cpu *b)
{
	unsigned count = 0;

	for (size_t i = 0; i < FEATURE_WORDS; i++)
		count += (unsigned)__builtin_popcountll((a->on.word[i] ^ b->on.word[i]) &
							a->known.word[i] & b->known.word[i]);
	return count;
}

const struct cpu *catalogue_row(const struct cpu_tables *tables, const struct cpu *cpu)
{
	const struct cpu *best = NULL;

	for (size_t i = 0; cpu->identity_known && i < tables->known.count; i++) {
		const struct cpu *row = &tables->known.cpus[i];

		if (row->origin == CPU_CATALOGUE && row->family == cpu->family &&
		    row->model == cpu->model && !memcmp(row->vendor, cpu->vendor, 12) &&
		    cpu->stepping >= row->stepping && cpu->stepping <= row->stepping_max &&
		    (!best || contradictions(row, cpu) < contradictions(best, cpu)))
			best = row;
	}
	return best;
}

const char *bit_state(const struct cpu *cpu, int feature)
{
	if (!feature_in(&cpu->known, feature))
		return "unknown";
	return feature_in(&cpu->on, feature) ? "on" : "off";
}

/* --- caches --- */

/* Leaf 4 and, in the same format, 0x8000001D (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, E.4.15). */
static size_t caches_of_subleaves(const struct dump_cpu *cpu, uint32_t leaf,
				  struct cache caches[CACHES_MAX])
{
	static const char *const types[] = { NULL, "data", "instruction", "unified" };
	struct cpuid_dump whole;
	size_t count = 0;

	dump_whole_leaves(cpu, &whole);
	for (size_t i = 0; i < whole.count && count < CACHES_MAX; i++) {
		const uint32_t *reg = whole.leaves[i].reg;
		uint32_t shape = reg[CPUID_EBX];

		if (whole.leaves[i].leaf != leaf || (reg[CPUID_EAX] & 0x1F) < 1 ||
		    (reg[CPUID_EAX] & 0x1F) > 3)
			continue;
		caches[count++] = (struct cache){
			.level = reg[CPUID_EAX] >> 5 & 7,
			.type = types[reg[CPUID_EAX] & 0x1F],
			.bytes = ((uint64_t)reg[CPUID_ECX] + 1) * ((shape & 0xFFF) + 1) *
				 ((shape >> 12 & 0x3FF) + 1) * ((shape >> 22) + 1),
			.line = (shape & 0xFFF) + 1,
			.ways = (shape >> 22) + 1,
		};
	}
	cpuid_free(&whole);
	return count;
}

/* Codes of associativity in 0x80000006 (AMD APM vol. 3, E.4.5); 0 where there is none. */
static unsigned ways_of(unsigned code)
{
	static const unsigned ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0 };

	return ways[code & 15];
}

static size_t caches_of_amd(const struct dump_cpu *cpu, struct cache caches[CACHES_MAX])
{
	struct cpuid_dump whole;
	const struct cpuid_leaf *first, *rest;
	size_t count = 0;

	dump_whole_leaves(cpu, &whole);
	first = cpuid_find(&whole, 0x80000005u, 0);
	rest = cpuid_find(&whole, 0x80000006u, 0);
	if (first && first->reg[CPUID_ECX] >> 24) {
		uint32_t data = first->reg[CPUID_ECX], code = first->reg[CPUID_EDX];

		caches[count++] = (struct cache){ 1, "data", (uint64_t)(data >> 24) << 10,
						  data & 0xFF, data >> 16 & 0xFF };
		caches[count++] = (struct cache){ 1, "instruction", (uint64_t)(code >> 24) << 10,
						  code & 0xFF, code >> 16 & 0xFF };
	}
	if (rest && rest->reg[CPUID_ECX] >> 16 && rest->reg[CPUID_ECX] >> 12 & 15)
		caches[count++] =
			(struct cache){ 2, "unified", (uint64_t)(rest->reg[CPUID_ECX] >> 16) << 10,
					rest->reg[CPUID_ECX] & 0xFF,
					ways_of(rest->reg[CPUID_ECX] >> 12) };
	if (rest && rest->reg[CPUID_EDX] >> 18 && rest->reg[CPUID_EDX] >> 12 & 15)
		caches[count++] =
			(struct cache){ 3, "unified", (uint64_t)(rest->reg[CPUID_EDX] >> 18) << 19,
					rest->reg[CPUID_EDX] & 0xFF,
					ways_of(rest->reg[CPUID_EDX] >> 12) };
	cpuid_free(&whole);
	return count;
}

size_t cpuid_caches(const struct dump_cpu *cpu, struct cache caches[CACHES_MAX])
{
	size_t count = caches_of_subleaves(cpu, 4, caches);

	if (!count)
		count = caches_of_subleaves(cpu, 0x8000001Du, caches);
	return count ? count : caches_of_amd(cpu, caches);
}
