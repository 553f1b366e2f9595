// SPDX-License-Identifier: MIT
/*
 * PID 1 of a Linux guest: runs the dispatch selftests as a Check suite, or a program that was
 * brought along, or looks at what the kernel itself has picked; reports over the second serial
 * port, and powers the machine off. The suite's own words go to the console.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "images/linux/cmdline.h"
#include "images/linux/cpuinfo.h"
#include "images/linux/job.h"
#include "images/linux/kernel.h"
#include "images/linux/machine.h"
#include "images/linux/platform.h"
#include "images/linux/program.h"
#include "images/linux/sockets.h"
#include "images/protocol.h"
#include "tests/dispatch/selftest.h"
#include "tests/dispatch/text_report.h"

#define PAGE_BYTES	    4096
#define ARENA_BYTES	    (16 * SELFTEST_ARENA_MIN)
#define REPORT_NOT_A_VECTOR 255 /* in REPORT_FAULT: a signal that is no exception of the CPU */

static int report_fd = -1;
static struct utsname kernel;
static struct selftest_platform platform;
static unsigned failed_checks;

static void send_bytes(void *context, const void *bytes, size_t length)
{
	(void)context;
	if (machine_write(report_fd, bytes, length) == 0)
		return;
	fprintf(stderr, "quirklab: the report port: %m\n");
	machine_off(-1);
}

/* --- a report that ends early --------------------------------------------------------------- */

static void put_u32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value)); /* little endian, as the protocol is */
}

static void put_u64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, sizeof(value));
}

/* The harness may end the guest as soon as it sees this frame: the console goes first. */
static void send_end(unsigned count)
{
	const uint8_t cpus[2] = { (uint8_t)count, (uint8_t)(count >> 8) };

	machine_drain_console();
	selftest_send_frame(&platform, REPORT_END, cpus, sizeof(cpus));
}

/* The last words. Frames are built on the stack, so any moment will do. */
static void __attribute__((noreturn))
end_early(const char *note, const struct platform_fault *fault)
{
	static const uint8_t incomplete = 0;
	uint8_t payload[1 + 4 + 8 + 8];

	payload[0] = fault->exception ? (uint8_t)fault->vector : REPORT_NOT_A_VECTOR;
	put_u32(payload + 1, (uint32_t)fault->error_code);
	put_u64(payload + 5, fault->rip);
	put_u64(payload + 13, fault->address);
	fprintf(stderr, "quirklab: %s\n", note);
	selftest_send_frame(&platform, REPORT_NOTE, note, strlen(note));
	selftest_send_frame(&platform, REPORT_FAULT, payload, sizeof(payload));
	selftest_send_frame(&platform, REPORT_DONE, &incomplete, 1);
	send_end(1);
	machine_off(report_fd);
}

static void fatal(const struct platform_fault *fault)
{
	char note[64];

	snprintf(note, sizeof(note), "PID 1 ended by signal %d (%s)", fault->signal,
		 sigabbrev_np(fault->signal) ?: "?");
	end_early(note, fault);
}

/* A library called exit(); main never does. */
static void exited(void)
{
	static const struct platform_fault no_fault;

	end_early("PID 1 called exit", &no_fault);
}

/* --- the suite ------------------------------------------------------------------------------ */

START_TEST(kernel_is_ready)
{
	ck_assert_msg(platform.arena != NULL, "no memory for the selftests' buffers");
	ck_assert_str_eq(platform.version, kernel.release);
}
END_TEST

/* Everything that the report holds, from REPORT_START to REPORT_DONE. */
START_TEST(selftests_run)
{
	void *memory = aligned_alloc(16, (selftest_bytes + 15) & ~(size_t)15);

	ck_assert_ptr_nonnull(memory);
	failed_checks = selftest_run(memory, &platform);
	free(memory);
}
END_TEST

START_TEST(paths_do_their_work)
{
	ck_assert_uint_eq(failed_checks, 0);
}
END_TEST

