// SPDX-License-Identifier: MIT
/*
 * Runs the job's program and reports what it wrote and how it ended. It may do anything: a keeper
 * of its own, PID 1 of a namespace, holds all its processes together, and the kernel ends them with
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "images/linux/job.h"
#include "images/linux/output.h"
#include "images/linux/platform.h"
#include "images/linux/program.h"
#include "images/linux/root.h"
#include "tests/dispatch/cpuid_report.h"

#define BEAT_SECONDS 1.0
#define READ_BYTES   (256 * 1024)
/* Between two reads: a writer that is woken for each page of its pipe is several times slower. */
#define GATHER_MS      2
#define ARGUMENTS_MOST 4096

/* Killed first where memory runs out; the keeper and the agent never. */
#define OOM_FIRST "1000"
#define OOM_NEVER "-1000"

struct program_job {
	char *bytes;
	char **argv, **environment;
	unsigned seconds;
	bool read_only;
};

enum { PIPE_OUTPUT, PIPE_ERRORS, PIPE_STATUS, PIPES };

struct run {
	const struct program_job *job;
	const struct selftest_platform *platform;
	struct output *output;
	int pipes[PIPES];  /* the ends that are read; -1 where nothing more comes */
	int theirs[PIPES]; /* the ends that are written */
	pid_t keeper;
	int root;   /* as root_enter takes it */
	bool apart; /* in namespaces of its own */
	uint8_t how, code;
};

/* --- the job -------------------------------------------------------------------------------------
 */

static char *read_job(size_t *length)
{
	char *bytes = malloc(JOB_BYTES_MAX + 1);
	int fd = open(JOB_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	*length = 0;
	while (bytes && fd >= 0 && *length < JOB_BYTES_MAX &&
	       (got = read(fd, bytes + *length, JOB_BYTES_MAX - *length)) > 0)
		*length += (size_t)got;
	if (fd >= 0)
		close(fd);
	if (bytes && fd >= 0 && got >= 0) {
		bytes[*length] = '\0'; /* whoever wrote it forgot the last one */
		return bytes;
	}
	free(bytes);
	return NULL;
}

/* What follows KEY= in the string, or NULL. */
static char *value_of(char *string, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(string, key, length) && string[length] == '=' ? string + length + 1 : NULL;
}

/* False where the string is none of a job. */
static bool take_string(struct program_job *job, char *string, size_t *arguments, size_t *variables)
{
	char *value;

	value = value_of(string, JOB_ARGUMENT);
	if (value && *arguments < ARGUMENTS_MOST) {
		job->argv[(*arguments)++] = value;
		return true;
	}
	value = value_of(string, JOB_ENVIRONMENT);
	if (value && *variables < ARGUMENTS_MOST) {
		job->environment[(*variables)++] = value;
		return true;
	}
	if (value_of(string, JOB_READ_ONLY)) {
		job->read_only = true;
		return true;
	}
	value = value_of(string, JOB_SECONDS);
	if (value)
		job->seconds = (unsigned)strtoul(value, NULL, 10);
	return value && job->seconds && job->seconds <= JOB_SECONDS_MOST;
}

struct program_job *program_job_read(void)
{
	static const char *const always[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/",
		"LANG=C"
	};
	const size_t first = sizeof(always) / sizeof(always[0]);
	struct program_job *job = calloc(1, sizeof(*job));
	size_t length, arguments = 0, variables = first;

	if (!job)
		return NULL;
	job->seconds = JOB_SECONDS_DEFAULT;
	job->argv = calloc(ARGUMENTS_MOST + 1, sizeof(char *));
	job->environment = calloc(ARGUMENTS_MOST + 1, sizeof(char *));
	job->bytes = read_job(&length);
	if (!job->argv || !job->environment || !job->bytes)
		goto fail;
	for (size_t i = 0; i < first; i++)
		job->environment[i] = (char *)always[i];
	errno = EINVAL;
	for (size_t at = 0; at < length; at += strlen(job->bytes + at) + 1)
		if (!take_string(job, job->bytes + at, &arguments, &variables))
			goto fail;
	if (arguments)
		return job;
fail:
	free(job->bytes);
	free(job->argv);
	free(job->environment);
	free(job);
	return NULL;
}

/* --- in the program's process, and in its keeper's -----------------------------------------------
 */

struct status {
	uint8_t how, code;
};

static void tell(const struct run *run, enum report_exit how, int code)
{
	const struct status status = { .how = (uint8_t)how, .code = (uint8_t)code };

	/* Fewer bytes than a pipe takes at once. */
	if (write(run->theirs[PIPE_STATUS], &status, sizeof(status)) < 0)
		_exit(1);
}

static void set_oom(const char *score)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	ssize_t done;

	if (fd < 0)
		return; /* the kernel then chooses by size */
	done = write(fd, score, strlen(score));
	(void)done;
	close(fd);
}

