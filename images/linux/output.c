// SPDX-License-Identifier: MIT
/*
 * The output of a program, by lines. It may write without end: what is kept of the lines that carry
 * a verdict, and of all others, is bounded apart, so that no flood washes a verdict away.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "images/linux/output.h"

/* A line of 128 steps of a trace has 6400 bytes. A longer line is no verdict. */
#define LINE_MAX_BYTES	(16 * 1024)
#define PIECE_MAX_BYTES (REPORT_PAYLOAD_MAX - 1)
#define STREAMS		2

/* Before the bytes of each piece in `kept`. */
struct piece {
	uint16_t length;
	uint8_t stream;
	uint8_t verdict;
};

struct output {
	uint64_t written;
	size_t used[2]; /* of `kept`, by `verdict` */
	size_t end;	/* of `kept` */
	size_t last;	/* the last piece's place; end where there is none */
	struct {
		size_t length;
		bool torn; /* what follows belongs to a line that was too long */
		uint8_t bytes[LINE_MAX_BYTES];
	} lines[STREAMS];
	uint8_t kept[2 * REPORT_OUTPUT_MAX];
};

struct output *output_new(void)
{
	return calloc(1, sizeof(struct output));
}

void output_free(struct output *output)
{
	free(output);
}

uint64_t output_written(const struct output *output)
{
	return output->written;
}

static bool begins(const uint8_t *line, size_t length, const char *word)
{
	size_t bytes = strlen(word);

	return length >= bytes && !memcmp(line, word, bytes);
}

/* TAP and KTAP, nested or not, and the lines of harness/judge/program.h. */
static bool is_verdict(const uint8_t *line, size_t length)
{
	static const char *const words[] = { "ok",	    "not ok",	    "1..",
					     "TAP version", "KTAP version", "Bail out!" };
	size_t indent = 0;

	if (begins(line, length, "QL "))
		return true;
	while (indent < length && line[indent] == ' ')
		indent++;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (begins(line + indent, length - indent, words[i]))
			return true;
	return false;
}

/* Appends to the last piece where that is of the same kind. */
static void keep(struct output *output, const struct piece *kind, const uint8_t *bytes,
		 size_t length)
{
	struct piece piece;

	while (length) {
		size_t part = length, room;

		memcpy(&piece, output->kept + output->last, sizeof(piece));
		if (output->last == output->end || piece.stream != kind->stream ||
		    piece.verdict != kind->verdict || piece.length == PIECE_MAX_BYTES) {
			if (output->used[kind->verdict] + sizeof(piece) >= REPORT_OUTPUT_MAX)
				return;
			piece = *kind;
			piece.length = 0;
			output->last = output->end;
			output->end += sizeof(piece);
			output->used[kind->verdict] += sizeof(piece);
		}
		if (part > (size_t)(PIECE_MAX_BYTES - piece.length))
			part = (size_t)(PIECE_MAX_BYTES - piece.length);
		room = REPORT_OUTPUT_MAX - output->used[kind->verdict];
		if (part > room)
			part = room;
		memcpy(output->kept + output->end, bytes, part);
		piece.length = (uint16_t)(piece.length + part);
		memcpy(output->kept + output->last, &piece, sizeof(piece));
		output->end += part;
		output->used[kind->verdict] += part;
		if (part == room)
			return;
		bytes += part;
		length -= part;
	}
}

/* A line, or a piece of one; ends: with it the line does. */
static void keep_line(struct output *output, enum output_stream stream, const uint8_t *line,
		      size_t length, bool ends)
{
	bool *torn = &output->lines[stream - 1].torn;
	struct piece kind = { .stream = (uint8_t)stream };

	kind.verdict = stream == OUTPUT_STANDARD && !*torn && is_verdict(line, length);
	keep(output, &kind, line, length);
	*torn = !ends;
}

static void keep_started(struct output *output, enum output_stream stream, bool ends)
{
	const size_t number = (size_t)stream - 1;

	keep_line(output, stream, output->lines[number].bytes, output->lines[number].length, ends);
	output->lines[number].length = 0;
}

/* Of a line whose beginning, or all of it, is not kept yet; returns how many bytes were taken. */
static size_t add_part(struct output *output, enum output_stream stream, const uint8_t *from,
		       size_t length)
{
	const size_t number = (size_t)stream - 1;
	const uint8_t *newline = memchr(from, '\n', length);
	size_t part = newline ? (size_t)(newline - from) + 1 : length;
	size_t room = LINE_MAX_BYTES - output->lines[number].length;

	/* A whole line, and one that is too long, need no copy. */
	if (!output->lines[number].length && (newline || output->lines[number].torn)) {
		keep_line(output, stream, from, part, newline);
		return part;
	}
	if (part > room)
		part = room;
	memcpy(output->lines[number].bytes + output->lines[number].length, from, part);
	output->lines[number].length += part;
	if (part == room || from[part - 1] == '\n')
		keep_started(output, stream, from[part - 1] == '\n');
	return part;
}

void output_add(struct output *output, enum output_stream stream, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;

	output->written += length;
	while (length) {
		size_t part = add_part(output, stream, from, length);

		from += part;
		length -= part;
	}
}

static void send_piece(struct report *report, uint8_t stream, const uint8_t *bytes, size_t length)
{
	report_u8(report, stream);
	report_bytes(report, bytes, length);
	report_send(report, REPORT_OUTPUT);
}

uint64_t output_send(struct output *output, struct report *report)
{
	size_t verdicts = 0, others, at;
	bool torn =
		false; /* what was sent of standard output ends amid a line that is no verdict */
	uint64_t sent = 0;
	struct piece piece;

	for (int stream = OUTPUT_STANDARD; stream <= OUTPUT_ERRORS; stream++)
		if (output->lines[stream - 1].length)
			keep_started(output, stream, true);
	for (at = 0; at < output->end; at += sizeof(piece) + piece.length) {
		memcpy(&piece, output->kept + at, sizeof(piece));
		/* One byte more: it may want an end of the line before it. */
		verdicts += piece.verdict ? piece.length + 1U : 0;
	}
	others = verdicts < REPORT_OUTPUT_MAX ? REPORT_OUTPUT_MAX - verdicts : 0;
	for (at = 0; at < output->end; at += sizeof(piece) + piece.length) {
		size_t length;

		memcpy(&piece, output->kept + at, sizeof(piece));
		length = piece.length;
		if (!piece.verdict) {
			length = length < others ? length : others;
			others -= length;
		}
		if (!length)
			continue;
		/* A verdict stands at the beginning of its line, whatever is left out before it. */
		if (piece.verdict && torn)
			send_piece(report, piece.stream, (const uint8_t *)"\n", 1);
		send_piece(report, piece.stream, output->kept + at + sizeof(piece), length);
		if (piece.stream == OUTPUT_STANDARD)
			torn = !piece.verdict &&
			       output->kept[at + sizeof(piece) + length - 1] != '\n';
		sent += length;
	}
	return output->written - sent;
}