/* The CPU that the dispatcher identified is the one that the kernel sees. */
START_TEST(kernel_sees_the_same_cpu)
{
	struct dispatch_cpu cpu;
	struct cpuinfo info;

	ck_assert_int_eq(cpuinfo_read("/proc/cpuinfo", &info), 0);
	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL,
			  platform.misc_enable != REPORT_MISC_ENABLE_CLEAR);
	ck_assert_str_eq(cpu.vendor, info.vendor);
	ck_assert_uint_eq(cpu.family, info.family);
	ck_assert_uint_eq(cpu.model, info.model);
	ck_assert_uint_eq(cpu.stepping, info.stepping);
}
END_TEST

static void run_suite(void)
{
	Suite *suite = suite_create("dispatch");
	TCase *tcase = tcase_create("guest");
	SRunner *runner;

	tcase_add_test(tcase, kernel_is_ready);
	tcase_add_test(tcase, selftests_run);
	tcase_add_test(tcase, paths_do_their_work);
	tcase_add_test(tcase, kernel_sees_the_same_cpu);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	/* In this process: a fork would be another PID, and cost more than the selftests. */
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_NORMAL);
	srunner_free(runner);
}

static void put_text(void *context, const char *text)
{
	(void)context;
	fputs(text, stdout);
}

/* Buffers for the selftests, present before the first step, with a hole behind them. */
static uint8_t *make_arena(void)
{
	uint8_t *arena = mmap(NULL, ARENA_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (arena == MAP_FAILED || mprotect(arena + ARENA_BYTES, PAGE_BYTES, PROT_NONE) < 0)
		return NULL;
	return arena;
}

/* --- a program, on the boot CPU or on each that is plugged ---------------------------------------
 */

static void want_cpu(void *context, unsigned cpu)
{
	(void)context;
	platform.cpu = (uint16_t)cpu;
	selftest_send_frame(&platform, REPORT_BEAT, NULL, 0);
}

/* The number of this CPU in JOB_KINDS_WORD, or -1. */
static int kind_of(unsigned cpu)
{
	const char *at = getenv(JOB_KINDS_WORD);

	while (at && --cpu) {
		at = strchr(at, ',');
		at = at ? at + 1 : NULL;
	}
	return at ? atoi(at) : -1;
}

static void visit_cpu(void *context, unsigned cpu)
{
	platform.misc_enable = machine_misc_enable();
	program_report(context, kind_of(cpu), &platform);
}

/* How many CPUs reported. */
static unsigned run_job(struct program_job *job)
{
	const char *word = getenv(JOB_CPUS_WORD);
	unsigned long count = word ? strtoul(word, NULL, 10) : 0;

	if (count)
		return sockets_each((unsigned)count, want_cpu, visit_cpu, job);
	program_report(job, -1, &platform);
	return 1;
}

int main(void)
{
	unsigned reported = 1;
	struct program_job *job;

	if (getpid() != 1 && !machine_word(LINUX_BOOT_WORD, LINUX_BOOT_FULL)) {
		/* It would end by powering this machine off. */
		fprintf(stderr, "quirklab: the agent only runs in a guest, as its PID 1\n");
		return 2;
	}
	if (getpid() == 1 && machine_mount() < 0) {
		fprintf(stderr, "quirklab: mounting /proc, /sys and /dev: %m\n");
		machine_off(-1);
	}
	report_fd = machine_open_report();
	if (report_fd < 0) {
		fprintf(stderr, "quirklab: no report port, the machine needs a second serial port: "
				"%m\n");
		machine_off(-1);
	}
	uname(&kernel);
	platform.send = send_bytes;
	platform.guarded_call = platform_guarded_call;
	platform.arena = make_arena();
	platform.arena_bytes = ARENA_BYTES;
	platform.misc_enable = machine_misc_enable();
	platform.version = kernel.release;
	if (platform_install(fatal) < 0 || atexit(exited) != 0)
		fprintf(stderr, "quirklab: handlers: %m\n");
	/* The kernel makes a variable of a word that it does not know. */
	if (getenv(TEXT_REPORT_WORD))
		text_report(put_text, NULL, platform.misc_enable != REPORT_MISC_ENABLE_CLEAR);
	job = program_job_read();
	if (job)
		reported = run_job(job);
	else if (errno != ENOENT)
		fprintf(stderr, "quirklab: the job of this guest: %m\n");
	else if (machine_word(LINUX_SUBJECT_WORD, LINUX_SUBJECT_KERNEL))
		kernel_report(&platform);
	else
		run_suite();
	send_end(reported);
	machine_off(report_fd);
}
