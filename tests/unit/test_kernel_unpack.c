// SPDX-License-Identifier: MIT
/* The kernel out of a boot image: what is found, and what is no kernel that a guest could start. */
#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/kernel_unpack.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"

Suite *suite_kernel_unpack(void);

/* An image of two setup sectors. */
#define CODE_AT	   (3 * 512)
#define PAYLOAD_AT 16
#define ROOM	   65536

static char folder[64], from[96], to[96];

static void make_folder(void)
{
	strcpy(folder, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(from, sizeof(from), "%s/bzImage", folder);
	snprintf(to, sizeof(to), "%s/vmlinux", folder);
}

static void remove_folder(void)
{
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
}

/* A kernel of one segment, with a note; what stands behind the segment no guest loads. */
struct kernel {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	struct {
		Elf64_Nhdr note;
		char owner[4];
		uint32_t entry;
	} note;
	char code[3000];
	char behind[500];
};

static void make_kernel(struct kernel *kernel, uint32_t note)
{
	*kernel = (struct kernel){
		.header = { .e_machine = EM_X86_64,
			    .e_phoff = offsetof(struct kernel, segments),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2,
			    .e_shoff = offsetof(struct kernel, behind),
			    .e_shnum = 5 },
		.segments = { { .p_type = PT_LOAD,
				.p_offset = offsetof(struct kernel, note),
				.p_filesz = offsetof(struct kernel, behind) -
					    offsetof(struct kernel, note) },
			      { .p_type = PT_NOTE,
				.p_offset = offsetof(struct kernel, note),
				.p_filesz = sizeof(kernel->note) } },
		.note = { { 4, 4, note }, "Xen", 0x1000000 },
	};
	memcpy(kernel->header.e_ident, ELFMAG, SELFMAG);
	kernel->header.e_ident[EI_CLASS] = ELFCLASS64;
	memset(kernel->code, 0x90, sizeof(kernel->code));
}

static void put32(unsigned char *at, size_t value)
{
	uint32_t number = (uint32_t)value;

	memcpy(at, &number, sizeof(number));
}

/* As the kernel's build does: the packed kernel, then its size, which gzip has at its end anyway.
 */
static size_t make_payload(unsigned char *out, const struct kernel *kernel, int filter)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	size_t used = 0;

	ck_assert_int_eq(archive_write_set_format_raw(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_add_filter(archive, filter), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_set_bytes_in_last_block(archive, 1), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_memory(archive, out, ROOM / 2, &used), ARCHIVE_OK);
	archive_entry_set_filetype(entry, S_IFREG);
	ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	ck_assert_int_eq((int)archive_write_data(archive, kernel, sizeof(*kernel)),
			 (int)sizeof(*kernel));
	ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_write_free(archive);
	archive_entry_free(entry);
	if (filter == ARCHIVE_FILTER_GZIP)
		return used;
	put32(out + used, sizeof(*kernel));
	return used + 4;
}

/* What kernel_unpack says of an image of that kernel, with `cut` bytes less than it claims. */
static int unpack(const struct kernel *kernel, int filter, size_t cut)
{
	static const unsigned char magic[4] = { 'H', 'd', 'r', 'S' };
	static unsigned char image[ROOM];
	size_t length = make_payload(image + CODE_AT + PAYLOAD_AT, kernel, filter);
	struct error err = { 0 };

	memset(image, 0, CODE_AT);
	image[0x1F1] = 2;
	memcpy(image + 0x202, magic, sizeof(magic));
	put32(image + 0x206, 0x20F);
	put32(image + 0x248, PAYLOAD_AT);
	put32(image + 0x24C, length);
	ck_assert_int_eq(file_write(from, (char *)image, CODE_AT + PAYLOAD_AT + length - cut, &err),
			 0);
	return kernel_unpack(from, to, &err);
}

static const int filters[] = { ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_ZSTD,
			       ARCHIVE_FILTER_LZ4 };

START_TEST(unpacks_what_a_guest_loads)
{
	CLEANUP_FREE char *bytes = NULL;
	struct kernel kernel;
	size_t length;

	make_kernel(&kernel, 18);
	ck_assert_int_eq(unpack(&kernel, filters[_i], 0), 1);
	ck_assert_int_eq(file_read(to, ROOM, &bytes, &length, NULL), 0);
	ck_assert_uint_eq(length, offsetof(struct kernel, behind));
	/* Its sections are gone, the rest is as it was. */
	kernel.header.e_shoff = 0;
	kernel.header.e_shnum = 0;
	ck_assert_mem_eq(bytes, &kernel, length);
}
END_TEST

static void nothing(int result)
{
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(access(to, F_OK), -1);
}

START_TEST(a_kernel_without_the_entry_is_left_packed)
{
	struct kernel kernel;

	make_kernel(&kernel, 17);
	nothing(unpack(&kernel, ARCHIVE_FILTER_LZ4, 0));
	make_kernel(&kernel, 18);
	memcpy(kernel.note.owner, "GNU", 4);
	nothing(unpack(&kernel, ARCHIVE_FILTER_LZ4, 0));
}
END_TEST

START_TEST(what_is_torn_or_lies_is_left_packed)
{
	struct kernel kernel;

	make_kernel(&kernel, 18);
	nothing(unpack(&kernel, ARCHIVE_FILTER_XZ, 1));
	kernel.segments[0].p_filesz = sizeof(kernel);
	nothing(unpack(&kernel, ARCHIVE_FILTER_XZ, 0));
	make_kernel(&kernel, 18);
	kernel.header.e_phnum = 60000;
	nothing(unpack(&kernel, ARCHIVE_FILTER_XZ, 0));
	make_kernel(&kernel, 18);
	kernel.note.note.n_namesz = UINT32_MAX;
	nothing(unpack(&kernel, ARCHIVE_FILTER_XZ, 0));
	nothing(kernel_unpack("/proc/self/exe", to, NULL));
	nothing(kernel_unpack("/nonexistent", to, NULL));
}
END_TEST

START_TEST(a_place_that_cannot_be_written_is_told)
{
	struct error err = { 0 };
	struct kernel kernel;

	make_kernel(&kernel, 18);
	ck_assert_int_eq(unpack(&kernel, ARCHIVE_FILTER_ZSTD, 0), 1);
	strcpy(to, "/nonexistent/vmlinux");
	ck_assert_int_eq(kernel_unpack(from, to, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_str_eq(err.text, "/nonexistent/vmlinux: No such file or directory");
}
END_TEST

Suite *suite_kernel_unpack(void)
{
	Suite *suite = suite_create("kernel_unpack");
	TCase *tcase = tcase_create("image");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_loop_test(tcase, unpacks_what_a_guest_loads, 0,
			    sizeof(filters) / sizeof(filters[0]));
	tcase_add_test(tcase, a_kernel_without_the_entry_is_left_packed);
	tcase_add_test(tcase, what_is_torn_or_lies_is_left_packed);
	tcase_add_test(tcase, a_place_that_cannot_be_written_is_told);
	suite_add_tcase(suite, tcase);
	return suite;
}
