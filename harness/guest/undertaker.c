// SPDX-License-Identifier: MIT
/* Threads that destroy finished domains. */
#include "harness/guest/undertaker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <libvirt/virterror.h>

#include "harness/util/text.h"

/* At 0.2 s for each that is 160 guests a second, more than QEMUs can be started here. */
#define THREADS_MOST 32

struct body {
	virDomainPtr domain;
	char *file;
};

struct undertaker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[THREADS_MOST];
	unsigned thread_count, idle;
	struct body waiting[THREADS_MOST];
	unsigned waiting_count;
	bool stop;
};

static void bury(struct body *body)
{
	if (virDomainDestroy(body->domain) < 0)
		virResetLastError(); /* it was gone already */
	virDomainFree(body->domain);
	if (body->file)
		unlink(body->file);
	free(body->file);
}

static void *run(void *opaque)
{
	struct undertaker *undertaker = opaque;
	struct body body;

	pthread_mutex_lock(&undertaker->lock);
	for (;;) {
		undertaker->idle++;
		while (!undertaker->waiting_count && !undertaker->stop)
			pthread_cond_wait(&undertaker->changed, &undertaker->lock);
		undertaker->idle--;
		if (!undertaker->waiting_count)
			break;
		body = undertaker->waiting[--undertaker->waiting_count];
		pthread_cond_broadcast(&undertaker->changed);
		pthread_mutex_unlock(&undertaker->lock);
		bury(&body);
		pthread_mutex_lock(&undertaker->lock);
	}
	pthread_mutex_unlock(&undertaker->lock);
	return NULL;
}

struct undertaker *undertaker_start(void)
{
	struct undertaker *undertaker = xcalloc(1, sizeof(*undertaker));

	pthread_mutex_init(&undertaker->lock, NULL);
	pthread_cond_init(&undertaker->changed, NULL);
	return undertaker;
}

void undertaker_stop(struct undertaker *undertaker)
{
	if (!undertaker)
		return;
	pthread_mutex_lock(&undertaker->lock);
	undertaker->stop = true;
	pthread_cond_broadcast(&undertaker->changed);
	pthread_mutex_unlock(&undertaker->lock);
	for (unsigned i = 0; i < undertaker->thread_count; i++)
		pthread_join(undertaker->threads[i], NULL);
	pthread_cond_destroy(&undertaker->changed);
	pthread_mutex_destroy(&undertaker->lock);
	free(undertaker);
}

/* The lock is held. */
static void add_thread(struct undertaker *undertaker)
{
	pthread_t *thread = &undertaker->threads[undertaker->thread_count];

	if (undertaker->thread_count == THREADS_MOST ||
	    pthread_create(thread, NULL, run, undertaker))
		return;
	pthread_setname_np(*thread, "undertaker");
	undertaker->thread_count++;
}

void undertaker_take(struct undertaker *undertaker, virDomainPtr domain, char *file)
{
	struct body body = { domain, file };

	pthread_mutex_lock(&undertaker->lock);
	if (undertaker->idle <= undertaker->waiting_count)
		add_thread(undertaker);
	if (!undertaker->thread_count) {
		/* Not a single thread to be had. */
		pthread_mutex_unlock(&undertaker->lock);
		bury(&body);
		return;
	}
	while (undertaker->waiting_count == THREADS_MOST)
		pthread_cond_wait(&undertaker->changed, &undertaker->lock);
	undertaker->waiting[undertaker->waiting_count++] = body;
	pthread_cond_broadcast(&undertaker->changed);
	pthread_mutex_unlock(&undertaker->lock);
}
