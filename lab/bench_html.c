// SPDX-License-Identifier: MIT
/* The plots: bandwidth by extent and by threads, with the cache sizes marked. One file, no script.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "harness/report/page.h"
#include "harness/util/file.h"
#include "lab/bench.h"

#define WIDTH	 640.0
#define HEIGHT	 280.0
#define LEFT	 56.0
#define RIGHT	 130.0 /* the names of the lines stand there */
#define TOP	 16.0
#define BOTTOM	 36.0
#define NAME_GAP 13.0 /* between two names */
#define TICK_GAP 48.0 /* between two extents */

/* Told apart by those who see few colours, on white and on black; the paths have dashes as well. */
static const char *const colours[] = { "#0a84d6", "#d9730d", "#12996b", "#b04fc4",
				       "#c4314b", "#7d7f0a", "#3f6ad8", "#8a5a2b" };
static const char *const dashes[] = { "", "6 3", "2 3", "9 3 2 3" };
#define COLOURS (sizeof(colours) / sizeof(colours[0]))
#define DASHES	(sizeof(dashes) / sizeof(dashes[0]))

/* One chart: which lines of the result belong to it, and what its horizontal axis is. */
struct chart {
	const struct bench_result *result;
	const char *operation;
	bool by_threads;
	size_t bytes;	    /* by_threads: the extent; else 0 */
	unsigned threads;   /* else: so many */
	double least, most; /* of the axis: log2 of bytes, or threads */
	double low, high;   /* of the vertical one: log2 of GB/s, whole numbers */
};

static void escaped(struct text *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
			text_addf(out, "&#%d;", *text);
		else
			text_add(out, text, 1);
	}
}

static double place(const struct chart *chart, const struct bench_line *line)
{
	return chart->by_threads ? line->measured.threads : log2((double)line->measured.bytes);
}

static bool belongs(const struct chart *chart, const struct bench_line *line)
{
	return line->statistics.count &&
	       !strcmp(line->measured.path->operation, chart->operation) &&
	       (chart->by_threads ? line->measured.bytes == chart->bytes
				  : line->measured.threads == chart->threads);
}

/* Returns how many points there are. */
static size_t scale_axes(struct chart *chart)
{
	size_t points = 0;

	chart->least = INFINITY;
	chart->most = -INFINITY;
	chart->low = INFINITY;
	chart->high = -INFINITY;
	for (size_t i = 0; i < chart->result->line_count; i++) {
		const struct bench_line *line = &chart->result->lines[i];

		if (!belongs(chart, line))
			continue;
		chart->least = fmin(chart->least, place(chart, line));
		chart->most = fmax(chart->most, place(chart, line));
		chart->low = fmin(chart->low, floor(log2(line->statistics.least)));
		chart->high = fmax(chart->high, ceil(log2(line->statistics.most)));
		points++;
	}
	return points;
}

