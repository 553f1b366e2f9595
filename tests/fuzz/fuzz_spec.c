// SPDX-License-Identifier: MIT
/* Fuzzes the grammar of a CPU on the command line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cpu/realise.h"
#include "harness/cpu/spec.h"
#include "harness/util/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const struct cpu_tables *tables(void)
{
	static struct cpu_tables once;
	struct error err = { 0 };

	if (!once.known.count && cpu_tables_read(&once, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return &once;
}

/* What was accepted must have a name that a file and a report can carry, and a realisation. */
static void look_at(const struct cpu *cpu)
{
	static const struct hypervisor hypervisor = { .qemu_version = 7002,
						      .libvirt_version = 9000000 };
	struct realised realised = { 0 };
	struct error err = { 0 };

	if (!cpu->name[0] || strpbrk(cpu->name, "/ \t\n"))
		abort();
	if (realise(&realised, cpu, REALISE_BARE, &hypervisor, &err) < 0 && !err.text[0])
		abort();
	realised_free(&realised);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cpu_list list = { 0 };
	struct error err = { 0 };
	char *spec = xmalloc(length + 1);

	memcpy(spec, bytes, length);
	spec[length] = '\0';
	/* Files are another matter, and not to be opened by chance. */
	if (spec[0] != '/' && spec[0] != '.' && access(spec, F_OK) < 0) {
		if (spec_parse(&list, spec, tables(), &err) < 0 && !err.text[0])
			abort();
		for (size_t i = 0; i < list.count; i++)
			look_at(&list.cpus[i]);
	}
	cpu_list_free(&list);
	free(spec);
	return 0;
}
