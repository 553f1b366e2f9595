// SPDX-License-Identifier: MIT
/* The record of a cell (CONTRACT, Results): written as, and read from, one line of JSON. */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "harness/judge/judge.h"
#include "harness/judge/trace.h"
#include "harness/report/report.h"
#include "images/protocol.h"

#define RECORD_SCHEMA 1

static const char *const executable_names[] = {
	[REPORT_EXECUTABLE_NO] = "no",
	[REPORT_EXECUTABLE_YES] = "yes",
	[REPORT_EXECUTABLE_EMULATED] = "emulated",
};
#define EXECUTABLES (sizeof(executable_names) / sizeof(*executable_names))

static const char *const end_names[] = {
	[REPORT_EXITED] = "exited",
	[REPORT_SIGNALLED] = "signalled",
	[REPORT_TIMED_OUT] = "timed-out",
	[REPORT_NOT_STARTED] = "not-started",
};
#define ENDS (sizeof(end_names) / sizeof(*end_names))

/* --- writing -----------------------------------------------------------------------------------
 */

/* Strings may come from a guest: in a record they are inert. */
static json_t *string(const char *bytes)
{
	char inert[2048];

	return json_string(text_printable(inert, sizeof(inert), bytes, strlen(bytes)));
}

static json_t *string_or_null(const char *bytes)
{
	return *bytes ? string(bytes) : json_null();
}

static json_t *strings(const char *const *list, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, string(list[i]));
	return array;
}

/* Tenths of a millisecond are all that a clock here is good for. */
static json_t *seconds(double value)
{
	return json_real((double)(int64_t)(value * 1e4 + 0.5) / 1e4);
}

/* A path under its key; a name that a program has for what it picks under KEY_name. */
static void put_path(json_t *out, const char *key, const char *name_key, const char *path)
{
	const bool named = *path && !expectations_is_path(path);

	json_object_set_new(out, key, named ? json_null() : string_or_null(path));
	if (named)
		json_object_set_new(out, name_key, string(path));
}

static json_t *write_pick(const struct pick *pick)
{
	json_t *out = json_object(), *depends = json_array();
	unsigned executable = pick->executable < EXECUTABLES ? pick->executable : 0;

	for (size_t i = 0; i < pick->depends_count; i++)
		json_array_append_new(depends, string(pick->depends[i]));
	json_object_set_new(out, "op", string(pick->operation));
	json_object_set_new(out, "class", string(pick->class));
	json_object_set_new(out, "size",
			    pick->size_known ? json_integer((json_int_t)pick->size) : json_null());
	put_path(out, "expected", "expected_name", pick->expected);
	put_path(out, "says", "says_name", pick->says);
	json_object_set_new(out, "does", string_or_null(pick->does));
	json_object_set_new(out, "row", string_or_null(pick->row));
	json_object_set_new(out, "executable", json_string(executable_names[executable]));
	json_object_set_new(out, "verdict", json_string(verdict_name(pick->verdict)));
	json_object_set_new(out, "depends", depends);
	if (pick->trace_count) {
		json_t *trace = json_array();

		for (size_t i = 0; i < pick->trace_count; i++)
			json_array_append_new(trace, json_integer(pick->trace[i]));
		json_object_set_new(out, "trace", trace);
	}
	return out;
}

static json_t *write_cpu(const struct cell_result *result)
{
	json_t *out = json_object();

	json_object_set_new(out, "name", string(result->name));
	json_object_set_new(out, "vendor", string(result->vendor));
	json_object_set_new(out, "family", json_integer(result->family));
	json_object_set_new(out, "model", json_integer(result->model));
	json_object_set_new(out, "stepping", json_integer(result->stepping));
	json_object_set_new(out, "edits",
			    strings((const char *const *)result->edits, result->edit_count));
	if (*result->spec)
		json_object_set_new(out, "spec", string(result->spec));
	if (*result->uarch)
		json_object_set_new(out, "uarch", string(result->uarch));
	return out;
}

