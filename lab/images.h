/* SPDX-License-Identifier: MIT */
/* What guests boot: the bare image, or a kernel with an initramfs that is made for this run alone.
 */
#ifndef QUIRKLAB_LAB_IMAGES_H
#define QUIRKLAB_LAB_IMAGES_H

#include "harness/guest/disk.h"
#include "harness/guest/guest.h"
#include "harness/plan/plan.h"

struct images {
	const char *kernel;	       /* what was asked for, or found */
	const char *initrd;	       /* NULL: none */
	bool with_nvdimm;	       /* in: guests have an NVDIMM */
	char *nvdimm;		       /* out: its file; owned */
	const struct payload *payload; /* set before: what the agent runs; NULL: nothing */
	const char *place; /* set before images_find: the file for the initramfs, which stays */
	int (*write)(const char *path,
		     struct error *err); /* set before: makes it; NULL: the agent */
	bool with_racks;		 /* set before: an initramfs for racks is wanted as well */
	char *rack_initrd;		 /* so it is; owned */
	bool unpack;			 /* set before: the kernel is wanted unpacked as well */
	char *unpacked;			 /* so it is; NULL: no need, or it cannot be; owned */
	char *found, *folder, *made;	 /* owned; the folder goes with images_free */
	int lock;			 /* held on the folder while this run lives; -1: none */
	struct disk disk;		 /* of a distribution's image */
	bool guarded;			 /* the supervisor knows the folder */
};

/* kernel: the user's, or NULL: the built bare image, the newest installed kernel. */
int images_find(struct images *images, enum guest_image image, const char *kernel,
		struct error *err);
/* What has been made goes when this process is killed, too. A connection has to be open. */
void images_guard(struct images *images);
/* A distribution's image, prepared for this run alone. The connection has to be open. */
int images_find_disk(struct images *images, const char *file, const struct plan_options *plan,
		     struct connection *connection, struct error *err);
/* Before the last connection is closed. */
void images_free(struct images *images);

#endif
