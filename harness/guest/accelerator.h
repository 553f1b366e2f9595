/* SPDX-License-Identifier: MIT */
/* Whether this machine's /dev/kvm runs ordinary guests, and why not, in words. */
#ifndef QUIRKLAB_HARNESS_GUEST_ACCELERATOR_H
#define QUIRKLAB_HARNESS_GUEST_ACCELERATOR_H

#include <stdbool.h>
#include <stddef.h>

enum accelerator_kvm {
	ACCELERATOR_KVM_NONE,	 /* /dev/kvm does not open */
	ACCELERATOR_KVM_FOREIGN, /* it opens, but no hardware module stands behind it */
	ACCELERATOR_KVM_WORKS,
};

/* Where to look; NULL: the machine's own /dev/kvm and /sys/module. */
struct accelerator_paths {
	const char *device, *modules;
};

/* One sentence of explanation goes to words, for `doctor`; words may be NULL. */
enum accelerator_kvm accelerator_explain(const struct accelerator_paths *paths, char *words,
					 size_t room);

#endif
