/* SPDX-License-Identifier: MIT */
/* The kernel's memory, from /proc/kcore: an ELF core file whose segments are address ranges. */
#ifndef QUIRKLAB_IMAGES_LINUX_KCORE_H
#define QUIRKLAB_IMAGES_LINUX_KCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KCORE_SEGMENTS_MAX 64

struct kcore {
	int fd;
	size_t count;
	struct {
		uint64_t address, bytes, offset; /* offset: in the file */
	} segments[KCORE_SEGMENTS_MAX];
};

/* Opens a file in the format of /proc/kcore. -1 with errno (ENOEXEC: it is no such file). */
int kcore_open(struct kcore *kcore, const char *path);
void kcore_close(struct kcore *kcore);
/* Whether one of its ranges begins there: the kernel's text is one. */
bool kcore_begins(const struct kcore *kcore, uint64_t address);
/* Reads at most `length` bytes from an address on; returns how many, 0 where it is in no segment or
 * cannot be read. */
size_t kcore_read(const struct kcore *kcore, uint64_t address, void *to, size_t length);

#endif
