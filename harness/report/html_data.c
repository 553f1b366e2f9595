// SPDX-License-Identifier: MIT
/*
 * The data of the HTML page: one JSON object. What many cells share (picks, lists of them, traces,
 * differences, hosts, logs) is there once, and named by its number; so thousands of cells are a few
 * megabytes. page/page.js reads it: what each place of an array means stands there as well.
 */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "harness/judge/trace.h"
#include "harness/report/logs.h"
#include "harness/report/page.h"
#include "harness/report/reporter.h"

/* Values that are there once each. */
struct shared {
	struct text values; /* JSON, separated by commas */
	json_t *numbers;    /* value -> number */
};

struct writer {
	struct shared traces, picks, lists, differences, hosts, logs, kernels, programs;
};

/* --- JSON ----------------------------------------------------------------------------------------
 */

/* Inert in HTML as well: no bracket, no ampersand, nothing outside printable ASCII. */
static void quote(struct text *out, const char *bytes)
{
	text_addf(out, "\"");
	for (; *bytes; bytes++) {
		unsigned char c = (unsigned char)*bytes;

		if (c == '\n')
			text_addf(out, "\\n");
		else if (c < ' ' || c > '~' || strchr("\"\\<>&'", c))
			text_addf(out, "\\u%04x", c);
		else
			text_add(out, bytes, 1);
	}
	text_addf(out, "\"");
}

static void quote_next(struct text *out, const char *bytes)
{
	text_addf(out, ",");
	quote(out, bytes);
}

static bool is_shared(struct shared *shared, const char *key, size_t *number)
{
	const json_t *found = json_object_get(shared->numbers, key);

	if (found)
		*number = (size_t)json_integer_value(found);
	return found;
}

static size_t share_as(struct shared *shared, const char *key, const struct text *value)
{
	size_t count;

	if (!shared->numbers)
		shared->numbers = json_object();
	count = json_object_size(shared->numbers);
	text_addf(&shared->values, "%s", count ? "," : "");
	text_add(&shared->values, text_string(value), value->length);
	json_object_set_new(shared->numbers, key, json_integer((json_int_t)count));
	return count;
}

static size_t share(struct shared *shared, const struct text *value)
{
	size_t number;

	if (is_shared(shared, text_string(value), &number))
		return number;
	return share_as(shared, text_string(value), value);
}

/* "NAME":[VALUES] */
static void write_shared(struct text *out, const char *name, struct shared *shared)
{
	text_addf(out, ",\n\"%s\":[", name);
	text_add(out, text_string(&shared->values), shared->values.length);
	text_addf(out, "]");
	json_decref(shared->numbers);
	text_free(&shared->values);
}

/* --- what cells share ----------------------------------------------------------------------------
 */

static void trace_step(void *context, const struct trace_step *step)
{
	struct text *out = context;

	text_addf(out, ",[%u,%u,%d,\"", step->offset, step->rounds,
		  step->faulted	   ? 2
		  : step->emulated ? 1
				   : 0);
	for (unsigned i = 0; i < step->length; i++)
		text_addf(out, "%02x", step->bytes[i]);
	text_addf(out, "\"");
	quote_next(out, step->text);
	quote_next(out, step->class);
	text_addf(out, "]");
}

/* [end, [offset, rounds, 0|1 emulated|2 faulted, bytes, text, class]...] */
static size_t share_trace(struct writer *writer, const char *line)
{
	CLEANUP_TEXT struct text steps = { 0 }, value = { 0 };
	size_t number;
	char end[16];

	if (is_shared(&writer->traces, line, &number))
		return number;
	trace_each(line, end, trace_step, &steps);
	text_addf(&value, "[\"%s\"%s]", end, text_string(&steps));
	return share_as(&writer->traces, line, &value);
}

static const char *const executable_words[] = { "no", "yes", "emulated" };

/* [op, class, size, expected, says, does, row, executable, verdict, depends, traces] */
static size_t share_pick(struct writer *writer, const struct pick *pick, const size_t *traces)
{
	CLEANUP_TEXT struct text value = { 0 };
	unsigned executable = pick->executable < 3 ? pick->executable : 0;

	text_addf(&value, "[");
	quote(&value, pick->operation);
	quote_next(&value, pick->class);
	if (pick->size_known)
		text_addf(&value, ",%" PRIu64, pick->size);
	else
		text_addf(&value, ",null");
	quote_next(&value, pick->expected);
	quote_next(&value, pick->says);
	quote_next(&value, pick->does);
	quote_next(&value, pick->row);
	text_addf(&value, ",\"%s\",%d,[", executable_words[executable], (int)pick->verdict);
	for (size_t i = 0; i < pick->depends_count; i++) {
		text_addf(&value, "%s", i ? "," : "");
		quote(&value, pick->depends[i]);
	}
	text_addf(&value, "],[");
	for (size_t i = 0; i < pick->trace_count; i++)
		text_addf(&value, "%s%zu", i ? "," : "", traces[pick->trace[i]]);
	text_addf(&value, "]]");
	return share(&writer->picks, &value);
}

