// SPDX-License-Identifier: MIT
/* The payload of a guest: members in order, programs with what they need, the job. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/payload.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

Suite *suite_payload(void);

static char folder[32];
static struct payload *payload;
static struct error err;

static void set_up(void)
{
	strcpy(folder, "/tmp/quirklab-payload.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	payload = payload_new();
	err = (struct error){ 0 };
}

static void tear_down(void)
{
	payload_free(payload);
	folder_remove(folder, NULL);
}

static char *write_file(const char *name, const void *bytes, size_t length, mode_t mode)
{
	char *path = xasprintf("%s/%s", folder, name);

	ck_assert_int_eq(file_write(path, bytes, length, NULL), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
	return path;
}

/* All members as text: a line each, the job's strings behind it. */
static int print_member(void *context, const struct payload_member *member)
{
	struct text *out = context;

	text_addf(out, "%s %06o", member->name, member->mode);
	if (member->target)
		text_addf(out, " -> %s", member->target);
	else if (S_ISREG(member->mode))
		text_addf(out, " %zu", member->length);
	text_addf(out, "%s\n", member->library ? " library" : "");
	if (!strcmp(member->name, "/quirklab/job"))
		for (size_t i = 0; i < member->length; i++)
			text_addf(out, "%c",
				  ((const char *)member->bytes)[i]
					  ? ((const char *)member->bytes)[i]
					  : '\n');
	return 0;
}

static void check_members(const char *expected)
{
	CLEANUP_TEXT struct text all = { 0 };

	ck_assert_int_eq(payload_each(payload, print_member, &all), 0);
	ck_assert_str_eq(all.bytes, expected);
}

static bool has_member(const char *wanted)
{
	CLEANUP_TEXT struct text all = { 0 };
	CLEANUP_FREE char *line = xasprintf("\n%s ", wanted);

	text_addf(&all, "\n");
	payload_each(payload, print_member, &all);
	return strstr(all.bytes, line);
}

START_TEST(members_in_order)
{
	static const char *const argv[] = { "/subject/a", "one", "", NULL };

	payload_add_link(payload, "/lib/x/b", "../a", true);
	payload_add_bytes(payload, "/subject/a", "12345", 5, 0755, false);
	payload_add_bytes(payload, "/subject/a", "123", 3, 0700, false); /* replaces it */
	payload_add_bytes(payload, "/lib/x-y", "", 0, 0644, true);
	payload_set_arguments(payload, argv);
	payload_set_environment(payload, "A", "b=c");
	ck_assert_uint_eq(payload_bytes(payload), 3);
	check_members("/lib 040755 library\n"
		      "/lib/x 040755 library\n"
		      "/lib/x-y 100644 0 library\n"
		      "/lib/x/b 120777 -> ../a library\n"
		      "/subject 040755\n"
		      "/subject/a 100700 3\n"
		      "/quirklab/job 100644 72\n"
		      "seconds=60\nargument=/subject/a\nargument=one\nargument=\n"
		      "environment=A=b=c\n");
	ck_assert(!has_member("/subject/b"));
	payload_set_read_only(payload);
	payload_set_seconds(payload, 7);
	check_members("/lib 040755 library\n"
		      "/lib/x 040755 library\n"
		      "/lib/x-y 100644 0 library\n"
		      "/lib/x/b 120777 -> ../a library\n"
		      "/subject 040755\n"
		      "/subject/a 100700 3\n"
		      "/quirklab/job 100644 83\n"
		      "seconds=7\nread-only=1\nargument=/subject/a\nargument=one\nargument=\n"
		      "environment=A=b=c\n");
}
END_TEST

