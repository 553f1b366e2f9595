// SPDX-License-Identifier: MIT
/* A limit to how long a guest's creation may take, kept in libvirt's event thread. */
#include "harness/guest/deadline.h"

#include <signal.h>
#include <stdlib.h>
#include <libvirt/libvirt.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

/* The pid file is libvirt's, and removed when the domain has ended. */
static void passed(int timer, void *opaque)
{
	const char *pid_file = opaque;
	CLEANUP_FREE char *text = NULL;
	size_t length;
	pid_t pid;

	virEventUpdateTimeout(timer, -1);
	if (file_read(pid_file, 32, &text, &length, NULL) < 0)
		return;
	pid = (pid_t)strtol(text, NULL, 10);
	if (pid > 1)
		kill(pid, SIGKILL);
}

int deadline_set(const char *root, const char *name, double seconds)
{
	char *pid_file = xasprintf("%s/run/qemu/%s.pid", root, name);
	int timer = virEventAddTimeout((int)(seconds * 1e3), passed, pid_file, free);

	if (timer < 0)
		free(pid_file);
	return timer;
}

void deadline_cancel(int deadline)
{
	if (deadline >= 0)
		virEventRemoveTimeout(deadline);
}
