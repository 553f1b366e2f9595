// SPDX-License-Identifier: MIT
/* A handle on an image, and the Linux system that is in it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/util/cleanup.h"
#include "images/disk/image.h"

#define BTRFS_VOLUME "btrfsvol:"
#define LUKS	     "crypto_LUKS"
/* Discoverable Partitions Specification (uapi-group.org): the GPT type of a /boot of its own. */
#define XBOOTLDR "BC13C2FF-59E6-4262-A352-B275FD6F7172"

void cleanup_strings(char ***list)
{
	for (char **string = *list; string && *string; string++)
		free(*string);
	free(*list);
}

int image_failed(const struct image *image, enum error_kind kind, const char *what,
		 struct error *err)
{
	const char *why = guestfs_last_error(image->g);

	return error_set(err, kind, "%s: %s: %.*s", image->path, what,
			 why ? (int)strcspn(why, "\n") : 0, why ? why : "");
}

/* --- the appliance
 * -------------------------------------------------------------------------------------
 */

static volatile sig_atomic_t ended;

/* To all that this process started, which is of its group: whatever waits for the appliance then
 * fails, and the rest is done in order. */
static void on_signal(int number)
{
	if (ended)
		return;
	ended = number;
	kill(0, number);
}

int image_open(struct image *image, const char *overlay, bool writable, bool kvm, struct error *err)
{
	guestfs_h *g = guestfs_create();

	if (!g)
		return error_set(err, ERROR_LAB, "libguestfs: out of memory");
	image->g = g;
	guestfs_set_error_handler(g, NULL, NULL);
	signal(SIGTERM, on_signal);
	/* The libvirt backend would need a daemon. */
	if (guestfs_set_backend(g, "direct") < 0 || guestfs_set_network(g, 0) < 0 ||
	    (!kvm && guestfs_set_backend_setting(g, "force_tcg", "1") < 0) ||
	    guestfs_add_drive_opts(g, overlay, GUESTFS_ADD_DRIVE_OPTS_FORMAT, "qcow2",
				   GUESTFS_ADD_DRIVE_OPTS_READONLY, !writable,
				   GUESTFS_ADD_DRIVE_OPTS_CACHEMODE, "unsafe", -1) < 0)
		return image_failed(image, ERROR_LAB, "libguestfs", err);
	if (ended || guestfs_launch(g) < 0)
		return image_failed(
			image, ERROR_LAB,
			"libguestfs cannot start its appliance (libguestfs-test-tool tells why)",
			err);
	return 0;
}

void image_close(struct image *image)
{
	if (image->g) {
		guestfs_shutdown(image->g);
		guestfs_close(image->g);
	}
	free(image->system);
	free(image->device);
	*image = (struct image){ 0 };
}

/* --- what is in it
 * -------------------------------------------------------------------------------------
 */

static bool has_type(const struct image *image, char **devices, const char *wanted)
{
	for (char **device = devices; device && *device; device++) {
		CLEANUP_FREE char *type = guestfs_vfs_type(image->g, *device);

		if (type && !strcmp(type, wanted))
			return true;
	}
	return false;
}

/* libguestfs does not count it among the file systems. */
static bool is_locked(const struct image *image)
{
	CLEANUP_STRINGS char **disks = guestfs_list_devices(image->g);
	CLEANUP_STRINGS char **partitions = guestfs_list_partitions(image->g);
	CLEANUP_STRINGS char **volumes = guestfs_lvs(image->g);

	return has_type(image, disks, LUKS) || has_type(image, partitions, LUKS) ||
	       has_type(image, volumes, LUKS);
}

static void add_file_system(const struct image *image, const char *device, const char *type,
			    struct text *out)
{
	const bool bad = guestfs_mount_ro(image->g, device, "/") < 0;

	text_addf(out, "%s%s%s", out->length ? ", " : "", type,
		  bad ? " that cannot be mounted" : "");
	guestfs_umount_all(image->g);
}

/* Nothing that inspection knows: say what there is. */
static int refuse_unknown(const struct image *image, struct error *err)
{
	CLEANUP_STRINGS char **found = guestfs_list_filesystems(image->g);
	CLEANUP_TEXT struct text types = { 0 };

	if (is_locked(image))
		return error_set(
			err, ERROR_INPUT,
			"%s: encrypted (LUKS): the lab takes no key; give an image that is "
			"not",
			image->path);
	for (char **pair = found; pair && pair[0]; pair += 2)
		if (strcmp(pair[1], "unknown") != 0 && strcmp(pair[1], "swap") != 0)
			add_file_system(image, pair[0], pair[1], &types);
	return error_set(err, ERROR_INPUT, "%s: no operating system in it (%s)", image->path,
			 types.length ? text_string(&types)
				      : "neither a partition nor a file system");
}

static int check_system(struct image *image, const char *root, struct error *err)
{
	CLEANUP_FREE char *type = guestfs_inspect_get_type(image->g, root);
	CLEANUP_FREE char *arch = guestfs_inspect_get_arch(image->g, root);

	CLEANUP_FREE char *distribution = guestfs_inspect_get_distro(image->g, root);
	CLEANUP_FREE char *product = guestfs_inspect_get_product_name(image->g, root);

	image->system = xasprintf("%s, %s", distribution ? distribution : "Linux",
				  product ? product : "unknown");
	if (!type || strcmp(type, "linux"))
		return error_set(err, ERROR_INPUT, "%s: %s in it, Linux was expected", image->path,
				 type ? type : "an unknown system");
	if (!arch || strcmp(arch, "x86_64"))
		return error_set(err, ERROR_INPUT, "%s: a system for %s, x86_64 was expected",
				 image->path, arch ? arch : "an unknown architecture");
	return 0;
}

