// SPDX-License-Identifier: MIT
/* A CPU for a person: who it is, its bits, its caches, and what is uncertain. */
#include <string.h>

#include "lab/cpuid.h"

static const char *const register_names[] = { "EAX", "EBX", "ECX", "EDX" };

static void describe_numbers(struct text *out, const struct dump_cpu *cpu)
{
	for (size_t i = 0; i < cpu->number_count && i < 16; i++) {
		const struct dump_range *range = &cpu->numbers[i];

		text_addf(out, "%s%u", i ? "," : "", range->first);
		if (range->last != range->first)
			text_addf(out, "-%u", range->last);
	}
	if (cpu->number_count > 16)
		text_addf(out, ",...");
}

static void describe_number(struct text *out, const char *mark, bool known, unsigned value)
{
	if (known)
		text_addf(out, "%s%u", mark, value);
	else
		text_addf(out, "%s?", mark);
}

static void describe_identity(struct text *out, const struct dump_cpu *dumped,
			      const struct cpu_tables *tables)
{
	const struct cpu *cpu = &dumped->cpu, *row = catalogue_row(tables, cpu);
	bool known = cpu->identity_known;
	char vendor[64] = "unknown vendor";

	if (dumped->vendor_known || known)
		text_printable(vendor, sizeof(vendor), cpu->vendor, 12);
	text_addf(out, "  signature  %s ", vendor);
	describe_number(out, "", dumped->family_known || known, cpu->family);
	describe_number(out, ":", dumped->model_known || known, cpu->model);
	describe_number(out, ":", dumped->stepping_known || (known && cpu->libvirt_model),
			cpu->stepping);
	if (known)
		text_addf(out, " (0x%x:0x%x:0x%x)", cpu->family, cpu->model, cpu->stepping);
	text_addf(out, "\n");
	if (cpu->libvirt_model)
		text_addf(out, "  model      %s of libvirt\n", cpu->libvirt_model);
	if (row)
		text_addf(out, "  catalogue  %s\n", row->name);
	if (row || *cpu->uarch)
		text_addf(out, "  uarch      %s\n", row ? row->uarch : cpu->uarch);
	if (dumped->core_type >= 0)
		text_addf(out, "  core type  0x%x%s\n", (unsigned)dumped->core_type,
			  dumped->core_type == 0x20   ? " (Atom)"
			  : dumped->core_type == 0x40 ? " (Core)"
						      : "");
	if (*cpu->note)
		text_addf(out, "  note       %s\n", cpu->note);
}

static void describe_bits(struct text *out, const struct cpu *cpu)
{
	size_t unknown = 0;

	text_addf(out, "  dispatch bits\n");
	for (int i = 0; i < (int)feature_count; i++) {
		const struct feature *feature = &features[i];

		if (!feature->dispatch)
			continue;
		text_addf(out, "    %-12s %-8s leaf 0x%x", feature->name, bit_state(cpu, i),
			  feature->leaf);
		if (feature->subleaf)
			text_addf(out, ".%u", feature->subleaf);
		text_addf(out, " %s bit %u\n", register_names[feature->reg], feature->bit);
	}
	text_addf(out, "  other bits that are on\n   ");
	for (int i = 0; i < (int)feature_count; i++) {
		unknown += !feature_in(&cpu->known, i);
		if (!features[i].dispatch && feature_in(&cpu->on, i))
			text_addf(out, " %s", features[i].name);
	}
	text_addf(out, "\n");
	if (unknown)
		text_addf(out, "  unknown    %zu of %zu bits\n", unknown, feature_count);
}

static void describe_caches(struct text *out, const struct dump_cpu *cpu)
{
	struct cache caches[CACHES_MAX];
	size_t count = cpuid_caches(cpu, caches);

	for (size_t i = 0; i < count; i++) {
		text_addf(out, "  %s     L%u %s, %llu KiB", i ? "     " : "cache", caches[i].level,
			  caches[i].type, (unsigned long long)(caches[i].bytes >> 10));
		if (caches[i].ways)
			text_addf(out, ", %u ways", caches[i].ways);
		text_addf(out, ", lines of %u bytes\n", caches[i].line);
	}
	if (cpu->cpu.llc_bytes)
		text_addf(out, "  LLC        %llu KiB\n",
			  (unsigned long long)(cpu->cpu.llc_bytes >> 10));
	if (cpu->cpu.line_bytes)
		text_addf(out, "  clflush    lines of %u bytes\n", cpu->cpu.line_bytes);
}

static void describe(struct text *out, const struct dump *dump, const struct cpu_tables *tables)
{
	for (size_t i = 0; i < dump->cpu_count; i++) {
		const struct dump_cpu *cpu = &dump->cpus[i];
		char brand[256];

		text_printable(brand, sizeof(brand), cpu->brand, strlen(cpu->brand));
		text_addf(out, "%s%s\n", i ? "\n" : "", *brand ? brand : cpu->cpu.name);
		text_addf(out, "  source     %s, CPU ", dump->format);
		describe_numbers(out, cpu);
		text_addf(out, "\n");
		describe_identity(out, cpu, tables);
		describe_bits(out, &cpu->cpu);
		describe_caches(out, cpu);
	}
	for (size_t i = 0; i < dump->warning_count; i++)
		text_addf(out, "  warning    %s\n", dump->warnings[i]);
	if (dump->warnings_dropped)
		text_addf(out, "  warning    %zu more\n", dump->warnings_dropped);
}

void cpuid_describe(struct text *out, const struct dump_list *list, const struct cpu_tables *tables)
{
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			text_addf(out, "\n");
		describe(out, &list->dumps[i], tables);
	}
}
