/* SPDX-License-Identifier: MIT */
/* The dispatcher under test, run on the host with the CPUID of another CPU (replay). */
#ifndef QUIRKLAB_LAB_HOST_CHOOSER_H
#define QUIRKLAB_LAB_HOST_CHOOSER_H

#include "harness/cpu/cpu.h"
#include "harness/judge/judge.h"
#include "tests/dispatch/dispatch.h"

#define HOST_PICKS_MAX 64

struct host_pick {
	const struct dispatch_class *class;
	uint64_t size; /* bytes, by the CPU's own last-level cache */
	struct dispatch_choice choice;
	const char *expected; /* NULL: no expected pick. Owned by the expectations */
	enum verdict verdict; /* pass, fail or skip */
};

struct host_choice {
	struct dispatch_cpu cpu; /* as the dispatcher understood it */
	struct host_pick picks[HOST_PICKS_MAX];
	size_t pick_count;
	enum verdict verdict; /* the worst of the picks */
};

/* expectations: NULL where there is none for this dispatcher. */
void host_choose(struct host_choice *out, const struct cpu *cpu,
		 const struct expectations *expectations);

#endif
