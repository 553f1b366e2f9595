/* SPDX-License-Identifier: MIT */
/* A C library out of a folder or a Debian package, and what is none. */
#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/libc.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

static char folder[] = "/tmp/quirklab-libc.XXXXXX";

/* What a glibc looks like from outside. */
struct fake {
	Elf64_Ehdr header;
	char banner[64];
};

static struct fake fake(unsigned machine, const char *banner)
{
	struct fake made = { .header = { .e_type = ET_DYN, .e_machine = (Elf64_Half)machine } };

	memcpy(made.header.e_ident, ELFMAG, SELFMAG);
	made.header.e_ident[EI_CLASS] = ELFCLASS64;
	snprintf(made.banner, sizeof(made.banner), "%s", banner);
	return made;
}

static char *put(const char *name, const void *bytes, size_t length)
{
	char *path = xasprintf("%s/%s", folder, name);
	CLEANUP_FREE char *above = xstrdup(path);
	struct error err = { 0 };

	*strrchr(above, '/') = '\0';
	ck_assert_int_eq(folder_make(above, &err), 0);
	ck_assert_msg(file_write(path, bytes, length, &err) == 0, "%s", err.text);
	return path;
}

static void put_fake(const char *name, unsigned machine, const char *banner)
{
	const struct fake made = fake(machine, banner);

	free(put(name, &made, sizeof(made)));
}

static void begin(void)
{
	const struct fake probe = fake(EM_X86_64, "the probe");
	CLEANUP_FREE char *images = NULL;

	strcpy(strrchr(folder, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	images = xasprintf("%s/images", folder);
	free(put("images/subjects/glibc", &probe, sizeof(probe)));
	setenv("QUIRKLAB_IMAGES", images, 1);
}

static void end(void)
{
	unsetenv("QUIRKLAB_IMAGES");
	folder_remove(folder, NULL);
}

/* --- what comes of it
 * -----------------------------------------------------------------------------
 */

struct names {
	struct text text; /* "NAME:BANNER " for each file */
};

static int each_member(void *context, const struct payload_member *member)
{
	struct names *names = context;

	if (S_ISREG(member->mode) && member->length == sizeof(struct fake))
		text_addf(&names->text, "%s:%s ", member->name,
			  ((const struct fake *)member->bytes)->banner);
	return 0;
}

/* The files of the payload with their banners, or the error. */
static char *payload_of(const char *libc)
{
	struct payload *payload = payload_new();
	struct names names = { 0 };
	struct error err = { 0 };

	if (libc_payload(payload, libc, &err) < 0) {
		ck_assert_int_eq(err.kind, ERROR_INPUT);
		text_addf(&names.text, "%s", err.text);
	} else {
		payload_each(payload, each_member, &names);
	}
	payload_free(payload);
	return names.text.bytes;
}

#define LOADED                                                               \
	"/lib/libc.so.6:GNU C Library, made up /lib64/ld-linux-x86-64.so.2:" \
	"the loader /subject/glibc:the probe "

static void expect_payload(const char *name, const char *expected)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);
	CLEANUP_FREE char *got = payload_of(path);

	ck_assert_str_eq(got, expected);
}

static void expect_error(const char *name, const char *expected)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);
	CLEANUP_FREE char *whole = xasprintf("--libc: %s%s", path, expected);
	CLEANUP_FREE char *got = payload_of(path);

	ck_assert_str_eq(got, whole);
}

/* --- folders
 * --------------------------------------------------------------------------------------
 */

static void put_glibc(const char *library, const char *loader)
{
	put_fake(library, EM_X86_64, "GNU C Library, made up");
	put_fake(loader, EM_X86_64, "the loader");
}

