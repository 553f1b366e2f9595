// SPDX-License-Identifier: MIT
/*
 * Workloads whose scalability is the kernel's: page faults, munmap and the TLB flushes that they
 *bring, with N tasks at once, in the manner of will-it-scale. Its output is read by what reads that
 *of will-it-scale:
 *
 *	testcase:TEXT
 *	warmup
 *	min:N max:N total:N	operations of the slowest task, the fastest, and all, each second
 *	measurement		after five of them; then as many as -s says
 *	average:N		total, a second
 *
 *	scale WORKLOAD_threads|WORKLOAD_processes [-s SECONDS] [-t TASKS] [-w SECONDS] [-b MIB] [-r]
 *
 * -w: the seconds before the measured ones (5, as will-it-scale has it). -b: the region of a task
 *(128 MiB, the same). -r: lines for the lab as well: what the measured seconds cost in interrupts
 *between CPUs, from /proc/interrupts, and the mitigation in force.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h> /* SIGKILL */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/subjects/scale.h"

#define WARM_UP_SECONDS 5 /* without -w */
#define TASKS_MAX	1024
#define PAGE		4096UL

/* Each on a line of its own: tasks must not slow each other down by counting. */
struct counter {
	_Atomic unsigned long long operations;
	char padding[128 - sizeof(unsigned long long)];
};

struct task {
	const struct workload *workload;
	struct counter *counter;
	size_t bytes;
	int cpu;
};

/* --- the workloads: each for ever, counting as it goes
 * -------------------------------------------- */

static void count(const struct task *task)
{
	atomic_fetch_add_explicit(&task->counter->operations, 1, memory_order_relaxed);
}

static void die(const char *what)
{
	fprintf(stderr, "scale: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A large block comes by mmap and goes by munmap, untouched but for malloc's own word before it. */
static void malloc1(const struct task *task)
{
	for (;;) {
		void *volatile block = malloc(task->bytes);

		if (!block)
			die("malloc");
		free(block);
		count(task);
	}
}

static void *map(size_t bytes, int flags, int fd)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

/* The first touch of each page of new memory. */
static void page_fault1(const struct task *task)
{
	for (;;) {
		volatile char *memory = map(task->bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);

		/* A huge page would be one fault for 512 of them. */
		madvise((void *)memory, task->bytes, MADV_NOHUGEPAGE);
		for (size_t offset = 0; offset < task->bytes; offset += PAGE) {
			memory[offset] = 0;
			count(task);
		}
		munmap((void *)memory, task->bytes);
	}
}

/* A page of a file is written to, which makes it private, and given up again. */
static void tlb_flush1(const struct task *task)
{
	char name[] = "/tmp/scale.XXXXXX";
	int fd = mkstemp(name);
	volatile char *memory;

	if (fd < 0)
		die(name);
	unlink(name);
	if (ftruncate(fd, (off_t)task->bytes) < 0)
		die("ftruncate");
	memory = map(task->bytes, MAP_PRIVATE, fd);
	for (;;) {
		for (size_t offset = 0; offset < task->bytes; offset += PAGE) {
			memory[offset] = 1;
			madvise((void *)(memory + offset), PAGE, MADV_DONTNEED);
			count(task);
		}
	}
}

static const struct workload {
	const char *name, *text;
	void (*work)(const struct task *task);
} workloads[] = {
#define WORKLOAD(name, text) { #name, text, name },
	SCALE_WORKLOADS(WORKLOAD)
};
#define WORKLOADS (sizeof(workloads) / sizeof(workloads[0]))

/* --- tasks
 * ----------------------------------------------------------------------------------------- */

static void *run_task(void *argument)
{
	const struct task *task = argument;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(task->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	task->workload->work(task);
	return NULL;
}

static void start(struct task *task, bool threads)
{
	pthread_t thread;
	pid_t parent = getpid(), child;

	if (threads) {
		errno = pthread_create(&thread, NULL, run_task, task);
		if (errno)
			die("a thread");
		return;
	}
	child = fork();
	if (child < 0)
		die("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	run_task(task);
}

/* The CPUs that may be used, in turn. */
static void give_cpus(struct task *tasks, unsigned count)
{
	cpu_set_t allowed;
	int cpu = -1;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		die("sched_getaffinity");
	for (unsigned i = 0; i < count; i++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &allowed));
		tasks[i].cpu = cpu;
	}
}

/* --- what it cost
 * ------------------------------------------------------------------------------------ */

/* Interrupts that one CPU sends another, all CPUs together, by the names of /proc/interrupts. */
static const struct interrupt {
	const char *name, *value;
} interrupts[] = {
	{ "TLB:", "tlb_shootdowns" },
	{ "CAL:", "function_calls" },
	{ "RES:", "reschedules" },
};
#define INTERRUPTS (sizeof(interrupts) / sizeof(interrupts[0]))

static void read_interrupts(unsigned long long *counts)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char *line = NULL;
	size_t room = 0;

	memset(counts, 0, INTERRUPTS * sizeof(*counts));
	while (file && getline(&line, &room, file) > 0) {
		char *next = line + strspn(line, " ");

		for (size_t i = 0; i < INTERRUPTS; i++) {
			char *end;

			if (strncmp(next, interrupts[i].name, 4))
				continue;
			for (next += 4;; next = end) {
				unsigned long long count = strtoull(next, &end, 10);

				if (end == next)
					break;
				counts[i] += count;
			}
			break;
		}
	}
	free(line);
	if (file)
		fclose(file);
}

static void print_mitigation(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "re");
	char line[256];

	if (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		for (char *blank = line; (blank = strchr(blank, ' '));)
			*blank = '_';
		printf("QL value spectre_v2 %s\n", line);
	}
	if (file)
		fclose(file);
}