/* The names of the bits, where there are any. */
static void write_bits(json_t *out, const char *key, const struct feature_set *bits)
{
	json_t *array = json_array();

	for (size_t i = 0; i < feature_count; i++)
		if (feature_in(bits, (int)i))
			json_array_append_new(array, json_string(features[i].name));
	if (json_array_size(array))
		json_object_set(out, key, array);
	json_decref(array);
}

/* "fpu vme ..." as a list. */
static json_t *words(const char *text)
{
	json_t *array = json_array();

	while (*(text += strspn(text, " "))) {
		size_t length = strcspn(text, " ");

		json_array_append_new(array, json_stringn(text, length));
		text += length;
	}
	return array;
}

static json_t *write_kernel(const struct cell_kernel *kernel)
{
	json_t *out = json_object(), *vulnerabilities = json_object(), *sites = json_object();

	for (size_t i = 0; i < kernel->vulnerability_count; i++)
		json_object_set_new(vulnerabilities, kernel->vulnerabilities[i].name,
				    string(kernel->vulnerabilities[i].text));
	for (size_t i = 0; i < kernel->site_count; i++)
		json_object_set_new(sites, kernel->sites[i].name,
				    json_integer(kernel->sites[i].count));
	json_object_set_new(out, "flags", words(kernel->flags));
	json_object_set_new(out, "vulnerabilities", vulnerabilities);
	json_object_set_new(out, "sites", sites);
	if (*kernel->options)
		json_object_set_new(out, "options", words(kernel->options));
	if (*kernel->microcode)
		json_object_set_new(out, "microcode", string(kernel->microcode));
	if (*kernel->boot)
		json_object_set_new(out, "boot", string(kernel->boot));
	return out;
}

static json_t *write_program(const struct cell_program *program)
{
	json_t *out = json_object(), *values = json_object(), *notes = json_array(), *tests;
	const char *how = program->how < ENDS ? end_names[program->how] : "?";

	json_object_set_new(out, "version", string_or_null(program->version));
	json_object_set_new(out, "end", json_string(how));
	json_object_set_new(out, "code", json_integer(program->code));
	json_object_set_new(out, "written", json_integer((json_int_t)program->written));
	json_object_set_new(out, "left_out", json_integer((json_int_t)program->left_out));
	if (program->tap) {
		tests = json_object();
		json_object_set_new(tests, "passed", json_integer(program->passed));
		json_object_set_new(tests, "failed", json_integer(program->failed));
		json_object_set_new(tests, "skipped", json_integer(program->skipped));
		json_object_set_new(tests, "todo", json_integer(program->todo));
		json_object_set_new(out, "tests", tests);
	}
	for (size_t i = 0; i < program->value_count; i++)
		json_object_set_new(values, program->values[i].name,
				    string(program->values[i].text));
	for (size_t i = 0; i < program->note_count; i++)
		json_array_append_new(notes, string(program->notes[i]));
	json_object_set_new(out, "values", values);
	json_object_set_new(out, "notes", notes);
	return out;
}

