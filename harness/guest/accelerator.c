// SPDX-License-Identifier: MIT
/* Whether this machine's /dev/kvm runs ordinary guests. */
#include "harness/guest/accelerator.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

static bool has_module(const char *modules, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", modules, name);
	return access(path, F_OK) == 0;
}

/* The kvm_* modules that are there, in words: whoever reads it wants to know whose /dev/kvm it is.
 */
static void name_modules(const char *modules, char *out, size_t room)
{
	size_t length = 0;
	DIR *folder = opendir(modules);
	const struct dirent *entry;

	snprintf(out, room, "no kvm_* module");
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		char name[64];
		int added;

		if (strncmp(entry->d_name, "kvm_", 4))
			continue;
		text_printable(name, sizeof(name), entry->d_name, strlen(entry->d_name));
		added = snprintf(out + length, room - length, "%s%s", length ? ", " : "", name);
		if (added < 0 || (size_t)added >= room - length)
			break;
		length += (size_t)added;
	}
	closedir(folder);
}

enum accelerator_kvm accelerator_explain(const struct accelerator_paths *paths, char *words,
					 size_t room)
{
	static const struct accelerator_paths machine = { "/dev/kvm", "/sys/module" };
	char found[256];
	int fd;

	if (!words)
		room = 0;
	if (!paths)
		paths = &machine;
	fd = open(paths->device, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		const char *remedy = errno == EACCES ? " (join the group kvm)" : "";

		snprintf(words, room, "no KVM: %s: %s%s; guests run under TCG", paths->device,
			 strerror(errno), remedy);
		return ACCELERATOR_KVM_NONE;
	}
	close(fd);
	if (has_module(paths->modules, "kvm_intel") || has_module(paths->modules, "kvm_amd")) {
		snprintf(words, room, "KVM: %s opens and a hardware module is loaded",
			 paths->device);
		return ACCELERATOR_KVM_WORKS;
	}
	name_modules(paths->modules, found, sizeof(found));
	snprintf(
		words, room,
		"no KVM for ordinary guests: %s opens, but neither kvm_intel nor kvm_amd is loaded "
		"(found: %s), so no hardware virtualization stands behind it; guests run under TCG",
		paths->device, found);
	return ACCELERATOR_KVM_FOREIGN;
}
