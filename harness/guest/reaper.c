// SPDX-License-Identifier: MIT
/* The thread that reaps the QEMUs that this process adopted. */
#include "harness/guest/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* How long libvirt may take to reap a child of its own before the reaper looks again. */
#define NAP_US 1000

struct reaper {
	pthread_t thread;
	pid_t last, session;
	int was_subreaper;
};

/* The name and the session of a process that may be a zombie. */
static bool look_up(pid_t pid, char name[32], pid_t *session)
{
	CLEANUP_FD int fd = -1;
	char path[64], stat[512];
	const char *open_paren, *close_paren;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
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
	snprintf(name, 32, "%.*s", (int)(close_paren - open_paren - 1), open_paren + 1);
	return sscanf(close_paren + 1, " %*c %*d %*d %d", session) == 1;
}

/*
 * libvirt's children stay in our session, but for the one that makes QEMU a daemon: it leads a
 * session of its own, without being QEMU. Of QEMU's own -daemonize the same holds, but that it is
 * QEMU.
 */
static bool is_adopted(const struct reaper *reaper, pid_t pid)
{
	char name[32];
	pid_t session;

	if (!look_up(pid, name, &session) || session == reaper->session)
		return false;
	return session != pid || !strncmp(name, "qemu", 4);
}

static void *run(void *opaque)
{
	const struct reaper *reaper = opaque;

	for (;;) {
		siginfo_t child = { 0 };
		bool ours;

		if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			return NULL;
		}
		ours = child.si_pid == reaper->last;
		if (ours || is_adopted(reaper, child.si_pid))
			waitpid(child.si_pid, NULL, 0);
		else
			usleep(NAP_US);
		if (ours)
			return NULL;
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
