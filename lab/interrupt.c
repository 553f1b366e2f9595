// SPDX-License-Identifier: MIT
/* SIGINT and SIGTERM while guests run. A handler can only reach what is global. */
#include "lab/interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct connection *const *volatile connections;
static const size_t *volatile connection_count;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	struct connection *const *list = connections;

	if (caught)
		_exit(128 + number);
	caught = number;
	for (size_t i = 0; list && i < *connection_count; i++)
		connection_interrupt(list[i]);
}

void interrupt_catch(struct connection *const *list, const size_t *count)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	connection_count = count;
	connections = list;
	caught = 0;
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void interrupt_forget(void)
{
	connections = NULL;
	/* The handler stays: what is left to do is quick, and the second signal still ends it. */
}

int interrupt_signal(void)
{
	return caught;
}
