/* SPDX-License-Identifier: MIT */
/*
 * Threads that destroy finished domains behind the back of whoever boots the next one. libvirt's
 * destroy sends SIGTERM and first looks 0.2 s later whether QEMU is gone: that is waiting, not
 * work. (Killing QEMU first is worse: libvirt's one worker for lost monitors then waits as long for
 * each.)
 */
#ifndef QUIRKLAB_HARNESS_GUEST_UNDERTAKER_H
#define QUIRKLAB_HARNESS_GUEST_UNDERTAKER_H

#include <libvirt/libvirt.h>

struct undertaker;

struct undertaker *undertaker_start(void);
/* Waits until every domain is destroyed; ends and joins the threads. NULL is allowed. */
void undertaker_stop(struct undertaker *undertaker);

/*
 * Takes over the domain, and the file that is to be removed once the domain is gone (NULL: none).
 * Waits only where very many are dying already.
 */
void undertaker_take(struct undertaker *undertaker, virDomainPtr domain, char *file);

#endif
