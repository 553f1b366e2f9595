// SPDX-License-Identifier: MIT
/* One guest with one CPU, judged. */
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/interrupt.h"
#include "lab/repro.h"

struct guest_request repro_request(const struct repro_guest *guest,
				   const struct realised *const *cpu, const char *cmdline)
{
	return (struct guest_request){
		.image = guest->image,
		.kernel = guest->images.kernel,
		.initrd = guest->images.initrd,
		.cmdline = cmdline,
		.cpus = cpu,
		.cpu_count = 1,
		.timeout_scale = guest->timeout_scale,
	};
}

#define TRIES 2

static void fill_identity(struct cell_result *result, const struct repro_guest *guest,
			  const struct cpu *cpu)
{
	const char *image = guest->image == GUEST_LINUX ? "linux" : "bare";

	snprintf(result->cell, sizeof(result->cell), "%s/%s/dispatch", cpu->name, image);
	snprintf(result->name, sizeof(result->name), "%s", cpu->name);
	memcpy(result->vendor, cpu->vendor, sizeof(result->vendor));
	result->family = cpu->family;
	result->model = cpu->model;
	result->stepping = cpu->stepping;
	snprintf(result->image, sizeof(result->image), "%s", image);
	strcpy(result->subject, "dispatch");
	strcpy(result->accel, guest->hypervisor.kvm ? "kvm" : "tcg");
	result->pack = 1;
}

static void copy_leaves(struct cpuid_dump *to, const struct cpuid_dump *from)
{
	cpuid_free(to);
	*to = (struct cpuid_dump){ 0 };
	for (size_t i = 0; i < from->count; i++)
		cpuid_add(to, &from->leaves[i]);
}

static void judge_guest(struct cell_result *result, struct cpuid_dump *seen,
			const struct guest_result *ended, const struct cpu *cpu,
			const struct expectations *expectations,
			const struct repro_expected *expected)
{
	const struct observation *observation = ended->reader ? report_cpu(ended->reader, 0) : NULL;

	result->seconds.create = ended->create;
	result->seconds.guest = ended->guest;
	result->seconds.destroy = ended->destroy;
	result->seconds.total = ended->create + ended->guest + ended->destroy;
	if (observation) {
		snprintf(result->kernel, sizeof(result->kernel), "%s", observation->version);
		copy_leaves(seen, &observation->cpuid);
		if (expected->source == EXPECTED_TABLE)
			judge(result, cpu, observation, expectations);
		else
			judge_given(result, cpu, observation, expectations, &expected->given);
	}
	if (!observation || !observation->done)
		judge_death(result, ended);
}

void repro_boot(struct cell_result *result, struct cpuid_dump *seen, struct repro_guest *guest,
		const struct cpu *cpu, const struct realised *realised,
		const struct expectations *expectations, const struct repro_expected *expected)
{
	CLEANUP_FREE char *cmdline = repro_cmdline(guest->image, "");
	const struct guest_request request = repro_request(guest, &realised, cmdline);

	for (unsigned attempt = 1; attempt <= TRIES; attempt++) {
		struct guest_result ended;

		cell_result_free(result);
		*result = (struct cell_result){ .tries = attempt };
		fill_identity(result, guest, cpu);
		guest_boot(guest->connection, &request, &ended);
		judge_guest(result, seen, &ended, cpu, expectations, expected);
		guest_result_free(&ended);
		if (interrupt_signal() ||
		    (result->verdict != VERDICT_HUNG && result->verdict != VERDICT_CRASHED &&
		     result->verdict != VERDICT_ERROR))
			return;
	}
}
