/* SPDX-License-Identifier: MIT */
/* The ends of a cell's logs, for the HTML report. */
#ifndef QUIRKLAB_HARNESS_REPORT_LOGS_H
#define QUIRKLAB_HARNESS_REPORT_LOGS_H

#include <stdbool.h>
#include "harness/util/text.h"

/* The last lines of FOLDER/cells/CELL/NAME.log, each printable and ended by a newline; what stands
 * before them is told in a line of its own. False where there is no such log. The cell's name may
 * be anybody's: no other file is opened. */
bool log_tail(struct text *out, const char *folder, const char *cell, const char *name);

#endif
