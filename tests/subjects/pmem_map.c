// SPDX-License-Identifier: MIT
/*
 * From modules to a mapping, by the same files of sysfs that ndctl writes
 * (Documentation/ABI/testing/sysfs-bus-nvdimm, drivers/nvdimm/pfn_devs.c).
 */
#include "tests/subjects/pmem_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODULES	    "/modules"
#define BUS	    "/sys/bus/nd"
#define MAP_BYTES   (2 << 20) /* a DAX device's alignment, and more than is needed */
#define WAIT_TICKS  2000
#define WAIT_US	    1000
#define DEVICE_UUID "6d9e1a52-5f0b-4f0c-9a53-0c6b1d6f1a77" /* any */

struct reason {
	char *text;
	size_t room;
};

static int refuse(const struct reason *why, const char *what, const char *name)
{
	snprintf(why->text, why->room, "%s %s: %s", what, name, strerror(errno));
	return -1;
}

/* --- modules
 * --------------------------------------------------------------------------------------- */

static int load(const char *name, const struct reason *why)
{
	char path[300];
	int fd, result;

	snprintf(path, sizeof(path), MODULES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	result = fd < 0 ? -1 : (int)syscall(SYS_finit_module, fd, "", 0);
	if (result < 0 && errno != EEXIST) /* an earlier CPU's program has loaded it */
		return refuse(why, "loading", path);
	close(fd);
	return 0;
}

/* In the order of their names. */
static int load_all(const struct reason *why)
{
	struct dirent **names;
	int count = scandir(MODULES, &names, NULL, alphasort);
	int result = 0;

	for (int i = 0; i < count; i++) {
		if (names[i]->d_name[0] != '.' && !result)
			result = load(names[i]->d_name, why);
		free(names[i]);
	}
	if (count >= 0)
		free(names);
	return result;
}

/* --- sysfs
 * ----------------------------------------------------------------------------------------- */

/* The first entry of a folder whose name begins so, into name. */
static int find(char name[64], const char *folder, const char *prefix)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;
	int result = -1;

	while (entries && result && (entry = readdir(entries)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix))) {
			snprintf(name, 64, "%.63s", entry->d_name);
			result = 0;
		}
	if (entries)
		closedir(entries);
	if (result)
		errno = ENODEV;
	return result;
}

static int read_word(char word[64], const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, word, 63);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		return -1;
	word[got] = '\0';
	word[strcspn(word, "\n")] = '\0';
	return 0;
}

static int write_word(const char *path, const char *word, const struct reason *why)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, word, strlen(word)) < 0) {
		refuse(why, "writing", path);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* The namespace of the region becomes a DAX device; the pages of its map are ordinary memory. */
static int make_device(const char *region, const struct reason *why)
{
	char seed[64], space[64], path[256];
	const struct {
		const char *file, *word;
	} settings[] = {
		{ "uuid", DEVICE_UUID },
		{ "mode", "ram" },
		{ "align", "2097152" },
		{ "namespace", space },
	};

	snprintf(path, sizeof(path), BUS "/devices/%s/dax_seed", region);
	if (read_word(seed, path) < 0)
		return refuse(why, "reading", path);
	snprintf(path, sizeof(path), BUS "/devices/%s", region);
	if (find(space, path, "namespace") < 0)
		return refuse(why, "a namespace in", path);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		snprintf(path, sizeof(path), BUS "/devices/%s/%s", seed, settings[i].file);
		if (write_word(path, settings[i].word, why) < 0)
			return -1;
	}
	return write_word(BUS "/drivers/dax_pmem/bind", seed, why);
}

/* --- the mapping
 * ----------------------------------------------------------------------------------- */

static int map(struct pmem_map *memory, const char *device, const struct reason *why)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", device);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return refuse(why, "opening", path);
	memory->bytes = MAP_BYTES;
	memory->at = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC,
			  fd, 0);
	close(fd);
	return memory->at == MAP_FAILED ? refuse(why, "mapping", path) : 0;
}

/* A device comes some time after its driver. */
static int find_soon(char name[64], const char *folder, const char *prefix)
{
	for (int i = 0; i < WAIT_TICKS; i++) {
		if (find(name, folder, prefix) == 0)
			return 0;
		usleep(WAIT_US);
	}
	return find(name, folder, prefix);
}

int pmem_map(struct pmem_map *memory, char *text, size_t room)
{
	const struct reason why = { text, room };
	char device[64], region[64], provider[64] = "?";

	if (find(device, "/dev", "dax") < 0) {
		if (load_all(&why) < 0)
			return -1;
		if (find_soon(region, BUS "/devices", "region") < 0)
			return refuse(&why, "persistent memory in", BUS "/devices");
		if (make_device(region, &why) < 0)
			return -1;
		if (find_soon(device, "/dev", "dax") < 0)
			return refuse(&why, "a DAX device of", region);
	}
	if (read_word(provider, BUS "/devices/ndbus0/provider") < 0)
		snprintf(provider, sizeof(provider), "?");
	snprintf(memory->what, sizeof(memory->what), "%.20s:%.40s", device, provider);
	return map(memory, device, &why);
}
