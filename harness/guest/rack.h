/* SPDX-License-Identifier: MIT */
/* The CPUs of a rack: plugged before a bare guest starts, and into a Linux guest while it runs. */
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

/*
 * A Linux guest asks for each CPU when the one before is done (REPORT_BEAT). So many are plugged
 * ahead of that, so that it need not wait. Not all at once, and not before it boots: whenever the
 * guest writes where code was, QEMU's TCG empties a table of 64 KiB of every CPU that is plugged;
 * and SeaBIOS starts all that are there at once, each to wait for the others. With 100 CPUs in the
 * guest from the beginning its boot takes 6 s longer.
 */
#define RACK_AHEAD 1

/* The most CPUs that a rack may have. */
#define RACK_CPUS_MOST 200

/* The QMP command that plugs the CPU with this APIC id. Caller frees. */
char *rack_command(const struct realised *cpu, unsigned apic_id);

/* Plugs cpus[from] to cpus[to - 1]; the APIC id of cpus[i] is i + 1. */
int rack_plug(virDomainPtr domain, const struct realised *const *cpus, size_t from, size_t to,
	      struct error *err);

/* The bits that the CPUs of one Linux guest must agree in, by name; NULL ends them. */
extern const char *const rack_linux_bits[];

/*
 * The CPU that boots a Linux rack, in the words of -cpu: the first one's identity, and of the bits
 * only what its kernel cannot do without. The kernel is patched for this CPU, and the agent's
 * library chooses by it: neither must use what one of the others lacks. Caller frees.
 */
char *rack_linux_boot_cpu(const struct realised *const *cpus, size_t count);

/*
 * JOB_KINDS_WORD and its value (images/linux/job.h) for these CPUs: those of one number have the
 * same properties but for who they are, all that TCG translates by. Caller frees.
 */
char *rack_linux_kinds(const struct realised *const *cpus, size_t count);

#endif