static size_t share_picks(struct writer *writer, const struct cell_result *result)
{
	CLEANUP_TEXT struct text value = { 0 };
	size_t traces[CELL_TRACES_MAX];

	for (size_t i = 0; i < result->trace_count; i++)
		traces[i] = share_trace(writer, result->traces[i]);
	text_addf(&value, "[");
	for (size_t i = 0; i < result->pick_count; i++)
		text_addf(&value, "%s%zu", i ? "," : "",
			  share_pick(writer, &result->picks[i], traces));
	text_addf(&value, "]");
	return share(&writer->lists, &value);
}

static void names(struct text *out, const char *const *list, size_t count)
{
	text_addf(out, "[");
	for (size_t i = 0; i < count; i++) {
		text_addf(out, "%s", i ? "," : "");
		quote(out, list[i]);
	}
	text_addf(out, "]");
}

static void bits(struct text *out, const struct feature_set *set)
{
	bool any = false;

	text_addf(out, "[");
	for (size_t i = 0; i < feature_count; i++) {
		if (!feature_in(set, (int)i))
			continue;
		text_addf(out, "%s", any ? "," : "");
		quote(out, features[i].name);
		any = true;
	}
	text_addf(out, "]");
}

/* [missing, extra, identity, forced, unavailable] */
static size_t share_difference(struct writer *writer, const struct cell_result *result)
{
	const struct cpu_difference *difference = &result->difference;
	CLEANUP_TEXT struct text value = { 0 };

	text_addf(&value, "[");
	names(&value, difference->missing, difference->missing_count);
	text_addf(&value, ",");
	names(&value, difference->extra, difference->extra_count);
	text_addf(&value, ",");
	names(&value, difference->identity, difference->identity_count);
	text_addf(&value, ",");
	bits(&value, &result->forced);
	text_addf(&value, ",");
	bits(&value, &result->unavailable);
	text_addf(&value, "]");
	return share(&writer->differences, &value);
}

/* [run, image, subject, accel, qemu, libvirt, kernel, libc] */
static size_t share_host(struct writer *writer, const struct cell_result *result)
{
	CLEANUP_TEXT struct text value = { 0 };

	text_addf(&value, "[");
	quote(&value, result->run);
	quote_next(&value, result->image);
	quote_next(&value, result->subject);
	quote_next(&value, result->accel);
	quote_next(&value, result->qemu);
	quote_next(&value, result->libvirt);
	quote_next(&value, result->kernel);
	quote_next(&value, result->libc);
	text_addf(&value, "]");
	return share(&writer->hosts, &value);
}

/* [console, qemu]: null for one that is not there */
static size_t share_logs(struct writer *writer, const struct cell_result *result)
{
	static const char *const logs[] = { "console", "qemu" };
	CLEANUP_TEXT struct text value = { 0 };

	text_addf(&value, "[");
	for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
		CLEANUP_TEXT struct text tail = { 0 };

		text_addf(&value, "%s", i ? "," : "");
		if (result->folder && log_tail(&tail, result->folder, result->cell, logs[i]))
			quote(&value, text_string(&tail));
		else
			text_addf(&value, "null");
	}
	text_addf(&value, "]");
	return share(&writer->logs, &value);
}

/* [flags, [[vulnerability, text]...], [[routine, callers]...]], or null */
static size_t share_kernel(struct writer *writer, const struct cell_kernel *kernel)
{
	CLEANUP_TEXT struct text value = { 0 };

	if (!kernel) {
		text_addf(&value, "null");
		return share(&writer->kernels, &value);
	}
	text_addf(&value, "[");
	quote(&value, kernel->flags);
	text_addf(&value, ",[");
	for (size_t i = 0; i < kernel->vulnerability_count; i++) {
		text_addf(&value, "%s[", i ? "," : "");
		quote(&value, kernel->vulnerabilities[i].name);
		quote_next(&value, kernel->vulnerabilities[i].text);
		text_addf(&value, "]");
	}
	text_addf(&value, "],[");
	for (size_t i = 0; i < kernel->site_count; i++) {
		text_addf(&value, "%s[", i ? "," : "");
		quote(&value, kernel->sites[i].name);
		text_addf(&value, ",%u]", kernel->sites[i].count);
	}
	text_addf(&value, "]]");
	return share(&writer->kernels, &value);
}

