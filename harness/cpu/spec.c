/* SPDX-License-Identifier: MIT */
/* The grammar of a CPU on the command line. */
#include "harness/cpu/spec.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "harness/cpu/dump.h"
#include "harness/cpu/number.h"
#include "harness/cpu/tables.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

#define EDITS_MAX (sizeof(((struct cpu *)0)->edits) / sizeof(char *))
#define LEVEL_MAX 0xFFFFu

static int read_one(struct cpu_list *list, const char *file, enum cpu_origin origin,
		    struct error *err)
{
	CLEANUP_FREE char *path = path_models(file);

	return origin == CPU_MODEL ? models_read(list, path, err)
				   : catalogue_read(list, path, origin, err);
}

int cpu_tables_read(struct cpu_tables *tables, struct error *err)
{
	*tables = (struct cpu_tables){ 0 };
	if (read_one(&tables->known, "catalogue.tsv", CPU_CATALOGUE, err) ||
	    read_one(&tables->known, "unknown.tsv", CPU_UNKNOWN, err) ||
	    read_one(&tables->models, "models.tsv", CPU_MODEL, err)) {
		cpu_tables_free(tables);
		return -1;
	}
	return 0;
}

void cpu_tables_free(struct cpu_tables *tables)
{
	cpu_list_free(&tables->known);
	cpu_list_free(&tables->models);
}

/* --- vendors
 * --------------------------------------------------------------------------------------- */

static const struct {
	const char *word, *vendor;
} vendors[] = {
	{ "intel", "GenuineIntel" },   { "amd", "AuthenticAMD" },     { "hygon", "HygonGenuine" },
	{ "zhaoxin", "  Shanghai  " }, { "centaur", "CentaurHauls" },
};
#define VENDORS (sizeof(vendors) / sizeof(vendors[0]))

/* The 12 bytes, or NULL. */
static const char *vendor_find(const char *word)
{
	for (size_t i = 0; i < VENDORS; i++)
		if (!strcasecmp(word, vendors[i].word))
			return vendors[i].vendor;
	return strlen(word) == 12 ? word : NULL;
}

/* One of ours, by either name. */
static bool is_vendor(const char *word)
{
	for (size_t i = 0; i < VENDORS; i++)
		if (!strcasecmp(word, vendors[i].word) || !strcasecmp(word, vendors[i].vendor))
			return true;
	return false;
}

static const char *vendor_near(const char *word)
{
	for (size_t i = 0; i < VENDORS; i++)
		if (name_distance(word, vendors[i].word) <= 2)
			return vendors[i].word;
	return NULL;
}

