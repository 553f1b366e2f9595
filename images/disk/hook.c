// SPDX-License-Identifier: MIT
/* What makes the init of an image start the agent, once the system is up. */
#include <string.h>

#include "harness/util/cleanup.h"
#include "images/disk/image.h"
#include "images/linux/job.h"

#define UNIT  "/etc/systemd/system/quirklab.service"
#define WANTS "/etc/systemd/system/multi-user.target.wants"
#define CONF  "/etc/systemd/journald.conf.d"
#define TABLE "/etc/inittab"

/* Type=idle: after the jobs of the boot. It ends by powering the machine off. */
static const char unit[] = "[Unit]\n"
			   "Description=quirklab\n"
			   "[Service]\n"
			   "Type=idle\n"
			   "ExecStart=" JOB_AGENT "\n"
			   "StandardOutput=file:/dev/console\n"
			   "StandardError=file:/dev/console\n"
			   "OOMScoreAdjust=-1000\n"
			   "[Install]\n"
			   "WantedBy=multi-user.target\n";

/* On the disk, and soon: it is to be read after a crash. */
static const char journal[] = "[Journal]\n"
			      "Storage=persistent\n"
			      "SyncIntervalSec=1s\n";

static bool exists(const struct image *image, const char *path)
{
	return guestfs_exists(image->g, path) > 0;
}

static bool has_systemd(const struct image *image)
{
	CLEANUP_FREE char *init = guestfs_realpath(image->g, "/sbin/init");
	const char *name = init ? strrchr(init, '/') : NULL;

	return name && !strcmp(name, "/systemd");
}

static int add_unit(const struct image *image, struct error *err)
{
	guestfs_h *g = image->g;

	if (guestfs_mkdir_p(g, WANTS) < 0 || guestfs_write(g, UNIT, unit, strlen(unit)) < 0 ||
	    guestfs_ln_sf(g, UNIT, WANTS "/quirklab.service") < 0 || guestfs_mkdir_p(g, CONF) < 0 ||
	    guestfs_write(g, CONF "/quirklab.conf", journal, strlen(journal)) < 0)
		return image_failed(image, ERROR_INPUT, "no service can be added to it", err);
	return 0;
}

/* In System V's table the first field is a name, in busybox' a terminal. */
static int add_line(const struct image *image, struct error *err)
{
	CLEANUP_FREE char *init = guestfs_realpath(image->g, "/sbin/init");
	const bool busybox = init && strstr(init, "busybox");
	const char *line = busybox ? "\n::once:" JOB_AGENT "\n" : "\nql:2345:once:" JOB_AGENT "\n";

	if (guestfs_write_append(image->g, TABLE, line, strlen(line)) < 0)
		return image_failed(image, ERROR_INPUT, TABLE " cannot be written", err);
	return 0;
}

int image_hook(const struct image *image, struct error *err)
{
	if (has_systemd(image))
		return add_unit(image, err);
	if (exists(image, TABLE))
		return add_line(image, err);
	return error_set(err, ERROR_INPUT,
			 "%s: --full-boot: its init is neither systemd nor one that reads " TABLE
			 ": run without --full-boot",
			 image->path);
}