static void __attribute__((noreturn)) become_program(const struct run *run)
{
	const struct rlimit none = { 0, 0 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setsid();
	set_oom(OOM_FIRST);
	setrlimit(RLIMIT_CORE, &none);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	else
		close(STDIN_FILENO);
	dup2(run->theirs[PIPE_OUTPUT], STDOUT_FILENO);
	dup2(run->theirs[PIPE_ERRORS], STDERR_FILENO);
	if (chdir(JOB_SUBJECT) < 0 && chdir("/") < 0)
		tell(run, REPORT_NOT_STARTED, errno);
	execve(run->job->argv[0], run->job->argv, run->job->environment);
	tell(run, REPORT_NOT_STARTED, errno);
	_exit(127);
}

/* The keeper: waits for the program, and for whatever that leaves to it. */
static void __attribute__((noreturn)) keep(const struct run *run)
{
	pid_t program, gone;
	int status;

	platform_remove();
	set_oom(OOM_NEVER);
	if (root_enter(run->root) < 0) {
		tell(run, REPORT_NOT_STARTED, errno);
		_exit(0);
	}
	program = fork();
	if (program == 0)
		become_program(run);
	if (program < 0) {
		tell(run, REPORT_NOT_STARTED, errno);
		_exit(0);
	}
	for (int i = PIPE_OUTPUT; i <= PIPE_ERRORS; i++)
		close(run->theirs[i]);
	do {
		gone = wait(&status);
	} while (gone != program && (gone >= 0 || errno == EINTR));
	if (WIFSIGNALED(status))
		tell(run, REPORT_SIGNALLED, WTERMSIG(status));
	else
		tell(run, REPORT_EXITED, WEXITSTATUS(status));
	_exit(0);
}

/* --- in the agent --------------------------------------------------------------------------------
 */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* As fork, in namespaces of its own where the kernel has such. */
static pid_t fork_apart(bool *apart)
{
	long pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, NULL,
			   NULL, NULL, NULL);

	*apart = pid >= 0;
	return pid >= 0 ? (pid_t)pid : fork();
}

static void close_pipes(int *ends)
{
	for (int i = 0; i < PIPES; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
		ends[i] = -1;
	}
}

/* -1 with errno. */
static int start(struct run *run)
{
	for (int i = 0; i < PIPES; i++)
		run->pipes[i] = run->theirs[i] = -1;
	for (int i = 0; i < PIPES; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return -1;
		run->pipes[i] = ends[0];
		run->theirs[i] = ends[1];
		fcntl(ends[0], F_SETPIPE_SZ, READ_BYTES);
		if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
			return -1;
	}
	fflush(NULL); /* or the keeper would have it too */
	run->keeper = fork_apart(&run->apart);
	if (run->keeper == 0)
		keep(run);
	close_pipes(run->theirs);
	return run->keeper < 0 ? -1 : 0;
}

/* Reads what there is, a bounded piece; true where there was something. */
static bool read_some(struct run *run, int number)
{
	static uint8_t bytes[READ_BYTES];
	ssize_t got = read(run->pipes[number], bytes, sizeof(bytes));

	if (got > 0) {
		output_add(run->output, number == PIPE_OUTPUT ? OUTPUT_STANDARD : OUTPUT_ERRORS,
			   bytes, (size_t)got);
		return true;
	}
	if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(run->pipes[number]);
		run->pipes[number] = -1;
	}
	return false;
}

