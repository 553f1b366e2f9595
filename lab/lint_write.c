// SPDX-License-Identifier: MIT
/* The findings of lint: as a compiler's messages, as SARIF 2.1.0, as JUnit XML. */
#include <jansson.h>
#include <libxml/xmlwriter.h>
#include <stdlib.h>
#include <string.h>

#include "lab/lint.h"

#define SARIF_SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

static size_t count_level(const struct lint *lint, enum lint_level level)
{
	size_t count = 0;

	for (size_t i = 0; i < lint->findings.count; i++)
		count += lint_rules[lint->findings.list[i].rule].level == level;
	return count;
}

static void summary(struct text *out, const struct lint *lint)
{
	text_addf(out, "%zu rows, %zu CPUs: %zu errors, %zu warnings, %zu notes",
		  lint->quirks->count, lint->cell_count, count_level(lint, LINT_ERROR),
		  count_level(lint, LINT_WARNING), count_level(lint, LINT_NOTE));
}

static void mutation_summary(struct text *out, const struct mutation_report *mutations)
{
	struct mutation_count sum = { 0 };

	for (size_t i = 0; i < MUTATION_KINDS; i++) {
		const struct mutation_count *count = &mutations->kind[i];

		text_addf(out, "%-7s %4zu made, %4zu noticed, %4zu equivalent, %4zu unnoticed\n",
			  mutation_kind_name((enum mutation_kind)i), count->made, count->noticed,
			  count->equivalent, count->made - count->noticed - count->equivalent);
		sum.made += count->made;
		sum.noticed += count->noticed;
		sum.equivalent += count->equivalent;
	}
	text_addf(out, "%zu mutations: %zu noticed, %zu equivalent, %zu unnoticed\n", sum.made,
		  sum.noticed, sum.equivalent, sum.made - sum.noticed - sum.equivalent);
}

static void write_text(struct text *out, const struct lint *lint,
		       const struct mutation_report *mutations)
{
	for (size_t i = 0; i < lint->findings.count; i++) {
		const struct finding *finding = &lint->findings.list[i];
		const struct lint_rule_row *rule = &lint_rules[finding->rule];

		text_addf(out, "%s:", finding->file);
		if (finding->line)
			text_addf(out, "%u:", finding->line);
		text_addf(out, " %s: %s [%s]\n", lint_level_name(rule->level), finding->text,
			  rule->id);
	}
	if (mutations)
		mutation_summary(out, mutations);
	summary(out, lint);
	text_addf(out, "\n");
}

/* --- SARIF (OASIS, Static Analysis Results Interchange Format 2.1.0) --- */

static json_t *message(const char *text)
{
	json_t *object = json_object();

	json_object_set_new(object, "text", json_string(text));
	return object;
}

static json_t *sarif_rules(void)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < LINT_RULES; i++) {
		json_t *rule = json_object(), *configuration = json_object();

		json_object_set_new(rule, "id", json_string(lint_rules[i].id));
		json_object_set_new(rule, "shortDescription", message(lint_rules[i].meaning));
		json_object_set_new(configuration, "level",
				    json_string(lint_level_name(lint_rules[i].level)));
		json_object_set_new(rule, "defaultConfiguration", configuration);
		json_array_append_new(rules, rule);
	}
	return rules;
}

/* Relative to the top of the sources, as code scanning wants it. */
static json_t *sarif_location(const struct finding *finding)
{
	json_t *location = json_object(), *physical = json_object(), *artifact = json_object();

	json_object_set_new(artifact, "uri", json_string(finding->file));
	json_object_set_new(artifact, "uriBaseId", json_string("%SRCROOT%"));
	json_object_set_new(physical, "artifactLocation", artifact);
	if (finding->line) {
		json_t *region = json_object();

		json_object_set_new(region, "startLine", json_integer(finding->line));
		json_object_set_new(physical, "region", region);
	}
	json_object_set_new(location, "physicalLocation", physical);
	return location;
}

static json_t *sarif_result(const struct finding *finding)
{
	const struct lint_rule_row *rule = &lint_rules[finding->rule];
	json_t *result = json_object(), *locations = json_array();

	json_array_append_new(locations, sarif_location(finding));
	json_object_set_new(result, "ruleId", json_string(rule->id));
	json_object_set_new(result, "ruleIndex", json_integer(finding->rule));
	json_object_set_new(result, "level", json_string(lint_level_name(rule->level)));
	json_object_set_new(result, "message", message(finding->text));
	json_object_set_new(result, "locations", locations);
	return result;
}

