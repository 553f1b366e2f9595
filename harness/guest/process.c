// SPDX-License-Identifier: MIT
/* The supervisor, the reaper and the event loop of this process. */
#include "harness/guest/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "harness/guest/event_loop.h"
#include "harness/guest/home.h"
#include "harness/guest/reaper.h"

static struct {
	pthread_mutex_t lock;
	unsigned holders;
	struct supervisor supervisor;
	struct reaper *reaper;
	struct event_loop *loop;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void quiet(void *opaque, virErrorPtr error)
{
	(void)opaque;
	(void)error;
}

static void stop(void)
{
	event_loop_stop(process.loop);
	process.loop = NULL;
	supervisor_stop(&process.supervisor);
	reaper_join(process.reaper);
	process.reaper = NULL;
}

static int start(struct error *err)
{
	/* libvirt logs warnings to stderr, several for each guest. There is no call to stop that,
	 * but whoever wants its log sets this himself. */
	setenv("LIBVIRT_LOG_OUTPUTS", "4:file:/dev/null", 0);
	home_lend();
	/* Whoever started us may have it ignored; then no child of libvirt's could be waited for.
	 */
	signal(SIGCHLD, SIG_DFL);
	if (supervisor_start(&process.supervisor, err) < 0)
		return -1;
	process.reaper = reaper_start(process.supervisor.pid, err);
	if (!process.reaper)
		goto failed;
	if (virInitialize() < 0) {
		error_set(err, ERROR_LAB, "libvirt does not start: %s", virGetLastErrorMessage());
		goto failed;
	}
	virSetErrorFunc(NULL, quiet);
	process.loop = event_loop_start(err);
	if (!process.loop)
		goto failed;
	return 0;
failed:
	stop();
	return -1;
}

int process_hold(struct error *err)
{
	int result = 0;

	pthread_mutex_lock(&process.lock);
	if (!process.holders)
		result = start(err);
	if (!result)
		process.holders++;
	pthread_mutex_unlock(&process.lock);
	return result;
}

void process_release(void)
{
	pthread_mutex_lock(&process.lock);
	if (!--process.holders)
		stop();
	pthread_mutex_unlock(&process.lock);
}

struct supervisor *process_supervisor(void)
{
	return &process.supervisor;
}
