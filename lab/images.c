// SPDX-License-Identifier: MIT
/* What guests boot. */
#include "lab/images.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "harness/guest/kernel_unpack.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"

/* Caller frees. */
static char *find_agent(struct error *err)
{
	char *agent = path_image("agent");

	if (access(agent, R_OK) == 0)
		return agent;
	error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", agent, strerror(errno));
	free(agent);
	return NULL;
}

static int write_agent(const char *path, const struct payload *payload, struct error *err)
{
	CLEANUP_FREE char *agent = find_agent(err);

	return agent ? initramfs_write(path, agent, payload, err) : -1;
}

/* A folder younger than this may belong to a run that has not locked it yet. */
#define SWEEP_SECONDS 60

/* Removes the folders of runs that were killed: this user's, and nobody holds their lock. */
static void sweep(const char *base)
{
	CLEANUP_FREE char *pattern = xasprintf("%s/quirklab-initramfs.??????", base);
	glob_t found;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		CLEANUP_FD int fd =
			open(found.gl_pathv[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;

		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
		    time(NULL) - st.st_mtime > SWEEP_SECONDS && flock(fd, LOCK_EX | LOCK_NB) == 0)
			folder_remove(found.gl_pathv[i], NULL);
	}
	globfree(&found);
}

/* A folder for this run alone, that QEMU's own user can search. */
static int make_folder(struct images *images, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP_FREE char *base = realpath(tmp && *tmp ? tmp : "/tmp", NULL);
	char *folder;

	if (!base)
		return error_set(err, ERROR_LAB, "TMPDIR: %s: %s", tmp, strerror(errno));
	sweep(base);
	folder = xasprintf("%s/quirklab-initramfs.XXXXXX", base);
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0) {
		error_set(err, ERROR_LAB, "%s: %s", folder, strerror(errno));
		free(folder);
		return -1;
	}
	images->folder = folder;
	images->lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (images->lock >= 0)
		flock(images->lock, LOCK_SH);
	return 0;
}

static int write_initramfs(struct images *images, struct error *err)
{
	images->initrd = images->place;
	if (!images->place) {
		if (make_folder(images, err) < 0)
			return -1;
		images->initrd = images->made = xasprintf("%s/initramfs", images->folder);
	}
	return images->write ? images->write(images->initrd, err)
			     : write_agent(images->initrd, images->payload, err);
}

static int write_rack_initramfs(struct images *images, struct error *err)
{
	if (!images->with_racks || !images->folder)
		return 0;
	images->rack_initrd = xasprintf("%s/initramfs.rack", images->folder);
	return initramfs_write_rack(images->rack_initrd, images->initrd, err);
}

/* Where it cannot be unpacked, guests boot the image. */
static int unpack(struct images *images, struct error *err)
{
	CLEANUP_FREE char *elf = NULL;
	int result;

	if (!images->unpack || !images->folder)
		return 0;
	elf = xasprintf("%s/vmlinux", images->folder);
	result = kernel_unpack(images->kernel, elf, err);
	if (result <= 0)
		return result;
	images->unpacked = elf;
	elf = NULL;
	return 0;
}

/* Nothing is in it, and nothing is ever written to it: it takes no room. */
static int make_nvdimm(struct images *images, struct error *err)
{
	CLEANUP_FD int fd = -1;

	if (!images->with_nvdimm)
		return 0;
	images->nvdimm = xasprintf("%s/nvdimm", images->folder);
	fd = open(images->nvdimm, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)NVDIMM_MIB << 20) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", images->nvdimm, strerror(errno));
	return 0;
}

int images_find(struct images *images, enum guest_image image, const char *kernel,
		struct error *err)
{
	images->kernel = kernel;
	if (!kernel) {
		images->found = image == GUEST_LINUX ? kernel_find(err) : path_image("bare.elf");
		if (!images->found)
			return -1;
		if (access(images->found, R_OK) < 0)
			return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it",
					 images->found, strerror(errno));
		images->kernel = images->found;
	}
	if (image != GUEST_LINUX)
		return 0;
	return write_initramfs(images, err) < 0 || write_rack_initramfs(images, err) < 0 ||
			       make_nvdimm(images, err) < 0
		       ? -1
		       : unpack(images, err);
}

void images_guard(struct images *images)
{
	if (!images->folder || images->guarded)
		return;
	connection_guard_folder(images->folder);
	images->guarded = true;
}

int images_find_disk(struct images *images, const char *file, const struct plan_options *plan,
		     struct connection *connection, struct error *err)
{
	CLEANUP_FREE char *agent = find_agent(err);
	struct disk_request request = {
		.image = file,
		.agent = agent,
		.payload = plan->payload,
		.kernel = plan->kernel,
		.full_boot = plan->full_boot,
	};

	if (!agent || make_folder(images, err) < 0)
		return -1;
	images_guard(images);
	request.folder = images->folder;
	return disk_prepare(&images->disk, connection, &request, err);
}

void images_free(struct images *images)
{
	disk_free(&images->disk);
	if (images->folder) {
		if (images->guarded)
			connection_unguard_folder(images->folder);
		folder_remove(images->folder, NULL);
		if (images->lock >= 0)
			close(images->lock);
	}
	free(images->folder);
	free(images->made);
	free(images->rack_initrd);
	free(images->nvdimm);
	free(images->unpacked);
	free(images->found);
	*images = (struct images){ 0 };
}
