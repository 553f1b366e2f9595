/* SPDX-License-Identifier: MIT */
/* CPUs on standard input, the picks of the dispatcher that this is linked with on standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/dispatch/dispatch.h"

#define LEAVES_MAX   64
#define CLASSES_MAX  64
#define MODELS	     256
#define STEPPINGS    16
#define FAMILIES_MAX 271 /* 0xF + 0xFF and one */

struct leaf {
	uint32_t leaf, subleaf;
	struct dispatch_registers registers;
};

struct cpu {
	struct leaf leaves[LEAVES_MAX];
	unsigned count;
	struct leaf *signature; /* leaf 1 */
};

/* All picks of one CPU. The dispatcher's strings are static: equal choices have equal pointers. */
struct answer {
	struct dispatch_choice choices[CLASSES_MAX];
	uint64_t sizes[CLASSES_MAX];
};

static void read_leaf(void *context, uint32_t leaf, uint32_t subleaf,
		      struct dispatch_registers *out)
{
	const struct cpu *cpu = context;

	*out = (struct dispatch_registers){ 0, 0, 0, 0 };
	for (unsigned i = 0; i < cpu->count; i++)
		if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf)
			*out = cpu->leaves[i].registers;
}

static void ask(struct answer *answer, struct cpu *cpu)
{
	struct dispatch_cpu seen;

	memset(&seen, 0, sizeof(seen));
	memset(answer, 0, sizeof(*answer));
	dispatch_identify(&seen, read_leaf, cpu, true);
	for (size_t i = 0; i < dispatch_class_count && i < CLASSES_MAX; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];

		answer->sizes[i] = dispatch_class_size(class, seen.llc_bytes);
		answer->choices[i] = dispatch_choose(&seen, class->operation, answer->sizes[i]);
	}
}

static bool same(const struct answer *a, const struct answer *b)
{
	for (size_t i = 0; i < dispatch_class_count && i < CLASSES_MAX; i++)
		if (a->choices[i].path != b->choices[i].path ||
		    a->choices[i].row != b->choices[i].row ||
		    a->choices[i].reason != b->choices[i].reason || a->sizes[i] != b->sizes[i])
			return false;
	return true;
}

static void say(const struct answer *answer)
{
	for (size_t i = 0; i < dispatch_class_count && i < CLASSES_MAX; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		const struct dispatch_choice *choice = &answer->choices[i];

		printf("pick %s %s %llu %s %s\nwhy %s\n", dispatch_operation_name(class->operation),
		       class->name, (unsigned long long)answer->sizes[i],
		       dispatch_path_name(choice->path), choice->row ? choice->row->name : "-",
		       choice->reason ? choice->reason : "-");
	}
}

/* Leaf 1 EAX: Intel SDM volume 2A, CPUID. */
static uint32_t encode(unsigned family, unsigned model, unsigned stepping)
{
	uint32_t base = family < 15 ? family : 15;

	return (family - base) << 20 | (model >> 4) << 16 | base << 8 | (model & 15) << 4 |
	       stepping;
}

static void put_signature(struct cpu *cpu, uint32_t eax)
{
	if (cpu->signature)
		cpu->signature->registers.eax = eax;
}

static void ask_steppings(struct cpu *cpu, unsigned first, unsigned last)
{
	uint32_t eax = cpu->signature ? cpu->signature->registers.eax & ~15u : 0;
	struct answer now, before;
	unsigned since = first;

	put_signature(cpu, eax | first);
	ask(&before, cpu);
	for (unsigned stepping = first + 1; stepping <= last; stepping++) {
		put_signature(cpu, eax | stepping);
		ask(&now, cpu);
		if (!same(&now, &before)) {
			printf("run %u %u\n", since, stepping - 1);
			say(&before);
			since = stepping;
		}
		before = now;
	}
	printf("run %u %u\n", since, last);
	say(&before);
	printf("done\n");
}

static void sweep(struct cpu *cpu, unsigned first, unsigned last)
{
	struct answer now, before;
	bool any = false;

	for (unsigned family = first; family <= last; family++) {
		/* Below family 6 there is no extended model. */
		for (unsigned model = 0; model < (family < 6 ? 16 : MODELS); model++) {
			for (unsigned stepping = 0; stepping < STEPPINGS; stepping++) {
				put_signature(cpu, encode(family, model, stepping));
				ask(&now, cpu);
				if (any && same(&now, &before))
					continue;
				printf("at %u %u %u\n", family, model, stepping);
				say(&now);
				before = now;
				any = true;
			}
		}
	}
	printf("done\n");
}

static bool read_leaf_line(struct cpu *cpu, const char *line)
{
	struct leaf leaf;

	if (cpu->count == LEAVES_MAX ||
	    sscanf(line, "leaf %x %x %x %x %x %x", &leaf.leaf, &leaf.subleaf, &leaf.registers.eax,
		   &leaf.registers.ebx, &leaf.registers.ecx, &leaf.registers.edx) != 6)
		return false;
	cpu->leaves[cpu->count] = leaf;
	if (leaf.leaf == 1 && !leaf.subleaf)
		cpu->signature = &cpu->leaves[cpu->count];
	cpu->count++;
	return true;
}

int main(void)
{
	struct cpu cpu = { .count = 0 };
	unsigned first = 0, last = 0;
	bool sweeps = false;
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "cpu %u %u", &first, &last) == 2 && first <= last &&
		    last < STEPPINGS) {
			cpu = (struct cpu){ .count = 0 };
			sweeps = false;
		} else if (sscanf(line, "sweep %u %u", &first, &last) == 2 && first <= last &&
			   last < FAMILIES_MAX) {
			cpu = (struct cpu){ .count = 0 };
			sweeps = true;
		} else if (!strncmp(line, "end", 3)) {
			(sweeps ? sweep : ask_steppings)(&cpu, first, last);
		} else if (!read_leaf_line(&cpu, line)) {
			fprintf(stderr, "no request: %s", line);
			return EXIT_FAILURE;
		}
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