START_TEST(a_folder_of_libraries_a_root_and_a_build_tree)
{
	put_glibc("libs/libc.so.6", "libs/ld-linux-x86-64.so.2");
	put_glibc("root/usr/lib/x86_64-linux-gnu/libc.so.6",
		  "root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	put_glibc("fedora/lib64/libc.so.6", "fedora/lib64/ld-linux-x86-64.so.2");
	put_glibc("build/libc.so", "build/elf/ld.so");
	expect_payload("libs", LOADED);
	expect_payload("root", LOADED);
	expect_payload("fedora", LOADED);
	expect_payload("build", LOADED);
}
END_TEST

START_TEST(links_stay_in_the_folder)
{
	CLEANUP_FREE char *inside = xasprintf("%s/root/lib64/ld-linux-x86-64.so.2", folder);
	CLEANUP_FREE char *outside = xasprintf("%s/out/libc.so.6", folder);
	CLEANUP_FREE char *target = xasprintf("%s/root/lib64/libc.so.6", folder);

	put_glibc("root/lib64/libc.so.6", "root/usr/loader");
	/* Absolute as a distribution has it: from the root's top, not from this machine's. */
	ck_assert_int_eq(symlink("/usr/loader", inside), 0);
	expect_payload("root", LOADED);
	free(put("out/ld-linux-x86-64.so.2", "x", 1));
	ck_assert_int_eq(symlink(target, outside), 0);
	expect_error("out", ": there is no glibc in it: no libc.so.6");
}
END_TEST

START_TEST(what_is_no_glibc)
{
	expect_error("missing", ": No such file or directory");
	put_fake("half/libc.so.6", EM_X86_64, "GNU C Library");
	expect_error("half", ": there is no glibc in it: no ld-linux-x86-64.so.2");
	put_glibc("arm/libc.so.6", "arm/ld-linux-x86-64.so.2");
	put_fake("arm/libc.so.6", EM_AARCH64, "GNU C Library");
	expect_error("arm", ": its libc.so.6 is no shared library for x86-64 (machine 183)");
	put_glibc("musl/libc.so.6", "musl/ld-linux-x86-64.so.2");
	put_fake("musl/libc.so.6", EM_X86_64, "another");
	expect_error("musl", ": its libc.so.6 is no glibc");
	put_glibc("script/x", "script/ld-linux-x86-64.so.2");
	free(put("script/libc.so", "GROUP ( /lib/libc.so.6 )", 24));
	expect_error("script", ": its libc.so.6 is no ELF file");
	free(put("folder/libc.so.6/x", "x", 1));
	expect_error("folder", ": libc.so.6 is no file");
	free(put("text", "no package", 10));
	expect_error("text", ": a folder or a Debian package was expected");
}
END_TEST

/* --- packages
 * -------------------------------------------------------------------------------------
 */

static void add_entry(struct archive *archive, const char *name, unsigned type, const char *link,
		      const void *bytes, size_t length)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, 0755);
	archive_entry_set_size(entry, (la_int64_t)length);
	if (link)
		archive_entry_set_symlink(entry, link);
	ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	if (length)
		ck_assert_int_eq(archive_write_data(archive, bytes, length), (la_ssize_t)length);
	archive_entry_free(entry);
}

static char memory[4 << 20];

/* A package around data.tar, compressed as the name says. */
static void put_package(const char *name, const char *member, const void *data, size_t length)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, name);
	struct archive *archive = archive_write_new();

	ck_assert_int_eq(archive_write_set_format_ar_svr4(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_filename(archive, path), ARCHIVE_OK);
	add_entry(archive, "debian-binary", AE_IFREG, NULL, "2.0\n", 4);
	add_entry(archive, member, AE_IFREG, NULL, data, length);
	ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_write_free(archive);
}

static struct archive *tar_begin(int (*filter)(struct archive *), size_t *used)
{
	struct archive *archive = archive_write_new();

