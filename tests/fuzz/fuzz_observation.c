// SPDX-License-Identifier: MIT
/*
 * Fuzzes what is inside the frames: the input is a list of payloads (u8 kind, u16 length, bytes),
 * which go to the reader in frames with a right checksum; no fuzzer would guess those. What was
 * observed is decoded and judged.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/observation.h"
#include "harness/judge/judge.h"
#include "harness/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint32_t crc_of(const uint8_t *bytes, size_t length)
{
	uint32_t crc = 0xFFFFFFFF;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
	}
	return ~crc;
}

static void feed_frame(struct report_reader *reader, uint8_t kind, const uint8_t *payload,
		       size_t length)
{
	uint8_t frame[REPORT_HEADER_SIZE + REPORT_PAYLOAD_MAX + REPORT_CRC_SIZE] = {
		REPORT_MAGIC_0, REPORT_MAGIC_1, REPORT_VERSION, kind
	};
	uint32_t crc;

	frame[4] = (uint8_t)length;
	frame[5] = (uint8_t)(length >> 8);
	memcpy(frame + REPORT_HEADER_SIZE, payload, length);
	crc = crc_of(frame, REPORT_HEADER_SIZE + length);
	for (size_t i = 0; i < REPORT_CRC_SIZE; i++)
		frame[REPORT_HEADER_SIZE + length + i] = (uint8_t)(crc >> 8 * i);
	report_feed(reader, frame, REPORT_HEADER_SIZE + length + REPORT_CRC_SIZE);
}

/* What holds of any observation, whatever the guest said. */
static void check_bounds(const struct observation *seen)
{
	if (seen->pick_count > OBSERVED_PICKS_MAX || seen->check_count > OBSERVED_CHECKS_MAX ||
	    seen->trace_count > REPORT_TRACES_MAX || seen->cpuid.count > OBSERVED_LEAVES_MAX)
		abort();
	for (size_t i = 0; i < seen->trace_count; i++) {
		const struct observed_trace *trace = &seen->traces[i];

		if (trace->step_count > REPORT_TRACE_STEPS_MAX || trace->end > REPORT_TRACE_LIMIT)
			abort();
		for (size_t j = 0; j < trace->step_count; j++)
			if (trace->steps[j].offset >= REPORT_CODE_MAX &&
			    trace->steps[j].offset != REPORT_NO_CODE)
				abort();
	}
	for (size_t i = 0; i < seen->pick_count; i++)
		for (unsigned t = 0; t < seen->picks[i].trace_count; t++)
			if (t >= 2 || seen->picks[i].trace[t] >= seen->trace_count)
				abort();
}

static void check_kernel(const struct observed_kernel *kernel)
{
	if (kernel->routine_count > REPORT_ROUTINES_MAX || kernel->calls_count > REPORT_CALLS_MAX ||
	    kernel->vulnerability_count > REPORT_FACTS_MAX)
		abort();
	for (size_t i = 0; i < kernel->routine_count; i++)
		if (kernel->routines[i].length > REPORT_ROUTINE_MAX)
			abort();
}

static void check_program(const struct observed_program *program)
{
	if (program->output.length + program->errors.length > REPORT_OUTPUT_MAX ||
	    program->how > REPORT_NOT_STARTED)
		abort();
}

/* What passed was borne out: by a word that is as expected, or by what was seen to be done. */
static void check_pass(const struct cell_result *result, const struct pick *pick)
{
	const size_t length = strlen(pick->expected);

	if (result->program_seen && !strncmp(pick->expected, pick->does, length) && length)
		return;
	if (strcmp(pick->expected, pick->says) || (!result->program_seen && !pick->does[0]))
		abort();
}

static void judge_one(const struct observation *seen)
{
	static struct expectations *expectations;
	struct cell_result *result = xcalloc(1, sizeof(*result));
	struct error err = { 0 };
	struct cpu asked;

	if (!expectations && expectations_read(&expectations, "dispatch", NULL, &err))
		abort();
	cpu_init(&asked);
	strcpy(asked.name, "skylake-x");
	strcpy(asked.vendor, "GenuineIntel");
	asked.identity_known = true;
	asked.family = 6;
	asked.model = 85;
	judge(result, &asked, seen, expectations);
	if (result->pick_count > CELL_PICKS_MAX ||
	    (result->verdict != VERDICT_PASS && !result->reason[0]))
		abort();
	for (size_t i = 0; i < result->pick_count; i++)
		if (result->picks[i].verdict == VERDICT_PASS)
			check_pass(result, &result->picks[i]);
	cell_result_free(result);
	free(result);
	cpu_free(&asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct report_reader *reader = report_reader_new(1);
	const struct observation *seen;

	while (length >= 3) {
		size_t payload = (size_t)(bytes[1] | bytes[2] << 8) % (REPORT_PAYLOAD_MAX + 1);

		if (payload > length - 3)
			payload = length - 3;
		feed_frame(reader, bytes[0], bytes + 3, payload);
		bytes += 3 + payload;
		length -= 3 + payload;
	}
	report_finish(reader);
	seen = report_cpu(reader, 0);
	if (seen) {
		check_bounds(seen);
		if (seen->kernel)
			check_kernel(seen->kernel);
		if (seen->program)
			check_program(seen->program);
		judge_one(seen);
	}
	report_reader_free(reader);
	return 0;
}
