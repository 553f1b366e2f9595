// SPDX-License-Identifier: MIT
/* Fuzzes what a guest sends: the report's frames, then the decoding of its code and the judging. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/guest/observation.h"
#include "harness/judge/judge.h"

#define MOST_CPUS 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void judge_one(const struct observation *observation)
{
	struct cell_result result = { 0 };
	struct cpu asked;

	cpu_init(&asked);
	strcpy(asked.vendor, "GenuineIntel");
	asked.identity_known = true;
	asked.family = 6;
	asked.model = 85;
	for (size_t i = 0; i < observation->pick_count; i++) {
		struct deed deed;

		witness_decode(&deed, observation, &observation->picks[i]);
		if (strlen(deed.path) >= sizeof(deed.path) ||
		    strlen(deed.text) >= sizeof(deed.text))
			abort();
	}
	judge(&result, &asked, observation, NULL);
	if (result.verdict == VERDICT_PASS || result.pick_count > CELL_PICKS_MAX)
		abort(); /* nothing is expected: nothing can pass */
	cell_result_free(&result);
	cpu_free(&asked);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct report_reader *reader = report_reader_new(MOST_CPUS);
	size_t frames = 0, fed = 0;

	/* In pieces of 1, 2, 4 ... bytes: a frame may come in any number of them. */
	for (size_t piece = 1; fed < length; piece = piece < 4096 ? 2 * piece : 1) {
		size_t now = piece < length - fed ? piece : length - fed;

		frames += report_feed(reader, bytes + fed, now);
		fed += now;
	}
	/* A frame has 12 bytes at least; no byte counts twice. */
	if (frames * (REPORT_HEADER_SIZE + REPORT_CRC_SIZE) + report_skipped(reader) > length)
		abort();
	for (unsigned cpu = 0; cpu < 16; cpu++) {
		const struct observation *observation = report_cpu(reader, (uint16_t)cpu);

		if (observation)
			judge_one(observation);
	}
	report_reader_free(reader);
	return 0;
}
