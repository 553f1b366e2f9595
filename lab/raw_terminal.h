/* SPDX-License-Identifier: MIT */
/*
 * The terminal on standard input, in raw mode while a guest's console is on it. It is put back on
 * every way out of the program but SIGKILL: by raw_terminal_leave, at exit, and in the handlers of
 * the signals that end a process.
 */
#ifndef QUIRKLAB_LAB_RAW_TERMINAL_H
#define QUIRKLAB_LAB_RAW_TERMINAL_H

#include <stdbool.h>

/* False where standard input is no terminal: then nothing was changed. Handlers that were there
 * before are called after its own. */
bool raw_terminal_enter(void);
void raw_terminal_leave(void);

#endif
