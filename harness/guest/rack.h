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

/*
 * The CPU that boots a rack and starts the others. What -cpu says is the default of every CPU that
 * is plugged later (QEMU makes globals of it), so it has only what every 64-bit CPU has.
 */
#define RACK_BOOT_CPU                                                                        \
	RACK_CPU_MODEL ",fpu=on,tsc=on,msr=on,pae=on,cx8=on,apic=on,pge=on,cmov=on,fxsr=on," \
		       "sse=on,sse2=on,lm=on"

/* The most CPUs that a rack may have. */
#define RACK_CPUS_MOST 200

/* The QMP command that plugs the CPU with this APIC id. Caller frees. */
char *rack_command(const struct realised *cpu, unsigned apic_id);

/* Plugs the CPUs with the APIC ids 1 to count. */
int rack_plug(virDomainPtr domain, const struct realised *const *cpus, size_t count,
	      struct error *err);

#endif