/* [version, how it ended, tests, [[value, text]...], [note...]], or null */
static size_t share_program(struct writer *writer, const struct cell_program *program)
{
	static const char *const ends[] = {
		[REPORT_EXITED] = "status %u",
		[REPORT_SIGNALLED] = "signal %u",
		[REPORT_TIMED_OUT] = "killed at the time limit",
		[REPORT_NOT_STARTED] = "not started, errno %u",
	};
	CLEANUP_TEXT struct text value = { 0 }, how = { 0 }, tests = { 0 };

	if (!program) {
		text_addf(&value, "null");
		return share(&writer->programs, &value);
	}
	if (program->how < sizeof(ends) / sizeof(*ends))
		text_addf(&how, ends[program->how], program->code);
	if (program->tap)
		text_addf(&tests, "%u passed, %u failed, %u skipped, %u todo", program->passed,
			  program->failed, program->skipped, program->todo);
	text_addf(&value, "[");
	quote(&value, program->version);
	quote_next(&value, text_string(&how));
	quote_next(&value, text_string(&tests));
	text_addf(&value, ",[");
	for (size_t i = 0; i < program->value_count; i++) {
		text_addf(&value, "%s[", i ? "," : "");
		quote(&value, program->values[i].name);
		quote_next(&value, program->values[i].text);
		text_addf(&value, "]");
	}
	text_addf(&value, "],[");
	for (size_t i = 0; i < program->note_count; i++) {
		text_addf(&value, "%s", i ? "," : "");
		quote(&value, program->notes[i]);
	}
	text_addf(&value, "]]");
	return share(&writer->programs, &value);
}

/* --- cells ---------------------------------------------------------------------------------------
 */

/* [cell, name, vendor, family, model, stepping, uarch, verdict, reason, command, list, difference,
 * host, logs, kernel, program, pack, tries, seconds] */
static void write_cell(struct text *out, struct writer *writer, const struct cell_result *result)
{
	CLEANUP_TEXT struct text command = { 0 };

	result_command(&command, result);
	text_addf(out, "[");
	quote(out, result->cell);
	quote_next(out, result->name);
	quote_next(out, result->vendor);
	text_addf(out, ",%u,%u,%u", result->family, result->model, result->stepping);
	quote_next(out, result->uarch);
	text_addf(out, ",%d", (int)result->verdict);
	quote_next(out, result->verdict == VERDICT_PASS ? "" : result->reason);
	quote_next(out, text_string(&command));
	text_addf(out, ",%zu,%zu,%zu", share_picks(writer, result),
		  share_difference(writer, result), share_host(writer, result));
	text_addf(out, ",%zu,%zu,%zu", share_logs(writer, result),
		  share_kernel(writer, result->kernel_seen),
		  share_program(writer, result->program_seen));
	text_addf(out, ",%u,%u,%.4g]", result->pack, result->tries, result->seconds.total);
}

/* {"label", "summary", "unfinished", "cells"} */
static void write_run(struct text *out, struct writer *writer, const struct merged_run *run)
{
	struct cell_result *result = xmalloc(sizeof(*result));
	CLEANUP_TEXT struct text line = { 0 };
	bool any = false;

	summary_write(&line, &run->summary);
	text_addf(out, "{\"label\":");
	quote(out, text_string(&run->label));
	text_addf(out, ",\"summary\":");
	quote(out, text_string(&line));
	text_addf(out, ",\"unfinished\":");
	names(out, (const char *const *)run->unfinished, run->unfinished_count);
	text_addf(out, ",\"cells\":[");
	for (size_t i = 0; i < run->count; i++) {
		/* Places are what changes are named by: none is left out. */
		text_addf(out, "%s\n", any ? "," : "");
		any = true;
		if (kept_read(result, &run->cells[i]) < 0) {
			text_addf(out, "null");
			continue;
		}
		write_cell(out, writer, result);
		cell_result_free(result);
	}
	text_addf(out, "]}");
	free(result);
}

static void write_place(struct text *out, size_t place)
{
	if (place == NO_CELL)
		text_addf(out, "-1");
	else
		text_addf(out, "%zu", place);
}

/* [[before, after, what]...] */
static void write_changes(struct text *out, const struct page *page)
{
	text_addf(out, ",\n\"changes\":[");
	for (size_t i = 0; i < page->change_count; i++) {
		text_addf(out, "%s[", i ? "," : "");
		write_place(out, page->changes[i].before);
		text_addf(out, ",");
		write_place(out, page->changes[i].after);
		quote_next(out, page->changes[i].what);
		text_addf(out, "]");
	}
	text_addf(out, "]");
}

void page_data(struct text *out, const struct page *page)
{
	struct writer writer = { 0 };

	text_addf(out, "{\"verdicts\":[");
	for (int i = 0; i < VERDICTS; i++)
		text_addf(out, "%s\"%s\"", i ? "," : "", verdict_name((enum verdict)i));
	text_addf(out, "],\n\"runs\":[");
	for (size_t i = 0; i < page->run_count; i++) {
		text_addf(out, "%s", i ? "," : "");
		write_run(out, &writer, &page->runs[i]);
	}
	text_addf(out, "]");
	write_changes(out, page);
	write_shared(out, "picks", &writer.picks);
	write_shared(out, "lists", &writer.lists);
	write_shared(out, "traces", &writer.traces);
	write_shared(out, "differences", &writer.differences);
	write_shared(out, "hosts", &writer.hosts);
	write_shared(out, "logs", &writer.logs);
	write_shared(out, "kernels", &writer.kernels);
	write_shared(out, "programs", &writer.programs);
	text_addf(out, "}");
}
