/* SPDX-License-Identifier: MIT */
/*
 * What the selftests need of a machine, in user space: single steps and exceptions as signals. Used
 * by the Linux guest's agent, and by unit tests on the host. One thread of a process at a time.
 */
#ifndef QUIRKLAB_IMAGES_LINUX_PLATFORM_H
#define QUIRKLAB_IMAGES_LINUX_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

struct selftest;

/* What ended the run: an exception that no test asked for, or a signal that somebody sent. */
struct platform_fault {
	int signal;
	bool exception; /* the CPU raised it: the fields below are valid */
	unsigned vector;
	uint64_t error_code, rip, address;
};

/* Called in the signal handler, on its stack. Must not return. */
typedef void platform_fatal_fn(const struct platform_fault *fault);

/*
 * Installs the handlers, on a signal stack of their own: the red zone below an interrupted stack
 * pointer stays as it is. fatal: what to do about a fault that is nobody's; NULL: the signal's
 * default action. Returns 0, or -1 with errno.
 */
int platform_install(platform_fatal_fn *fatal);
/* Puts back the handlers and the signal stack of before platform_install. */
void platform_remove(void);

/* struct selftest_platform's guarded_call. */
int platform_guarded_call(struct selftest *test, void (*function)(void *), void *argument,
			  bool single_step);

#endif