/* A program that makes thousands of processes must not keep the agent from ending it. */
static void go_first(bool first)
{
	const struct sched_param priority = { .sched_priority = first ? 1 : 0 };

	sched_setscheduler(0, (first ? SCHED_RR : SCHED_OTHER) | SCHED_RESET_ON_FORK, &priority);
}

static void kill_all(const struct run *run)
{
	kill(run->keeper, SIGKILL);
	/* Without namespaces nothing else runs in this guest, if the agent is its PID 1. */
	if (!run->apart && getpid() == 1)
		kill(-1, SIGKILL);
}

/* Until the program ends, or one of its limits does. True: it was killed. */
static bool watch(struct run *run)
{
	const double begin = seconds_now(), limit = run->job->seconds;
	double written = begin, beat = begin, now;

	for (;;) {
		struct pollfd polled[PIPES];

		for (int i = 0; i < PIPES; i++)
			polled[i] = (struct pollfd){ .fd = run->pipes[i], .events = POLLIN };
		poll(polled, PIPES, (int)(BEAT_SECONDS * 1000));
		now = seconds_now();
		for (int i = PIPE_OUTPUT; i <= PIPE_ERRORS; i++)
			if (polled[i].revents && read_some(run, i))
				written = now;
		if (written == now)
			poll(&polled[PIPE_STATUS], 1, GATHER_MS);
		if (polled[PIPE_STATUS].revents)
			return false;
		if (now - beat >= BEAT_SECONDS) {
			selftest_send_frame(run->platform, REPORT_BEAT, NULL, 0);
			beat = now;
		}
		if (now - written > limit || now - begin > limit * JOB_TOTAL_FACTOR)
			break;
	}
	run->how = REPORT_TIMED_OUT;
	run->code = now - written > limit ? REPORT_LIMIT_SILENCE : REPORT_LIMIT_TOTAL;
	return true;
}

/* All processes of the program end here, whatever they are at. */
static void end(struct run *run, bool killed)
{
	struct status status;

	/* The keeper tells before it ends by itself. */
	if (!killed && read(run->pipes[PIPE_STATUS], &status, sizeof(status)) == sizeof(status)) {
		run->how = status.how;
		run->code = status.code;
	} else if (!killed) {
		run->how = REPORT_SIGNALLED;
		run->code = SIGKILL;
	}
	kill_all(run);
	while (waitpid(run->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	if (!run->apart) {
		while (getpid() == 1 && waitpid(-1, NULL, 0) > 0)
			;
		root_forget();
	}
	/* What is in the pipes is all that there will be. */
	for (int i = PIPE_OUTPUT; i <= PIPE_ERRORS; i++)
		while (run->pipes[i] >= 0 && read_some(run, i))
			;
}

static void run_program(struct run *run)
{
	if (start(run) < 0) {
		run->how = REPORT_NOT_STARTED;
		run->code = (uint8_t)errno;
	} else {
		go_first(true);
		end(run, watch(run));
		go_first(false);
	}
	close_pipes(run->pipes);
}

void program_report(const struct program_job *job, int kind,
		    const struct selftest_platform *platform)
{
	struct report *report = calloc(1, sizeof(*report));
	struct run run = {
		.job = job, .platform = platform, .output = output_new(), .root = ROOT_FRESH
	};
	uint64_t left_out;

	if (!report || !run.output) {
		free(report);
		output_free(run.output);
		return; /* no report is told apart from any */
	}
	report_begin(report, platform);
	report_text(report, platform->version);
	report_u32(report, platform->misc_enable);
	report_send(report, REPORT_START);
	cpuid_report(report, dispatch_cpuid_instruction, NULL);
	if (job->read_only && kind >= 0)
		run.root = root_keep(kind);
	run_program(&run);
	left_out = output_send(run.output, report);
	report_u8(report, run.how);
	report_u8(report, run.code);
	report_u64(report, output_written(run.output));
	report_u64(report, left_out);
	report_send(report, REPORT_EXIT);
	report_u8(report, 1);
	report_send(report, REPORT_DONE);
	output_free(run.output);
	free(report);
}
