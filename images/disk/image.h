/* SPDX-License-Identifier: MIT */
/* The parts of the program that looks into disk images; each returns 0, or -1 with an error. */
#ifndef QUIRKLAB_IMAGES_DISK_IMAGE_H
#define QUIRKLAB_IMAGES_DISK_IMAGE_H

#include <stdbool.h>
#include <guestfs.h>
#include "harness/util/error.h"
#include "harness/util/text.h"

struct image {
	guestfs_h *g;
	const char *path; /* the user's file, for messages */
	char *system;	  /* what it says it is: "debian, 12.15" */
	char *device;	  /* that has its root: /dev/sda1, /dev/VG/LV, btrfsvol:/dev/sda2/@ */
};

/* A handle on the overlay, with its appliance running. */
int image_open(struct image *image, const char *overlay, bool writable, bool kvm,
	       struct error *err);
/* Mounts the one x86-64 Linux system that is in it. ERROR_INPUT with what is there instead. */
int image_mount(struct image *image, struct error *err);
void image_close(struct image *image);
/* Why the last call of libguestfs failed: one line. */
int image_failed(const struct image *image, enum error_kind kind, const char *what,
		 struct error *err);

/* The words that make a kernel mount this root. has_initrd: whether it can find it by its UUID. */
int image_root_words(const struct image *image, bool has_initrd, struct text *words,
		     struct error *err);

struct image_kernel {
	char *release;	       /* 6.1.0-9-amd64 */
	char *kernel, *initrd; /* in the image; kernel NULL: the user's; initrd NULL: none */
};

/* The newest kernel in it and its initrd; with `given` (a file of the host) the initrd of that. */
int image_find_kernel(const struct image *image, const char *given, struct image_kernel *out,
		      struct error *err);
void image_kernel_free(struct image_kernel *kernel);

/* Makes the image's own init start the agent. */
int image_hook(const struct image *image, struct error *err);

/* Adds what its logs say to `out`, bounded. */
void image_logs(const struct image *image, struct text *out);

/* Frees a list of libguestfs' strings. */
void cleanup_strings(char ***list);
#define CLEANUP_STRINGS __attribute__((cleanup(cleanup_strings)))

#endif
