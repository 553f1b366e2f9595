// SPDX-License-Identifier: MIT
/* Fuzzes the readers of CPUs in files: dumps, reports and pastes in all formats. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/dump.h"
#include "harness/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* What is said of a CPU must be printable, and no more bits known than there are. */
static void look_at(const struct dump_cpu *cpu)
{
	struct cpuid_dump whole = { 0 };

	if (strlen(cpu->brand) >= sizeof(cpu->brand) ||
	    strlen(cpu->cpu.vendor) >= sizeof(cpu->cpu.vendor))
		abort();
	for (size_t i = 0; i < cpu->leaf_count; i++)
		if (cpu->leaves[i].leaf == 3)
			abort(); /* a serial number is nobody's business */
	dump_whole_leaves(cpu, &whole);
	cpuid_free(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *scratch = xmalloc(length + 1);
	struct dump dump = { 0 };
	struct error err = { 0 };

	memcpy(scratch, bytes, length);
	scratch[length] = '\0';
	if (dump_read(&dump, scratch, length, &err) < 0) {
		if (!err.text[0])
			abort();
	} else {
		if (!dump.cpu_count || !dump.format)
			abort();
		for (size_t i = 0; i < dump.cpu_count; i++)
			look_at(&dump.cpus[i]);
		for (size_t i = 0; i < dump.warning_count; i++)
			if (strchr(dump.warnings[i], '\n'))
				abort();
		dump_identity(&dump, &err);
		dump_free(&dump);
	}
	free(scratch);
	return 0;
}
