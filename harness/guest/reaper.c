// SPDX-License-Identifier: MIT
/* The thread that reaps the QEMUs that this process adopted. */
#include "harness/guest/reaper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* How long libvirt may take to reap a child of its own before the reaper looks again. */
#define NAP_US 3000

struct reaper {
	pthread_t thread;
	pid_t last, session;
	int was_subreaper;
};

struct looked_up {
	char name[32], state;
	pid_t parent, session;
};

/* Of a process that may be a zombie. */
static bool look_up(const char *pid, struct looked_up *found)
{
	CLEANUP_FD int fd = -1;
	char path[sizeof("/proc//stat") + 256], stat[512];
	const char *open_paren, *close_paren;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, stat, sizeof(stat) - 1);
	if (got <= 0)
		return false;
	stat[got] = '\0';
	open_paren = strchr(stat, '(');
	close_paren = strrchr(stat, ')');
	if (!open_paren || !close_paren)
		return false;
	snprintf(found->name, sizeof(found->name), "%.*s", (int)(close_paren - open_paren - 1),
		 open_paren + 1);
	return sscanf(close_paren + 1, " %c %d %*d %d", &found->state, &found->parent,
		      &found->session) == 3;
}

/*
 * Reaps a child of ours that ended, if it was adopted. libvirt's children stay in our session, but
 * for the one that makes QEMU a daemon: it leads a session of its own, without being QEMU. Of
 * QEMU's own -daemonize the same holds, but that it is QEMU.
 */
static bool reap_adopted(const struct reaper *reaper, const char *pid)
{
	const pid_t number = (pid_t)strtol(pid, NULL, 10);
	struct looked_up child;

	if (!look_up(pid, &child) || child.state != 'Z' || child.parent != getpid() ||
	    child.session == reaper->session)
		return false;
	if (child.session == number && strncmp(child.name, "qemu", 4))
		return false;
	return waitpid(number, NULL, WNOHANG) == number;
}

/* Behind a child that somebody else has yet to reap, waitid shows no other. */
static void reap_all_adopted(const struct reaper *reaper)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		return;
	while ((entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			reap_adopted(reaper, entry->d_name);
	closedir(proc);
}

static void *run(void *opaque)
{
	const struct reaper *reaper = opaque;

	for (;;) {
		siginfo_t child = { 0 };
		char pid[16];

		if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			return NULL;
		}
		if (child.si_pid == reaper->last) {
			waitpid(child.si_pid, NULL, 0);
			return NULL;
		}
		snprintf(pid, sizeof(pid), "%d", (int)child.si_pid);
		if (reap_adopted(reaper, pid))
			continue;
		usleep(NAP_US);
		reap_all_adopted(reaper);
	}
}

struct reaper *reaper_start(pid_t last, struct error *err)
{
	struct reaper *reaper = xcalloc(1, sizeof(*reaper));
	int failure;

	reaper->last = last;
	reaper->session = getsid(0);
	prctl(PR_GET_CHILD_SUBREAPER, &reaper->was_subreaper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	failure = pthread_create(&reaper->thread, NULL, run, reaper);
	if (failure) {
		free(reaper);
		error_set(err, ERROR_LAB, "no thread for the reaper: %s", strerror(failure));
		return NULL;
	}
	pthread_setname_np(reaper->thread, "reaper");
	return reaper;
}

void reaper_join(struct reaper *reaper)
{
	if (!reaper)
		return;
	pthread_join(reaper->thread, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, reaper->was_subreaper);
	free(reaper);
}
