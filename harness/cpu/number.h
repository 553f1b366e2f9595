/* SPDX-License-Identifier: MIT */
/* Numbers as a table or a user writes them: decimal, or hexadecimal with 0x. */
#ifndef QUIRKLAB_HARNESS_CPU_NUMBER_H
#define QUIRKLAB_HARNESS_CPU_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bounds of what CPUID can say, and QEMU present. */
#define FAMILY_MAX   270u /* 0xF + 0xFF */
#define MODEL_MAX    255u
#define STEPPING_MAX 15u

/* True where text is a number of at most `most` and nothing else: no sign, no blank. */
bool number_read(const char *text, uint64_t most, uint64_t *value);

#endif
