// SPDX-License-Identifier: MIT
/*
 * Looks into disk images with libguestfs, for harness/guest/disk.c: a program of its own, so that
 * the lab runs without that library, and so that whatever an image does to it ends with it.
 *
 *   disk prepare IMAGE FORMAT FOLDER TAR ACCEL agent|full [KERNEL]
 *       makes FOLDER/image.qcow2, an overlay on IMAGE with TAR unpacked in it; FOLDER/empty.qcow2,
 *       one on that; FOLDER/kernel (unless KERNEL, a file of the host, is to be booted) and
 *       FOLDER/initrd, where it has one
 *   disk logs IMAGE FOLDER ACCEL
 *       writes FOLDER/logs from the overlay IMAGE
 *
 * On standard output: lines of NAME, TAB, VALUE: "words", those that the kernel needs to find the
 * root; "system" and "release". Or one of "input" and "lab": the error, by whose fault it is.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "images/disk/image.h"
#include "images/linux/job.h"

struct preparation {
	const char *path, *format, *folder, *tar;
	bool kvm, full_boot;
	const char *kernel; /* the user's; NULL: the image's */
};

static int make_overlay(guestfs_h *g, const char *path, const char *backing, const char *format)
{
	return guestfs_disk_create(g, path, "qcow2", -1, GUESTFS_DISK_CREATE_BACKINGFILE, backing,
				   GUESTFS_DISK_CREATE_BACKINGFORMAT, format, -1);
}

static int download(const struct image *image, const char *from, const char *folder,
		    const char *name, struct error *err)
{
	CLEANUP_FREE char *to = xasprintf("%s/%s", folder, name);

	if (!from || guestfs_download(image->g, from, to) == 0)
		return 0;
	return image_failed(image, ERROR_INPUT, from, err);
}

static int bring_in(const struct image *image, const struct preparation *how, struct error *err)
{
	/* What an image has there would be another lab's. */
	if (guestfs_rm_rf(image->g, JOB_FOLDER) < 0 ||
	    guestfs_tar_in_opts(image->g, how->tar, "/", -1) < 0)
		return image_failed(image, ERROR_INPUT, "nothing can be written into it", err);
	return how->full_boot ? image_hook(image, err) : 0;
}

static int prepare_mounted(struct image *image, const struct preparation *how, struct text *words,
			   struct error *err)
{
	struct image_kernel kernel;
	int result = image_find_kernel(image, how->kernel, &kernel, err);

	if (!result)
		result = image_root_words(image, kernel.initrd, words, err);
	if (!result)
		result = bring_in(image, how, err);
	if (!result)
		result = download(image, kernel.kernel, how->folder, "kernel", err);
	if (!result)
		result = download(image, kernel.initrd, how->folder, "initrd", err);
	/* Else what was written would still be in the appliance's memory. */
	if (!result && (guestfs_umount_all(image->g) < 0 || guestfs_shutdown(image->g) < 0))
		result = image_failed(image, ERROR_LAB, "cannot be written to its end", err);
	if (!result)
		printf("words\t%s\nsystem\t%s\nrelease\t%s\n", text_string(words),
		       image->system ? image->system : "", kernel.release ? kernel.release : "");
	image_kernel_free(&kernel);
	return result;
}

static int prepare(const struct preparation *how, struct error *err)
{
	CLEANUP_FREE char *overlay = xasprintf("%s/image.qcow2", how->folder);
	CLEANUP_FREE char *empty = xasprintf("%s/empty.qcow2", how->folder);
	CLEANUP_TEXT struct text words = { 0 };
	struct image image = { .path = how->path };
	guestfs_h *g = guestfs_create();
	int result;

	if (!g)
		return error_set(err, ERROR_LAB, "libguestfs: out of memory");
	guestfs_set_error_handler(g, NULL, NULL);
	image.g = g;
	result = make_overlay(g, overlay, how->path, how->format);
	if (result < 0)
		image_failed(&image, ERROR_INPUT, "no image can rest on it", err);
	else if (make_overlay(g, empty, overlay, "qcow2") < 0)
		result = image_failed(&image, ERROR_LAB, empty, err);
	guestfs_close(g);
	image.g = NULL;
	if (!result)
		result = image_open(&image, overlay, true, how->kvm, err);
	if (!result)
		result = image_mount(&image, err);
	if (!result)
		result = prepare_mounted(&image, how, &words, err);
	image_close(&image);
	return result;
}

static int collect(const char *overlay, const char *folder, bool kvm, struct error *err)
{
	CLEANUP_FREE char *path = xasprintf("%s/logs", folder);
	CLEANUP_TEXT struct text out = { 0 };
	struct image image = { .path = overlay };
	int result = image_open(&image, overlay, false, kvm, err);

	if (!result)
		result = image_mount(&image, err);
	if (!result) {
		image_logs(&image, &out);
		result = file_write(path, text_string(&out), out.length, err);
	}
	image_close(&image);
	return result;
}

/* libguestfs' files and those of its QEMU, which has one without a name after a moment only: where
 * these were killed, they go with the run's folder. */
static void keep_in(const char *folder)
{
	setenv("LIBGUESTFS_TMPDIR", folder, 1);
	setenv("TMPDIR", folder, 1);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	int result;

	/* Without the harness nobody wants the answer. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if ((argc == 8 || argc == 9) && !strcmp(argv[1], "prepare")) {
		const struct preparation how = {
			.path = argv[2],
			.format = argv[3],
			.folder = argv[4],
			.tar = argv[5],
			.kvm = !strcmp(argv[6], "kvm"),
			.full_boot = !strcmp(argv[7], "full"),
			.kernel = argv[8],
		};

		keep_in(how.folder);
		result = prepare(&how, &err);
	} else if (argc == 5 && !strcmp(argv[1], "logs")) {
		keep_in(argv[3]);
		result = collect(argv[2], argv[3], !strcmp(argv[4], "kvm"), &err);
	} else {
		fprintf(stderr, "disk: the lab's own; see images/disk/README.md\n");
		return 2;
	}
	if (result == 0)
		return 0;
	printf("%s\t%s\n", err.kind == ERROR_INPUT ? "input" : "lab", err.text);
	return 1;
}