void record_write(struct text *out, const struct cell_result *result)
{
	const struct cpu_difference *difference = &result->difference;
	json_t *record = json_object(), *picks = json_array(), *part;
	char *line;

	json_object_set_new(record, "schema", json_integer(RECORD_SCHEMA));
	json_object_set_new(record, "run", string(result->run));
	json_object_set_new(record, "cell", string(result->cell));
	json_object_set_new(record, "cpu", write_cpu(result));
	json_object_set_new(record, "image", string(result->image));
	json_object_set_new(record, "subject", string(result->subject));
	json_object_set_new(record, "accel", string(*result->accel ? result->accel : "none"));
	json_object_set_new(record, "pack", json_integer(result->pack));
	json_object_set_new(record, "verdict", json_string(verdict_name(result->verdict)));
	json_object_set_new(record, "reason", string_or_null(result->reason));
	json_object_set_new(record, "tries", json_integer(result->tries));
	for (size_t i = 0; i < result->pick_count; i++)
		json_array_append_new(picks, write_pick(&result->picks[i]));
	json_object_set_new(record, "picks", picks);
	if (result->trace_count)
		json_object_set_new(record, "traces",
				    strings((const char *const *)result->traces,
					    result->trace_count));

	part = json_object();
	json_object_set_new(part, "missing",
			    strings(difference->missing, difference->missing_count));
	json_object_set_new(part, "extra", strings(difference->extra, difference->extra_count));
	json_object_set_new(part, "identity",
			    strings(difference->identity, difference->identity_count));
	write_bits(part, "forced", &result->forced);
	write_bits(part, "unavailable", &result->unavailable);
	json_object_set_new(record, "cpuid", part);

	part = json_object();
	json_object_set_new(part, "qemu", string_or_null(result->qemu));
	json_object_set_new(part, "libvirt", string_or_null(result->libvirt));
	json_object_set_new(part, "kernel", string_or_null(result->kernel));
	json_object_set_new(part, "libc", string_or_null(result->libc));
	json_object_set_new(record, "versions", part);
	if (result->kernel_seen)
		json_object_set_new(record, "kernel", write_kernel(result->kernel_seen));
	if (result->program_seen)
		json_object_set_new(record, "program", write_program(result->program_seen));

	part = json_object();
	json_object_set_new(part, "create", seconds(result->seconds.create));
	json_object_set_new(part, "guest", seconds(result->seconds.guest));
	json_object_set_new(part, "destroy", seconds(result->seconds.destroy));
	json_object_set_new(part, "total", seconds(result->seconds.total));
	json_object_set_new(record, "seconds", part);

	line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(8));
	text_addf(out, "%s\n", line ? line : "{}");
	free(line);
	json_decref(record);
}

/* --- reading -----------------------------------------------------------------------------------
 */

/* Walks a record; the first thing that is not as the contract says ends it. */
struct reader {
	struct error *err;
	bool bad;
};

static void __attribute__((format(printf, 2, 3)))
refuse(struct reader *reader, const char *format, ...)
{
	char text[256];
	va_list args;

	if (reader->bad)
		return;
	reader->bad = true;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(reader->err, ERROR_INPUT, "no record: %s", text);
}

static json_t *get(struct reader *reader, json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		refuse(reader, "'%s' is missing", key);
	return value;
}

static json_t *get_list(struct reader *reader, json_t *object, const char *key)
{
	json_t *value = get(reader, object, key);

	if (value && !json_is_array(value))
		refuse(reader, "'%s' is no list", key);
	return value;
}

static json_t *get_object(struct reader *reader, json_t *object, const char *key)
{
	json_t *value = get(reader, object, key);

	if (value && !json_is_object(value))
		refuse(reader, "'%s' is no object", key);
	return value;
}

static void put_string(struct reader *reader, char *out, size_t room, json_t *value,
		       const char *key)
{
	const char *bytes = json_string_value(value);

	if (!bytes)
		refuse(reader, "'%s' is no string", key);
	else if (strlen(bytes) >= room)
		refuse(reader, "'%s' is longer than %zu", key, room - 1);
	else
		text_printable(out, room, bytes, strlen(bytes));
}

#define GET_STRING(reader, out, object, key) \
	put_string(reader, out, sizeof(out), get(reader, object, key), key)

/* null is "" */
static void get_nullable(struct reader *reader, char *out, size_t room, json_t *object,
			 const char *key)
{
	json_t *value = get(reader, object, key);

	*out = '\0';
	if (value && !json_is_null(value))
		put_string(reader, out, room, value, key);
}

#define GET_NULLABLE(reader, out, object, key) get_nullable(reader, out, sizeof(out), object, key)

