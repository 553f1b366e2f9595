// SPDX-License-Identifier: MIT
/* The formats into which quirklab cpuid turns a CPU. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/realise_dump.h"
#include "harness/util/cleanup.h"
#include "lab/cpuid.h"
#include "lab/host_chooser.h"
#include "lab/lists.h"

/* The QEMU whose property names --to qemu writes: the oldest that the lab runs with. */
#define QEMU_OLDEST 7002

/* --- leaves --- */

static bool flags_only(const struct dump_cpu *cpu)
{
	struct cpuid_dump whole;
	bool none;

	dump_whole_leaves(cpu, &whole);
	none = !cpuid_find(&whole, 0, 0) || !cpuid_find(&whole, 1, 0);
	cpuid_free(&whole);
	return none;
}

/* The leaves as they are; of a CPU of which only bits are known, leaves that stand for it. */
static void leaves_of(const struct dump_cpu *cpu, struct cpuid_dump *out, struct text *warnings)
{
	if (!flags_only(cpu)) {
		dump_whole_leaves(cpu, out);
		return;
	}
	cpu_to_dump(&cpu->cpu, out);
	for (size_t i = 1; i < out->count; i++)
		for (size_t j = i; j > 0 && out->leaves[j].leaf < out->leaves[j - 1].leaf; j--) {
			struct cpuid_leaf swap = out->leaves[j];

			out->leaves[j] = out->leaves[j - 1];
			out->leaves[j - 1] = swap;
		}
	text_addf(warnings,
		  "the source has bits, not whole registers: what it does not say is written "
		  "as zero\n");
}

typedef void leaf_writer(struct text *out, const struct cpuid_leaf *leaf);

static void write_leaves(struct text *out, struct text *warnings, const struct dump_cpu *cpu,
			 leaf_writer *write)
{
	struct cpuid_dump leaves;

	leaves_of(cpu, &leaves, warnings);
	for (size_t i = 0; i < leaves.count; i++)
		write(out, &leaves.leaves[i]);
	cpuid_free(&leaves);
}

/* --- cpuid -r --- */

static void raw_leaf(struct text *out, const struct cpuid_leaf *leaf)
{
	text_addf(out, "   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n",
		  leaf->leaf, leaf->subleaf, leaf->reg[0], leaf->reg[1], leaf->reg[2],
		  leaf->reg[3]);
}

static int write_raw(struct text *out, struct text *warnings, const struct dump_list *list,
		     const struct cpu_tables *tables, struct error *err)
{
	(void)tables;
	(void)err;
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < list->dumps[i].cpu_count; j++) {
			const struct dump_cpu *cpu = &list->dumps[i].cpus[j];

			text_addf(out, "CPU %u:\n", cpu->numbers[0].first);
			write_leaves(out, warnings, cpu, raw_leaf);
		}
	return 0;
}

/* --- tsv --- */

static void tsv_leaf(struct text *out, const struct cpuid_leaf *leaf)
{
	text_addf(out, "0x%08x\t0x%08x\t0x%08x\t0x%08x\t0x%08x\t0x%08x\n", leaf->leaf,
		  leaf->subleaf, leaf->reg[0], leaf->reg[1], leaf->reg[2], leaf->reg[3]);
}

static int write_tsv(struct text *out, struct text *warnings, const struct dump_list *list,
		     const struct cpu_tables *tables, struct error *err)
{
	(void)tables;
	(void)err;
	text_addf(out, "leaf\tsubleaf\teax\tebx\tecx\tedx\n");
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < list->dumps[i].cpu_count; j++)
			write_leaves(out, warnings, &list->dumps[i].cpus[j], tsv_leaf);
	return 0;
}

/* --- libvirt's <cpudata> --- */

static void xml_leaf(struct text *out, const struct cpuid_leaf *leaf)
{
	text_addf(out,
		  "  <cpuid eax_in='0x%08x' ecx_in='0x%02x' eax='0x%08x' ebx='0x%08x' ecx='0x%08x' "
		  "edx='0x%08x'/>\n",
		  leaf->leaf, leaf->subleaf, leaf->reg[0], leaf->reg[1], leaf->reg[2],
		  leaf->reg[3]);
}

