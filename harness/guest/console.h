/* SPDX-License-Identifier: MIT */
/* One serial port of a guest, read through libvirt without blocking. */
#ifndef QUIRKLAB_HARNESS_GUEST_CONSOLE_H
#define QUIRKLAB_HARNESS_GUEST_CONSOLE_H

#include <stdatomic.h>
#include <libvirt/libvirt.h>
#include "harness/util/error.h"

struct console;

/* Called in libvirt's event thread. Length 0: the port is closed and everything was delivered. */
typedef void console_sink(void *opaque, const void *bytes, size_t length);

/* `device` is libvirt's alias ("serial0"). `live` counts the consoles that the event loop still
 * knows: it must run until there are none. */
struct console *console_open(virConnectPtr connection, virDomainPtr domain, const char *device,
			     console_sink *sink, void *opaque, atomic_uint *live,
			     struct error *err);
/* From then on the sink is not called. NULL is allowed. */
void console_close(struct console *console);

#endif
