/* SPDX-License-Identifier: MIT */
/*
 * SIGINT and SIGTERM while guests run: the first ends the run soon, its results are kept; the
 * second ends the program at once (the connections' supervisors then end what is left of the
 * guests).
 */
#ifndef QUIRKLAB_LAB_INTERRUPT_H
#define QUIRKLAB_LAB_INTERRUPT_H

#include "harness/guest/connection.h"

/* The list is borrowed until interrupt_forget, and may grow. */
void interrupt_catch(struct connection *const *connections, const size_t *count);
void interrupt_forget(void);
int interrupt_signal(void); /* the signal that came; 0: none */

#endif
