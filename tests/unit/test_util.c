// SPDX-License-Identifier: MIT
/* harness/util: errors, strings, files, folders, and where the lab's own files are. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/error.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

Suite *suite_util(void);

/* A folder for each test, made before and removed after. */
static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/quirklab-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	ck_assert_int_eq(folder_remove(folder, NULL), 0);
}

static char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

/* --- errors --- */

START_TEST(names_are_so_far_apart)
{
	ck_assert_uint_eq(name_distance("kitten", "sitting"), 3);
	ck_assert_uint_eq(name_distance("", "abc"), 3);
	ck_assert_uint_eq(name_distance("same", "SAME"), 0);
	ck_assert_uint_eq(name_distance("clzreo", "CLZERO"), 1);
}
END_TEST

START_TEST(error_set_fills_and_fails)
{
	struct error err = { 0 };

	ck_assert_int_eq(error_set(&err, ERROR_INPUT, "%s:%d: no", "cpus.tsv", 7), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, "cpus.tsv:7: no");
	ck_assert_int_eq(error_set(NULL, ERROR_LAB, "nobody listens"), -1);
	ck_assert_int_eq(error_prefix(NULL, "nobody listens"), -1);
}
END_TEST

START_TEST(error_is_one_inert_line)
{
	struct error err = { 0 };

	/* What a hostile file would like to do to a terminal. */
	error_set(&err, ERROR_LAB, "a\nb\x1b[31mc\x7f\t");
	ck_assert_str_eq(err.text, "a?b?[31mc??");
	error_prefix(&err, "x\ry");
	ck_assert_str_eq(err.text, "x?y: a?b?[31mc??");
	ck_assert_int_eq(err.kind, ERROR_LAB);
	/* An override, an isolate, a control character of two bytes; letters stay. */
	error_set(&err, ERROR_INPUT,
		  "a\u202eb\u2066c\xc2\x85"
		  "d \u00e9\u4e2d");
	ck_assert_str_eq(err.text, "a???b???c??d \u00e9\u4e2d");
}
END_TEST

