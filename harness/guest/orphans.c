// SPDX-License-Identifier: MIT
/* QEMUs by the root that they belong to, found in /proc. */
#include "harness/guest/orphans.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/text.h"

/* A QEMU names its sockets long before the kernel command line or the CPUs. */
#define ARGUMENTS_MOST 65536
#define SCAN_EVERY_MS  20

/* libvirt gives it to each QEMU, also to one that it only asks. A reader of a log has it not. */
#define QEMU_ARGUMENT "\0-no-user-config"

/* A QEMU that names the folder. A zombie has no arguments, so a killed process is not found twice.
 */
static bool belongs(const char *pid, const char *folder)
{
	CLEANUP_FREE char *arguments = NULL;
	CLEANUP_FD int fd = -1;
	char path[sizeof("/proc//cmdline") + 256];
	size_t length = 0;

	snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	arguments = xmalloc(ARGUMENTS_MOST);
	while (length < ARGUMENTS_MOST) {
		ssize_t got = read(fd, arguments + length, ARGUMENTS_MOST - length);

		if (got <= 0)
			break;
		length += (size_t)got;
	}
	return memmem(arguments, length, folder, strlen(folder)) &&
	       memmem(arguments, length, QEMU_ARGUMENT, sizeof(QEMU_ARGUMENT));
}

/* How many there are; end: each gets a SIGKILL, and counts where it could be given. */
static size_t count_once(const char *folder, bool end)
{
	size_t count = 0;
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	if (!proc)
		return 0;
	while ((entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == getpid())
			continue;
		if (belongs(entry->d_name, folder) && (!end || kill(pid, SIGKILL) == 0))
			count++;
	}
	closedir(proc);
	return count;
}

bool orphans_live(const char *folder)
{
	CLEANUP_FREE char *inside = xasprintf("%s/", folder);

	return count_once(inside, false) > 0;
}

size_t orphans_end(const char *folder, unsigned quiet_ms, unsigned most_ms)
{
	CLEANUP_FREE char *inside = xasprintf("%s/", folder);
	const double begin = clock_seconds();
	double seen = begin;
	size_t killed = 0;

	for (;;) {
		size_t now_killed = count_once(inside, true);
		double now = clock_seconds();

		killed += now_killed;
		if (now_killed)
			seen = now;
		if ((now - seen) * 1e3 >= quiet_ms || (now - begin) * 1e3 >= most_ms)
			return killed;
		usleep(SCAN_EVERY_MS * 1000);
	}
}
