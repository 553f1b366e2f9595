// SPDX-License-Identifier: MIT
/* Whose times these are, and whether they mean anything. */
#include <cpuid.h>
#include <sched.h>
#include <string.h>
#include <sys/utsname.h>

#include "lab/bench.h"

#define LEAF_HYPERVISOR 0x40000000
#define LEAF_BRAND	0x80000002
#define BIT_HYPERVISOR	(1U << 31) /* leaf 1 ECX */
#define EMULATOR	"TCGTCGTCGTCG"

/* Registers as the text that they hold, printable, without blanks at its ends. */
static void read_text(char *out, size_t room, const uint32_t *registers, size_t count)
{
	char raw[48 + 1] = "";
	const char *first = raw;
	size_t length;

	memcpy(raw, registers, count * sizeof(*registers));
	while (*first == ' ')
		first++;
	length = strlen(first);
	while (length && first[length - 1] == ' ')
		length--;
	text_printable(out, room, first, length);
}

static void read_brand(char *out, size_t room)
{
	uint32_t registers[12] = { 0 };

	if ((unsigned)__get_cpuid_max(0x80000000, NULL) >= LEAF_BRAND + 2) /* clang: int */
		for (unsigned i = 0; i < 3; i++)
			__cpuid(LEAF_BRAND + i, registers[4 * i], registers[4 * i + 1],
				registers[4 * i + 2], registers[4 * i + 3]);
	read_text(out, room, registers, 12);
}

static void read_hypervisor(char *out, size_t room)
{
	uint32_t eax, ebx, ecx, edx, registers[3];

	*out = '\0';
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & BIT_HYPERVISOR))
		return;
	__cpuid(LEAF_HYPERVISOR, eax, registers[0], registers[1], registers[2]);
	read_text(out, room, registers, 3);
	if (!*out)
		snprintf(out, room, "unnamed");
}

int bench_machine_read(struct bench_machine *machine, struct error *err)
{
	struct utsname name;
	cpu_set_t allowed;

	*machine = (struct bench_machine){ .cpus = 1 };
	dispatch_identify(&machine->cpu, dispatch_cpuid_instruction, NULL, true);
	read_brand(machine->brand, sizeof(machine->brand));
	read_hypervisor(machine->hypervisor, sizeof(machine->hypervisor));
	if (uname(&name) == 0)
		text_printable(machine->kernel, sizeof(machine->kernel), name.release,
			       strlen(name.release));
	if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
		machine->cpus = (unsigned)CPU_COUNT(&allowed);
	if (!strcmp(machine->hypervisor, EMULATOR))
		return error_set(err, ERROR_LAB,
				 "this machine is emulated (%s): its times mean nothing",
				 machine->hypervisor);
	return 0;
}