START_TEST(error_long_is_cut_and_terminated)
{
	struct error err;
	char many[3000];

	memset(many, 'm', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	memset(&err, 'x', sizeof(err));
	error_set(&err, ERROR_INPUT, "%s", many);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	error_prefix(&err, "%s", "where");
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_int_eq(strncmp(err.text, "where: mmm", 10), 0);
	error_prefix(&err, "%s", many);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
}
END_TEST

/* --- strings --- */

START_TEST(text_grows)
{
	CLEANUP_TEXT struct text text = { 0 };

	ck_assert_str_eq(text_string(&text), "");
	text_add(&text, "", 0);
	ck_assert_str_eq(text.bytes, "");
	for (int i = 0; i < 1000; i++)
		text_addf(&text, "%d,", i);
	/* 10 one-digit numbers, 90 of two digits, 900 of three; a comma each. */
	ck_assert_uint_eq(text.length, 10 * 2 + 90 * 3 + 900 * 4);
	ck_assert_int_eq(strncmp(text_string(&text), "0,1,2,", 6), 0);
	ck_assert_str_eq(text_string(&text) + text.length - 4, "999,");
	text_free(&text);
	ck_assert_ptr_null(text.bytes);
	ck_assert_uint_eq(text.length, 0);
}
END_TEST

START_TEST(text_keeps_zero_bytes)
{
	CLEANUP_TEXT struct text text = { 0 };

	text_add(&text, "a\0b", 3);
	text_addf(&text, "%c", 'c');
	ck_assert_uint_eq(text.length, 4);
	ck_assert_mem_eq(text.bytes, "a\0bc", 5);
}
END_TEST

/* Lengths around the first size that the buffer has: an off-by-one shows under AddressSanitizer. */
START_TEST(text_at_the_edge)
{
	CLEANUP_TEXT struct text text = { 0 };
	char filling[300];

	memset(filling, 'f', sizeof(filling));
	text_addf(&text, "%.*s", 250 + _i, filling);
	ck_assert_uint_eq(text.length, 250 + (unsigned)_i);
	ck_assert_uint_eq(strlen(text_string(&text)), text.length);
	text_add(&text, "!", 1);
	ck_assert_uint_eq(strlen(text_string(&text)), 251 + (unsigned)_i);
	ck_assert_uint_gt(text.room, text.length);
}
END_TEST

START_TEST(text_too_long_aborts)
{
	struct text text = { 0 };

	text_add(&text, "a", 1);
	text_add(&text, "b", SIZE_MAX);
}
END_TEST

static const struct {
	const char *in;
	size_t length, room;
	const char *out;
} printable[] = {
	{ "plain ~text", 11, 100, "plain ~text" },
	{ "a\x1b[2J\n\0z", 8, 100, "a\\x1b[2J\\x0a\\x00z" },
	{ "\xff\x7f", 2, 100, "\\xff\\x7f" },
	{ "abcdef", 6, 4, "abc" },
	{ "ab\n", 3, 6, "ab" }, /* an escape comes whole or not at all */
	{ "ab\n", 3, 7, "ab\\x0a" },
	{ "abc", 3, 1, "" },
	{ "", 0, 5, "" },
};

START_TEST(printable_is_inert)
{
	char out[100];

	memset(out, '#', sizeof(out));
	ck_assert_ptr_eq(text_printable(out, printable[_i].room, printable[_i].in,
					printable[_i].length),
			 out);
	ck_assert_str_eq(out, printable[_i].out);
	ck_assert_int_eq(out[printable[_i].room < 100 ? printable[_i].room : 99], '#');
}
END_TEST

START_TEST(printable_without_room)
{
	char out[1] = { '#' };

	ck_assert_ptr_eq(text_printable(out, 0, "abc", 3), out);
	ck_assert_int_eq(out[0], '#');
}
END_TEST

START_TEST(allocation_of_nothing_is_a_pointer)
{
	CLEANUP_FREE void *a = xmalloc(0);
	CLEANUP_FREE void *b = xcalloc(0, 8);
	CLEANUP_FREE void *c = xrealloc(NULL, 0);

	ck_assert_ptr_nonnull(a);
	ck_assert_ptr_nonnull(b);
	ck_assert_ptr_nonnull(c);
}
END_TEST

/* --- files --- */

START_TEST(file_comes_back_as_written)
{
	CLEANUP_FREE char *path = in_folder("file");
	CLEANUP_FREE char *bytes = NULL;
	struct error err = { 0 };
	size_t length = 99;
	struct stat st;

	umask(022);
	ck_assert_int_eq(file_write(path, "one\0two", 7, &err), 0);
	ck_assert_int_eq(file_read(path, 7, &bytes, &length, &err), 0);
	ck_assert_uint_eq(length, 7);
	ck_assert_mem_eq(bytes, "one\0two", 8); /* and a NUL behind it */
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
}
END_TEST

START_TEST(file_empty_is_a_string)
{
	CLEANUP_FREE char *path = in_folder("empty");
	CLEANUP_FREE char *bytes = NULL;
	struct error err = { 0 };
	size_t length = 99;

	ck_assert_int_eq(file_write(path, "", 0, &err), 0);
	ck_assert_int_eq(file_read(path, 100, &bytes, &length, &err), 0);
	ck_assert_uint_eq(length, 0);
	ck_assert_str_eq(bytes, "");
}
END_TEST

START_TEST(file_read_says_what_is_wrong)
{
	CLEANUP_FREE char *missing = in_folder("missing");
	CLEANUP_FREE char *path = in_folder("file");
	CLEANUP_FREE char *expected = xasprintf("%s: No such file or directory", missing);
	CLEANUP_FREE char *is_folder = xasprintf("%s: is a folder, a file was expected", folder);
	struct error err = { 0 };
	char *bytes = NULL;
	size_t length;

	ck_assert_int_eq(file_read(missing, 100, &bytes, &length, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, expected);
	ck_assert_int_eq(file_read(folder, 100, &bytes, &length, &err), -1);
	ck_assert_str_eq(err.text, is_folder);
	ck_assert_int_eq(file_write(path, "12345678", 8, &err), 0);
	ck_assert_int_eq(file_read(path, 7, &bytes, &length, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "larger than 7 bytes"));
	ck_assert_ptr_null(bytes);
}
END_TEST

/* Endless input must not be read for ever: it may come through a pipe, but no device is opened. */
START_TEST(file_read_is_bounded)
{
	CLEANUP_FREE char *pipe = in_folder("pipe");
	CLEANUP_FREE char *expected = xasprintf("%s: larger than 1000000 bytes", pipe);
	struct error err = { 0 };
	char *bytes = NULL;
	size_t length;
	pid_t child;

	ck_assert_int_eq(mkfifo(pipe, 0600), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		const char zeros[4096] = "";
		int fd = open(pipe, O_WRONLY);

		while (write(fd, zeros, sizeof(zeros)) > 0)
			;
		_exit(0);
	}
	ck_assert_int_eq(file_read(pipe, 1000000, &bytes, &length, &err), -1);
	ck_assert_str_eq(err.text, expected);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(file_read("/dev/zero", 1000000, &bytes, &length, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, "/dev/zero: is a device, a file was expected");
	ck_assert_int_eq(file_read("/dev/null", 1000000, &bytes, &length, &err), 0);
	ck_assert_uint_eq(length, 0);
	free(bytes);
}
END_TEST

/* The kernel's log passes for a file, and a read of it waits for the next message. */
START_TEST(file_read_of_the_kernels_log_does_not_wait)
{
	struct error err = { 0 };
	char *bytes = NULL;
	size_t length;

	if (access("/proc/kmsg", R_OK) < 0)
		return; /* as an ordinary user, or in a container */
	alarm(3);
	ck_assert_int_eq(file_read("/proc/kmsg", 1 << 30, &bytes, &length, &err), -1);
	ck_assert_ptr_eq(strstr(err.text, "/proc/kmsg: "), err.text);
	alarm(0);
}
END_TEST

/* A named pipe that is written to: whoever reads it may come late; without one nobody waits for
 * ever. */
START_TEST(file_create_of_a_pipe_needs_a_reader)
{
	CLEANUP_FREE char *path = in_folder("pipe");
	struct error err = { 0 };
	int fd, status = 0;
	pid_t child;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		char bytes[8] = "";

		usleep(200000);
		fd = open(path, O_RDONLY);
		_exit(fd < 0 || read(fd, bytes, sizeof(bytes)) != 4 || memcmp(bytes, "late", 4));
	}
	fd = file_create(path, &err);
	ck_assert_msg(fd >= 0, "%s", err.text);
	ck_assert_int_eq(write(fd, "late", 4), 4);
	close(fd);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(file_create(path, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, "a pipe that nobody has read for 5 s");
}
END_TEST

/* A named pipe: what a writer puts into it is read, also one that comes late; without one nobody
 * waits for ever. */
START_TEST(file_read_of_a_pipe_needs_a_writer)
{
	CLEANUP_FREE char *path = in_folder("pipe");
	CLEANUP_FREE char *nobody =
		xasprintf("%s: a pipe into which nobody has written for 5 s", path);
	CLEANUP_FREE char *bytes = NULL;
	struct error err = { 0 };
	size_t length;
	pid_t child;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		int fd;

		usleep(200000);
		fd = open(path, O_WRONLY);
		_exit(fd < 0 || write(fd, "late", 4) != 4);
	}
	ck_assert_msg(file_read(path, 100, &bytes, &length, &err) == 0, "%s", err.text);
	ck_assert_str_eq(bytes, "late");
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(file_read(path, 100, &bytes, &length, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_str_eq(err.text, nobody);
}
END_TEST

START_TEST(file_write_is_whole_or_not_at_all)
{
	CLEANUP_FREE char *path = in_folder("file");
	CLEANUP_FREE char *elsewhere = in_folder("no/such/folder/file");
	CLEANUP_FREE char *bytes = NULL;
	struct rlimit limit = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
	struct error err = { 0 };
	char many[5000];
	size_t length;

	memset(many, 'm', sizeof(many));
	ck_assert_int_eq(file_write(path, "old", 3, &err), 0);
	/* A disk that is full after 1000 bytes. SIGXFSZ would kill us first. */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(file_write(path, many, sizeof(many), &err), -1);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "file: File too large"));
	ck_assert_int_eq(file_read(path, 100, &bytes, &length, &err), 0);
	ck_assert_str_eq(bytes, "old");
	/* No temporary file is left: the folder can be removed once the file is gone. */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(file_write(elsewhere, "x", 1, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
}
END_TEST

START_TEST(append_adds_at_the_end)
{
	CLEANUP_FREE char *path = in_folder("log");
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct error err = { 0 };
	size_t length;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(file_append_synced(fd, "log", "one\n", 4, &err), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(file_append_synced(fd, "log", "two\n", 4, &err), 0);
	ck_assert_int_eq(file_read(path, 100, &bytes, &length, &err), 0);
	ck_assert_str_eq(bytes, "one\ntwo\n");
}
END_TEST

START_TEST(append_undoes_a_short_write)
{
	CLEANUP_FREE char *path = in_folder("log");
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct rlimit limit = { .rlim_cur = 6, .rlim_max = RLIM_INFINITY };
	struct error err = { 0 };
	size_t length;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(file_append_synced(fd, "log", "one\n", 4, &err), 0);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(file_append_synced(fd, "log", "two\n", 4, &err), -1);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_str_eq(err.text, "log: File too large");
	ck_assert_int_eq(file_read(path, 100, &bytes, &length, &err), 0);
	ck_assert_str_eq(bytes, "one\n");
}
END_TEST

START_TEST(append_to_a_pipe_is_an_error)
{
	struct error err = { 0 };
	int pipe_fd[2];

	ck_assert_int_eq(pipe(pipe_fd), 0);
	ck_assert_int_eq(file_append_synced(pipe_fd[1], "pipe", "x", 1, &err), -1);
	ck_assert_str_eq(err.text, "pipe: Illegal seek");
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}
END_TEST

/* --- folders --- */

START_TEST(folder_make_makes_all_parts)
{
	CLEANUP_FREE char *deep = in_folder("a/b//c/");
	CLEANUP_FREE char *file = in_folder("a/b/c/file");
	struct error err = { 0 };

	ck_assert_int_eq(folder_make(deep, &err), 0);
	ck_assert_int_eq(folder_make(deep, &err), 0); /* again: no error */
	ck_assert_int_eq(file_write(file, "x", 1, &err), 0);
	ck_assert_int_eq(folder_make(file, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "exists and is no folder"));
	ck_assert_int_eq(folder_make("/proc/no/such", &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
}
END_TEST

START_TEST(folder_remove_does_not_follow_links)
{
	CLEANUP_FREE char *doomed = in_folder("doomed/inner");
	CLEANUP_FREE char *doomed_top = in_folder("doomed");
	CLEANUP_FREE char *link = in_folder("doomed/inner/link");
	CLEANUP_FREE char *precious = in_folder("precious");
	CLEANUP_FREE char *file = in_folder("precious/file");
	struct error err = { 0 };

	ck_assert_int_eq(folder_make(doomed, &err), 0);
	ck_assert_int_eq(folder_make(precious, &err), 0);
	ck_assert_int_eq(file_write(file, "x", 1, &err), 0);
	ck_assert_int_eq(symlink(precious, link), 0);
	ck_assert_int_eq(folder_remove(doomed_top, &err), 0);
	ck_assert_int_eq(access(doomed_top, F_OK), -1);
	ck_assert_int_eq(access(file, F_OK), 0);
	ck_assert_int_eq(folder_remove(doomed_top, &err), 0); /* missing: no error */
}
END_TEST

/* --- the lab's own files --- */

START_TEST(paths_override)
{
	CLEANUP_FREE char *models = NULL, *image = NULL;

	ck_assert_int_eq(setenv("QUIRKLAB_MODELS", "/somewhere", 1), 0);
	ck_assert_int_eq(setenv("QUIRKLAB_IMAGES", "else", 1), 0);
	models = path_models("expect/dispatch.tsv");
	image = path_image("bare.elf");
	ck_assert_str_eq(models, "/somewhere/expect/dispatch.tsv");
	ck_assert_str_eq(image, "else/bare.elf");
}
END_TEST

START_TEST(paths_in_the_build_tree)
{
	CLEANUP_FREE char *models = NULL;

	/* An empty override is none. This program is BUILD/tests/..., the data BUILD/cpu-models. */
	ck_assert_int_eq(setenv("QUIRKLAB_MODELS", "", 1), 0);
	models = path_models("catalogue.tsv");
	ck_assert_int_eq(access(models, R_OK), 0);
}
END_TEST

Suite *suite_util(void)
{
	Suite *suite = suite_create("util");
	TCase *errors = tcase_create("error");
	TCase *text = tcase_create("text");
	TCase *file = tcase_create("file");
	TCase *pipes = tcase_create("pipe");
	TCase *paths = tcase_create("paths");

	tcase_add_test(errors, error_set_fills_and_fails);
	tcase_add_test(errors, error_is_one_inert_line);
	tcase_add_test(errors, error_long_is_cut_and_terminated);
	suite_add_tcase(suite, errors);

	tcase_add_test(text, text_grows);
	tcase_add_test(text, text_keeps_zero_bytes);
	tcase_add_loop_test(text, text_at_the_edge, 0, 10);
	tcase_add_test_raise_signal(text, text_too_long_aborts, SIGABRT);
	tcase_add_loop_test(text, printable_is_inert, 0, sizeof(printable) / sizeof(printable[0]));
	tcase_add_test(text, names_are_so_far_apart);
	tcase_add_test(text, printable_without_room);
	tcase_add_test(text, allocation_of_nothing_is_a_pointer);
	suite_add_tcase(suite, text);

	tcase_add_checked_fixture(file, make_folder, remove_folder);
	tcase_add_test(file, file_comes_back_as_written);
	tcase_add_test(file, file_empty_is_a_string);
	tcase_add_test(file, file_read_says_what_is_wrong);
	tcase_add_test(file, file_read_is_bounded);
	tcase_add_test(file, file_read_of_the_kernels_log_does_not_wait);
	tcase_add_test(file, file_write_is_whole_or_not_at_all);
	tcase_add_test(file, append_adds_at_the_end);
	tcase_add_test(file, append_undoes_a_short_write);
	tcase_add_test(file, append_to_a_pipe_is_an_error);
	tcase_add_test(file, folder_make_makes_all_parts);
	tcase_add_test(file, folder_remove_does_not_follow_links);
	suite_add_tcase(suite, file);

	tcase_set_timeout(pipes, 30);
	tcase_add_checked_fixture(pipes, make_folder, remove_folder);
	tcase_add_test(pipes, file_read_of_a_pipe_needs_a_writer);
	tcase_add_test(pipes, file_create_of_a_pipe_needs_a_reader);
	suite_add_tcase(suite, pipes);

	tcase_add_test(paths, paths_override);
	tcase_add_test(paths, paths_in_the_build_tree);
	suite_add_tcase(suite, paths);
	return suite;
}