static int write_xml(struct text *out, struct text *warnings, const struct dump_list *list,
		     const struct cpu_tables *tables, struct error *err)
{
	const struct dump_cpu *cpu = &list->dumps[0].cpus[0];
	char brand[256];

	(void)tables;
	(void)err;
	/* One CPU is a document; two hyphens would end the comment. */
	text_printable(brand, sizeof(brand), cpu->brand, strlen(cpu->brand));
	for (char *hyphen = brand; *hyphen; hyphen++)
		if (*hyphen == '-' && (hyphen[1] == '-' || !hyphen[1]))
			*hyphen = '_';
	if (*brand)
		text_addf(out, "<!-- %s -->\n", brand);
	text_addf(out, "<cpudata arch='x86'>\n");
	write_leaves(out, warnings, cpu, xml_leaf);
	text_addf(out, "</cpudata>\n");
	if (list->count > 1 || list->dumps[0].cpu_count > 1)
		text_addf(warnings, "one CPU is a document: only the first is written\n");
	return 0;
}

/* --- a -cpu of QEMU --- */

/* A brand string may have commas, of which -cpu has no escape; -global takes the rest of its word.
 */
static void write_properties(struct text *out, const struct realised *realised)
{
	CLEANUP_TEXT struct text cpu = { 0 };
	CLEANUP_TEXT struct text brand = { 0 };
	const char *type = realised->model ? realised->model : "base";

	text_addf(&cpu, "%s", type);
	for (size_t i = 0; i < realised->property_count; i++) {
		const char *name = realised->property[i].name, *value = realised->property[i].value;

		if (strcmp(name, "model-id"))
			text_addf(&cpu, ",%s=%s", name, value);
		else
			text_addf(&brand, "%s-x86_64-cpu.model-id=%s", type, value);
	}
	text_addf(out, "-cpu");
	text_addf(out, " ");
	text_add_word(out, text_string(&cpu));
	if (brand.length) {
		text_addf(out, " -global");
		text_addf(out, " ");
		text_add_word(out, text_string(&brand));
	}
	text_addf(out, "\n");
}

static int write_qemu(struct text *out, struct text *warnings, const struct dump_list *list,
		      const struct cpu_tables *tables, struct error *err)
{
	static const struct hypervisor oldest = { .qemu_version = QEMU_OLDEST };

	(void)tables;
	for (size_t i = 0; i < list->count; i++) {
		const struct dump_cpu *cpu = &list->dumps[i].cpus[0];
		struct realised realised;

		if (realise_dump(&realised, &cpu->cpu, cpu, REALISE_BARE, &oldest, warnings, err) <
		    0)
			return -1;
		write_properties(out, &realised);
		for (size_t j = 0; j < feature_count; j++)
			if (feature_in(&realised.unavailable, (int)j))
				text_addf(warnings, "%s: QEMU 7.2 has no property for it\n",
					  features[j].name);
		realised_free(&realised);
		if (list->dumps[i].cpu_count > 1)
			text_addf(warnings,
				  "one -cpu is one kind of CPU: only the first is written\n");
	}
	return 0;
}

/* --- JSON --- */

static json_t *json_number(bool known, unsigned value)
{
	return known ? json_integer(value) : json_null();
}

/* The kernel's flag, as the file says or, where it does not, as the kernel would set it. */
static int rep_good(const struct dump_cpu *cpu)
{
	struct host_choice *choice;
	int result = cpu->rep_good;

	if (result >= 0 || !cpu->cpu.identity_known)
		return result;
	choice = xcalloc(1, sizeof(*choice));
	host_choose(choice, &cpu->cpu, NULL);
	result = choice->cpu.rep_good;
	free(choice);
	return result;
}

/* Every bit that is known, and the dispatch bits in any case. */
static json_t *json_bits(const struct dump_cpu *dumped)
{
	const struct cpu *cpu = &dumped->cpu;
	json_t *out = json_object();
	int good = rep_good(dumped);

	for (int i = 0; i < (int)feature_count; i++)
		if (feature_in(&cpu->known, i))
			json_object_set_new(out, features[i].name,
					    json_boolean(feature_in(&cpu->on, i)));
		else if (features[i].dispatch)
			json_object_set_new(out, features[i].name, json_null());
	json_object_set_new(out, "rep_good", good < 0 ? json_null() : json_boolean(good));
	return out;
}

static json_t *json_caches(const struct dump_cpu *cpu)
{
	struct cache caches[CACHES_MAX];
	size_t count = cpuid_caches(cpu, caches);
	json_t *out = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *cache = json_object();

		json_object_set_new(cache, "level", json_integer(caches[i].level));
		json_object_set_new(cache, "type", json_string(caches[i].type));
		json_object_set_new(cache, "bytes", json_integer((json_int_t)caches[i].bytes));
		json_object_set_new(cache, "ways", json_integer(caches[i].ways));
		json_object_set_new(cache, "line", json_integer(caches[i].line));
		json_array_append_new(out, cache);
	}
	return out;
}

