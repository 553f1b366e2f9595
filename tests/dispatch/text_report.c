/* SPDX-License-Identifier: MIT */
/* What this CPU is and what the dispatcher picks on it, as text. */
#include "tests/dispatch/cpuid_report.h"
#include "tests/dispatch/text_report.h"

struct writer {
	text_report_fn *put;
	void *context;
};

static void put(const struct writer *writer, const char *text)
{
	writer->put(writer->context, text);
}

static void put_hex(const struct writer *writer, uint32_t value, unsigned digits)
{
	char text[9];

	text[digits] = '\0';
	while (digits) {
		text[--digits] = "0123456789abcdef"[value & 0xF];
		value >>= 4;
	}
	put(writer, text);
}

static void put_leaf(void *context, uint32_t leaf, uint32_t subleaf,
		     const struct dispatch_registers *registers)
{
	static const char *const names[] = { ": eax=0x", " ebx=0x", " ecx=0x", " edx=0x" };
	const uint32_t values[] = { registers->eax, registers->ebx, registers->ecx,
				    registers->edx };
	const struct writer *writer = context;

	put(writer, "   0x");
	put_hex(writer, leaf, 8);
	put(writer, " 0x");
	put_hex(writer, subleaf, 2);
	for (unsigned i = 0; i < 4; i++) {
		put(writer, names[i]);
		put_hex(writer, values[i], 8);
	}
	put(writer, "\n");
}

void text_report(text_report_fn *text, void *context, bool fast_strings)
{
	struct writer writer = { text, context };
	struct dispatch_cpu cpu;

	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL, fast_strings);
	put(&writer, "CPU 0:\n");
	cpuid_walk(dispatch_cpuid_instruction, NULL, put_leaf, &writer);
	for (size_t i = 0; i < dispatch_class_count; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		const uint64_t size = dispatch_class_size(class, cpu.llc_bytes);
		const struct dispatch_choice choice = dispatch_choose(&cpu, class->operation, size);

		put(&writer, dispatch_operation_name(class->operation));
		put(&writer, "@");
		put(&writer, class->name);
		put(&writer, " ");
		put(&writer, dispatch_path_name(choice.path));
		put(&writer, " row=");
		put(&writer, choice.row ? choice.row->name : "-");
		put(&writer, " (");
		put(&writer, choice.reason);
		put(&writer, ")\n");
	}
}
