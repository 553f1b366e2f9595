/* SPDX-License-Identifier: MIT */
/* The text that a CPU of the rack executes: one copy for each set of features. */
#ifndef QUIRKLAB_BARE_TEXT_H
#define QUIRKLAB_BARE_TEXT_H

#include <stdbool.h>

/* On the CPU itself: goes over to the text of its features, at the same addresses. False where the
 * memory does not do for another copy. */
bool text_enter(void);

#endif
