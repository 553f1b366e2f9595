// SPDX-License-Identifier: MIT
/* The embedded driver's root: made, locked, swept, removed. */
#include "harness/guest/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "harness/guest/orphans.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

/*
 * Below a root libvirt makes lib/qemu/domain-ID-NAME/monitor.sock, with ID-NAME cut at 20
 * characters: 45 bytes. "/quirklab/XXXXXX" takes 16 more of the 107.
 */
#define RUNTIME_FOLDER_MOST 44
/* It goes into a URI as it is. */
#define URI_SAFE "/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/*
 * virtlogd is no part of an embedded driver, hence stdio_handler. The guest gets nothing that a
 * security driver, a namespace or a cgroup would have to guard: no disk, no network, no device; and
 * each of them costs time or rights. QEMU's own sandbox stays on.
 */
static const char qemu_conf[] = "stdio_handler = \"file\"\n"
				"security_driver = \"none\"\n"
				"dynamic_ownership = 0\n"
				"remember_owner = 0\n"
				"namespaces = []\n"
				"cgroup_controllers = []\n"
				"seccomp_sandbox = 1\n"
				"dump_guest_core = 0\n";
/*
 * Else root's libvirt runs QEMU as libvirt-qemu, which can enter neither the root nor the folder of
 * the guest's kernel. An ordinary user's libvirt would try to give its folders to root.
 */
static const char qemu_conf_of_root[] = "user = \"root\"\n"
					"group = \"root\"\n";

/* libvirt's knowledge of QEMU takes 0.4 MB, logs and consoles the rest. */
#define ROOM_LEAST (1u << 20)

/* How long it takes that nobody forks one more QEMU: libvirt's child execs within milliseconds. */
#define QUIET_MS 250
#define END_MS	 1500

/* The file that says so of a root that is kept. */
#define KEEP_MARK "keep"

static char *runtime_base(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat status;

	/* After su it may still be the other user's. */
	if (!runtime || runtime[0] != '/' || strlen(runtime) > RUNTIME_FOLDER_MOST ||
	    runtime[strspn(runtime, URI_SAFE)] || stat(runtime, &status) < 0 ||
	    status.st_uid != geteuid() || access(runtime, W_OK | X_OK) < 0)
		return NULL;
	return xasprintf("%s/quirklab", runtime);
}

static char *tmp_base(void)
{
	return xasprintf("/tmp/quirklab-%u", (unsigned)geteuid());
}

/* In a folder where everybody may write, somebody else may have made it first. */
static int check_private(const char *base, struct error *err)
{
	struct stat status;

	if (mkdir(base, 0700) < 0 && errno != EEXIST)
		return error_set(err, ERROR_LAB, "%s: cannot make this folder: %s", base,
				 strerror(errno));
	if (lstat(base, &status) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", base, strerror(errno));
	if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077))
		return error_set(err, ERROR_LAB,
				 "%s: is not a private folder of this user: remove it, or set "
				 "XDG_RUNTIME_DIR to a folder of your own",
				 base);
	return 0;
}

/* libvirt's own words for a full disk are that there is no QEMU. */
static int check_room(const char *base, struct error *err)
{
	struct statvfs room;

	if (statvfs(base, &room) < 0 || (uint64_t)room.f_bavail * room.f_frsize >= ROOM_LEAST)
		return 0;
	return error_set(err, ERROR_LAB,
			 "%s: %llu KiB are free, for the state of a run %u are needed: make room, "
			 "or set XDG_RUNTIME_DIR to another folder",
			 base, (unsigned long long)room.f_bavail * room.f_frsize >> 10,
			 ROOM_LEAST >> 10);
}

char *root_private_folder(const char *name)
{
	CLEANUP_FREE char *base = tmp_base();
	CLEANUP_FREE char *path = xasprintf("%s/%s", base, name);

	if (check_private(base, NULL) < 0 || folder_make(path, NULL) < 0)
		return NULL;
	return xstrdup(path);
}