static double x_of(const struct chart *chart, double at)
{
	return LEFT + (at - chart->least) / (chart->most - chart->least) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct chart *chart, double gb_per_s)
{
	double share = (log2(gb_per_s) - chart->low) / fmax(chart->high - chart->low, 1);

	return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

/* A line for each doubling: what matters is how many times faster a path is. */
static void add_grid(struct text *out, const struct chart *chart)
{
	for (int at = (int)chart->low; at <= (int)chart->high; at++) {
		double value = exp2(at), y = y_of(chart, value);

		text_addf(out,
			  "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" "
			  "stroke=\"currentColor\" stroke-opacity=\".15\"/>"
			  "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
			  LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, value);
	}
	text_addf(out, "<text x=\"%.0f\" y=\"%.0f\">GB/s</text>\n", 4.0, TOP - 4);
}

static void add_tick(struct text *out, double x, const char *name)
{
	text_addf(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n", x,
		  HEIGHT - BOTTOM + 16, name);
}

/* Each place of the axis once, where there is room for its name. */
static void add_ticks(struct text *out, const struct chart *chart)
{
	double last = -INFINITY, last_x = -INFINITY;

	for (size_t i = 0; i < chart->result->line_count; i++) {
		const struct bench_line *line = &chart->result->lines[i];
		char name[32];
		double x;

		if (!belongs(chart, line) || place(chart, line) <= last)
			continue;
		last = place(chart, line);
		x = x_of(chart, last);
		if (x < last_x + TICK_GAP)
			continue;
		last_x = x;
		if (chart->by_threads)
			snprintf(name, sizeof(name), "%u", line->measured.threads);
		else
			bench_size_text(name, sizeof(name), line->measured.bytes);
		add_tick(out, x, name);
	}
}

static void add_cache(struct text *out, const struct chart *chart, const char *name, long bytes)
{
	double at = bytes > 0 ? log2((double)bytes) : 0, x;

	if (chart->by_threads || at < chart->least || at > chart->most)
		return;
	x = x_of(chart, at);
	text_addf(out,
		  "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"currentColor\" "
		  "stroke-opacity=\".5\" stroke-dasharray=\"3 3\"/>"
		  "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
		  x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - 4, name);
}

static void add_caches(struct text *out, const struct chart *chart)
{
	add_cache(out, chart, "L1d", sysconf(_SC_LEVEL1_DCACHE_SIZE));
	add_cache(out, chart, "L2", sysconf(_SC_LEVEL2_CACHE_SIZE));
	add_cache(out, chart, "LLC", (long)chart->result->machine.cpu.llc_bytes);
}

/* One path: its line, a bar from its slowest to its fastest run at each point, and its end's
 * height. */
static double add_path(struct text *out, const struct chart *chart, const char *path, size_t number)
{
	const char *colour = colours[number % COLOURS], *dash = dashes[number / COLOURS % DASHES];
	CLEANUP_TEXT struct text points = { 0 };
	double y = NAN;

	for (size_t i = 0; i < chart->result->line_count; i++) {
		const struct bench_line *line = &chart->result->lines[i];
		double x;

		if (!belongs(chart, line) || strcmp(line->measured.path->path, path))
			continue;
		x = x_of(chart, place(chart, line));
		y = y_of(chart, line->statistics.median);
		text_addf(&points, "%.1f,%.1f ", x, y);
		text_addf(out,
			  "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>"
			  "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" fill=\"%s\"><title>%s: %.2f "
			  "GB/s</title></circle>\n",
			  x, y_of(chart, line->statistics.least), x,
			  y_of(chart, line->statistics.most), colour, x, y, colour, path,
			  line->statistics.median);
	}
	text_addf(out,
		  "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" "
		  "stroke-dasharray=\"%s\"/>\n",
		  text_string(&points), colour, dash);
	return y;
}

/* Names at the ends of their lines, moved apart where they would meet, upwards from the bottom. */
static void add_names(struct text *out, const char *const *names, const double *heights,
		      size_t count)
{
	bool done[BENCH_PATHS_MAX] = { false };
	double last = HEIGHT - BOTTOM + NAME_GAP;

	for (size_t k = 0; k < count; k++) {
		size_t lowest = count;

		for (size_t i = 0; i < count; i++)
			if (!done[i] && !isnan(heights[i]) &&
			    (lowest == count || heights[i] > heights[lowest]))
				lowest = i;
		if (lowest == count)
			return;
		done[lowest] = true;
		last = fmin(heights[lowest], last - NAME_GAP);
		text_addf(out, "<text x=\"%.0f\" y=\"%.1f\" fill=\"%s\">%s</text>\n",
			  WIDTH - RIGHT + 8, last + 4, colours[lowest % COLOURS], names[lowest]);
	}
}

/* The paths of an operation in the order of the table: each has its colour in all charts. */
static size_t find_paths(const char **names, const struct chart *chart)
{
	size_t count = 0;

	for (size_t i = 0; i < chart->result->line_count; i++) {
		const struct measured_path *path = chart->result->lines[i].measured.path;
		bool known = strcmp(path->operation, chart->operation) || count == BENCH_PATHS_MAX;

		for (size_t k = 0; k < count && !known; k++)
			known = !strcmp(names[k], path->path);
		if (!known)
			names[count++] = path->path;
	}
	return count;
}

static void add_chart(struct text *out, struct chart *chart)
{
	const char *names[BENCH_PATHS_MAX];
	double heights[BENCH_PATHS_MAX];
	size_t count = find_paths(names, chart), points = scale_axes(chart);
	char size[32];

	if (points < 2 || chart->most <= chart->least)
		return;
	bench_size_text(size, sizeof(size), chart->bytes);
	text_addf(out, "<figure><figcaption>%s, ", chart->operation);
	if (chart->by_threads)
		text_addf(out, "%s for each thread, by threads", size);
	else
		text_addf(out, "%u thread%s, by extent", chart->threads,
			  chart->threads == 1 ? "" : "s");
	text_addf(
		out,
		"</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
		"height=\"%.0f\" font-size=\"11\" fill=\"currentColor\" "
		"font-family=\"system-ui, sans-serif\"><title>%s: bandwidth of each path</title>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, chart->operation);
	add_grid(out, chart);
	add_ticks(out, chart);
	add_caches(out, chart);
	for (size_t i = 0; i < count; i++)
		heights[i] = add_path(out, chart, names[i], i);
	add_names(out, names, heights, count);
	text_addf(out, "</svg></figure>\n");
}

/* A chart by extent for each number of threads; one by threads at the largest extent. */
static void add_operation(struct text *out, const struct bench_result *result,
			  const char *operation)
{
	struct chart chart = { .result = result, .operation = operation };
	unsigned last = 0;

	for (size_t i = 0; i < result->line_count; i++) {
		const struct measured *measured = &result->lines[i].measured;

		if (strcmp(measured->path->operation, operation))
			continue;
		chart.bytes = measured->bytes > chart.bytes ? measured->bytes : chart.bytes;
		if (measured->threads <= last)
			continue;
		last = chart.threads = measured->threads;
		add_chart(out, &chart);
	}
	chart.by_threads = true;
	add_chart(out, &chart);
}

static void add_verdicts(struct text *out, const struct bench_result *result)
{
	text_addf(out,
		  "<table><thead><tr><th>operation<th>extent<th>threads<th>path<th>GB/s<th>stddev"
		  "<th>against the reference<th>verdict</thead><tbody>\n");
	for (size_t i = 0; i < result->line_count; i++) {
		const struct bench_line *line = &result->lines[i];
		const struct measured *measured = &line->measured;
		char size[32];

		bench_size_text(size, sizeof(size), measured->bytes);
		text_addf(out, "<tr><td>%s<td>%s<td>%u<td>%s", measured->path->operation, size,
			  measured->threads, measured->path->path);
		if (line->statistics.count)
			text_addf(out, "<td>%.2f<td>%.1f %%", line->statistics.median,
				  100 * line->statistics.stddev / line->statistics.mean);
		else
			text_addf(out, "<td><td>");
		if (line->compared)
			text_addf(out, "<td>%+.1f %% (%+.1f .. %+.1f)",
				  100 * (line->comparison.ratio - 1),
				  100 * (line->comparison.low - 1),
				  100 * (line->comparison.high - 1));
		else
			text_addf(out, "<td>");
		text_addf(out, "<td>%s\n",
			  line->reference ? "reference" : conclusion_name(line->conclusion));
	}
	text_addf(out, "</tbody></table>\n");
}

int bench_write_html(const char *path, const struct bench_result *result, struct error *err)
{
	const struct bench_machine *machine = &result->machine;
	CLEANUP_TEXT struct text out = { 0 };
	const char *last = "";
	char llc[32];

	bench_size_text(llc, sizeof(llc), machine->cpu.llc_bytes);
	text_addf(&out,
		  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		  "style-src '%s'; base-uri 'none'; form-action 'none'\">\n"
		  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		  "<meta name=\"color-scheme\" content=\"light dark\">\n"
		  "<title>quirklab bench</title>\n<style>",
		  page_style.hash);
	text_add(&out, page_style.bytes, page_style.length);
	text_addf(&out, "</style>\n</head>\n<body>\n<main class=\"bench\">\n<h1>");
	escaped(&out, *machine->brand ? machine->brand : machine->cpu.vendor);
	text_addf(&out, "</h1>\n<p>");
	escaped(&out, machine->cpu.vendor);
	text_addf(&out, " %u:0x%02X:%u, last-level cache %s, %u CPUs, kernel ", machine->cpu.family,
		  machine->cpu.model, machine->cpu.stepping, llc, machine->cpus);
	escaped(&out, machine->kernel);
	text_addf(&out, "; medians of %u runs, bars from the slowest to the fastest.</p>\n",
		  result->runs);
	for (size_t i = 0; i < result->line_count; i++) {
		const char *operation = result->lines[i].measured.path->operation;

		if (strcmp(operation, last))
			add_operation(&out, result, operation);
		last = operation;
	}
	add_verdicts(&out, result);
	text_addf(&out, "</main>\n</body>\n</html>\n");
	return file_write(path, out.bytes, out.length, err);
}
