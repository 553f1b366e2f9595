// SPDX-License-Identifier: MIT
/* Runs a program that works on disk images, and ends it where it has to. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/disk_internal.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"

#define SAID_MOST     65536
#define TICK_MS	      50
#define GRACE_SECONDS 5.0

/* The appliance's cache is the one that all of libguestfs' tools share, wherever TMPDIR is. */
#define CACHE_VARIABLE "LIBGUESTFS_CACHEDIR"
#define CACHE_FOLDER   "/var/tmp"

struct tool {
	const char *name;
	pid_t pid;
	int output;
	struct text *said;
};

/* The caller's environment, and where the cache is. The array is the caller's to free. */
static char **environment_of_tool(void)
{
	static char cache[] = CACHE_VARIABLE "=" CACHE_FOLDER;
	size_t count = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = xcalloc(count + 2, sizeof(*copy));
	memcpy(copy, environ, count * sizeof(*copy));
	if (!getenv(CACHE_VARIABLE))
		copy[count] = cache;
	return copy;
}

/*
 * A session of its own: the terminal's Ctrl-C is for the harness, which ends it in order; and the
 * reaper takes what children it leaves (reaper.c).
 */
static int start(struct tool *tool, const char *const *argv, struct error *err)
{
	CLEANUP_FREE char **environment = environment_of_tool();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ends[2], failure;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, ERROR_LAB, "%s: no pipe: %s", argv[0], strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	failure = posix_spawnp(&tool->pid, argv[0], &actions, &attributes, (char *const *)argv,
			       environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	tool->output = ends[0];
	if (!failure)
		return 0;
	close(ends[0]);
	return error_set(err, ERROR_LAB, "%s: %s", argv[0], strerror(failure));
}

/* Takes what is there; waits at most so long for it. */
static void listen_to(struct tool *tool, int milliseconds)
{
	struct pollfd ready = { .fd = tool->output, .events = POLLIN };
	char bytes[4096];
	ssize_t got;

	if (poll(&ready, 1, milliseconds) <= 0)
		return;
	got = read(tool->output, bytes, sizeof(bytes));
	if (got <= 0) { /* closed: only its end is awaited */
		usleep((useconds_t)milliseconds * 1000);
		return;
	}
	if (tool->said->length + (size_t)got <= SAID_MOST)
		text_add(tool->said, bytes, (size_t)got);
}

static bool has_ended(const struct tool *tool, int *status)
{
	pid_t pid = waitpid(tool->pid, status, WNOHANG);

	return pid == tool->pid || (pid < 0 && errno == ECHILD);
}

/* In order, as it has files and an appliance to remove; then by force. */
static void end(struct tool *tool)
{
	const double until = clock_seconds() + GRACE_SECONDS;
	int status;

	kill(tool->pid, SIGTERM);
	while (!has_ended(tool, &status)) {
		if (clock_seconds() > until) {
			kill(-tool->pid, SIGKILL);
			waitpid(tool->pid, &status, 0);
			break;
		}
		listen_to(tool, TICK_MS);
	}
	kill(-tool->pid, SIGKILL); /* what is left of its session's first group */
}

int disk_tool(struct text *said, const char *const *argv, struct connection *connection,
	      unsigned seconds, struct error *err)
{
	const double begin = clock_seconds();
	struct tool tool = { .said = said };
	int status = 0;

	if (start(&tool, argv, err) < 0)
		return -1;
	while (!has_ended(&tool, &status)) {
		const bool stopped = connection && atomic_load(&connection->interrupted);

		if (stopped || clock_seconds() - begin > seconds) {
			end(&tool);
			close(tool.output);
			if (stopped)
				return error_set(err, ERROR_LAB, "interrupted");
			return error_set(err, ERROR_LAB, "%s: not at its end after %u s", argv[0],
					 seconds);
		}
		listen_to(&tool, TICK_MS);
	}
	listen_to(&tool, 0);
	close(tool.output);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return error_set(err, ERROR_LAB, "%s: ended by signal %d", argv[0], WTERMSIG(status));
}
