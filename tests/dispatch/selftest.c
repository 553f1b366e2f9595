/* SPDX-License-Identifier: MIT */
/*
 * One CPU's selftest: its CPUID, the picks with what they really execute (picks.c), whether the
 * paths do what they should (checks.c); and the exceptions of guarded calls.
 */
#include "tests/dispatch/cpuid_report.h"
#include "tests/dispatch/emulate.h"
#include "tests/dispatch/state.h"

const size_t selftest_bytes = sizeof(struct selftest);

enum { VECTOR_UD = 6, VECTOR_GP = 13, VECTOR_PF = 14 }; /* SDM volume 3, table 6-1 */

bool selftest_guarded(struct selftest *test, void (*function)(void *), void *argument,
		      bool single_step)
{
	int escaped;

	test->guarded = true;
	escaped = test->platform->guarded_call(test, function, argument, single_step);
	test->guarded = false;
	return !escaped;
}

enum selftest_action selftest_on_step(struct selftest *test, struct selftest_registers *registers)
{
	if (!test->guarded)
		return SELFTEST_UNKNOWN;
	return witness_step(&test->witness, registers);
}

enum selftest_action selftest_on_fault(struct selftest *test, struct selftest_registers *registers,
				       unsigned vector, uint64_t error_code, uint64_t address)
{
	uint64_t rip = registers->rip;

	(void)error_code;
	if (!test->guarded || (vector != VECTOR_UD && vector != VECTOR_GP && vector != VECTOR_PF))
		return SELFTEST_UNKNOWN;
	if (vector == VECTOR_UD && emulate(registers)) {
		test->emulated = true;
		if (test->witness.state != WITNESS_INSIDE)
			return SELFTEST_RESUME;
		witness_emulated(&test->witness, rip);
		/* The trap flag takes effect after the next instruction only: that one's step is
		 * taken here. */
		return witness_step(&test->witness, registers);
	}
	witness_fault(&test->witness, rip, vector == VECTOR_PF, address);
	return SELFTEST_ESCAPE;
}

unsigned selftest_run(void *memory, const struct selftest_platform *platform)
{
	struct selftest *test = memory;
	unsigned failures;

	test->platform = platform;
	test->guarded = false;
	report_begin(&test->report, platform);
	report_text(&test->report, platform->version);
	report_u32(&test->report, platform->misc_enable);
	report_send(&test->report, REPORT_START);

	dispatch_identify(&test->cpu, dispatch_cpuid_instruction, NULL,
			  platform->misc_enable != REPORT_MISC_ENABLE_CLEAR);
	cpuid_report(&test->report, dispatch_cpuid_instruction, NULL);

	selftest_picks(test);
	failures = selftest_checks(test);
	report_u8(&test->report, 1);
	report_send(&test->report, REPORT_DONE);
	return failures;
}
