/* SPDX-License-Identifier: MIT */
/* The RAM behind the image, handed out once and never taken back. */
#ifndef QUIRKLAB_BARE_MEMORY_H
#define QUIRKLAB_BARE_MEMORY_H

#include <stddef.h>

#include "images/bare/pvh.h"

/* Finds the end of the RAM in which the image lies. */
void memory_init(const struct pvh_start_info *info);

/* Whole pages, contents undefined, mapped one to one; NULL where the RAM is used up. */
void *memory_take(size_t bytes);

#endif
