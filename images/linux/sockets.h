/* SPDX-License-Identifier: MIT */
/* Many CPUs of different identity in one Linux guest, one after another. */
#ifndef QUIRKLAB_IMAGES_LINUX_SOCKETS_H
#define QUIRKLAB_IMAGES_LINUX_SOCKETS_H

/*
 * For each CPU 1..count that the harness plugs: calls want(context, cpu), which asks for it; waits
 * for it, puts it online, binds this process to it, calls each(context, cpu), goes back to the boot
 * CPU and puts it offline. A CPU that does not come, or is not the one that was asked for, is left
 * out: it has no report, and the harness boots it alone. Returns how many were visited.
 */
unsigned sockets_each(unsigned count, void (*want)(void *context, unsigned cpu),
		      void (*each)(void *context, unsigned cpu), void *context);

#endif
