/* SPDX-License-Identifier: MIT */
/* One guest from definition to end: boot it, watch it, collect what it said, leave nothing behind.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_GUEST_H
#define QUIRKLAB_HARNESS_GUEST_GUEST_H

#include "harness/cpu/realise.h"
#include "harness/guest/connection.h"
#include "harness/guest/observation.h"
#include "harness/util/text.h"

#define NVDIMM_MIB 128 /* a multiple of the kernel's sections */

enum guest_image {
	GUEST_BARE,
	GUEST_LINUX, /* a kernel and an initramfs with the agent */
	GUEST_DISK,  /* the kernel and the root file system of a distribution's image */
};

struct guest_request {
	enum guest_image image;
	const char *kernel; /* the bare ELF, or the Linux kernel */
	const char *initrd; /* Linux: the initramfs; else NULL */
	const char *
		cmdline; /* kernel command line; the rack's number of CPUs is added by guest_boot */
	const char *disk; /* GUEST_DISK: an empty overlay on the prepared image (disk.h); never
			     written: the guest has a copy of it */
	/* One CPU: the guest's own. More (not of a disk): a rack, CPU i is number i + 1 in the
	 * report. */
	const struct realised *const *cpus;
	size_t cpu_count;
	bool rack;	     /* make a rack even of one CPU */
	unsigned vcpus;	     /* so many of its one CPU (Linux, no rack); 0: 1 */
	unsigned memory_mib; /* 0: the image's default */
	const char *nvdimm; /* a file of NVDIMM_MIB for an NVDIMM (Linux); the guest's writes do not
			       reach it. NULL: none */
	unsigned program_seconds; /* how long each CPU's program may take; 0: there is none */
	double timeout_scale;	  /* 1.0: as it is; scales all limits of the watchdog */
};

enum guest_end {
	GUEST_FINISHED,	   /* REPORT_END came */
	GUEST_HUNG,	   /* no progress (bytes, frames) for longer than the limit */
	GUEST_CRASHED,	   /* panic, triple fault, or QEMU died */
	GUEST_ERROR,	   /* libvirt refused or failed: the lab's own fault */
	GUEST_INTERRUPTED, /* connection_interrupt */
};

struct guest_result {
	enum guest_end end;
	char reason[512]; /* one line; "" for GUEST_FINISHED */
	struct report_reader *reader;
	struct text report, console, qemu; /* raw, each bounded (report 16 MiB, console 1 MiB) */
	char *overlay;	  /* GUEST_DISK: the file that it wrote to; goes with guest_result_free */
	struct text logs; /* whoever asked disk_logs for them keeps them here */
	double create, guest,
		destroy; /* seconds: define and start; resume to the last frame; end */
};

/* Runs the guest to its end. Never fails: what went wrong is in the result. Thread-safe. */
void guest_boot(struct connection *connection, const struct guest_request *request,
		struct guest_result *result);
void guest_result_free(struct guest_result *result);

/* --- guests for people (definition.c, attended.c, keep.c)
 * ------------------------------------------------ */

/*
 * A guest that nobody watches for its report. Its only port is the console; see quirklab_text in
 * images/bare/main.c for what it says there.
 */
struct guest_definition {
	const char *name;
	const char *log; /* the console's bytes go into this file as well; NULL: no */
	bool gdb;	 /* guest_attend alone: with a stub for gdb, and not resumed: gdb does it */
};

/* Domain XML that any libvirt takes, with the files' paths as they are here. Caller frees. */
char *guest_domain_xml(struct connection *connection, const struct guest_request *request,
		       const struct guest_definition *definition, struct error *err);
/* The same as a command of a shell that needs QEMU alone. Caller frees. */
char *guest_qemu_command(struct connection *connection, const struct guest_request *request,
			 const struct guest_definition *definition, struct error *err);

/*
 * Starts a guest that outlives this process: nobody here ends it. The embedded driver's root stays
 * with it until its QEMU is gone and something sweeps. *uri, which virsh takes, is the caller's to
 * free.
 */
int guest_keep(struct connection *connection, const struct guest_request *request,
	       const struct guest_definition *definition, char **uri, struct error *err);

/*
 * A guest with somebody at its console, here and now. On the embedded driver only: elsewhere there
 * is `virsh console`. What the guest says goes to `sink` in guest_attended_read, which the caller
 * calls again and again.
 */
struct guest_attended;
struct guest_attended *guest_attend(struct connection *connection,
				    const struct guest_request *request,
				    const struct guest_definition *definition,
				    void (*sink)(void *context, const void *bytes, size_t length),
				    void *context, struct error *err);
/* Hands on what the guest said since. False at its end: the guest's own, or connection_interrupt.
 */
bool guest_attended_read(struct guest_attended *guest);
/* To the console; returns how many bytes it took, which may be none. */
size_t guest_attended_write(struct guest_attended *guest, const void *bytes, size_t length);
/* The socket of the stub, for gdb's `target remote`. */
const char *guest_attended_gdb(const struct guest_attended *guest);
/* Destroys it. NULL is allowed. */
void guest_attended_end(struct guest_attended *guest);

/*
 * The connection's hypervisor, with what QEMU itself says of each CPUID bit: whether there is a
 * property for it, and whether the accelerator has it. Starts a QEMU that runs nothing.
 */
int guest_ask_cpu(struct connection *connection, struct hypervisor *out, struct error *err);
/* QEMU's answer alone: fills asked, named and native. */
void guest_read_cpu_answer(struct hypervisor *out, const char *reply, struct error *err);

/* --- Linux images ------------------------------------------------------------------------------
 */

/* The newest readable kernel of /boot/vmlinuz-* and /usr/lib/modules/VERSION/vmlinuz; caller frees.
 */
char *kernel_find(struct error *err);
/* Whether PATH can be a kernel of that image, by its first bytes: an ELF file for x86-64, or a
 * Linux boot image (bzImage). ERROR_INPUT with what it is not. */
int kernel_check(const char *path, enum guest_image image, struct error *err);
/* The release that a Linux boot image says it is, "6.1.0-57-cloud-amd64": its modules are in a
 * folder of that name. The caller frees it. NULL with ERROR_INPUT where it says none. */
char *kernel_release(const char *path, struct error *err);
struct payload;
/* Writes an initramfs (newc, with libarchive) with `agent` as /init, and a program for it to run
 * (harness/guest/payload.h; NULL: none). Whole or not at all. */
int initramfs_write(const char *path, const char *agent, const struct payload *payload,
		    struct error *err);
/* The one at `initramfs` again, for racks: with it the kernel takes madt.h's table of all CPUs that
 * a rack may have, of which it brings up none by itself (LINUX_CMDLINE_RACK). */
int initramfs_write_rack(const char *path, const char *initramfs, struct error *err);
/* As initramfs_write, with a shell for a person: `busybox` (a static one) as /bin/busybox, and a
 * script as /init. */
int initramfs_write_shell(const char *path, const char *busybox, const char *script,
			  struct error *err);

#endif
