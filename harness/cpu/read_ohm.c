/* SPDX-License-Identifier: MIT */
/* OpenHardwareMonitor's report: a table of function, EAX, EBX, ECX, EDX in eight hexadecimal digits
 * for each thread; subleaf 0 only. */
#include "harness/cpu/read.h"

#include <string.h>

static enum line_kind scan(const char *at, struct leaf_line *out)
{
	static const char *const words[4] = { "", "", "", "" };
	const char *end;
	uint32_t number;

	at = scan_blanks(at);
	end = scan_word(at, "CPU Thread: ");
	if (end && scan_decimal(end, &number)) {
		out->number = number;
		return LINE_CPU;
	}
	/* The report has tables of other things, such as of MSRs: a table ends where no row is. */
	end = scan_word(at, "Function");
	if (end && scan_word(scan_blanks(end), "EAX"))
		out->context = 1;
	else if (*at != '\n' && strspn(at, "0123456789ABCDEFXabcdefx ") < strcspn(at, "\n"))
		out->context = 0;
	if (end || !out->context)
		return LINE_OTHER;
	at = scan_hex(at, 8, 8, &out->leaf.leaf);
	if (!at || *at != ' ')
		return LINE_OTHER;
	out->leaf.subleaf = 0;
	out->registers = scan_registers(at, words, " ", out->leaf.reg, &end);
	if (!out->registers)
		return LINE_OTHER;
	return out->registers == 4 ? LINE_LEAF : LINE_CUT;
}

static const struct leaf_format format = { .scan = scan };

const struct dump_reader reader_ohm = {
	.name = "OpenHardwareMonitor report",
	.marks = { "Function " },
	.lines = &format,
};
