// SPDX-License-Identifier: MIT
/* Fuzzes the reader of records. What it accepts, it writes; what it wrote, it reads and writes
 * alike. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cell_result first = { 0 }, second = { 0 };
	struct text once = { 0 }, twice = { 0 };
	struct error err = { 0 };

	if (record_read(&first, (const char *)bytes, length, &err) == 0) {
		record_write(&once, &first);
		if (memchr(once.bytes, '\n', once.length) != once.bytes + once.length - 1)
			abort(); /* one line */
		if (record_read(&second, once.bytes, once.length, &err) < 0)
			abort();
		record_write(&twice, &second);
		if (strcmp(text_string(&once), text_string(&twice)))
			abort();
		cell_result_free(&second);
	} else if (!err.text[0]) {
		abort(); /* a refusal says why */
	}
	cell_result_free(&first);
	text_free(&once);
	text_free(&twice);
	return 0;
}
