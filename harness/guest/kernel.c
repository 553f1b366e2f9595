// SPDX-License-Identifier: MIT
/* Finds the kernel that Linux guests boot: the newest one of this machine that this user can read.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/guest/kernel.h"
#include "harness/util/cleanup.h"

/* What Debian's kernel packages call the file, in /boot and (newest packages) beside the modules.
 */
#define BOOT_PREFIX  "vmlinuz-"
#define MODULES_FILE "vmlinuz"

struct search {
	char *path, *version; /* the newest readable kernel so far, or NULL */
	char *unreadable;     /* a kernel that is there but that this user may not read, or NULL */
};

static void search_free(struct search *search)
{
	free(search->path);
	free(search->version);
	free(search->unreadable);
}

/* Weighs one candidate; takes over path. */
static void consider(struct search *search, char *path, const char *version)
{
	CLEANUP_FREE char *candidate = path;
	struct stat status;

	if (stat(candidate, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
		return;
	if (access(candidate, R_OK) < 0) {
		if (!search->unreadable)
			search->unreadable = xstrdup(candidate);
		return;
	}
	/* Numbers inside the version compare as numbers: 6.12.9 < 6.12.10. */
	if (search->version && strverscmp(search->version, version) >= 0)
		return;
	free(search->path);
	free(search->version);
	search->path = xstrdup(candidate);
	search->version = xstrdup(version);
}

static void cleanup_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

char *kernel_find_in(const char *boot, const char *modules, struct error *err)
{
	__attribute__((cleanup(search_free))) struct search search = { NULL, NULL, NULL };
	__attribute__((cleanup(cleanup_folder))) DIR *boot_folder = opendir(boot);
	__attribute__((cleanup(cleanup_folder))) DIR *modules_folder = opendir(modules);
	const struct dirent *entry;
	char *found;

	while (boot_folder && (entry = readdir(boot_folder))) {
		const char *name = entry->d_name;

		if (strncmp(name, BOOT_PREFIX, strlen(BOOT_PREFIX)) == 0)
			consider(&search, xasprintf("%s/%s", boot, name),
				 name + strlen(BOOT_PREFIX));
	}
	while (modules_folder && (entry = readdir(modules_folder))) {
		const char *name = entry->d_name;

		if (name[0] != '.')
			consider(&search, xasprintf("%s/%s/" MODULES_FILE, modules, name), name);
	}
	if (search.path) {
		found = search.path;
		search.path = NULL;
		return found;
	}
	if (search.unreadable)
		error_set(err, ERROR_LAB,
			  "%s: this user may not read it, and there is no other kernel: "
			  "run `sudo chmod a+r %s`, or give one with --kernel FILE",
			  search.unreadable, search.unreadable);
	else
		error_set(err, ERROR_LAB,
			  "no Linux kernel, neither %s/vmlinuz-* nor %s/*/vmlinuz: run `make deps` "
			  "(on Debian it installs linux-image-cloud-amd64), or give one with "
			  "--kernel FILE",
			  boot, modules);
	return NULL;
}

char *kernel_find(struct error *err)
{
	return kernel_find_in("/boot", "/usr/lib/modules", err);
}

/* Where a Linux boot image says so (Documentation/arch/x86/boot.rst, "The Real-Mode Kernel
 * Header"). */
#define BOOT_MAGIC_OFFSET 0x202
#define BOOT_MAGIC	  "HdrS"
/* Where the version is, from the second sector on; 0: it does not say. */
#define BOOT_VERSION_OFFSET 0x20E
#define BOOT_SECTOR	    0x200
#define BOOT_VERSION_MAX    128

int kernel_check(const char *path, enum guest_image image, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char start[BOOT_MAGIC_OFFSET + 4] = { 0 };
	Elf64_Ehdr elf;

	if (fd < 0 || pread(fd, start, sizeof(start), 0) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	memcpy(&elf, start, sizeof(elf));
	if (!memcmp(elf.e_ident, ELFMAG, SELFMAG) && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
	    elf.e_machine == EM_X86_64)
		return 0;
	if (image != GUEST_BARE && !memcmp(start + BOOT_MAGIC_OFFSET, BOOT_MAGIC, 4))
		return 0;
	return error_set(err, ERROR_INPUT, "%s is no kernel: expected an ELF file for x86-64%s",
			 path, image != GUEST_BARE ? " or a Linux boot image (bzImage)" : "");
}

char *kernel_release(const char *path, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char start[BOOT_VERSION_OFFSET + 2] = { 0 };
	char version[BOOT_VERSION_MAX] = "";
	unsigned at;

	if (fd < 0 || pread(fd, start, sizeof(start), 0) < 0) {
		error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	at = start[BOOT_VERSION_OFFSET] | (unsigned)start[BOOT_VERSION_OFFSET + 1] << 8;
	if (memcmp(start + BOOT_MAGIC_OFFSET, BOOT_MAGIC, 4) || !at ||
	    pread(fd, version, sizeof(version) - 1, at + BOOT_SECTOR) <= 0 || !*version ||
	    strcspn(version, " /") == 0) {
		error_set(err, ERROR_INPUT,
			  "%s does not say its release: a Linux boot image (bzImage) was expected",
			  path);
		return NULL;
	}
	/* "6.1.0-57-cloud-amd64 (who built it) #1 ..." */
	version[strcspn(version, " /")] = '\0';
	return xstrdup(version);
}