static uint64_t get_number(struct reader *reader, json_t *object, const char *key, uint64_t most)
{
	json_t *value = get(reader, object, key);
	json_int_t number = json_integer_value(value);

	if (value && (!json_is_integer(value) || number < 0 || (uint64_t)number > most)) {
		refuse(reader, "'%s' is no number up to %llu", key, (unsigned long long)most);
		return 0;
	}
	return (uint64_t)number;
}

static double get_seconds(struct reader *reader, json_t *object, const char *key)
{
	json_t *value = get(reader, object, key);

	if (value && !json_is_number(value))
		refuse(reader, "'%s' is no number of seconds", key);
	return json_number_value(value);
}

static enum verdict get_verdict(struct reader *reader, json_t *object)
{
	const char *name = json_string_value(get(reader, object, "verdict"));
	enum verdict verdict = VERDICT_ERROR;

	if (!name || !verdict_find(name, &verdict))
		refuse(reader, "'verdict' is none");
	return verdict;
}

/* Records of an older lab have none. */
static void read_pick_traces(struct reader *reader, struct pick *pick, json_t *from, size_t traces)
{
	json_t *value;
	size_t i;

	if (!json_object_get(from, "trace"))
		return;
	json_array_foreach(get_list(reader, from, "trace"), i, value)
	{
		json_int_t index = json_integer_value(value);

		if (i == sizeof(pick->trace) / sizeof(*pick->trace) || !json_is_integer(value) ||
		    index < 0 || (uint64_t)index >= traces) {
			refuse(reader, "'trace' is no list of at most 2 of the 'traces'");
			return;
		}
		pick->trace[i] = (uint8_t)index;
		pick->trace_count = i + 1;
	}
}

static void read_traces(struct reader *reader, struct cell_result *result, json_t *record)
{
	json_t *list = json_object_get(record, "traces"), *value;
	size_t i;

	if (!list)
		return;
	list = get_list(reader, record, "traces");
	if (json_array_size(list) > CELL_TRACES_MAX) {
		refuse(reader, "more than %d traces", CELL_TRACES_MAX);
		return;
	}
	result->traces = xcalloc(json_array_size(list) + 1, sizeof(*result->traces));
	json_array_foreach(list, i, value)
	{
		const char *line = json_string_value(value);

		if (!line || !trace_valid(line)) {
			refuse(reader, "an entry of 'traces' is no trace");
			return;
		}
		result->traces[result->trace_count++] = xstrdup(line);
	}
}

static void read_pick(struct reader *reader, struct pick *pick, json_t *from, size_t traces)
{
	json_t *depends, *value;
	const char *executable;
	size_t i;

	if (!json_is_object(from)) {
		refuse(reader, "a pick is no object");
		return;
	}
	GET_STRING(reader, pick->operation, from, "op");
	GET_STRING(reader, pick->class, from, "class");
	value = get(reader, from, "size");
	pick->size_known = value && !json_is_null(value);
	if (pick->size_known)
		pick->size = get_number(reader, from, "size", INT64_MAX);
	GET_NULLABLE(reader, pick->expected, from, "expected");
	GET_NULLABLE(reader, pick->says, from, "says");
	if (json_object_get(from, "expected_name"))
		GET_STRING(reader, pick->expected, from, "expected_name");
	if (json_object_get(from, "says_name"))
		GET_STRING(reader, pick->says, from, "says_name");
	GET_NULLABLE(reader, pick->does, from, "does");
	GET_NULLABLE(reader, pick->row, from, "row");
	executable = json_string_value(get(reader, from, "executable"));
	for (i = 0; i < EXECUTABLES; i++)
		if (executable && !strcmp(executable, executable_names[i]))
			break;
	if (i == EXECUTABLES)
		refuse(reader, "'executable' is none of yes, emulated, no");
	pick->executable = (uint8_t)i;
	pick->verdict = get_verdict(reader, from);
	read_pick_traces(reader, pick, from, traces);
	depends = get_list(reader, from, "depends");
	json_array_foreach(depends, i, value)
	{
		if (i == sizeof(pick->depends) / sizeof(*pick->depends)) {
			refuse(reader, "'depends' is too long");
			break;
		}
		put_string(reader, pick->depends[i], sizeof(*pick->depends), value, "depends");
		pick->depends_count = i + 1;
	}
}

