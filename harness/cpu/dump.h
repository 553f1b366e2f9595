/* SPDX-License-Identifier: MIT */
/*
 * Readers of CPUID dumps in files: `cpuid -r` (and -1r), and the text of AIDA64, EVEREST and
 * InstLatx64. Of a file with several CPUs the first is taken.
 */
#ifndef QUIRKLAB_HARNESS_CPU_DUMP_H
#define QUIRKLAB_HARNESS_CPU_DUMP_H

#include "harness/cpu/cpu.h"

/* The leaves in the bytes of a file; path is for messages. ERROR_INPUT for a file of no known format,
 * and for one with a line that is cut off. */
int dump_parse(struct cpuid_dump *dump, const char *path, const char *bytes, size_t length,
	       struct error *err);

/* The CPU that a file describes, named after the file. */
int dump_read_cpu(struct cpu *cpu, const char *path, struct error *err);

#endif
