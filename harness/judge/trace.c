// SPDX-License-Identifier: MIT
/* Traces as text for the record, and that text disassembled for a report (Zydis). */
#include "harness/judge/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "harness/judge/instruction.h"

static const char *const ends[] = {
	[REPORT_TRACE_RETURNED] = "returned",
	[REPORT_TRACE_ABANDONED] = "abandoned",
	[REPORT_TRACE_FAULTED] = "faulted",
	[REPORT_TRACE_LIMIT] = "limit",
};
#define ENDS	   (sizeof(ends) / sizeof(*ends))
#define BYTES_MAX  (sizeof(((struct trace_step *)0)->bytes))
#define ROUNDS_MAX 7

/* --- writing -------------------------------------------------------------------------------------
 */

/* The length of the instruction at the offset; 0: its bytes are not there, or are none. */
static unsigned length_at(const struct observation *observation, uint32_t offset)
{
	struct stack_registers stack = STACK_REGISTERS_INIT;
	struct act act;
	size_t known = 0;

	while (known < BYTES_MAX && offset + known < REPORT_CODE_MAX &&
	       observation->code_known[offset + known])
		known++;
	if (!known)
		return 0;
	instruction_decode(&act, observation->code + offset, known, offset, &stack);
	return act.length;
}

/* Where the last step ended, and its rounds: only what changes is written. */
struct last_step {
	uint32_t next;
	unsigned rounds;
};

static void write_step(struct text *out, const struct observation *observation,
		       const struct observed_step *step, struct last_step *last)
{
	unsigned length = length_at(observation, step->offset);
	unsigned rounds = step->rounds < 1	      ? 1
			  : step->rounds < ROUNDS_MAX ? step->rounds
						      : ROUNDS_MAX;

	if (step->offset != last->next)
		text_addf(out, " @%x", step->offset);
	if (rounds != last->rounds)
		text_addf(out, " *%u", rounds);
	text_addf(out, length ? " " : " ?");
	for (unsigned i = 0; i < length; i++)
		text_addf(out, "%02x", observation->code[step->offset + i]);
	if (step->flags & (REPORT_STEP_EMULATED | REPORT_STEP_FAULTED))
		text_addf(out, step->flags & REPORT_STEP_FAULTED ? "!" : "~");
	*last = (struct last_step){ step->offset + length, rounds };
}

static uint8_t keep_line(struct cell_result *result, char *line)
{
	size_t i = 0;

	while (i < result->trace_count && strcmp(result->traces[i], line))
		i++;
	if (i < result->trace_count) {
		free(line);
		return (uint8_t)i;
	}
	result->traces = xrealloc(result->traces, (i + 1) * sizeof(*result->traces));
	result->traces[result->trace_count++] = line;
	return (uint8_t)i;
}

void trace_keep(struct cell_result *result, struct pick *pick,
		const struct observation *observation, const struct observed_pick *observed)
{
	for (unsigned i = 0; i < observed->trace_count && i < 2; i++) {
		const struct observed_trace *trace;
		struct text line = { 0 };
		struct last_step last = { 0, 1 };

		if (observed->trace[i] >= observation->trace_count ||
		    result->trace_count == CELL_TRACES_MAX)
			continue;
		trace = &observation->traces[observed->trace[i]];
		text_addf(&line, "%s", ends[trace->end < ENDS ? trace->end : REPORT_TRACE_LIMIT]);
		for (unsigned s = 0; s < trace->step_count; s++)
			write_step(&line, observation, &trace->steps[s], &last);
		pick->trace[pick->trace_count++] = keep_line(result, line.bytes);
	}
}

/* --- reading -------------------------------------------------------------------------------------
 */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_offset(uint32_t *offset, const char *word, size_t length)
{
	*offset = 0;
	if (!length || length > 4)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (hex_digit(word[i]) < 0)
			return false;
		*offset = *offset << 4 | (uint32_t)hex_digit(word[i]);
	}
	return true;
}

/* BYTES ["~" | "!"] */
static bool read_step(struct trace_step *step, const char *word, size_t length)
{
	size_t at = 0;

	while (at + 1 < length && hex_digit(word[at]) >= 0 && hex_digit(word[at + 1]) >= 0) {
		if (step->length == BYTES_MAX)
			return false;
		step->bytes[step->length++] =
			(uint8_t)(hex_digit(word[at]) << 4 | hex_digit(word[at + 1]));
		at += 2;
	}
	if (!step->length && (at == length || word[at++] != '?'))
		return false;
	if (at < length && (word[at] == '~' || word[at] == '!')) {
		step->emulated = word[at] == '~';
		step->faulted = word[at] == '!';
		at++;
	}
	return at == length;
}

static void disassemble(struct trace_step *step, struct stack_registers *stack,
			const ZydisFormatter *formatter)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct act act;

	snprintf(step->text, sizeof(step->text), "?");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!step->length ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, step->bytes, step->length, &instruction,
					       operands)) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(formatter, &instruction, operands,
							instruction.operand_count_visible,
							step->text, sizeof(step->text),
							step->offset, NULL)))
		return;
	instruction_decode(&act, step->bytes, step->length, step->offset, stack);
	if (act.kind == ACT_STORE || act.kind == ACT_FLUSH || act.kind == ACT_FENCE)
		snprintf(step->class, sizeof(step->class), "%s", act.name);
}

/* Offsets as they stand at the left: no zeroes before them. */
static void set_up(ZydisFormatter *formatter)
{
	ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
}

/* each NULL: the line is only looked at. */
static bool read_line(const char *line, char end[16],
		      void (*each)(void *context, const struct trace_step *step), void *context)
{
	struct stack_registers stack = STACK_REGISTERS_INIT;
	size_t length = strcspn(line, " "), steps = 0, i = 0;
	unsigned rounds = 1;
	uint32_t offset = 0;
	ZydisFormatter formatter;

	while (i < ENDS && (strlen(ends[i]) != length || strncmp(line, ends[i], length)))
		i++;
	if (i == ENDS)
		return false;
	if (end)
		snprintf(end, 16, "%s", ends[i]);
	if (each)
		set_up(&formatter);
	for (line += length; *line; line += length) {
		struct trace_step step = { .offset = offset, .rounds = rounds };

		length = strcspn(++line, " ");
		if (*line == '@') {
			if (!read_offset(&offset, line + 1, length - 1))
				return false;
			continue;
		}
		if (*line == '*') {
			if (length != 2 || line[1] < '1' || line[1] > '0' + ROUNDS_MAX)
				return false;
			rounds = (unsigned)(line[1] - '0');
			continue;
		}
		if (!read_step(&step, line, length) || ++steps > REPORT_TRACE_STEPS_MAX)
			return false;
		offset += step.length;
		if (!each)
			continue;
		disassemble(&step, &stack, &formatter);
		each(context, &step);
	}
	return true;
}

bool trace_valid(const char *line)
{
	return read_line(line, NULL, NULL, NULL);
}

void trace_each(const char *line, char end[16],
		void (*each)(void *context, const struct trace_step *step), void *context)
{
	*end = '\0';
	read_line(line, end, each, context);
}
