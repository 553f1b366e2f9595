// SPDX-License-Identifier: MIT
/* The kernel that an image would boot, and its initrd. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "images/disk/image.h"

/* Where distributions keep a kernel; "*" is its release. */
static const struct {
	const char *before, *after;
} kernel_places[] = {
	{ "/boot/vmlinuz-", "" },	     /* Debian, Fedora, openSUSE, Arch, Alpine */
	{ "/usr/lib/modules/", "/vmlinuz" }, /* Fedora; Debian's newest */
	{ "/lib/modules/", "/vmlinuz" },
};

/* And the initrd of a release. */
static const char *const initrd_places[][2] = {
	{ "/boot/initrd.img-", "" },	/* Debian */
	{ "/boot/initramfs-", ".img" }, /* Fedora, Arch */
	{ "/boot/initrd-", "" },	/* openSUSE */
	{ "/boot/initramfs-", "" },	/* Alpine */
	{ "/usr/lib/modules/", "/initrd" },
	{ "/usr/lib/modules/", "/initrd.img" },
};

/* Documentation/arch/x86/boot.rst: a pointer, less 0x200, to the text of the kernel's version. */
#define VERSION_POINTER 0x20E
#define VERSION_BASE	0x200
#define RELEASE_MOST	128

/* A link is followed: /boot/vmlinuz may be one. */
static bool is_file(const struct image *image, const char *path)
{
	return guestfs_is_file_opts(image->g, path, GUESTFS_IS_FILE_OPTS_FOLLOWSYMLINKS, 1, -1) > 0;
}

static void consider(const struct image *image, size_t place, const char *path,
		     struct image_kernel *best)
{
	const char *before = kernel_places[place].before, *after = kernel_places[place].after;
	size_t length = strlen(path), around = strlen(before) + strlen(after);
	CLEANUP_FREE char *release = NULL;

	if (length <= around || !is_file(image, path))
		return;
	release = strndup(path + strlen(before), length - around);
	/* Numbers compare as numbers; Fedora's "0-rescue-..." comes before all. */
	if (!release || (best->release && strverscmp(best->release, release) >= 0))
		return;
	image_kernel_free(best);
	best->kernel = xstrdup(path);
	best->release = release;
	release = NULL;
}

static void find_newest(const struct image *image, struct image_kernel *best)
{
	for (size_t i = 0; i < sizeof(kernel_places) / sizeof(kernel_places[0]); i++) {
		CLEANUP_FREE char *pattern =
			xasprintf("%s*%s", kernel_places[i].before, kernel_places[i].after);
		CLEANUP_STRINGS char **found = guestfs_glob_expand(image->g, pattern);

		for (char **path = found; path && *path; path++)
			consider(image, i, *path, best);
	}
}

static void find_initrd(const struct image *image, struct image_kernel *kernel)
{
	for (size_t i = 0; i < sizeof(initrd_places) / sizeof(initrd_places[0]); i++) {
		char *path = xasprintf("%s%s%s", initrd_places[i][0], kernel->release,
				       initrd_places[i][1]);

		if (is_file(image, path)) {
			kernel->initrd = path;
			return;
		}
		free(path);
	}
}

/* The release of a bzImage; NULL where it does not say. */
static char *release_of(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[RELEASE_MOST + 1] = "";
	unsigned char pointer[2];

	if (fd < 0 || pread(fd, pointer, 2, VERSION_POINTER) != 2)
		return NULL;
	if (pread(fd, text, RELEASE_MOST, VERSION_BASE + pointer[0] + 256 * pointer[1]) <= 0)
		return NULL;
	text[strcspn(text, " /")] = '\0'; /* it becomes part of a path */
	return *text ? xstrdup(text) : NULL;
}

int image_find_kernel(const struct image *image, const char *given, struct image_kernel *out,
		      struct error *err)
{
	*out = (struct image_kernel){ 0 };
	if (given)
		out->release = release_of(given);
	else
		find_newest(image, out);
	if (!given && !out->kernel)
		return error_set(err, ERROR_INPUT,
				 "%s: no kernel in it, neither /boot/vmlinuz-* nor "
				 "/usr/lib/modules/*/vmlinuz: give one with --kernel FILE",
				 image->path);
	if (out->release)
		find_initrd(image, out);
	return 0;
}

void image_kernel_free(struct image_kernel *kernel)
{
	free(kernel->release);
	free(kernel->kernel);
	free(kernel->initrd);
	*kernel = (struct image_kernel){ 0 };
}
