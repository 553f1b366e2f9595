/* SPDX-License-Identifier: MIT */
/* Plugging the CPUs of a rack into a guest that has not started yet. */
#ifndef QUIRKLAB_HARNESS_GUEST_RACK_H
#define QUIRKLAB_HARNESS_GUEST_RACK_H

#include <libvirt/libvirt.h>
#include "harness/cpu/realise.h"
#include "harness/util/error.h"

/* QEMU's type of every CPU whose identity is given by properties. */
#define RACK_CPU_MODEL "base"
#define RACK_CPU_TYPE  "base-x86_64-cpu"

/* The most CPUs that a rack may have. */
#define RACK_CPUS_MOST 200

/* The QMP command that plugs the CPU with this APIC id. Caller frees. */
char *rack_command(const struct realised *cpu, unsigned apic_id);

/* Plugs the CPUs with the APIC ids 1 to count. */
int rack_plug(virDomainPtr domain, const struct realised *const *cpus, size_t count,
	      struct error *err);

#endif
