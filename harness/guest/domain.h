/* SPDX-License-Identifier: MIT */
/* The domain XML of a guest. */
#ifndef QUIRKLAB_HARNESS_GUEST_DOMAIN_H
#define QUIRKLAB_HARNESS_GUEST_DOMAIN_H

#include "harness/guest/guest.h"

struct domain_plan {
	const char *name;
	const char *emulator; /* NULL: libvirt's choice */
	bool kvm;	      /* else TCG */
	bool microvm;	      /* the emulator has this machine */
	bool cpu_by_qemu;     /* a named model goes to QEMU behind libvirt's back, see domain.c */
	const char *kernel, *initrd; /* as the hypervisor's host names them */
	const char *disk;	     /* a qcow2 file that the guest may write; NULL: none */
	const char *pipes;	     /* serial port N is the named pipe PIPES.N; NULL: a pty */
	/* For people: the second serial port takes all and gives nothing. */
	bool for_people;
	const char *log; /* for people: the console's bytes go into this file as well; NULL: no */
	const char *gdb; /* what -gdb says; NULL: no stub */
	const struct guest_request *request;
};

/* Whether the guest of this request is a rack. */
bool domain_is_rack(const struct guest_request *request);
/* ERROR_INPUT where the request contradicts itself. The caller frees the text. */
char *domain_xml(const struct domain_plan *plan, struct error *err);
/*
 * The same guest as an argument vector of QEMU, without libvirt: the console on its standard
 * output. cpu: libvirt's own -cpu for a CPU that is one of its models; else NULL. Adds a line for
 * each option.
 */
void domain_qemu_command(struct text *out, const struct domain_plan *plan, const char *emulator,
			 const char *cpu);
/* The smallest domain there is, only to ask its emulator (NULL: libvirt's choice) something. The
 * caller frees the text. */
char *domain_probe_xml(const char *name, const char *emulator, bool kvm);

#endif
