/* SPDX-License-Identifier: MIT */
/* Which cells can share a guest, and how they are shared out. */
#ifndef QUIRKLAB_HARNESS_PLAN_GROUPS_H
#define QUIRKLAB_HARNESS_PLAN_GROUPS_H

#include "harness/plan/plan.h"

/*
 * group[i] of plan->cells[i]: 0 where it is finished or boots alone; cells of one number can share
 * a guest. Returns the highest number. Of Linux guests it takes every hypervisor that may boot them
 * into account.
 */
unsigned groups_make(unsigned *group, const struct plan *plan, const struct plan_options *options,
		     const struct hypervisor *const *hypervisors, size_t hypervisor_count);

/*
 * How many guests each group makes: as few as `pack` allows, then more, of the group with the
 * largest ones, until `workers` that boot them at once get the same number each, unless guests
 * become small: a guest costs as much to start as `small` CPUs cost in it.
 */
void groups_split(size_t *guests, const size_t *sizes, size_t count, size_t pack, size_t small,
		  size_t workers);

/* That number for the guests of an image. */
size_t groups_small(enum guest_image image);

#endif
