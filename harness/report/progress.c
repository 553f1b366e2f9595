// SPDX-License-Identifier: MIT
/* The progress line: redrawn in place, never wider than the terminal, gone at the end. */
#include <stdlib.h>
#include <string.h>

#include "harness/report/report.h"
#include "harness/util/clock.h"

#define REDRAW_SECONDS 0.1

struct progress {
	FILE *out;
	size_t planned, before, done;
	size_t count[VERDICTS];
	bool colour, drawn;
	unsigned (*width)(void);
	double started, last;
};

static void draw(struct progress *progress, double at)
{
	static const char *const colours[VERDICTS] = {
		[VERDICT_PASS] = "32",	  [VERDICT_FAIL] = "31;1", [VERDICT_MISMATCH] = "33",
		[VERDICT_SKIP] = "34",	  [VERDICT_HUNG] = "35;1", [VERDICT_CRASHED] = "35;1",
		[VERDICT_ERROR] = "35;1",
	};
	CLEANUP_TEXT struct text line = { 0 };
	size_t left = progress->planned - progress->done, room = progress->width(), columns;
	size_t here = progress->done - progress->before;
	char part[64];

	/* Parts are added while they fit; colour takes no column. */
	text_addf(&line, "%zu/%zu", progress->done, progress->planned);
	columns = line.length;
	if (here && left) {
		long seconds = (long)((at - progress->started) / (double)here * (double)left);
		int length = snprintf(part, sizeof(part), "  %ld:%02ld left", seconds / 60,
				      seconds % 60);

		if (columns + (size_t)length < room) {
			text_addf(&line, "%s", part);
			columns += (size_t)length;
		}
	}
	for (size_t i = 0; i < VERDICTS; i++) {
		int length;

		if (!progress->count[i])
			continue;
		length = snprintf(part, sizeof(part), "%zu %s", progress->count[i],
				  verdict_name((enum verdict)i));
		if (columns + (size_t)length + 2 >= room)
			break;
		if (progress->colour)
			text_addf(&line, "  \033[%sm%s\033[0m", colours[i], part);
		else
			text_addf(&line, "  %s", part);
		columns += (size_t)length + 2;
	}
	fprintf(progress->out, "\r\033[K%s", text_string(&line));
	fflush(progress->out);
	progress->drawn = true;
	progress->last = at;
}

struct progress *progress_open(FILE *out, size_t planned, size_t done, bool colour,
			       unsigned (*width)(void))
{
	struct progress *progress = xcalloc(1, sizeof(*progress));

	progress->out = out;
	progress->planned = planned;
	progress->before = progress->done = done;
	progress->colour = colour;
	progress->width = width;
	progress->started = clock_seconds();
	draw(progress, progress->started);
	return progress;
}

void progress_cell(struct progress *progress, enum verdict verdict)
{
	double at = clock_seconds();

	progress->count[verdict]++;
	progress->done++;
	if (at - progress->last >= REDRAW_SECONDS || !progress->drawn)
		draw(progress, at);
}

void progress_hide(struct progress *progress)
{
	if (!progress->drawn)
		return;
	fprintf(progress->out, "\r\033[K");
	fflush(progress->out);
	progress->drawn = false;
}

void progress_close(struct progress *progress)
{
	if (!progress)
		return;
	progress_hide(progress);
	free(progress);
}
