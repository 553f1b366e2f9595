// SPDX-License-Identifier: MIT
/* The dispatcher under test, run on the host with the CPUID of another CPU. */
#include "lab/host_chooser.h"

#include <string.h>

static void read_dump(void *context, uint32_t leaf, uint32_t subleaf,
		      struct dispatch_registers *out)
{
	const struct cpuid_leaf *found = cpuid_find(context, leaf, subleaf);

	*out = (struct dispatch_registers){ 0 };
	if (found)
		*out = (struct dispatch_registers){
			.eax = found->reg[CPUID_EAX],
			.ebx = found->reg[CPUID_EBX],
			.ecx = found->reg[CPUID_ECX],
			.edx = found->reg[CPUID_EDX],
		};
}

void host_choose(struct host_choice *out, const struct cpu *cpu,
		 const struct expectations *expectations)
{
	static const enum verdict worst[] = { VERDICT_FAIL, VERDICT_SKIP, VERDICT_PASS };
	struct cpuid_dump dump = { 0 };

	memset(out, 0, sizeof(*out));
	cpu_to_dump(cpu, &dump);
	dispatch_identify(&out->cpu, read_dump, &dump, true);
	cpuid_free(&dump);
	for (size_t i = 0; i < dispatch_class_count && i < HOST_PICKS_MAX; i++) {
		const struct dispatch_class *class = &dispatch_classes[i];
		struct host_pick *pick = &out->picks[out->pick_count++];

		pick->class = class;
		pick->size = dispatch_class_size(class, out->cpu.llc_bytes);
		pick->choice = dispatch_choose(&out->cpu, class->operation, pick->size);
		if (expectations)
			pick->expected =
				expectations_pick(expectations, cpu,
						  dispatch_operation_name(class->operation),
						  class->name);
		if (!pick->expected)
			pick->verdict = VERDICT_SKIP;
		else if (strcmp(pick->expected, dispatch_path_name(pick->choice.path)))
			pick->verdict = VERDICT_FAIL;
		else
			pick->verdict = VERDICT_PASS;
	}
	for (size_t v = 0; v < sizeof(worst) / sizeof(*worst); v++) {
		out->verdict = worst[v];
		for (size_t i = 0; i < out->pick_count; i++)
			if (out->picks[i].verdict == worst[v])
				return;
	}
}
