// SPDX-License-Identifier: MIT
/* Raw mode of the terminal on standard input, and the ways back. A handler can only reach what is
 * global. */
#include "lab/raw_terminal.h"

#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT,
			     SIGBUS, SIGFPE, SIGILL,  SIGSEGV, SIGPIPE };
#define FATAL (sizeof(fatal) / sizeof(fatal[0]))

static struct termios before;
static struct sigaction actions[FATAL];
static volatile sig_atomic_t raw;

/* Safe in a handler. */
static void put_back(void)
{
	if (!raw)
		return;
	raw = 0;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void on_signal(int number)
{
	put_back();
	for (size_t i = 0; i < FATAL; i++) {
		if (fatal[i] != number)
			continue;
		if (actions[i].sa_handler == SIG_IGN)
			return;
		if (actions[i].sa_handler != SIG_DFL) {
			actions[i].sa_handler(number);
			return;
		}
	}
	signal(number, SIG_DFL);
	raise(number);
}

bool raw_terminal_enter(void)
{
	static bool registered;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct termios mode;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return false;
	if (!registered && atexit(put_back) != 0)
		return false;
	registered = true;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &action, &actions[i]);
	mode = before;
	cfmakeraw(&mode);
	raw = 1;
	tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	return true;
}

void raw_terminal_leave(void)
{
	if (!raw)
		return;
	put_back();
	for (size_t i = 0; i < FATAL; i++)
		sigaction(fatal[i], &actions[i], NULL);
}
