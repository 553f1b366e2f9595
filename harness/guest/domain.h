/* SPDX-License-Identifier: MIT */
/* The domain XML of a guest. */
#ifndef QUIRKLAB_HARNESS_GUEST_DOMAIN_H
#define QUIRKLAB_HARNESS_GUEST_DOMAIN_H

#include "harness/guest/guest.h"

struct domain_plan {
	const char *name;
	const char *emulator;	     /* NULL: libvirt's choice */
	bool kvm;		     /* else TCG */
	bool microvm;		     /* the emulator has this machine */
	bool cpu_by_qemu;	     /* a named model goes to QEMU behind libvirt's back, see domain.c */
	const char *kernel, *initrd; /* as the hypervisor's host names them */
	const char *pipes;	     /* serial port N is the named pipe PIPES.N; NULL: a pty */
	const struct guest_request *request;
};

/* Whether the guest of this request is a rack. */
bool domain_is_rack(const struct guest_request *request);
/* ERROR_INPUT where the request contradicts itself. The caller frees the text. */
char *domain_xml(const struct domain_plan *plan, struct error *err);
/* The smallest domain there is, only to ask its emulator (NULL: libvirt's choice) something. The caller frees the text. */
char *domain_probe_xml(const char *name, const char *emulator, bool kvm);

#endif
