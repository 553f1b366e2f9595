/* SPDX-License-Identifier: MIT */
/* Facts about the kernel's list of flags in /proc/cpuinfo. */
#ifndef QUIRKLAB_HARNESS_CPU_DUMP_FLAG_NAMES_H
#define QUIRKLAB_HARNESS_CPU_DUMP_FLAG_NAMES_H

#include "harness/cpu/feature.h"

/* Names that say nothing of a bit in feature.c. */
extern const char *const flags_without_bit[];
extern const size_t flags_without_bit_count;

/* Bits that the kernel keeps out of the list, or that a name stands for only on some CPUs: that
 * such a name is missing says nothing. */
extern const char *const flags_hidden[];
extern const size_t flags_hidden_count;

/* Where the kernel writes the flag: the list is sorted by these numbers; -1 where that is open. */
int flag_place(const struct feature *feature);

/* The first kernel that can name the flag, major * 1000 + minor; 0 where that is of no interest. */
unsigned flag_since(const char *name);

/* Names that mean another bit on another vendor's CPUs: the bit's name, or NULL where the name
 * stands. */
const char *flag_of_vendor(const char *name, const char *vendor);

#endif