static void vendor_word(char *out, size_t room, const char *vendor)
{
	for (size_t i = 0; i < VENDORS; i++)
		if (!strcmp(vendor, vendors[i].vendor)) {
			snprintf(out, room, "%s", vendors[i].word);
			return;
		}
	snprintf(out, room, "%s", vendor);
	for (char *c = out; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '-';
}

/* --- hints
 * ----------------------------------------------------------------------------------------- */

static int error_hint(struct error *err, const char *what, const char *near)
{
	return near ? error_set(err, ERROR_INPUT, "%s: do you mean %s?", what, near)
		    : error_set(err, ERROR_INPUT, "%s", what);
}

/* The name of the list that is nearest, or that has the word in it; NULL where none is near. */
static const char *cpu_near(const struct cpu_list *list, const char *word)
{
	size_t least = strlen(word) / 3 + 1;
	const char *near = NULL;

	for (size_t i = 0; i < list->count; i++) {
		size_t distance = name_distance(word, list->cpus[i].name);

		if (distance <= least && (!near || distance < least)) {
			least = distance;
			near = list->cpus[i].name;
		}
	}
	for (size_t i = 0; !near && i < list->count && strlen(word) >= 3; i++)
		if (strcasestr(list->cpus[i].name, word))
			near = list->cpus[i].name;
	return near;
}

/* --- edits
 * ----------------------------------------------------------------------------------------- */

static int edit_bit(struct cpu *cpu, const char *edit, struct error *err)
{
	int index = feature_find(edit + 1);
	char what[160], word[64];

	if (index < 0) {
		snprintf(what, sizeof(what), "edit '%s': no such CPUID bit",
			 text_printable(word, sizeof(word), edit, strlen(edit)));
		return error_hint(err, what, feature_near(edit + 1));
	}
	feature_put(&cpu->known, index, true);
	feature_put(&cpu->on, index, *edit == '+');
	return 0;
}

static int edit_vendor(struct cpu *cpu, const char *value, struct error *err)
{
	const char *vendor = vendor_find(value);

	if (!vendor) {
		char what[200], word[64];

		snprintf(what, sizeof(what),
			 "edit 'vendor=%s': no vendor (intel, amd, hygon, zhaoxin, centaur, or the "
			 "12 "
			 "bytes of leaf 0)",
			 text_printable(word, sizeof(word), value, strlen(value)));
		return error_hint(err, what, vendor_near(value));
	}
	memcpy(cpu->vendor, vendor, sizeof(cpu->vendor));
	return 0;
}

/* Fields that an edit gives a number. */
static const struct {
	const char *name;
	unsigned least, most;
} number_fields[] = {
	{ "family", 0, FAMILY_MAX },
	{ "model", 0, MODEL_MAX },
	{ "stepping", 0, STEPPING_MAX },
	{ "level", 1, LEVEL_MAX },
};
#define NUMBER_FIELDS (sizeof(number_fields) / sizeof(number_fields[0]))

static int edit_number(struct cpu *cpu, size_t field, const char *value, struct error *err)
{
	unsigned *const places[] = { &cpu->family, &cpu->model, &cpu->stepping };
	char word[64];
	uint64_t number;

	if (!number_read(value, number_fields[field].most, &number) ||
	    number < number_fields[field].least)
		return error_set(
			err, ERROR_INPUT,
			"edit '%s=%s': expected a number from %u to %u, decimal or 0x hexadecimal",
			number_fields[field].name,
			text_printable(word, sizeof(word), value, strlen(value)),
			number_fields[field].least, number_fields[field].most);
	if (field < 3)
		*places[field] = (unsigned)number;
	else
		cpu->level = (int)number;
	cpu->stepping_max = cpu->stepping;
	return 0;
}

static int edit_field(struct cpu *cpu, const char *edit, struct error *err)
{
	const char *equals = strchr(edit, '=');
	size_t length = equals ? (size_t)(equals - edit) : 0;
	char word[64], what[240];
	const char *near = NULL;

	if (equals && length == 6 && !strncmp(edit, "vendor", 6))
		return edit_vendor(cpu, equals + 1, err);
	for (size_t i = 0; equals && i < NUMBER_FIELDS; i++)
		if (length == strlen(number_fields[i].name) &&
		    !strncmp(edit, number_fields[i].name, length))
			return edit_number(cpu, i, equals + 1, err);
	text_printable(word, sizeof(word), edit, strlen(edit));
	snprintf(what, sizeof(what),
		 "'%s' is no edit; expected +BIT, -BIT, or one of vendor= family= model= stepping= "
		 "level=",
		 word);
	if (equals && length < sizeof(word)) {
		memcpy(word, edit, length);
		word[length] = '\0';
		for (size_t i = 0; i < NUMBER_FIELDS && !near; i++)
			if (name_distance(word, number_fields[i].name) <= 2)
				near = number_fields[i].name;
	} else if (!equals && feature_find(edit) >= 0) {
		snprintf(word, sizeof(word), "+%s", features[feature_find(edit)].name);
		near = word;
	}
	return error_hint(err, what, near);
}

static int apply_edit(struct cpu *cpu, const char *edit, struct error *err)
{
	size_t length = strlen(cpu->name);
	int written;

	if (cpu->edit_count == EDITS_MAX)
		return error_set(err, ERROR_INPUT, "more than %zu edits of one CPU", EDITS_MAX);
	if (*edit == '+' || *edit == '-' ? edit_bit(cpu, edit, err) : edit_field(cpu, edit, err))
		return -1;
	cpu->edits[cpu->edit_count++] = xstrdup(edit);
	written = snprintf(cpu->name + length, sizeof(cpu->name) - length, ",%s", edit);
	if ((size_t)written >= sizeof(cpu->name) - length)
		return error_set(err, ERROR_INPUT,
				 "the name of the CPU with its edits is longer than %zu bytes",
				 sizeof(cpu->name) - 1);
	/* A name has no blank and no '/': "vendor=  Shanghai  " is the one edit that may. */
	for (char *c = cpu->name + length; *c; c++)
		if (*c == '/' || !isgraph((unsigned char)*c))
			*c = '-';
	return 0;
}

/* Edits separated by commas, to every CPU from `first` on. */
static int apply_edits(struct cpu_list *list, size_t first, const char *edits, struct error *err)
{
	CLEANUP_FREE char *copy = xstrdup(edits);

	for (char *edit = copy, *next; edit; edit = next) {
		next = strchr(edit, ',');
		if (next)
			*next++ = '\0';
		for (size_t i = first; i < list->count; i++)
			if (apply_edit(&list->cpus[i], edit, err))
				return -1;
	}
	return 0;
}

/* --- what stands before the edits
 * ------------------------------------------------------------------ */

struct signature {
	char vendor[13]; /* "" : any */
	unsigned family, model, stepping;
	bool stepping_given;
};

enum signature_kind {
	SIGNATURE_NONE, /* does not read as one */
	SIGNATURE_GOOD,
	SIGNATURE_BAD, /* reads as one, and is out of range; the error is set */
};

static bool looks_numeric(const char *word)
{
	return isdigit((unsigned char)*word) &&
	       strspn(word, "0123456789abcdefABCDEFxX") == strlen(word);
}

static enum signature_kind read_numbers(struct signature *out, char *word, const char *spec,
					struct error *err)
{
	unsigned *const places[] = { &out->family, &out->model, &out->stepping };
	size_t count = 0;
	char *parts[4], printable[64];

	for (char *part = word, *next; part; part = next) {
		next = strchr(part, ':');
		if (next)
			*next++ = '\0';
		if (count == 4 || !looks_numeric(part))
			return SIGNATURE_NONE;
		parts[count++] = part;
	}
	if (count < 2 || count > 3)
		return SIGNATURE_NONE;
	for (size_t i = 0; i < count; i++) {
		uint64_t value;

		if (!number_read(parts[i], number_fields[i].most, &value)) {
			error_set(err, ERROR_INPUT,
				  "'%s': %s is %s; expected a number from 0 to %u",
				  text_printable(printable, sizeof(printable), spec, strlen(spec)),
				  number_fields[i].name, parts[i], number_fields[i].most);
			return SIGNATURE_BAD;
		}
		*places[i] = (unsigned)value;
	}
	out->stepping_given = count == 3;
	return SIGNATURE_GOOD;
}

static enum signature_kind read_signature(struct signature *out, const char *head,
					  struct error *err)
{
	CLEANUP_FREE char *copy = xstrdup(head);
	char *slash = strrchr(copy, '/');
	const char *vendor = NULL;

	*out = (struct signature){ 0 };
	if (slash) {
		*slash = '\0';
		vendor = vendor_find(copy);
		if (!vendor)
			return SIGNATURE_NONE;
		memcpy(out->vendor, vendor, sizeof(out->vendor));
	}
	return read_numbers(out, slash ? slash + 1 : copy, head, err);
}

/* The row's own name where it is shown with its first stepping, else NAME:STEPPING. */
static int present_stepping(struct cpu *cpu, unsigned stepping, struct error *err)
{
	size_t length = strlen(cpu->name);

	if (stepping < cpu->stepping || stepping > cpu->stepping_max)
		return error_set(err, ERROR_INPUT, "%s: stepping %u is not of its %u..%u",
				 cpu->name, stepping, cpu->stepping, cpu->stepping_max);
	if (stepping != cpu->stepping)
		snprintf(cpu->name + length, sizeof(cpu->name) - length, ":%u", stepping);
	cpu->stepping = cpu->stepping_max = stepping;
	return 0;
}

/* Whether the row is another one again: one of its steppings, or the same CPU in a guest. A
 * signature does not mean it then; its name does. */
static bool is_beside(const struct cpu *row, const struct cpu *other)
{
	const int guest = feature_find("hypervisor");
	struct feature_set bare = row->on;
	bool in_guest = feature_in(&row->on, guest) && !feature_in(&other->on, guest);

	if (other->origin != row->origin || other->family != row->family ||
	    other->model != row->model || memcmp(other->vendor, row->vendor, 12) ||
	    other->stepping > row->stepping || other->stepping_max < row->stepping_max)
		return false;
	if (in_guest)
		feature_put(&bare, guest, false);
	return !memcmp(&bare, &other->on, sizeof(bare)) &&
	       (in_guest || other->stepping < row->stepping ||
		other->stepping_max > row->stepping_max);
}

static bool is_beside_any(const struct cpu *row, const struct cpu_list *known)
{
	for (size_t i = 0; i < known->count; i++)
		if (is_beside(row, &known->cpus[i]))
			return true;
	return false;
}

static size_t add_rows(struct cpu_list *list, const struct signature *wanted,
		       const struct cpu_list *known, enum cpu_origin origin)
{
	size_t before = list->count;

	for (size_t i = 0; i < known->count; i++) {
		const struct cpu *row = &known->cpus[i];
		struct cpu *cpu;

		if (row->origin != origin || row->family != wanted->family ||
		    row->model != wanted->model)
			continue;
		if (*wanted->vendor && memcmp(row->vendor, wanted->vendor, 12))
			continue;
		if (wanted->stepping_given &&
		    (wanted->stepping < row->stepping || wanted->stepping > row->stepping_max))
			continue;
		if (is_beside_any(row, known))
			continue;
		cpu = cpu_list_add(list);
		cpu_copy(cpu, row);
		if (wanted->stepping_given)
			present_stepping(cpu, wanted->stepping, NULL);
	}
	return list->count - before;
}

static int add_signature(struct cpu_list *list, const struct signature *wanted,
			 const struct cpu_tables *tables, struct error *err)
{
	char vendor[16];
	struct cpu *cpu;

	if (add_rows(list, wanted, &tables->known, CPU_CATALOGUE) ||
	    add_rows(list, wanted, &tables->known, CPU_UNKNOWN))
		return 0;
	if (!*wanted->vendor)
		return error_set(
			err, ERROR_INPUT,
			"%u:%u: no CPU of the catalogue has this family and model; to make one "
			"up, say whose: intel/%u:%u",
			wanted->family, wanted->model, wanted->family, wanted->model);
	cpu = cpu_list_add(list);
	cpu->origin = CPU_SIGNATURE;
	snprintf(cpu->spec, sizeof(cpu->spec), "%s/%u:%u:%u", wanted->vendor, wanted->family,
		 wanted->model, wanted->stepping);
	memcpy(cpu->vendor, wanted->vendor, sizeof(cpu->vendor));
	cpu->family = wanted->family;
	cpu->model = wanted->model;
	cpu->stepping = cpu->stepping_max = wanted->stepping;
	cpu->identity_known = true;
	vendor_word(vendor, sizeof(vendor), cpu->vendor);
	snprintf(cpu->name, sizeof(cpu->name), "%s-%u-0x%02X", vendor, cpu->family, cpu->model);
	if (wanted->stepping_given)
		snprintf(cpu->name + strlen(cpu->name), 8, "-s%u", wanted->stepping);
	return 0;
}

static int add_model(struct cpu_list *list, const char *name, const struct cpu_tables *tables,
		     struct error *err)
{
	char printable[64];
	struct cpu *cpu;

	if (!isalnum((unsigned char)*name) || strlen(name) > 60 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") !=
		    strlen(name))
		return error_set(
			err, ERROR_INPUT,
			"'model:%s': expected the name of a libvirt CPU model behind model:",
			text_printable(printable, sizeof(printable), name, strlen(name)));
	for (size_t i = 0; i < tables->models.count; i++)
		if (!strcasecmp(tables->models.cpus[i].libvirt_model, name)) {
			cpu_copy(cpu_list_add(list), &tables->models.cpus[i]);
			return 0;
		}
	cpu = cpu_list_add(list);
	cpu->origin = CPU_MODEL;
	cpu->libvirt_model = xstrdup(name);
	snprintf(cpu->name, sizeof(cpu->name), "model:%s", name);
	return 0;
}

/* NAME, or NAME:STEPPING as present_stepping makes it. Returns 1 where the catalogue has it. */
static int add_name(struct cpu_list *list, const char *head, const struct cpu_list *known,
		    struct error *err)
{
	CLEANUP_FREE char *name = xstrdup(head);
	char *colon = strrchr(name, ':');
	uint64_t stepping = 0;

	if (colon && number_read(colon + 1, STEPPING_MAX, &stepping))
		*colon = '\0';
	else
		colon = NULL;
	for (size_t i = 0; i < known->count; i++) {
		struct cpu *cpu;

		if (strcasecmp(known->cpus[i].name, name))
			continue;
		cpu = cpu_list_add(list);
		cpu_copy(cpu, &known->cpus[i]);
		return colon && present_stepping(cpu, (unsigned)stepping, err) ? -1 : 1;
	}
	return 0;
}

static int error_no_cpu(const char *head, const struct cpu_tables *tables, struct error *err)
{
	char what[200], word[100];
	const char *near = cpu_near(&tables->known, head);
	const char *model = NULL;

	text_printable(word, sizeof(word), head, strlen(head));
	for (size_t i = 0; i < tables->models.count; i++)
		if (!strcasecmp(tables->models.cpus[i].libvirt_model, head))
			model = tables->models.cpus[i].name;
	if (strchr(head, '/')) {
		const char *slash = strchr(head, '/');

		snprintf(what, sizeof(what), "'%s': no such file, and no CPU", word);
		snprintf(word, sizeof(word), "%.*s", (int)(slash - head), head);
		near = looks_numeric(slash + 1) || strchr(slash, ':') ? vendor_near(word) : NULL;
		return error_hint(err, what, near);
	}
	if (is_vendor(head))
		return error_set(err, ERROR_INPUT,
				 "'%s' is a vendor, no CPU: %s/FAMILY:MODEL was expected", word,
				 word);
	snprintf(what, sizeof(what), "no CPU '%s'", word);
	return error_hint(err, what, model ? model : near);
}

/* One word without edits. Returns 1 where it means something, 0 where nothing is known of it. */
static int add_head(struct cpu_list *list, const char *head, const struct cpu_tables *tables,
		    struct error *err)
{
	struct signature signature;
	int found;

	if (!strncmp(head, "model:", 6))
		return add_model(list, head + 6, tables, err) ? -1 : 1;
	switch (read_signature(&signature, head, err)) {
	case SIGNATURE_GOOD:
		return add_signature(list, &signature, tables, err) ? -1 : 1;
	case SIGNATURE_BAD:
		return -1;
	case SIGNATURE_NONE:
		break;
	}
	found = add_name(list, head, &tables->known, err);
	if (found)
		return found;
	if (access(head, F_OK))
		return 0;
	if (dump_read_cpu(cpu_list_add(list), head, err))
		return -1;
	if (strlen(head) < sizeof(list->cpus->spec))
		strcpy(list->cpus[list->count - 1].spec, head);
	dump_lay_over_model(&list->cpus[list->count - 1], &tables->models);
	return 1;
}

bool spec_is_path(const char *spec, const struct cpu_tables *tables)
{
	CLEANUP_FREE char *name = xstrdup(spec);
	struct signature signature;
	char *colon = strrchr(name, ':');
	uint64_t stepping;

	if (!strncmp(spec, "model:", 6) || access(spec, F_OK) ||
	    read_signature(&signature, spec, NULL) != SIGNATURE_NONE)
		return false;
	if (colon && number_read(colon + 1, STEPPING_MAX, &stepping))
		*colon = '\0';
	for (size_t i = 0; i < tables->known.count; i++)
		if (!strcasecmp(tables->known.cpus[i].name, name))
			return false;
	return true;
}

/* Drops what was added since: a SPEC gives all of its CPUs or none. */
static int undo(struct cpu_list *list, size_t first)
{
	while (list->count > first)
		cpu_free(&list->cpus[--list->count]);
	return -1;
}

int spec_parse(struct cpu_list *list, const char *spec, const struct cpu_tables *tables,
	       struct error *err)
{
	size_t first = list->count;
	CLEANUP_FREE char *head = xstrdup(spec);
	const char *edits = NULL;
	int found = 0;

	if (!*spec)
		return error_set(err, ERROR_INPUT,
				 "an empty CPU; expected NAME, [VENDOR/]FAMILY:MODEL[:STEPPING], "
				 "model:NAME or a file");
	/* A file's name may have commas: then the head is the longest that names one. */
	for (size_t length = strlen(spec); !found; length--) {
		if (length != strlen(spec) && spec[length] != ',')
			continue;
		memcpy(head, spec, length);
		head[length] = '\0';
		edits = spec[length] ? spec + length + 1 : NULL;
		if (!strchr(head, ',') || !access(head, F_OK)) {
			found = add_head(list, head, tables, err);
			break;
		}
	}
	if (found < 0)
		return undo(list, first);
	if (!found)
		return error_no_cpu(head, tables, err);
	if (edits && apply_edits(list, first, edits, err))
		return undo(list, first);
	return 0;
}
