// SPDX-License-Identifier: MIT
/* Unpacks a Linux boot image as its own decompressor would, once for all guests. */
#include "harness/guest/kernel_unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

/* Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header". */
#define SETUP_SECTORS	     0x1F1
#define SETUP_SECTORS_OF_OLD 4 /* what 0 means there */
#define SECTOR_BYTES	     512
#define MAGIC_OFFSET	     0x202
#define MAGIC		     "HdrS"
#define PROTOCOL	     0x206
#define PROTOCOL_PAYLOAD     0x208 /* the first with the two below */
#define PAYLOAD_OFFSET	     0x248 /* from the end of the setup sectors */
#define PAYLOAD_LENGTH	     0x24C
#define HEADER_END	     0x250

/* The payload ends with its unpacked size; of gzip that is a part of the format. */
#define SIZE_BYTES	4
#define GZIP_MAGIC	"\x1F\x8B"
#define IMAGE_BYTES_MAX (256UL << 20)
#define ELF_BYTES_MAX	(1UL << 30)

/* Xen's xen/include/public/elfnote.h: the entry that QEMU's -kernel looks for. */
#define NOTE_OWNER	  "Xen"
#define NOTE_PHYS32_ENTRY 18

struct bytes {
	const unsigned char *at;
	size_t length;
};

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

/* The compressed kernel, with the size at its end. */
static bool find_payload(struct bytes image, struct bytes *payload)
{
	uint64_t at, length;
	unsigned sectors;

	if (image.length < HEADER_END || memcmp(image.at + MAGIC_OFFSET, MAGIC, strlen(MAGIC)) ||
	    (get32(image.at + PROTOCOL) & 0xFFFF) < PROTOCOL_PAYLOAD)
		return false;
	sectors = image.at[SETUP_SECTORS] ? image.at[SETUP_SECTORS] : SETUP_SECTORS_OF_OLD;
	at = (sectors + 1) * SECTOR_BYTES + (uint64_t)get32(image.at + PAYLOAD_OFFSET);
	length = get32(image.at + PAYLOAD_LENGTH);
	if (length <= SIZE_BYTES || at > image.length || length > image.length - at)
		return false;
	*payload = (struct bytes){ image.at + at, (size_t)length };
	return true;
}

static void cleanup_archive(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}

/* Exactly `length` bytes. */
static bool read_all(struct archive *archive, unsigned char *to, size_t length)
{
	while (length) {
		la_ssize_t got = archive_read_data(archive, to, length);

		if (got <= 0)
			return false;
		to += got;
		length -= (size_t)got;
	}
	return true;
}

/* The unpacked kernel; NULL: libarchive does not know the compression, or the image is torn. Caller
 * frees. */
static unsigned char *decompress(struct bytes payload, size_t *length)
{
	__attribute__((cleanup(cleanup_archive))) struct archive *archive = archive_read_new();
	bool gzip = !memcmp(payload.at, GZIP_MAGIC, strlen(GZIP_MAGIC));
	CLEANUP_FREE unsigned char *kernel = NULL;
	struct archive_entry *entry;
	unsigned char *result;

	*length = get32(payload.at + payload.length - SIZE_BYTES);
	if (!archive || *length > ELF_BYTES_MAX || *length < sizeof(Elf64_Ehdr))
		return NULL;
	if (archive_read_support_filter_all(archive) < ARCHIVE_WARN ||
	    archive_read_support_format_raw(archive) != ARCHIVE_OK ||
	    archive_read_open_memory(archive, payload.at,
				     payload.length - (gzip ? 0 : SIZE_BYTES)) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		return NULL;
	kernel = xcalloc(1, *length);
	if (!read_all(archive, kernel, *length))
		return NULL;
	result = kernel;
	kernel = NULL;
	return result;
}

static bool has_note(struct bytes notes)
{
	while (notes.length >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t step;

		memcpy(&note, notes.at, sizeof(note));
		step = sizeof(note) + (((uint64_t)note.n_namesz + 3) & ~3ULL) +
		       (((uint64_t)note.n_descsz + 3) & ~3ULL);
		if (step > notes.length)
			return false;
		if (note.n_type == NOTE_PHYS32_ENTRY && note.n_namesz == sizeof(NOTE_OWNER) &&
		    !memcmp(notes.at + sizeof(note), NOTE_OWNER, sizeof(NOTE_OWNER)))
			return true;
		notes.at += step;
		notes.length -= step;
	}
	return false;
}

/*
 * What of the file a guest needs: up to the end of its last segment, behind which its sections and
 * the table of its relocations stand. 0: no ELF file of x86-64 with a PVH entry.
 */
static size_t loadable_bytes(struct bytes kernel)
{
	Elf64_Ehdr header;
	bool entry = false;
	uint64_t end = 0;

	memcpy(&header, kernel.at, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phoff > kernel.length ||
	    header.e_phnum > (kernel.length - header.e_phoff) / sizeof(Elf64_Phdr))
		return 0;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, kernel.at + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_offset > kernel.length ||
		    segment.p_filesz > kernel.length - segment.p_offset)
			return 0;
		if (segment.p_offset + segment.p_filesz > end)
			end = segment.p_offset + segment.p_filesz;
		if (segment.p_type == PT_NOTE)
			entry |= has_note((struct bytes){ kernel.at + segment.p_offset,
							  (size_t)segment.p_filesz });
	}
	return entry && end >= sizeof(header) ? (size_t)end : 0;
}

static void forget_sections(unsigned char *kernel)
{
	Elf64_Ehdr header;

	memcpy(&header, kernel, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	memcpy(kernel, &header, sizeof(header));
}

/* Not synced: it is for this run alone. */
static int write_file(const char *path, struct bytes bytes, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	while (fd >= 0 && bytes.length) {
		ssize_t put = write(fd, bytes.at, bytes.length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			break;
		bytes.at += put;
		bytes.length -= (size_t)put;
	}
	if (fd >= 0 && !bytes.length)
		return 1;
	error_set(err, ERROR_LAB, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		unlink(path);
	return -1;
}

int kernel_unpack(const char *path, const char *to, struct error *err)
{
	CLEANUP_FREE unsigned char *kernel = NULL;
	CLEANUP_FREE char *image = NULL;
	struct bytes payload, whole = { 0 };
	size_t length, used;

	if (file_read(path, IMAGE_BYTES_MAX, &image, &whole.length, NULL) < 0)
		return 0; /* who boots it says so */
	whole.at = (const unsigned char *)image;
	if (!find_payload(whole, &payload))
		return 0;
	kernel = decompress(payload, &length);
	used = kernel ? loadable_bytes((struct bytes){ kernel, length }) : 0;
	if (!used)
		return 0;
	forget_sections(kernel);
	return write_file(to, (struct bytes){ kernel, used }, err);
}
