/* SPDX-License-Identifier: MIT */
/* What list and show share: JSON on standard output, names of origins. */
#ifndef QUIRKLAB_LAB_LISTS_H
#define QUIRKLAB_LAB_LISTS_H

#include <jansson.h>
#include "harness/cpu/cpu.h"

const char *origin_name(enum cpu_origin origin);
void print_json(json_t *value);		 /* and releases it */
json_t *inert_string(const char *bytes); /* printable ASCII only */

#endif
