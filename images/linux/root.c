// SPDX-License-Identifier: MIT
/* Copies of the program's files in memory of their own, and the way into one. */
#define _ATFILE_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "images/linux/job.h"
#include "images/linux/root.h"

#define DEPTH_MAX 64 /* the harness packs no more than 32 below /subject */

/* What every program may expect. The copy has them unless the payload had something there. */
static const struct {
	const char *type, *where, *options;
} mounts[] = {
	{ "proc", "/proc", NULL },
	{ "sysfs", "/sys", NULL },
	{ "devtmpfs", "/dev", NULL },
	{ "tmpfs", "/dev/shm", "mode=1777" },
};

static int copy_file(int from, int to, const char *name, const struct stat *st)
{
	int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	off_t left = st->st_size;
	ssize_t done = 0;

	while (in >= 0 && out >= 0 && left > 0 &&
	       (done = sendfile(out, in, NULL, (size_t)left)) > 0)
		left -= done;
	if (out >= 0 && fchmod(out, st->st_mode & 07777) < 0)
		left = -1;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return in < 0 || out < 0 || left ? -1 : 0;
}

static int copy_link(int from, int to, const char *name)
{
	char target[4096];
	ssize_t length = readlinkat(from, name, target, sizeof(target) - 1);

	if (length < 0)
		return -1;
	target[length] = '\0';
	return symlinkat(target, to, name);
}

static int copy_tree(int from, int to, unsigned depth);

static int copy_entry(int from, int to, const char *name, unsigned depth)
{
	struct stat st;
	int inner, copy, result;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to, name);
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, name, &st);
	if (!S_ISDIR(st.st_mode) || depth == DEPTH_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (mkdirat(to, name, 0755) < 0)
		return -1;
	inner = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	result = inner < 0 || copy < 0 ? -1 : copy_tree(inner, copy, depth + 1);
	if (inner >= 0 && result < 0)
		close(inner);
	if (copy >= 0)
		close(copy);
	return result;
}

/* Takes `from`, unless it fails. */
static int copy_tree(int from, int to, unsigned depth)
{
	DIR *folder = fdopendir(from);
	struct dirent *entry;
	int result = 0;

	if (!folder)
		return -1;
	while (!result && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			result = copy_entry(from, to, entry->d_name, depth);
	if (result < 0)
		return -1;
	closedir(folder);
	return 0;
}

static int copy_root(const char *where)
{
	int from = open(JOB_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int to = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int result = from < 0 || to < 0 ? -1 : copy_tree(from, to, 0);

	if (to >= 0)
		close(to);
	return result;
}

static int make_fresh(void)
{
	/* Of the guest's memory half at most, whatever the program writes. */
	if (mount("tmpfs", JOB_COPY, "tmpfs", 0, "mode=755,size=50%") < 0)
		return -1;
	return copy_root(JOB_COPY);
}

static void kept_path(char *path, size_t room, int number)
{
	snprintf(path, room, "%s/%d", JOB_KEPT, number);
}

static int show_kept(int number)
{
	char path[64];

	kept_path(path, sizeof(path), number);
	if (mount(path, JOB_COPY, NULL, MS_BIND, NULL) < 0)
		return -1;
	return mount(NULL, JOB_COPY, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
}

static int make_kept(const char *path)
{
	if (mkdir(JOB_KEPT, 0755) == 0 &&
	    mount("tmpfs", JOB_KEPT, "tmpfs", 0, "mode=755,size=40%") < 0)
		return -1;
	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -1;
	return copy_root(path);
}

int root_keep(int number)
{
	char path[64];

	kept_path(path, sizeof(path), number);
	if (access(JOB_ROOT, F_OK) < 0 || make_kept(path) < 0)
		return ROOT_FRESH;
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char place[96];

		snprintf(place, sizeof(place), "%s%s", path, mounts[i].where);
		mkdir(place, 0755); /* or it is there */
	}
	return number;
}

/* A kernel may lack one of them: the program may not need it. */
static void mount_rest(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].where, 0755);
		mount(mounts[i].type, mounts[i].where, mounts[i].type, MS_NOSUID,
		      mounts[i].options);
	}
	if (mkdir("/tmp", 01777) == 0)
		chmod("/tmp", 01777); /* whatever the umask took */
}

int root_enter(int kept)
{
	/* Nothing that is mounted here is to be seen elsewhere. */
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	if (access(JOB_ROOT, F_OK) < 0) {
		mount("proc", "/proc", "proc", MS_NOSUID, NULL);
		return 0;
	}
	mkdir(JOB_COPY, 0755);
	if ((kept == ROOT_FRESH ? make_fresh() : show_kept(kept)) < 0 || chroot(JOB_COPY) < 0 ||
	    chdir("/") < 0)
		return -1;
	mount_rest();
	return 0;
}

void root_forget(void)
{
	umount2(JOB_COPY, MNT_DETACH);
}