	ck_assert_int_eq(archive_write_set_format_gnutar(archive), ARCHIVE_OK);
	ck_assert_int_eq(filter(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_memory(archive, memory, sizeof(memory), used),
			 ARCHIVE_OK);
	return archive;
}

static void tar_end(struct archive *archive)
{
	ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_write_free(archive);
}

static void put_libc6(const char *name, const char *member, int (*filter)(struct archive *),
		      const char *library, const char *loader)
{
	const struct fake files[] = { fake(EM_X86_64, "GNU C Library, made up"),
				      fake(EM_X86_64, "the loader") };
	size_t used;
	struct archive *tar = tar_begin(filter, &used);

	add_entry(tar, "./usr/lib64/ld-linux-x86-64.so.2", AE_IFLNK, "elsewhere", NULL, 0);
	add_entry(tar, library, AE_IFREG, NULL, &files[0], sizeof(files[0]));
	add_entry(tar, loader, AE_IFREG, NULL, &files[1], sizeof(files[1]));
	tar_end(tar);
	put_package(name, member, memory, used);
}

START_TEST(packages)
{
	put_libc6("new.deb", "data.tar.xz", archive_write_add_filter_xz,
		  "./usr/lib/x86_64-linux-gnu/libc.so.6",
		  "./usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	put_libc6("zstd.deb", "data.tar.zst", archive_write_add_filter_zstd,
		  "./lib/x86_64-linux-gnu/libc.so.6",
		  "./lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	put_libc6("old.deb", "data.tar.gz", archive_write_add_filter_gzip,
		  "./lib/x86_64-linux-gnu/libc-2.31.so", "./lib/x86_64-linux-gnu/ld-2.31.so");
	expect_payload("new.deb", LOADED);
	expect_payload("zstd.deb", LOADED);
	expect_payload("old.deb", LOADED);
}
END_TEST

START_TEST(packages_that_are_none)
{
	size_t used;
	struct archive *tar = tar_begin(archive_write_add_filter_gzip, &used);

	add_entry(tar, "./usr/share/doc/x", AE_IFREG, NULL, "text", 4);
	tar_end(tar);
	put_package("other.deb", "data.tar.gz", memory, used);
	expect_error("other.deb", ": there is no glibc in it: no libc.so.6");
	put_package("control.deb", "control.tar.gz", memory, used);
	expect_error("control.deb", ": a folder or a Debian package was expected");
	put_package("cut.deb", "data.tar.gz", memory, used / 2);
	{
		CLEANUP_FREE char *path = xasprintf("%s/cut.deb", folder);
		CLEANUP_FREE char *got = payload_of(path);

		ck_assert_ptr_nonnull(strstr(got, "/cut.deb: a damaged Debian package: "));
	}
}
END_TEST

/* 600 MB of zeros, which pack to less than 1. */
START_TEST(a_package_that_unpacks_to_much)
{
	static const char zeros[1 << 20];
	size_t used;
	struct archive *tar = tar_begin(archive_write_add_filter_gzip, &used);
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, "./usr/lib/libc.so.6");
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_size(entry, (la_int64_t)600 << 20);
	ck_assert_int_eq(archive_write_header(tar, entry), ARCHIVE_OK);
	for (unsigned i = 0; i < 600; i++)
		ck_assert_int_eq(archive_write_data(tar, zeros, sizeof(zeros)), sizeof(zeros));
	archive_entry_free(entry);
	tar_end(tar);
	put_package("bomb.deb", "data.tar.gz", memory, used);
	expect_error("bomb.deb", ": unpacks to more than 512 MB; a package of glibc was expected");
}
END_TEST

START_TEST(a_package_of_too_many_files)
{
	size_t used;
	struct archive *tar = tar_begin(archive_write_add_filter_gzip, &used);

	for (unsigned i = 0; i < 20001; i++)
		add_entry(tar, "./usr/share/doc/x", AE_IFREG, NULL, "text", 4);
	tar_end(tar);
	put_package("many.deb", "data.tar.gz", memory, used);
	expect_error("many.deb", ": holds more than 20000 files; a package of glibc was expected");
}
END_TEST

Suite *suite_libc(void);
Suite *suite_libc(void)
{
	Suite *suite = suite_create("libc");
	TCase *tcase = tcase_create("libc");

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_folder_of_libraries_a_root_and_a_build_tree);
	tcase_add_test(tcase, links_stay_in_the_folder);
	tcase_add_test(tcase, what_is_no_glibc);
	tcase_add_test(tcase, packages);
	tcase_add_test(tcase, packages_that_are_none);
	tcase_add_test(tcase, a_package_that_unpacks_to_much);
	tcase_add_test(tcase, a_package_of_too_many_files);
	suite_add_tcase(suite, tcase);
	return suite;
}