static void print_costs(const unsigned long long *before, const unsigned long long *after,
			unsigned long long operations, unsigned tasks, unsigned seconds)
{
	printf("QL value operations %llu\n", operations);
	printf("QL value seconds %u\n", seconds);
	printf("QL value tasks %u\n", tasks);
	for (size_t i = 0; i < INTERRUPTS; i++)
		printf("QL value %s %llu\n", interrupts[i].value, after[i] - before[i]);
	print_mitigation();
}

/* --- the clock
 * --------------------------------------------------------------------------------------- */

static unsigned long long sum_second(const struct counter *counters, unsigned long long *last,
				     unsigned tasks)
{
	unsigned long long least = ~0ULL, most = 0, total = 0;

	for (unsigned i = 0; i < tasks; i++) {
		unsigned long long now =
			atomic_load_explicit(&counters[i].operations, memory_order_relaxed);
		unsigned long long made = now - last[i];

		last[i] = now;
		least = made < least ? made : least;
		most = made > most ? made : most;
		total += made;
	}
	printf("min:%llu max:%llu total:%llu\n", least, most, total);
	fflush(stdout);
	return total;
}

static void watch(const struct counter *counters, unsigned tasks, unsigned warm_up,
		  unsigned seconds, bool report)
{
	unsigned long long *last = calloc(tasks, sizeof(*last)), total = 0;
	unsigned long long before[INTERRUPTS], after[INTERRUPTS];

	if (!last)
		die("memory");
	printf("warmup\n");
	for (unsigned second = 0; second < warm_up + seconds; second++) {
		if (second == warm_up) {
			printf("measurement\n");
			read_interrupts(before);
		}
		sleep(1);
		if (second >= warm_up)
			total += sum_second(counters, last, tasks);
		else
			sum_second(counters, last, tasks);
	}
	read_interrupts(after);
	printf("average:%llu\n", total / seconds);
	if (report)
		print_costs(before, after, total, tasks, seconds);
	free(last);
}

/* --- the command line
 * -------------------------------------------------------------------------------- */

static void usage(const char *why, const char *word)
{
	fprintf(stderr,
		"scale: %s '%s'; scale WORKLOAD_threads|WORKLOAD_processes [-s SECONDS] "
		"[-t TASKS] [-w SECONDS] [-b MIB] [-r] was expected; workloads:",
		why, word);
	for (size_t i = 0; i < WORKLOADS; i++)
		fprintf(stderr, " %s", workloads[i].name);
	fputc('\n', stderr);
	exit(2);
}

static unsigned number(const char *text, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < 1 || value > most)
		usage("not a number that is possible here:", text);
	return (unsigned)value;
}

static const struct workload *find_workload(const char *word, bool *threads)
{
	for (size_t i = 0; i < WORKLOADS; i++) {
		size_t length = strlen(workloads[i].name);

		if (strncmp(word, workloads[i].name, length))
			continue;
		*threads = !strcmp(word + length, "_threads");
		if (*threads || !strcmp(word + length, "_processes"))
			return &workloads[i];
	}
	usage("no workload", word);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned seconds = 5, tasks = 1, mebibytes = 128, warm_up = WARM_UP_SECONDS;
	const struct workload *workload;
	bool threads = false, report = false;
	struct counter *counters;
	struct task *list;
	int option;

	while ((option = getopt(argc, argv, "s:t:w:b:r")) != -1) {
		switch (option) {
		case 's':
			seconds = number(optarg, 86400);
			break;
		case 't':
			tasks = number(optarg, TASKS_MAX);
			break;
		case 'w':
			warm_up = number(optarg, 3600);
			break;
		case 'b':
			mebibytes = number(optarg, 1U << 20);
			break;
		case 'r':
			report = true;
			break;
		default:
			usage("an option that is none:", argv[optind - 1]);
		}
	}
	if (optind + 1 != argc)
		usage("one workload was expected after", argv[optind ? optind - 1 : 0]);
	workload = find_workload(argv[optind], &threads);
	counters = map(tasks * sizeof(*counters), MAP_SHARED | MAP_ANONYMOUS, -1);
	list = calloc(tasks, sizeof(*list));
	if (!list)
		die("memory");
	give_cpus(list, tasks);
	printf("testcase:%s\n", workload->text);
	fflush(stdout);
	for (unsigned i = 0; i < tasks; i++) {
		list[i].workload = workload;
		list[i].counter = &counters[i];
		list[i].bytes = (size_t)mebibytes << 20;
		start(&list[i], threads);
	}
	watch(counters, tasks, warm_up, seconds, report);
	fflush(stdout);
	/* Tasks that are processes go with this one (start()); threads would run on while exit()
	 * does. */
	_exit(0);
}
