// SPDX-License-Identifier: MIT
/* What guests boot. */
#include "lab/images.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"

static int write_agent(const char *path, struct error *err)
{
	CLEANUP_FREE char *agent = path_image("agent");

	if (access(agent, R_OK) < 0)
		return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", agent,
				 strerror(errno));
	return initramfs_write(path, agent, err);
}

/* Without a place: into a folder that QEMU's own user can search, for this run alone. */
static int write_initramfs(struct images *images, struct error *err)
{
	const char *base = getenv("TMPDIR");
	char *folder;

	images->initrd = images->place;
	if (!images->place) {
		folder = xasprintf("%s/quirklab-XXXXXX", base && *base ? base : "/tmp");
		if (!mkdtemp(folder) || chmod(folder, 0755) < 0) {
			error_set(err, ERROR_LAB, "%s: %s", folder, strerror(errno));
			free(folder);
			return -1;
		}
		images->folder = folder;
		images->initrd = images->made = xasprintf("%s/initramfs", folder);
	}
	return images->write ? images->write(images->initrd, err)
			     : write_agent(images->initrd, err);
}

int images_find(struct images *images, enum guest_image image, const char *kernel,
		struct error *err)
{
	images->kernel = kernel;
	if (!kernel) {
		images->found =
			image == GUEST_LINUX ? kernel_find(err) : path_image("bare.elf");
		if (!images->found)
			return -1;
		if (access(images->found, R_OK) < 0)
			return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it",
					 images->found, strerror(errno));
		images->kernel = images->found;
	}
	return image == GUEST_LINUX ? write_initramfs(images, err) : 0;
}

void images_free(struct images *images)
{
	if (images->folder)
		folder_remove(images->folder, NULL);
	free(images->folder);
	free(images->made);
	free(images->found);
	*images = (struct images){ 0 };
}
