/* SPDX-License-Identifier: MIT */
/* What a connection is made of, for this folder only. */
#ifndef QUIRKLAB_HARNESS_GUEST_CONNECTION_INTERNAL_H
#define QUIRKLAB_HARNESS_GUEST_CONNECTION_INTERNAL_H

#include <stdatomic.h>
#include <libvirt/libvirt.h>

#include "harness/guest/connection.h"
#include "harness/guest/lifecycle.h"
#include "harness/guest/root.h"
#include "harness/guest/single_thread.h"
#include "harness/guest/undertaker.h"
#include "harness/guest/upload.h"

struct connection {
	virConnectPtr libvirt;
	char *uri;
	char *emulator; /* NULL: libvirt's choice */
	struct single_thread single;
	struct root root; /* path NULL unless embedded */
	bool local;
	bool cpu_by_qemu; /* see struct domain_plan */
	bool microvm;	  /* the emulator has this machine */
	char prefix[48];  /* of our domains: "quirklab-PID-", elsewhere "quirklab-PID-XXXX-" */
	struct hypervisor hypervisor;
	char qemu_text[24], libvirt_text[24];
	struct lifecycle lifecycle;
	struct undertaker *undertaker;
	struct upload *upload; /* NULL: the hypervisor reads our files itself */
	atomic_uint next;      /* number of the next domain */
	atomic_uint running;   /* guests under way */
	atomic_uint consoles;  /* those that the event loop still knows */
	atomic_bool interrupted;
};

#endif
