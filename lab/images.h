/* SPDX-License-Identifier: MIT */
/* What guests boot: the bare image, or a kernel with an initramfs that is made for this run alone.
 */
#ifndef QUIRKLAB_LAB_IMAGES_H
#define QUIRKLAB_LAB_IMAGES_H

#include "harness/guest/guest.h"

struct images {
	const char *kernel;	       /* what was asked for, or found */
	const char *initrd;	       /* NULL: none */
	const struct payload *payload; /* set before: what the agent runs; NULL: nothing */
	const char *place; /* set before images_find: the file for the initramfs, which stays */
	int (*write)(const char *path,
		     struct error *err); /* set before: makes it; NULL: the agent */
	char *found, *folder, *made;	 /* owned; the folder goes with images_free */
	int lock;			 /* held on the folder while this run lives; -1: none */
};

/* kernel: the user's, or NULL: the built bare image, the newest installed kernel. */
int images_find(struct images *images, enum guest_image image, const char *kernel,
		struct error *err);
void images_free(struct images *images);

#endif
