/* SPDX-License-Identifier: MIT */
/*
 * What libvirt learned about the emulators, kept from run to run: probing them takes 4 s, and each
 * run's root is new. libvirt itself checks each file against the emulator, itself and the kernel.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_CAPABILITY_CACHE_H
#define QUIRKLAB_HARNESS_GUEST_CAPABILITY_CACHE_H

/* Both do what they can: a cache that is not there costs time, no more. */
void capability_cache_load(const char *root);
void capability_cache_save(const char *root);

#endif