/* The lists of cpuid point into one block, which the result owns. */
static char *list_names(struct reader *reader, json_t *cpuid, const char *key, const char **names,
			size_t room, size_t *count, char *storage)
{
	json_t *list = get_list(reader, cpuid, key), *value;
	size_t i;

	json_array_foreach(list, i, value)
	{
		const char *name = json_string_value(value);

		if (!name || i == room) {
			refuse(reader, "'%s' is no list of at most %zu names", key, room);
			break;
		}
		names[i] = storage;
		text_printable(storage, 4 * strlen(name) + 1, name, strlen(name));
		storage += strlen(storage) + 1;
		*count = i + 1;
	}
	return storage;
}

/* Bits that this program does not know are left out: a newer one wrote the record. */
static void read_bits(struct reader *reader, struct feature_set *bits, json_t *cpuid,
		      const char *key)
{
	json_t *value;
	size_t i;

	if (!json_object_get(cpuid, key))
		return;
	json_array_foreach(get_list(reader, cpuid, key), i, value)
	{
		const char *name = json_string_value(value);
		int index = name ? feature_find(name) : -1;

		if (!name)
			refuse(reader, "'%s' is no list of names", key);
		if (index >= 0)
			feature_put(bits, index, true);
	}
}

static void read_difference(struct reader *reader, struct cell_result *result, json_t *cpuid,
			    size_t line_length)
{
	struct cpu_difference *to = &result->difference;
	char *storage;

	/* No list can hold more than the line did; a byte grows to four (\xHH) at most. */
	storage = result->difference_names = xmalloc(4 * line_length + 1);
	storage =
		list_names(reader, cpuid, "missing", to->missing,
			   sizeof(to->missing) / sizeof(*to->missing), &to->missing_count, storage);
	storage = list_names(reader, cpuid, "extra", to->extra,
			     sizeof(to->extra) / sizeof(*to->extra), &to->extra_count, storage);
	list_names(reader, cpuid, "identity", to->identity,
		   sizeof(to->identity) / sizeof(*to->identity), &to->identity_count, storage);
	read_bits(reader, &result->forced, cpuid, "forced");
	read_bits(reader, &result->unavailable, cpuid, "unavailable");
}

static void read_cpu(struct reader *reader, struct cell_result *result, json_t *cpu)
{
	json_t *edits, *value;
	size_t i;

	GET_STRING(reader, result->name, cpu, "name");
	GET_STRING(reader, result->vendor, cpu, "vendor");
	if (json_object_get(cpu, "spec"))
		GET_STRING(reader, result->spec, cpu, "spec");
	if (json_object_get(cpu, "uarch"))
		GET_STRING(reader, result->uarch, cpu, "uarch");
	result->family = (unsigned)get_number(reader, cpu, "family", 270);
	result->model = (unsigned)get_number(reader, cpu, "model", 255);
	result->stepping = (unsigned)get_number(reader, cpu, "stepping", 15);
	edits = get_list(reader, cpu, "edits");
	json_array_foreach(edits, i, value)
	{
		char edit[128];

		if (i == sizeof(result->edits) / sizeof(*result->edits)) {
			refuse(reader, "'edits' is too long");
			break;
		}
		put_string(reader, edit, sizeof(edit), value, "edits");
		if (reader->bad)
			break;
		result->edits[i] = xstrdup(edit);
		result->edit_count = i + 1;
	}
}

