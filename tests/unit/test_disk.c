// SPDX-License-Identifier: MIT
/* Disk images by their first bytes; the programs that work on them; the overlays of guests. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/connection_internal.h"
#include "harness/guest/disk_internal.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/file.h"

static char folder[] = "/tmp/quirklab-disk.XXXXXX";

static void make_folder(void)
{
	strcpy(strrchr(folder, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	folder_remove(folder, NULL);
}

/* A file of 128 KiB with some bytes in it. Caller frees the path. */
static char *make_file(size_t offset, const void *bytes, size_t length)
{
	CLEANUP_FREE char *content = xcalloc(1, 128 << 10);
	char *path = xasprintf("%s/image", folder);

	memcpy(content + offset, bytes, length);
	ck_assert_int_eq(file_write(path, content, 128 << 10, NULL), 0);
	return path;
}

START_TEST(raw_by_what_begins_in_it)
{
	static const struct {
		size_t offset;
		const char *bytes;
		size_t length;
	} rows[] = {
		{ 510, "\x55\xaa", 2 },	    { 1024 + 56, "\x53\xef", 2 }, { 0, "XFSB", 4 },
		{ 0x10040, "_BHRfS_M", 8 }, { 0, "LUKS\xba\xbe", 6 },	  { 512, "LABELONE", 8 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_FREE char *path = make_file(rows[i].offset, rows[i].bytes, rows[i].length);
		const char *format = disk_format(path, NULL);

		ck_assert_ptr_nonnull(format);
		ck_assert_str_eq(format, "raw");
		ck_assert_int_eq(disk_check(path, NULL), 0);
	}
}
END_TEST

START_TEST(what_is_no_image)
{
	CLEANUP_FREE char *path = make_file(511, "\x55\xaa", 2);
	CLEANUP_FREE char *missing = xasprintf("%s/missing", folder);
	struct error err = { 0 };

	ck_assert_int_eq(disk_check(path, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_msg(strstr(err.text, "no disk image"), "%s", err.text);
	ck_assert_int_eq(disk_check(missing, &err), -1);
	ck_assert_msg(strstr(err.text, "No such file"), "%s", err.text);
	ck_assert_int_eq(disk_check(folder, &err), -1);
	ck_assert_msg(strstr(err.text, "a file was expected"), "%s", err.text);
}
END_TEST

/* QEMU locks byte 100 to read, 101 to write. */
START_TEST(one_that_a_guest_writes_to)
{
	CLEANUP_FREE char *path = make_file(510, "\x55\xaa", 2);
	CLEANUP_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1 };
	struct error err = { 0 };

	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	ck_assert_ptr_nonnull(disk_format(path, NULL));
	lock.l_start = 101;
	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	ck_assert_ptr_null(disk_format(path, &err));
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_msg(strstr(err.text, "open for writing"), "%s", err.text);
	ck_assert_int_eq(disk_check(path, NULL), -1);
}
END_TEST

/* Big-endian words of the header: 1 version, 2 and 3 the backing file, 8 encryption, 19 features.
 */
START_TEST(qcow2_by_its_header)
{
	static const struct {
		unsigned word, value;
		const char *words; /* NULL: good */
	} rows[] = {
		{ 1, 3, NULL },
		{ 1, 2, NULL },
		{ 1, 4, "version 4" },
		{ 3, 0x100, "rests on another file" },
		{ 8, 2, "encrypted" },
		{ 19, 2, "corrupt" },
		{ 19, 4, "rests on another file" },
		{ 19, 1, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned char header[104] = { 'Q', 'F', 'I', 0xfb, 0, 0, 0, 3 };
		CLEANUP_FREE char *path = NULL;
		struct error err = { 0 };
		const char *format;

		header[4 * rows[i].word + 2] = (unsigned char)(rows[i].value >> 8);
		header[4 * rows[i].word + 3] = (unsigned char)rows[i].value;
		path = make_file(0, header, sizeof(header));
		format = disk_format(path, &err);
		ck_assert_msg(!format == !!rows[i].words, "row %zu: %s", i, err.text);
		if (rows[i].words)
			ck_assert_msg(strstr(err.text, rows[i].words), "%s", err.text);
	}
}
END_TEST

START_TEST(overlay_is_a_copy)
{
	CLEANUP_FREE char *empty = make_file(7, "abc", 3);
	CLEANUP_FREE char *path = disk_overlay(empty, "guest-1", NULL);
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	ck_assert_ptr_nonnull(path);
	ck_assert_msg(!strncmp(path, folder, strlen(folder)), "%s", path);
	ck_assert_msg(strcmp(path, empty) != 0, "%s", path);
	ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &length, NULL), 0);
	ck_assert_uint_eq(length, 128 << 10);
	ck_assert_mem_eq(bytes + 7, "abc", 3);
}
END_TEST

START_TEST(tool_says_and_ends)
{
	static const char *const argv[] = { "sh", "-c", "echo one; echo two >&2; exit 5", NULL };
	static const char *const none[] = { "/nowhere/disk", NULL };
	static const char *const killed[] = { "sh", "-c", "kill -9 $$", NULL };
	CLEANUP_TEXT struct text said = { 0 };
	struct error err = { 0 };

	ck_assert_int_eq(disk_tool(&said, argv, NULL, 60, &err), 5);
	ck_assert_str_eq(text_string(&said), "one\ntwo\n");
	ck_assert_int_eq(disk_tool(&said, none, NULL, 60, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_int_eq(disk_tool(&said, killed, NULL, 60, &err), -1);
	ck_assert_msg(strstr(err.text, "signal 9"), "%s", err.text);
}
END_TEST

/* One that does not listen, with a child: both are gone, soon. */
START_TEST(tool_is_ended)
{
	static const char *const argv[] = { "sh", "-c",
					    "trap '' TERM; sleep 1000 & echo $!; sleep 1000",
					    NULL };
	struct connection connection = { 0 };
	CLEANUP_TEXT struct text said = { 0 };
	struct error err = { 0 };
	const double begin = clock_seconds();
	int child;

	ck_assert_int_eq(disk_tool(&said, argv, &connection, 1, &err), -1);
	ck_assert_msg(strstr(err.text, "after 1 s"), "%s", err.text);
	child = atoi(text_string(&said));
	ck_assert_int_gt(child, 1);
	for (int i = 0; i < 100 && kill(child, 0) == 0; i++)
		usleep(50000);
	ck_assert_int_eq(kill(child, 0), -1);
	atomic_store(&connection.interrupted, true);
	ck_assert_int_eq(disk_tool(&said, argv, &connection, 1000, &err), -1);
	ck_assert_str_eq(err.text, "interrupted");
	ck_assert_double_lt(clock_seconds() - begin, 60);
}
END_TEST

Suite *suite_disk(void);
Suite *suite_disk(void)
{
	Suite *suite = suite_create("disk");
	TCase *tcase = tcase_create("disk");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, raw_by_what_begins_in_it);
	tcase_add_test(tcase, what_is_no_image);
	tcase_add_test(tcase, one_that_a_guest_writes_to);
	tcase_add_test(tcase, qcow2_by_its_header);
	tcase_add_test(tcase, overlay_is_a_copy);
	tcase_add_test(tcase, tool_says_and_ends);
	tcase_add_test(tcase, tool_is_ended);
	suite_add_tcase(suite, tcase);
	return suite;
}
