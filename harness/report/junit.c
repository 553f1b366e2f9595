// SPDX-License-Identifier: MIT
/* JUnit XML, as CI services read it: mismatch and skip are skipped; hung, crashed, error are
 * errors. */
#include <libxml/xmlwriter.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/reporter.h"

static const xmlChar *x(const char *string)
{
	return (const xmlChar *)string;
}

static void attribute(xmlTextWriterPtr writer, const char *name, const char *value)
{
	char inert[1024];

	/* XML 1.0 cannot hold most control characters, not even escaped. */
	xmlTextWriterWriteAttribute(writer, x(name),
				    x(text_printable(inert, sizeof(inert), value, strlen(value))));
}

static void __attribute__((format(printf, 3, 4)))
attributef(xmlTextWriterPtr writer, const char *name, const char *format, ...)
{
	char value[128];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	attribute(writer, name, value);
}

/* The picks that are not as they should be, a line each. */
static void details(xmlTextWriterPtr writer, const struct cell_result *result)
{
	CLEANUP_TEXT struct text text = { 0 };

	for (size_t i = 0; i < result->pick_count; i++) {
		const struct pick *pick = &result->picks[i];

		if (pick->verdict == VERDICT_PASS)
			continue;
		text_addf(&text, "%s@%s: expected %s, says %s, does %s, row %s\n", pick->operation,
			  pick->class, *pick->expected ? pick->expected : "-",
			  *pick->says ? pick->says : "-", *pick->does ? pick->does : "-",
			  *pick->row ? pick->row : "-");
	}
	if (text.length)
		xmlTextWriterWriteString(writer, x(text_string(&text)));
}

static void testcase(void *context, const struct cell_result *result)
{
	static const char *const elements[VERDICTS] = {
		[VERDICT_FAIL] = "failure",  [VERDICT_MISMATCH] = "skipped",
		[VERDICT_SKIP] = "skipped",  [VERDICT_HUNG] = "error",
		[VERDICT_CRASHED] = "error", [VERDICT_ERROR] = "error",
	};
	xmlTextWriterPtr writer = context;
	CLEANUP_TEXT struct text message = { 0 };

	xmlTextWriterStartElement(writer, x("testcase"));
	attribute(writer, "name", result->cell);
	attributef(writer, "classname", "%s.%s", result->image, result->subject);
	attributef(writer, "time", "%.4f", result->seconds.total);
	if (elements[result->verdict]) {
		xmlTextWriterStartElement(writer, x(elements[result->verdict]));
		text_addf(&message, "%s: ", verdict_name(result->verdict));
		result_reason(&message, result);
		attribute(writer, "message", text_string(&message));
		if (result->verdict != VERDICT_MISMATCH && result->verdict != VERDICT_SKIP)
			attribute(writer, "type", verdict_name(result->verdict));
		details(writer, result);
		xmlTextWriterEndElement(writer);
	}
	xmlTextWriterEndElement(writer);
}

static void end(struct reporter *reporter, const struct summary *summary)
{
	const size_t *count = summary->count;
	xmlBufferPtr buffer = xmlBufferCreate();
	xmlTextWriterPtr writer = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL;
	CLEANUP_TEXT struct text line = { 0 };

	if (!writer)
		abort(); /* out of memory, as util/text.h does */
	summary_write(&line, summary);
	xmlTextWriterSetIndent(writer, 1);
	xmlTextWriterStartDocument(writer, NULL, "UTF-8", NULL);
	xmlTextWriterStartElement(writer, x("testsuites"));
	xmlTextWriterStartElement(writer, x("testsuite"));
	attribute(writer, "name", "quirklab");
	attributef(writer, "tests", "%zu", reporter->seen);
	attributef(writer, "failures", "%zu", count[VERDICT_FAIL]);
	attributef(writer, "errors", "%zu",
		   count[VERDICT_HUNG] + count[VERDICT_CRASHED] + count[VERDICT_ERROR]);
	attributef(writer, "skipped", "%zu", count[VERDICT_MISMATCH] + count[VERDICT_SKIP]);
	attributef(writer, "time", "%.3f", summary->seconds);
	reporter_sort(reporter);
	reporter_each(reporter, testcase, writer);
	xmlTextWriterWriteElement(writer, x("system-out"), x(text_string(&line)));
	xmlTextWriterEndDocument(writer);
	xmlFreeTextWriter(writer);
	fwrite(xmlBufferContent(buffer), 1, (size_t)xmlBufferLength(buffer), reporter->out);
	xmlBufferFree(buffer);
}

const struct report_writer junit_writer = { .name = "junit", .keeps = true, .end = end };
