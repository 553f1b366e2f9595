/* SPDX-License-Identifier: MIT */
/*
 * How the hypervisor at hand presents a CPU: QEMU properties for `base`, or a libvirt model with
 * feature policies. Also what cannot be presented, by name.
 */
#ifndef QUIRKLAB_HARNESS_CPU_REALISE_H
#define QUIRKLAB_HARNESS_CPU_REALISE_H

#include "harness/cpu/cpu.h"
#include "harness/util/text.h"

/* What the hypervisor at hand can do; harness/guest/ fills it. */
struct hypervisor {
	bool kvm;
	unsigned qemu_version;		/* major * 1000 + minor */
	unsigned libvirt_version;	/* major * 1000000 + minor * 1000 + release */
};

enum realise_guest {
	REALISE_BARE,  /* any bit may be forced: nobody executes it unasked */
	REALISE_LINUX, /* bits that a kernel or libc executes unasked are never forced (DESIGN) */
};

struct realised {
	char *model;	      /* libvirt model name, or NULL: QEMU's base */
	struct text qemu;     /* "vendor=GenuineIntel,family=6,...,erms=on": for -cpu TYPE,... */
	struct {
		char *name, *value; /* the same, property by property, for device_add */
	} property[256];
	size_t property_count;
	struct feature_set forced;	/* set in spite of the accelerator (inert) */
	struct feature_set unavailable; /* asked on, and no property here can present it */
};

int realise(struct realised *out, const struct cpu *cpu, enum realise_guest guest,
	    const struct hypervisor *hypervisor, struct error *err);
void realised_free(struct realised *realised);

#endif
