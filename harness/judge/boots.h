/* SPDX-License-Identifier: MIT */
/* Two boots of one kernel for one CPU, a short one and a full one. */
#ifndef QUIRKLAB_HARNESS_JUDGE_BOOTS_H
#define QUIRKLAB_HARNESS_JUDGE_BOOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/judge/cell.h"

/*
 * Whether both show the same: picks, flags, vulnerabilities, calls. Else WHAT, of ROOM bytes, names
 * the first that differs, with its value in the short boot and in the full one. Both have to be
 * judged, with what the kernel showed (kernel_seen).
 */
bool boots_agree(char *what, size_t room, const struct cell_result *brief,
		 const struct cell_result *full);

#endif