static int compare_pairs(const void *a, const void *b)
{
	const char *const *left = a, *const *right = b;

	return strcmp(*left, *right); /* "/" before "/boot" before "/boot/efi" */
}

static bool is_boot_partition(const struct image *image, const char *partition)
{
	CLEANUP_FREE char *device = guestfs_part_to_dev(image->g, partition);
	CLEANUP_FREE char *table = device ? guestfs_part_get_parttype(image->g, device) : NULL;
	CLEANUP_FREE char *type = NULL;
	int number;

	if (!table || strcmp(table, "gpt") != 0)
		return false;
	number = guestfs_part_to_partnum(image->g, partition);
	if (number > 0)
		type = guestfs_part_get_gpt_type(image->g, device, number);
	return type && !strcasecmp(type, XBOOTLDR);
}

/* Without an /etc/fstab systemd goes by the types of partitions. */
static void mount_boot(const struct image *image)
{
	CLEANUP_STRINGS char **partitions = guestfs_list_partitions(image->g);

	for (char **partition = partitions; partition && *partition; partition++)
		if (is_boot_partition(image, *partition)) {
			guestfs_mount(image->g, *partition, "/boot");
			return;
		}
}

static int mount_all(struct image *image, const char *root, struct error *err)
{
	CLEANUP_STRINGS char **points = guestfs_inspect_get_mountpoints(image->g, root);
	bool has_boot = false;
	size_t count = 0;

	while (points && points[count])
		count++;
	if (count)
		qsort(points, count / 2, 2 * sizeof(*points), compare_pairs);
	for (size_t i = 0; i + 1 < count; i += 2) {
		const bool is_root = !strcmp(points[i], "/");

		if (is_root)
			image->device = xstrdup(points[i + 1]);
		has_boot |= !strcmp(points[i], "/boot");
		/* Of the others, one that is missing may not matter. */
		if (guestfs_mount(image->g, points[i + 1], points[i]) < 0 && is_root)
			return image_failed(image, ERROR_INPUT, "its root cannot be mounted", err);
	}
	if (!image->device)
		return error_set(err, ERROR_INPUT, "%s: no root file system found", image->path);
	if (!has_boot)
		mount_boot(image);
	return 0;
}

int image_mount(struct image *image, struct error *err)
{
	CLEANUP_STRINGS char **roots = guestfs_inspect_os(image->g);
	size_t count = 0;

	if (!roots)
		return image_failed(image, ERROR_INPUT, "cannot be read", err);
	while (roots[count])
		count++;
	if (!count)
		return refuse_unknown(image, err);
	if (count > 1)
		return error_set(err, ERROR_INPUT,
				 "%s: %zu operating systems in it: one was expected", image->path,
				 count);
	if (check_system(image, roots[0], err) < 0)
		return -1;
	return mount_all(image, roots[0], err);
}

/* /dev/sda1 of the appliance is /dev/vda1 of a guest with a virtio disk. */
static char *guest_device(const struct image *image, const char *device)
{
	CLEANUP_FREE char *name = guestfs_canonical_device_name(image->g, device);

	if (name && !strncmp(name, "/dev/sd", strlen("/dev/sd")))
		return xasprintf("/dev/vd%s", name + strlen("/dev/sd"));
	return xstrdup(name ? name : device);
}

int image_root_words(const struct image *image, bool has_initrd, struct text *words,
		     struct error *err)
{
	const bool volume = !strncmp(image->device, BTRFS_VOLUME, strlen(BTRFS_VOLUME));
	CLEANUP_FREE char *device = NULL, *uuid = NULL, *type = NULL, *name = NULL;
	const char *subvolume = NULL;

	device = xstrdup(image->device + (volume ? strlen(BTRFS_VOLUME) : 0));
	if (volume) { /* btrfsvol:/dev/sda2/root */
		char *slash = strchr(device + strlen("/dev/"), '/');

		if (slash) {
			*slash = '\0';
			subvolume = slash + 1;
		}
	}
	type = guestfs_vfs_type(image->g, device);
	uuid = guestfs_vfs_uuid(image->g, device);
	if (!type || !*type)
		return image_failed(image, ERROR_INPUT, "its root file system is of no known type",
				    err);
	name = guest_device(image, device);
	if (has_initrd && uuid && *uuid && strncmp(name, "/dev/mapper/", 12) != 0 &&
	    guestfs_is_lv(image->g, device) <= 0)
		text_addf(words, "root=UUID=%s rootfstype=%s rw", uuid, type);
	else if (has_initrd || guestfs_is_lv(image->g, device) <= 0)
		text_addf(words, "root=%s rootfstype=%s rw", name, type);
	else
		return error_set(
			err, ERROR_INPUT,
			"%s: its root is a logical volume, which needs an initrd: none was "
			"found in it",
			image->path);
	if (subvolume)
		text_addf(words, " rootflags=subvol=%s", subvolume);
	return 0;
}