static json_t *json_leaves(const struct dump_cpu *cpu)
{
	struct cpuid_dump leaves;
	json_t *out = json_array();

	dump_whole_leaves(cpu, &leaves);
	for (size_t i = 0; i < leaves.count; i++) {
		const struct cpuid_leaf *leaf = &leaves.leaves[i];
		json_t *item = json_object();

		json_object_set_new(item, "leaf", json_integer(leaf->leaf));
		json_object_set_new(item, "subleaf", json_integer(leaf->subleaf));
		json_object_set_new(item, "eax", json_integer(leaf->reg[CPUID_EAX]));
		json_object_set_new(item, "ebx", json_integer(leaf->reg[CPUID_EBX]));
		json_object_set_new(item, "ecx", json_integer(leaf->reg[CPUID_ECX]));
		json_object_set_new(item, "edx", json_integer(leaf->reg[CPUID_EDX]));
		json_array_append_new(out, item);
	}
	cpuid_free(&leaves);
	return out;
}

static json_t *json_numbers(const struct dump_cpu *cpu)
{
	json_t *out = json_array();

	for (size_t i = 0; i < cpu->number_count; i++)
		json_array_append_new(out, json_pack("[ii]", (int)cpu->numbers[i].first,
						     (int)cpu->numbers[i].last));
	return out;
}

static json_t *json_warnings(const struct dump *dump)
{
	json_t *out = json_array();

	for (size_t i = 0; i < dump->warning_count; i++)
		json_array_append_new(out, inert_string(dump->warnings[i]));
	if (dump->warnings_dropped) {
		CLEANUP_FREE char *more = xasprintf("%zu more warnings", dump->warnings_dropped);

		json_array_append_new(out, json_string(more));
	}
	return out;
}

static json_t *json_cpu(const struct dump *dump, const struct dump_cpu *dumped,
			const struct cpu_tables *tables)
{
	const struct cpu *cpu = &dumped->cpu, *row = catalogue_row(tables, cpu);
	bool known = cpu->identity_known;
	json_t *out = json_object();

	json_object_set_new(out, "vendor",
			    dumped->vendor_known || known ? inert_string(cpu->vendor)
							  : json_null());
	json_object_set_new(out, "family", json_number(dumped->family_known || known, cpu->family));
	json_object_set_new(out, "model", json_number(dumped->model_known || known, cpu->model));
	json_object_set_new(out, "stepping",
			    json_number(dumped->stepping_known || (known && cpu->libvirt_model),
					cpu->stepping));
	json_object_set_new(out, "name", inert_string(row ? row->name : cpu->name));
	json_object_set_new(out, "uarch",
			    row		  ? inert_string(row->uarch)
			    : *cpu->uarch ? inert_string(cpu->uarch)
					  : json_null());
	json_object_set_new(out, "brand", inert_string(dumped->brand));
	json_object_set_new(out, "bits", json_bits(dumped));
	json_object_set_new(out, "caches", json_caches(dumped));
	json_object_set_new(out, "leaves", json_leaves(dumped));
	json_object_set_new(out, "warnings", json_warnings(dump));
	json_object_set_new(out, "format", json_string(dump->format));
	json_object_set_new(out, "cpus", json_numbers(dumped));
	json_object_set_new(out, "core_type",
			    dumped->core_type < 0 ? json_null() : json_integer(dumped->core_type));
	return out;
}

static int write_json(struct text *out, struct text *warnings, const struct dump_list *list,
		      const struct cpu_tables *tables, struct error *err)
{
	bool several = list->count > 1 || list->dumps[0].cpu_count > 1;
	json_t *array = json_array();
	char *text;

	(void)warnings;
	(void)err;
	for (size_t i = 0; i < list->count; i++)
		for (size_t j = 0; j < list->dumps[i].cpu_count; j++)
			json_array_append_new(array, json_cpu(&list->dumps[i],
							      &list->dumps[i].cpus[j], tables));
	text = json_dumps(several ? array : json_array_get(array, 0),
			  JSON_INDENT(1) | JSON_ENSURE_ASCII);
	text_addf(out, "%s\n", text ? text : "null");
	free(text);
	json_decref(array);
	return 0;
}

const struct cpuid_format cpuid_formats[] = {
	{ "cpuid-r", write_raw, false }, { "json", write_json, true },	{ "tsv", write_tsv, false },
	{ "libvirt", write_xml, false }, { "qemu", write_qemu, false },
};
const size_t cpuid_format_count = sizeof(cpuid_formats) / sizeof(cpuid_formats[0]);
