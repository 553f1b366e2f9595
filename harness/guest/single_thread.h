/* SPDX-License-Identifier: MIT */
/*
 * An emulator whose TCG runs all CPUs of a guest in one thread. CPUs of a Linux rack wait for each
 * other in loops of `pause`: a thread each, and those loops are half of all that QEMU does, and a
 * waiting thread takes the core that the other one wants. In one thread `pause` is the other's
 * turn.
 *
 * libvirt cannot be told so: it writes `-accel tcg`, and of several -accel QEMU takes the first. So
 * the emulator is a small script in the user's cache that adds `,thread=single` and becomes
 * QEMU.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_SINGLE_THREAD_H
#define QUIRKLAB_HARNESS_GUEST_SINGLE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <libvirt/libvirt.h>

struct single_thread {
	pthread_mutex_t lock;
	bool asked;
	char *path; /* NULL: there is none */
};

/*
 * The script for `emulator`, which libvirt has accepted; written and asked for once. NULL where
 * there is none: then the emulator itself serves, more slowly. Belongs to `single`.
 */
const char *single_thread_emulator(struct single_thread *single, virConnectPtr libvirt,
				   const char *emulator);
/* The path of that script in a folder, which is made; NULL where it cannot be written or executed.
 * Caller frees. */
char *single_thread_script(const char *folder, const char *emulator);
void single_thread_free(struct single_thread *single);

#endif
