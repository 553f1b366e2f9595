// SPDX-License-Identifier: MIT
/* Finds and reads an address of the kernel in /proc/kcore. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "images/linux/kcore.h"

static int read_segments(struct kcore *kcore)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	unsigned i;

	if (pread(kcore->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segment)) {
		errno = ENOEXEC;
		return -1;
	}
	for (i = 0; i < header.e_phnum && kcore->count < KCORE_SEGMENTS_MAX; i++) {
		off_t at = (off_t)(header.e_phoff + (uint64_t)i * sizeof(segment));

		if (pread(kcore->fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			break;
		if (segment.p_type != PT_LOAD)
			continue;
		kcore->segments[kcore->count].address = segment.p_vaddr;
		kcore->segments[kcore->count].bytes = segment.p_memsz;
		kcore->segments[kcore->count].offset = segment.p_offset;
		kcore->count++;
	}
	return 0;
}

int kcore_open(struct kcore *kcore, const char *path)
{
	memset(kcore, 0, sizeof(*kcore));
	kcore->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (kcore->fd < 0)
		return -1;
	if (read_segments(kcore) == 0)
		return 0;
	close(kcore->fd);
	return -1;
}

bool kcore_begins(const struct kcore *kcore, uint64_t address)
{
	for (size_t i = 0; i < kcore->count; i++)
		if (kcore->segments[i].address == address)
			return true;
	return false;
}

void kcore_close(struct kcore *kcore)
{
	close(kcore->fd);
}

size_t kcore_read(const struct kcore *kcore, uint64_t address, void *to, size_t length)
{
	size_t done = 0, i;

	for (i = 0; i < kcore->count; i++)
		if (address >= kcore->segments[i].address &&
		    address - kcore->segments[i].address < kcore->segments[i].bytes)
			break;
	if (i == kcore->count)
		return 0;
	if (length > kcore->segments[i].bytes - (address - kcore->segments[i].address))
		length =
			(size_t)(kcore->segments[i].bytes - (address - kcore->segments[i].address));
	while (done < length) {
		ssize_t got = pread(kcore->fd, (char *)to + done, length - done,
				    (off_t)(kcore->segments[i].offset +
					    (address - kcore->segments[i].address) + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}