/* A list of words, as words() wrote it. */
static void read_words(struct reader *reader, char *out, size_t room, json_t *from,
		       const char *name)
{
	json_t *value;
	size_t i, used = 0;

	json_array_foreach(get_list(reader, from, name), i, value)
	{
		const char *word = json_string_value(value);

		if (!word || used + strlen(word) + 2 > room) {
			refuse(reader, "'%s' is no list of %zu bytes at most", name, room);
			return;
		}
		if (used)
			out[used++] = ' ';
		text_printable(out + used, room - used, word, strlen(word));
		used += strlen(out + used);
	}
}

static void read_kernel(struct reader *reader, struct cell_result *result, json_t *from)
{
	struct cell_kernel *kernel = result->kernel_seen = xcalloc(1, sizeof(*kernel));
	const char *name;
	json_t *value;

	read_words(reader, kernel->flags, sizeof(kernel->flags), from, "flags");
	if (json_object_get(from, "options"))
		read_words(reader, kernel->options, sizeof(kernel->options), from, "options");
	if (json_object_get(from, "microcode"))
		GET_STRING(reader, kernel->microcode, from, "microcode");
	json_object_foreach(get_object(reader, from, "vulnerabilities"), name, value)
	{
		struct cell_fact *fact = &kernel->vulnerabilities[kernel->vulnerability_count];

		if (kernel->vulnerability_count == CELL_FACTS_MAX) {
			refuse(reader, "more than %d vulnerabilities", CELL_FACTS_MAX);
			return;
		}
		text_printable(fact->name, sizeof(fact->name), name, strlen(name));
		put_string(reader, fact->text, sizeof(fact->text), value, "vulnerabilities");
		kernel->vulnerability_count++;
	}
	json_object_foreach(get_object(reader, from, "sites"), name, value)
	{
		if (kernel->site_count == CELL_FACTS_MAX || !json_is_integer(value) ||
		    json_integer_value(value) < 0 || json_integer_value(value) > UINT32_MAX) {
			refuse(reader, "'sites' is no list of at most %d numbers", CELL_FACTS_MAX);
			return;
		}
		text_printable(kernel->sites[kernel->site_count].name,
			       sizeof(kernel->sites[0].name), name, strlen(name));
		kernel->sites[kernel->site_count++].count = (uint32_t)json_integer_value(value);
	}
	if (json_object_get(from, "boot")) /* records of an older lab have none */
		GET_STRING(reader, kernel->boot, from, "boot");
}

static void read_tests(struct reader *reader, struct cell_program *program, json_t *tests)
{
	program->tap = true;
	program->passed = (unsigned)get_number(reader, tests, "passed", UINT32_MAX);
	program->failed = (unsigned)get_number(reader, tests, "failed", UINT32_MAX);
	program->skipped = (unsigned)get_number(reader, tests, "skipped", UINT32_MAX);
	program->todo = (unsigned)get_number(reader, tests, "todo", UINT32_MAX);
}

static void read_values(struct reader *reader, struct cell_program *program, json_t *values)
{
	const char *name;
	json_t *value;

	json_object_foreach(values, name, value)
	{
		struct cell_fact *fact = &program->values[program->value_count];

		if (program->value_count == CELL_VALUES_MAX) {
			refuse(reader, "more than %d values", CELL_VALUES_MAX);
			return;
		}
		text_printable(fact->name, sizeof(fact->name), name, strlen(name));
		put_string(reader, fact->text, sizeof(fact->text), value, "values");
		program->value_count++;
	}
}

