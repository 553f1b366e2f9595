// SPDX-License-Identifier: MIT
/* CPUs that come while the guest runs: each is put online, visited, and put offline again. */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "images/linux/sockets.h"

/* The harness plugs the next one while the one before is visited, so it is there as a rule. */
#define PLUGGED_SECONDS 15.0
#define PLUGGED_TICK_US 1000

#define BOOT_CPU  0
#define CPUS_MOST 1024

static double now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void switch_path(char *path, size_t room, unsigned cpu)
{
	snprintf(path, room, "/sys/devices/system/cpu/cpu%u/online", cpu);
}

/* The kernel has a folder for each CPU that its table of them names, be it there or not. The link
 * in it comes with the CPU. */
static bool is_plugged(unsigned cpu)
{
	const double until = now() + PLUGGED_SECONDS;
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/firmware_node", cpu);
	while (access(path, F_OK) < 0) {
		if (now() > until) {
			errno = ETIMEDOUT;
			return false;
		}
		usleep(PLUGGED_TICK_US);
	}
	return true;
}

static bool put_online(unsigned cpu, bool online)
{
	char path[64];
	int fd;
	bool done;

	switch_path(path, sizeof(path), cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, online ? "1" : "0", 1) == 1;
	close(fd);
	return done;
}

static bool go_to(unsigned cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0 && sched_getcpu() == (int)cpu;
}

/* Linux numbers CPUs in the order in which they come; the harness by their APIC ids. Intel SDM
 * volume 2A, CPUID leaf 1: EBX bits 31-24. */
static unsigned apic_id(void)
{
	unsigned eax, ebx, ecx, edx;

	__cpuid(1, eax, ebx, ecx, edx);
	return ebx >> 24;
}

static bool visit(unsigned cpu, void (*each)(void *context, unsigned cpu), void *context)
{
	bool visited = false;

	if (!put_online(cpu, true))
		return false;
	if (go_to(cpu)) {
		errno = ENODEV;
		if (apic_id() == cpu) {
			each(context, cpu);
			visited = true;
		}
	}
	/* One that stays online does no harm. */
	if (!go_to(BOOT_CPU) || !put_online(cpu, false))
		fprintf(stderr, "quirklab: CPU %u stays online: %m\n", cpu);
	return visited;
}

unsigned sockets_each(unsigned count, void (*want)(void *context, unsigned cpu),
		      void (*each)(void *context, unsigned cpu), void *context)
{
	unsigned visited = 0;

	for (unsigned cpu = 1; cpu <= count && cpu < CPUS_MOST; cpu++) {
		want(context, cpu);
		if (is_plugged(cpu) && visit(cpu, each, context))
			visited++;
		else
			fprintf(stderr, "quirklab: CPU %u is left out: %m\n", cpu);
	}
	return visited;
}
