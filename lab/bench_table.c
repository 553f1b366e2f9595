// SPDX-License-Identifier: MIT
/* What was measured, for people and as JSON. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "lab/bench.h"
#include "lab/lists.h"

void bench_size_text(char *out, size_t room, size_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB" };
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= 1024 && unit < 3) {
		size /= 1024;
		unit++;
	}
	snprintf(out, room, size == floor(size) ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

static double percent(double ratio)
{
	return (ratio - 1) * 100;
}

static void print_line(FILE *out, const struct bench_line *line)
{
	const struct measured *measured = &line->measured;

	if (!line->statistics.count) {
		fprintf(out, "%-18s %8s %7s  ", measured->path->path, "", "");
		if (measured->noisy)
			fprintf(out, "noisy, no conclusion (%u disturbed)\n", measured->disturbed);
		else
			fprintf(out, "the time was over\n");
		return;
	}
	fprintf(out, "%-18s %8.2f %5.1f %%", measured->path->path, line->statistics.median,
		100 * line->statistics.stddev / line->statistics.mean);
	if (line->reference)
		fprintf(out, "  reference");
	else if (line->compared)
		fprintf(out, "  %+8.1f %%  %+8.1f .. %+.1f %%  %s", percent(line->comparison.ratio),
			percent(line->comparison.low), percent(line->comparison.high),
			conclusion_name(line->conclusion));
	else if (line->conclusion == CONCLUSION_UNCERTAIN)
		fprintf(out, "  too few runs: the time was over");
	else
		fprintf(out, "  %s", conclusion_name(line->conclusion));
	if (measured->disturbed)
		fprintf(out, "  (%u disturbed)", measured->disturbed);
	fputc('\n', out);
}

static void print_machine(FILE *out, const struct bench_result *result)
{
	const struct bench_machine *machine = &result->machine;
	char llc[32];

	bench_size_text(llc, sizeof(llc), machine->cpu.llc_bytes);
	fprintf(out, "%s %u:0x%02X:%u  %s\n", machine->cpu.vendor, machine->cpu.family,
		machine->cpu.model, machine->cpu.stepping, machine->brand);
	fprintf(out, "last-level cache %s, %u CPUs, kernel %s%s%s, %.0f %% in huge pages\n", llc,
		machine->cpus, machine->kernel, *machine->hypervisor ? ", hypervisor " : "",
		machine->hypervisor, 100 * result->huge);
	fprintf(out,
		"GB/s: median of %u runs; stddev of all runs; against the reference, with its "
		"%.0f %% interval\n",
		result->runs, 100 * BENCH_CONFIDENCE);
}

static bool same_group(const struct bench_line *a, const struct bench_line *b)
{
	return a->measured.path->operation == b->measured.path->operation &&
	       a->measured.bytes == b->measured.bytes && a->measured.threads == b->measured.threads;
}

void bench_print(FILE *out, const struct bench_result *result)
{
	print_machine(out, result);
	for (size_t i = 0; i < result->line_count; i++) {
		const struct bench_line *line = &result->lines[i];
		const char *operation = line->measured.path->operation;
		char size[32] = "", threads[16] = "";

		if (!i || strcmp(operation, line[-1].measured.path->operation))
			fprintf(out, "\n%s\n%10s %7s  %-18s %8s %7s\n", operation, "extent",
				"threads", "path", "GB/s", "stddev");
		if (!i || !same_group(line, &line[-1])) {
			bench_size_text(size, sizeof(size), line->measured.bytes);
			snprintf(threads, sizeof(threads), "%u", line->measured.threads);
		}
		fprintf(out, "%10s %7s  ", size, threads);
		print_line(out, line);
	}
	fprintf(out, "\n%zu measurements, %.1f s%s\n", result->line_count, result->seconds,
		result->interrupted ? "; interrupted"
		: result->late ? "; the time was over before all were made: --seconds gives more"
			       : "");
}

static json_t *line_json(const struct bench_line *line)
{
	const struct measured *measured = &line->measured;
	json_t *samples = json_array();
	json_t *json =
		json_pack("{s:s, s:s, s:I, s:i, s:i, s:i, s:b}", "op", measured->path->operation,
			  "path", measured->path->path, "bytes", (json_int_t)measured->bytes,
			  "threads", (int)measured->threads, "passes", (int)measured->passes,
			  "disturbed", (int)measured->disturbed, "reference", line->reference);

	for (size_t i = 0; i < measured->runs; i++)
		json_array_append_new(samples, json_real(measured->gb_per_s[i]));
	json_object_set_new(json, "gb_per_s", samples);
	if (line->statistics.count) {
		json_object_set_new(json, "median", json_real(line->statistics.median));
		json_object_set_new(json, "stddev_pct",
				    json_real(100 * line->statistics.stddev /
					      line->statistics.mean));
	}
	if (line->compared)
		json_object_set_new(json, "gain_pct",
				    json_pack("{s:f, s:f, s:f}", "estimate",
					      percent(line->comparison.ratio), "low",
					      percent(line->comparison.low), "high",
					      percent(line->comparison.high)));
	if (!line->reference)
		json_object_set_new(json, "verdict",
				    json_string(conclusion_name(line->conclusion)));
	return json;
}

void bench_print_json(const struct bench_result *result)
{
	const struct bench_machine *machine = &result->machine;
	json_t *lines = json_array();
	json_t *json = json_pack("{s:s, s:i, s:i, s:i, s:I, s:i}", "vendor", machine->cpu.vendor,
				 "family", machine->cpu.family, "model", machine->cpu.model,
				 "stepping", machine->cpu.stepping, "llc",
				 (json_int_t)machine->cpu.llc_bytes, "cpus", (int)machine->cpus);

	json_object_set_new(json, "brand", inert_string(machine->brand));
	json_object_set_new(json, "kernel", inert_string(machine->kernel));
	json_object_set_new(json, "hypervisor", inert_string(machine->hypervisor));
	json_object_set_new(json, "huge_pages", json_real(result->huge));
	json_object_set_new(json, "seconds", json_real(result->seconds));
	json_object_set_new(json, "complete", json_boolean(!result->late));
	for (size_t i = 0; i < result->line_count; i++)
		json_array_append_new(lines, line_json(&result->lines[i]));
	json_object_set_new(json, "measurements", lines);
	print_json(json);
}
