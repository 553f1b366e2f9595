/* SPDX-License-Identifier: MIT */
/*
 * One serial port of a guest, as a sequence of bytes.
 *
 * Of a hypervisor elsewhere it is a pty, read as a libvirt stream. In its first second QEMU takes a
 * pty for unconnected and drops what does not fit into its 19 KiB, so CONSOLE_STREAM_SETTLES
 * seconds must pass between the guest's creation and its start. Of the embedded driver it is a
 * pipe: nothing is lost, not even when QEMU dies; a byte costs less; and nobody is woken for each.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_CONSOLE_H
#define QUIRKLAB_HARNESS_GUEST_CONSOLE_H

#include <stdatomic.h>
#include <libvirt/libvirt.h>
#include "harness/util/error.h"

/* QEMU looks once a second whether the pty was opened (pty_chr_timer in chardev/char-pty.c). */
#define CONSOLE_STREAM_SETTLES 1.1

/* Length 0: the port is closed and everything was delivered. */
typedef void console_sink(void *opaque, const void *bytes, size_t length);

struct console {
	/* Hands what is there to the sink, in this thread. A stream does so by itself, in libvirt's
	 * event thread. */
	void (*read)(struct console *console);
	/* From then on the sink is not called. */
	void (*close)(struct console *console);
};

/* `device` is libvirt's alias ("serial0"). `live` counts the streams that the event loop still
 * knows: it must run until there are none. */
struct console *console_stream_open(virConnectPtr connection, virDomainPtr domain,
				    const char *device, console_sink *sink, void *opaque,
				    atomic_uint *live, struct error *err);

/* Makes PATH.in and PATH.out, which QEMU then opens by the name PATH. */
struct console *console_pipe_open(const char *path, console_sink *sink, void *opaque,
				  struct error *err);

#endif
