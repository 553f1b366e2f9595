/* SPDX-License-Identifier: MIT */
/* The ACPI table that names a machine's CPUs, for a rack of Linux. */
#ifndef QUIRKLAB_HARNESS_GUEST_MADT_H
#define QUIRKLAB_HARNESS_GUEST_MADT_H

#include "harness/util/text.h"

/*
 * Adds an "APIC" table (ACPI 6.5, 5.2.12) of QEMU's machine `pc` with `cpus` CPUs, 1 to 255, of
 * the APIC ids 0 and up, each enabled.
 */
void madt_add(struct text *out, unsigned cpus);

#endif