/* As much of an ELF file as is looked at before anything else. */
static char *write_elf(const char *name, const Elf64_Ehdr *changes)
{
	Elf64_Ehdr header = { .e_ident = { 0x7F, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			      .e_type = ET_EXEC,
			      .e_machine = EM_X86_64,
			      .e_phentsize = sizeof(Elf64_Phdr) };

	if (changes->e_ident[EI_CLASS])
		header.e_ident[EI_CLASS] = changes->e_ident[EI_CLASS];
	if (changes->e_ident[EI_DATA])
		header.e_ident[EI_DATA] = changes->e_ident[EI_DATA];
	if (changes->e_type)
		header.e_type = changes->e_type;
	if (changes->e_machine)
		header.e_machine = changes->e_machine;
	header.e_phnum = changes->e_phnum;
	header.e_phoff = changes->e_phoff;
	return write_file(name, &header, sizeof(header), 0755);
}

static void refused(char *path, const char *words)
{
	ck_assert_int_eq(payload_add_program(payload, path, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_INPUT);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
	ck_assert_msg(strstr(err.text, path), "%s: not named", err.text);
	free(path);
}

START_TEST(what_is_no_program)
{
	refused(write_elf("arm", &(Elf64_Ehdr){ .e_machine = EM_AARCH64 }), "for aarch64");
	refused(write_elf("odd", &(Elf64_Ehdr){ .e_machine = 0x1234 }), "ELF machine 4660");
	refused(write_elf("x32", &(Elf64_Ehdr){ .e_ident = { [EI_CLASS] = ELFCLASS32 } }), "x32");
	refused(write_elf("big", &(Elf64_Ehdr){ .e_ident = { [EI_DATA] = ELFDATA2MSB } }),
		"big-endian");
	refused(write_elf("object", &(Elf64_Ehdr){ .e_type = ET_REL }), "an object file");
	refused(write_elf("core", &(Elf64_Ehdr){ .e_type = ET_CORE }), "not executable");
	refused(write_elf("cut", &(Elf64_Ehdr){ .e_phnum = 3, .e_phoff = 64 }), "damaged");
	refused(write_elf("far", &(Elf64_Ehdr){ .e_phnum = 1, .e_phoff = UINT64_MAX - 8 }),
		"damaged");
	refused(write_file("short", "\177ELF", 4, 0755), "ends in its header");
	refused(write_file("text", "hello\n", 6, 0755), "neither an ELF file nor a script");
	refused(write_file("empty", "", 0, 0755), "neither an ELF file nor a script");
	refused(write_file("plain", "#!/bin/sh\n", 10, 0644), "not executable");
	refused(write_file("nobody", "#!/nowhere/sh\n", 14, 0755), "/nowhere/sh: No such file");
	refused(write_file("relative", "#!sh\n", 5, 0755), "an absolute name");
	refused(write_file("bare", "#!\n", 3, 0755), "no interpreter");
	refused(write_file("env", "#!/usr/bin/env no-such-shell\n", 29, 0755),
		"no-such-shell is nowhere");
	refused(xstrdup(folder), "is no file");
	refused(xasprintf("%s/gone", folder), "No such file");
}
END_TEST

/* A program with one segment, PT_INTERP. */
static char *write_dynamic(const char *name, const char *loader, size_t length)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		char loader[64];
	} file = { .header = { .e_ident = { 0x7F, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
			       .e_type = ET_DYN,
			       .e_machine = EM_X86_64,
			       .e_phentsize = sizeof(Elf64_Phdr),
			       .e_phoff = sizeof(Elf64_Ehdr),
			       .e_phnum = 1 },
		   .segment = { .p_type = PT_INTERP,
				.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
				.p_filesz = length } };

	memcpy(file.loader, loader, strlen(loader));
	return write_file(name, &file, sizeof(file), 0755);
}

START_TEST(foreign_loaders_are_not_run)
{
	char *mark = xasprintf("%s/mark", folder);
	CLEANUP_FREE char *script = xasprintf("#!/bin/sh\n: >%s\n", mark);
	char *loader = write_file("ld.so", script, strlen(script), 0755);

	refused(write_dynamic("p", loader, strlen(loader) + 1), "in no folder of the system");
	refused(write_dynamic("q", "/lib/../tmp/ld.so", 18), "in no folder of the system");
	refused(write_dynamic("r", "/lib64/no-such-loader", 22), "is not here");
	refused(write_dynamic("s", "/lib64/ld", 5), "its loader has no name"); /* no NUL */
	refused(write_dynamic("t", "/lib64/ld", 1UL << 60), "its loader has no name");
	ck_assert_int_eq(access(mark, F_OK), -1);
	free(loader);
	free(mark);
}
END_TEST

START_TEST(a_script_brings_its_shell)
{
	CLEANUP_FREE char *script = write_file("s.sh", "#! /bin/sh -e\nexit 0\n", 21, 0755);
	static const char *const arguments[] = { "x", NULL };

	ck_assert_msg(payload_add_program(payload, script, arguments, &err) == 0, "%s", err.text);
	ck_assert(has_member("/subject/s.sh"));
	ck_assert(has_member("/bin/sh"));
	ck_assert(has_member("/lib64/ld-linux-x86-64.so.2"));
}
END_TEST

START_TEST(a_folder_brings_all_of_it)
{
	CLEANUP_FREE char *deep = xasprintf("%s/a/b", folder);
	CLEANUP_FREE char *link = xasprintf("%s/a/link", folder);
	CLEANUP_FREE char *pipe = xasprintf("%s/a/pipe", folder);

	ck_assert_int_eq(payload_add_folder(payload, folder, NULL, &err), -1);
	ck_assert_msg(strstr(err.text, "no program 'run'"), "%s", err.text);
	free(write_elf("run", &(Elf64_Ehdr){ 0 }));
	ck_assert_int_eq(folder_make(deep, NULL), 0);
	free(write_file("a/b/data", "1234", 4, 0640));
	ck_assert_int_eq(symlink("b/data", link), 0);
	ck_assert_msg(payload_add_folder(payload, folder, NULL, &err) == 0, "%s", err.text);
	check_members("/subject 040755\n"
		      "/subject/a 040755\n"
		      "/subject/a/b 040755\n"
		      "/subject/a/b/data 100640 4\n"
		      "/subject/a/link 120777 -> b/data\n"
		      "/subject/run 100755 64\n"
		      "/quirklab/job 100644 33\n"
		      "seconds=60\nargument=/subject/run\n");
	ck_assert_int_eq(mkfifo(pipe, 0600), 0);
	ck_assert_int_eq(payload_add_folder(payload, folder, NULL, &err), -1);
	ck_assert_msg(strstr(err.text, "a/pipe: neither a file"), "%s", err.text);
}
END_TEST

START_TEST(too_much_is_refused)
{
	char *path = write_file("huge", "\177ELF", 4, 0755);

	ck_assert_int_eq(truncate(path, 300L << 20), 0);
	ck_assert_int_eq(payload_add_file(payload, "/x", path, false, &err), -1);
	ck_assert_msg(strstr(err.text, "more than 256 MiB"), "%s", err.text);
	free(path);
}
END_TEST

Suite *suite_payload(void)
{
	Suite *suite = suite_create("payload");
	TCase *tests = tcase_create("payload");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, members_in_order);
	tcase_add_test(tests, what_is_no_program);
	tcase_add_test(tests, foreign_loaders_are_not_run);
	tcase_add_test(tests, a_script_brings_its_shell);
	tcase_add_test(tests, a_folder_brings_all_of_it);
	tcase_add_test(tests, too_much_is_refused);
	suite_add_tcase(suite, tests);
	return suite;
}
