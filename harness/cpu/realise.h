/* SPDX-License-Identifier: MIT */
/*
 * How the hypervisor at hand presents a CPU: QEMU properties for `base`, or a libvirt model with
 * feature policies. Also what cannot be presented, by name.
 */
#ifndef QUIRKLAB_HARNESS_CPU_REALISE_H
#define QUIRKLAB_HARNESS_CPU_REALISE_H

#include "harness/cpu/cpu.h"
#include "harness/util/text.h"

#define REALISED_PROPERTIES_MAX 512

/* What the hypervisor at hand can do; harness/guest/ fills it. */
struct hypervisor {
	bool kvm;
	unsigned qemu_version;	  /* major * 1000 + minor */
	unsigned libvirt_version; /* major * 1000000 + minor * 1000 + release */
	/* Where QEMU itself was asked (guest_ask_cpu): the bits that it has a property for, and
	 * those of them that this accelerator has. Else both follow from the version, by feature.c.
	 */
	bool asked;
	struct feature_set named, native;
};

enum realise_guest {
	REALISE_BARE,  /* any bit may be forced: nobody executes it unasked */
	REALISE_LINUX, /* bits that a kernel or libc executes unasked are never forced (DESIGN) */
};

/*
 * Of QEMU's base, `qemu` and `property` are what follows the type: `-cpu base,QEMU`, or device_add
 * of base-x86_64-cpu with each property. Of a libvirt model they are on top of what the model is:
 * each property goes into `-global MODEL-x86_64-cpu.NAME=VALUE` (libvirt's <cpu> cannot say them).
 * The text of `qemu` is free of commas inside values. Values are "on", "off", numbers and strings.
 */
struct realised {
	char *model;	  /* libvirt model name, or NULL: QEMU's base */
	struct text qemu; /* "vendor=GenuineIntel,family=6,...,erms=on" */
	struct {
		char *name, *value; /* the same, property by property */
	} property[REALISED_PROPERTIES_MAX];
	size_t property_count;
	struct feature_set forced;	/* set in spite of the accelerator (inert) */
	struct feature_set unavailable; /* asked on, and not presented here */
};

/* ERROR_INPUT where the CPU is of no shape that QEMU can be told (a comma in the vendor's name). */
int realise(struct realised *out, const struct cpu *cpu, enum realise_guest guest,
	    const struct hypervisor *hypervisor, struct error *err);
void realised_free(struct realised *realised);

/* QEMU's property for the bit, or NULL where this QEMU has none. */
const char *realise_property(int feature, const struct hypervisor *hypervisor);
/* Whether the accelerator has the bit; else it is advertised only where it is forced. */
bool realise_is_native(int feature, const struct hypervisor *hypervisor);
/* One more property, or another value for one that is there. */
void realise_set(struct realised *realised, const char *name, const char *value);

#endif