static void write_sarif(struct text *out, const struct lint *lint)
{
	json_t *log = json_object(), *runs = json_array(), *run = json_object();
	json_t *tool = json_object(), *driver = json_object(), *results = json_array();
	char *bytes;

	json_object_set_new(driver, "name", json_string("quirklab lint"));
	json_object_set_new(driver, "version", json_string(QUIRKLAB_VERSION));
	json_object_set_new(driver, "rules", sarif_rules());
	json_object_set_new(tool, "driver", driver);
	for (size_t i = 0; i < lint->findings.count; i++)
		json_array_append_new(results, sarif_result(&lint->findings.list[i]));
	json_object_set_new(run, "tool", tool);
	json_object_set_new(run, "results", results);
	json_array_append_new(runs, run);
	json_object_set_new(log, "$schema", json_string(SARIF_SCHEMA));
	json_object_set_new(log, "version", json_string("2.1.0"));
	json_object_set_new(log, "runs", runs);
	bytes = json_dumps(log, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	text_addf(out, "%s\n", bytes ? bytes : "{}");
	free(bytes);
	json_decref(log);
}

/* --- JUnit: a test case a rule, so that a clean tree shows what was looked at --- */

static const xmlChar *x(const char *string)
{
	return (const xmlChar *)string;
}

static void attribute_number(xmlTextWriterPtr writer, const char *name, size_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", value);
	xmlTextWriterWriteAttribute(writer, x(name), x(text));
}

/* The rule's findings, a line each. */
static size_t gather(struct text *out, const struct lint *lint, enum lint_rule rule)
{
	size_t count = 0;

	for (size_t i = 0; i < lint->findings.count; i++) {
		const struct finding *finding = &lint->findings.list[i];

		if (finding->rule != rule)
			continue;
		count++;
		text_addf(out, "%s:%u: %s\n", finding->file, finding->line, finding->text);
	}
	return count;
}

static void junit_case(xmlTextWriterPtr writer, const struct lint *lint, enum lint_rule rule)
{
	const struct lint_rule_row *row = &lint_rules[rule];
	CLEANUP_TEXT struct text lines = { 0 };
	size_t count = gather(&lines, lint, rule);

	xmlTextWriterStartElement(writer, x("testcase"));
	xmlTextWriterWriteAttribute(writer, x("classname"), x("quirklab.lint"));
	xmlTextWriterWriteAttribute(writer, x("name"), x(row->id));
	if (count && row->level == LINT_ERROR) {
		xmlTextWriterStartElement(writer, x("failure"));
		xmlTextWriterWriteAttribute(writer, x("message"), x(row->meaning));
		xmlTextWriterWriteString(writer, x(text_string(&lines)));
		xmlTextWriterEndElement(writer);
	} else if (count) {
		xmlTextWriterWriteElement(writer, x("system-out"), x(text_string(&lines)));
	}
	xmlTextWriterEndElement(writer);
}

static void write_junit(struct text *out, const struct lint *lint,
			const struct mutation_report *mutations)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	xmlTextWriterPtr writer = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
	const size_t cases = mutations ? LINT_RULES : LINT_RULES - 1;
	CLEANUP_TEXT struct text line = { 0 };
	size_t failures = 0;

	if (!writer)
		abort(); /* out of memory, as util/text.h does */
	for (size_t i = 0; i < cases; i++) {
		CLEANUP_TEXT struct text lines = { 0 };

		failures += gather(&lines, lint, (enum lint_rule)i) &&
			    lint_rules[i].level == LINT_ERROR;
	}
	xmlTextWriterSetIndent(writer, 1);
	xmlTextWriterStartDocument(writer, NULL, "UTF-8", NULL);
	xmlTextWriterStartElement(writer, x("testsuites"));
	xmlTextWriterStartElement(writer, x("testsuite"));
	xmlTextWriterWriteAttribute(writer, x("name"), x("quirklab lint"));
	attribute_number(writer, "tests", cases);
	attribute_number(writer, "failures", failures);
	attribute_number(writer, "errors", 0);
	for (size_t i = 0; i < cases; i++)
		junit_case(writer, lint, (enum lint_rule)i);
	if (mutations)
		mutation_summary(&line, mutations);
	summary(&line, lint);
	xmlTextWriterWriteElement(writer, x("system-out"), x(text_string(&line)));
	xmlTextWriterEndDocument(writer);
	xmlFreeTextWriter(writer);
	text_add(out, xmlBufferContent(buffer), (size_t)xmlBufferLength(buffer));
	xmlBufferFree(buffer);
}

void lint_write(struct text *out, const struct lint *lint, enum lint_format format,
		const struct mutation_report *mutations)
{
	if (format == LINT_SARIF)
		write_sarif(out, lint);
	else if (format == LINT_JUNIT)
		write_junit(out, lint, mutations);
	else
		write_text(out, lint, mutations);
}