static void read_program(struct reader *reader, struct cell_result *result, json_t *from)
{
	struct cell_program *program = result->program_seen = xcalloc(1, sizeof(*program));
	const char *end = json_string_value(get(reader, from, "end"));
	json_t *notes, *value;
	size_t i = 0;

	while (i < ENDS && (!end || strcmp(end, end_names[i])))
		i++;
	if (i == ENDS)
		refuse(reader, "'end' is none of exited, signalled, timed-out, not-started");
	program->how = (uint8_t)i;
	GET_NULLABLE(reader, program->version, from, "version");
	program->code = (uint8_t)get_number(reader, from, "code", 255);
	program->written = get_number(reader, from, "written", INT64_MAX);
	program->left_out = get_number(reader, from, "left_out", INT64_MAX);
	if (json_object_get(from, "tests"))
		read_tests(reader, program, get_object(reader, from, "tests"));
	read_values(reader, program, get_object(reader, from, "values"));
	notes = get_list(reader, from, "notes");
	json_array_foreach(notes, i, value)
	{
		if (i == CELL_NOTES_MAX) {
			refuse(reader, "more than %d notes", CELL_NOTES_MAX);
			break;
		}
		put_string(reader, program->notes[i], sizeof(program->notes[i]), value, "notes");
		program->note_count = i + 1;
	}
}

static void read_record(struct reader *reader, struct cell_result *result, json_t *record,
			size_t line_length)
{
	json_t *picks, *part, *value;
	size_t i;

	if (get_number(reader, record, "schema", INT32_MAX) != RECORD_SCHEMA)
		refuse(reader, "its schema is not %d", RECORD_SCHEMA);
	GET_STRING(reader, result->run, record, "run");
	GET_STRING(reader, result->cell, record, "cell");
	read_cpu(reader, result, get_object(reader, record, "cpu"));
	GET_STRING(reader, result->image, record, "image");
	GET_STRING(reader, result->subject, record, "subject");
	GET_STRING(reader, result->accel, record, "accel");
	result->pack = (unsigned)get_number(reader, record, "pack", 65535);
	result->verdict = get_verdict(reader, record);
	GET_NULLABLE(reader, result->reason, record, "reason");
	result->tries = (unsigned)get_number(reader, record, "tries", 65535);
	read_traces(reader, result, record);
	picks = get_list(reader, record, "picks");
	json_array_foreach(picks, i, value)
	{
		if (i == CELL_PICKS_MAX) {
			refuse(reader, "more than %d picks", CELL_PICKS_MAX);
			break;
		}
		read_pick(reader, &result->picks[i], value, result->trace_count);
		result->pick_count = i + 1;
	}
	read_difference(reader, result, get_object(reader, record, "cpuid"), line_length);
	part = get_object(reader, record, "versions");
	GET_NULLABLE(reader, result->qemu, part, "qemu");
	GET_NULLABLE(reader, result->libvirt, part, "libvirt");
	GET_NULLABLE(reader, result->kernel, part, "kernel");
	GET_NULLABLE(reader, result->libc, part, "libc");
	if (json_object_get(record, "kernel"))
		read_kernel(reader, result, get_object(reader, record, "kernel"));
	if (json_object_get(record, "program"))
		read_program(reader, result, get_object(reader, record, "program"));
	part = get_object(reader, record, "seconds");
	result->seconds.create = get_seconds(reader, part, "create");
	result->seconds.guest = get_seconds(reader, part, "guest");
	result->seconds.destroy = get_seconds(reader, part, "destroy");
	result->seconds.total = get_seconds(reader, part, "total");
}

int record_read(struct cell_result *result, const char *line, size_t length, struct error *err)
{
	struct reader reader = { .err = err };
	json_error_t json_error;
	json_t *record = json_loadb(line, length, 0, &json_error);

	memset(result, 0, sizeof(*result));
	if (!record)
		return error_set(err, ERROR_INPUT, "no record: column %d: %s", json_error.column,
				 json_error.text);
	if (json_is_object(record))
		read_record(&reader, result, record, length);
	else
		refuse(&reader, "a JSON object was expected");
	json_decref(record);
	if (!reader.bad)
		return 0;
	cell_result_free(result);
	memset(result, 0, sizeof(*result));
	return -1;
}