static int open_lock(const char *folder, int flags)
{
	CLEANUP_FREE char *path = xasprintf("%s/lock", folder);

	return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

static int flock_retry(int fd, int operation)
{
	int result;

	do
		result = flock(fd, operation);
	while (result < 0 && errno == EINTR);
	return result;
}

/* Makes BASE/XXXXXX and locks it, while no sweep can see it unlocked. */
static int make_locked(struct root *root, const char *base, struct error *err)
{
	CLEANUP_FD int base_lock = open_lock(base, O_CREAT);

	if (base_lock < 0 || flock_retry(base_lock, LOCK_EX) < 0)
		return error_set(err, ERROR_LAB, "%s/lock: %s", base, strerror(errno));
	root->path = xasprintf("%s/XXXXXX", base);
	if (!mkdtemp(root->path)) {
		error_set(err, ERROR_LAB, "%s: %s", root->path, strerror(errno));
		free(root->path);
		root->path = NULL;
		return -1;
	}
	root->lock = open_lock(root->path, O_CREAT);
	if (root->lock < 0 || flock_retry(root->lock, LOCK_SH) < 0)
		return error_set(err, ERROR_LAB, "%s/lock: %s", root->path, strerror(errno));
	return 0;
}

int root_open(struct root *root, struct error *err)
{
	CLEANUP_FREE char *base = runtime_base();
	CLEANUP_FREE char *etc = NULL, *conf = NULL, *bytes = NULL;

	root->path = NULL;
	root->lock = -1;
	if (!base)
		base = tmp_base();
	if (check_private(base, err) < 0 || check_room(base, err) < 0)
		return -1;
	if (make_locked(root, base, err) < 0) {
		root_close(root);
		return -1;
	}
	etc = xasprintf("%s/etc", root->path);
	conf = xasprintf("%s/qemu.conf", etc);
	bytes = xasprintf("%s%s", qemu_conf, geteuid() ? "" : qemu_conf_of_root);
	if (folder_make(etc, err) < 0 || file_write(conf, bytes, strlen(bytes), err) < 0) {
		root_close(root);
		return -1;
	}
	return 0;
}

static bool is_kept(const char *path)
{
	CLEANUP_FREE char *mark = xasprintf("%s/" KEEP_MARK, path);

	return access(mark, F_OK) == 0;
}

int root_keep(const struct root *root, struct error *err)
{
	CLEANUP_FREE char *mark = xasprintf("%s/" KEEP_MARK, root->path);

	return file_write(mark, "", 0, err);
}

void root_close(struct root *root)
{
	if (root->path && !is_kept(root->path)) {
		orphans_end(root->path, 0, END_MS);
		folder_remove(root->path, NULL);
	}
	if (root->lock >= 0)
		close(root->lock);
	free(root->path);
	root->path = NULL;
	root->lock = -1;
}

int root_hold(const char *path)
{
	int fd = open_lock(path, 0);

	if (fd >= 0 && flock_retry(fd, LOCK_SH) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void root_end(const char *path)
{
	orphans_end(path, QUIET_MS, END_MS);
	folder_remove(path, NULL);
}

/* Returns the lock of a root that nobody held, or -1. */
static int take_abandoned(const char *base, const char *path)
{
	CLEANUP_FD int base_lock = open_lock(base, 0);
	int fd;

	if (base_lock < 0 || flock_retry(base_lock, LOCK_EX) < 0)
		return -1;
	/* One without a lock file was left between its mkdtemp and its open. */
	fd = open_lock(path, O_CREAT);
	if (fd >= 0 && flock_retry(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void sweep_base(const char *base)
{
	const struct dirent *entry;
	DIR *folder;

	if (access(base, F_OK) < 0 || check_private(base, NULL) < 0)
		return;
	folder = opendir(base);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		CLEANUP_FREE char *path = xasprintf("%s/%s", base, entry->d_name);
		struct stat status;
		int fd;

		if (entry->d_name[0] == '.' || lstat(path, &status) < 0 || !S_ISDIR(status.st_mode))
			continue;
		fd = take_abandoned(base, path);
		if (fd < 0)
			continue;
		if (!is_kept(path) || !orphans_live(path))
			root_end(path);
		close(fd);
	}
	closedir(folder);
}

void root_sweep(void)
{
	CLEANUP_FREE char *runtime = runtime_base();
	CLEANUP_FREE char *tmp = tmp_base();

	if (runtime)
		sweep_base(runtime);
	sweep_base(tmp);
}
