// SPDX-License-Identifier: MIT
/* Linux guests, the host's half: the initramfs, the choice of a kernel; and the parts of the agent
 * that do not need a guest. */
#include <archive.h>
#include <archive_entry.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/guest/kernel.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "images/linux/cpuinfo.h"
#include "images/linux/platform.h"
#include "tests/dispatch/dispatch.h"

Suite *suite_linux(void);

#define USER_NOBODY 65534

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

static void put(const char *name, const char *text)
{
	CLEANUP_FREE char *path = in_folder(name);
	CLEANUP_FREE char *parent = xstrdup(path);

	*strrchr(parent, '/') = '\0';
	ck_assert_int_eq(folder_make(parent, NULL), 0);
	ck_assert_int_eq(file_write(path, text, strlen(text), NULL), 0);
}

/* --- the initramfs --- */

static const char agent_text[] = "\177ELF and so on";

static const struct member {
	const char *name;
	mode_t mode;
	unsigned major, minor;
	const char *text;
} members[] = {
	{ "dev", S_IFDIR | 0755, 0, 0, "" },
	{ "proc", S_IFDIR | 0755, 0, 0, "" },
	{ "sys", S_IFDIR | 0755, 0, 0, "" },
	{ "tmp", S_IFDIR | 0755, 0, 0, "" },
	/* Documentation/admin-guide/devices.txt: 5 char, minor 1 is /dev/console. */
	{ "dev/console", S_IFCHR | 0600, 5, 1, "" },
	{ "init", S_IFREG | 0755, 0, 0, agent_text },
};

START_TEST(initramfs_has_what_a_kernel_needs)
{
	CLEANUP_FREE char *agent = in_folder("agent");
	CLEANUP_FREE char *path = in_folder("initramfs");
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	struct error err = { 0 };
	size_t i;

	put("agent", agent_text);
	ck_assert_msg(initramfs_write(path, agent, NULL, &err) == 0, "%s", err.text);
	archive_read_support_format_cpio(archive);
	ck_assert_int_eq(archive_read_open_filename(archive, path, 4096), ARCHIVE_OK);
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *member = &members[i];
		char text[64] = "";

		ck_assert_int_eq(archive_read_next_header(archive, &entry), ARCHIVE_OK);
		/* newc, the one format that the kernel reads */
		ck_assert_int_eq(archive_format(archive), ARCHIVE_FORMAT_CPIO_SVR4_NOCRC);
		ck_assert_str_eq(archive_entry_pathname(entry), member->name);
		ck_assert_uint_eq(archive_entry_mode(entry), member->mode);
		ck_assert_int_eq(archive_entry_uid(entry), 0);
		ck_assert_int_eq(archive_entry_gid(entry), 0);
		ck_assert_int_eq(archive_entry_mtime(entry), 0);
		ck_assert_uint_eq(archive_entry_nlink(entry), 1);
		ck_assert_uint_eq(archive_entry_rdevmajor(entry), member->major);
		ck_assert_uint_eq(archive_entry_rdevminor(entry), member->minor);
		ck_assert_int_eq(archive_entry_size(entry), (int)strlen(member->text));
		ck_assert_int_ge(archive_read_data(archive, text, sizeof(text) - 1), 0);
		ck_assert_str_eq(text, member->text);
	}
	ck_assert_int_eq(archive_read_next_header(archive, &entry), ARCHIVE_EOF);
	archive_read_free(archive);
}
END_TEST

/* 44 bytes of headers, 8 for each of 201 CPUs, 12 for the I/O APIC, 5 times 10 for interrupts that
 * are elsewhere, 6 for the NMI. */
#define MADT_BYTES 1720

static void expect_madt(const unsigned char *table)
{
	static const unsigned char last_cpu[] = { 0, 8, 200, 200, 1, 0, 0, 0 };
	static const unsigned char io_apic[] = { 1, 12, 0, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0 };
	static const unsigned char timer[] = { 2, 10, 0, 0, 2, 0, 0, 0, 0, 0 };
	static const unsigned char nmi[] = { 4, 6, 255, 0, 0, 1 };
	unsigned sum = 0;

	ck_assert_mem_eq(table, "APIC\xb8\x06\0\0", 8);
	for (size_t i = 0; i < MADT_BYTES; i++)
		sum += table[i];
	ck_assert_uint_eq(sum % 256, 0);
	/* QEMU's names and a revision above its 1, or the kernel keeps QEMU's */
	ck_assert_mem_eq(table + 10, "BOCHS BXPC    \2\0\0\0", 18);
	ck_assert_mem_eq(table + 44 + 200 * 8, last_cpu, sizeof(last_cpu));
	ck_assert_mem_eq(table + 44 + 201 * 8, io_apic, sizeof(io_apic));
	ck_assert_mem_eq(table + 44 + 201 * 8 + 12, timer, sizeof(timer));
	ck_assert_mem_eq(table + MADT_BYTES - sizeof(nmi), nmi, sizeof(nmi));
}

/* The table stands in an archive of its own before the one that the kernel unpacks. */
START_TEST(initramfs_of_a_rack)
{
	static const char member[] = "kernel/firmware/acpi/madt.aml";
	CLEANUP_FREE char *agent = in_folder("agent");
	CLEANUP_FREE char *plain = in_folder("plain");
	CLEANUP_FREE char *rack = in_folder("rack");
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FREE char *tail = NULL;
	size_t length, tail_length;

	put("agent", agent_text);
	ck_assert_int_eq(initramfs_write(plain, agent, NULL, NULL), 0);
	ck_assert_int_eq(initramfs_write_rack(rack, plain, NULL), 0);
	ck_assert_int_eq(file_read(rack, 1 << 20, &bytes, &length, NULL), 0);
	ck_assert_int_eq(file_read(plain, 1 << 20, &tail, &tail_length, NULL), 0);
	/* newc: a header of 110 bytes, the name, the content, each to a multiple of 4 */
	ck_assert_mem_eq(bytes, "070701", 6);
	ck_assert_mem_eq(bytes + 110, member, sizeof(member));
	expect_madt((unsigned char *)bytes + 140);
	ck_assert_mem_eq(bytes + 140 + MADT_BYTES + 110, "TRAILER!!!", 11);
	ck_assert_uint_eq((length - tail_length) % 4, 0);
	ck_assert_mem_eq(bytes + length - tail_length, tail, tail_length);
}
END_TEST

START_TEST(initramfs_depends_on_the_agent_alone)
{
	CLEANUP_FREE char *agent = in_folder("agent");
	CLEANUP_FREE char *other = in_folder("other/agent");
	CLEANUP_FREE char *path = in_folder("one");
	CLEANUP_FREE char *path_other = in_folder("two");
	CLEANUP_FREE char *one = NULL;
	CLEANUP_FREE char *two = NULL;
	const struct timespec long_ago[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	size_t length, length_other;

	put("agent", agent_text);
	put("other/agent", agent_text);
	ck_assert_int_eq(utimensat(AT_FDCWD, other, long_ago, 0), 0);
	ck_assert_int_eq(chmod(other, 0600), 0);
	ck_assert_int_eq(initramfs_write(path, agent, NULL, NULL), 0);
	ck_assert_int_eq(initramfs_write(path_other, other, NULL, NULL), 0);
	ck_assert_int_eq(file_read(path, 1 << 20, &one, &length, NULL), 0);
	ck_assert_int_eq(file_read(path_other, 1 << 20, &two, &length_other, NULL), 0);
	ck_assert_uint_eq(length, length_other);
	ck_assert_mem_eq(one, two, length);
}
END_TEST

START_TEST(initramfs_is_whole_or_not_there)
{
	CLEANUP_FREE char *agent = in_folder("agent");
	CLEANUP_FREE char *path = in_folder("initramfs");
	CLEANUP_FREE char *nowhere = in_folder("no-folder/initramfs");
	CLEANUP_FREE char *bytes = NULL;
	struct error err = { 0 };
	size_t length;

	put("initramfs", "the old one");
	ck_assert_int_eq(initramfs_write(path, agent, NULL, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, agent));
	put("agent", "#!/bin/sh\n");
	ck_assert_int_eq(initramfs_write(path, agent, NULL, &err), -1);
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "make images"));
	ck_assert_int_eq(file_read(path, 1 << 20, &bytes, &length, NULL), 0);
	ck_assert_str_eq(bytes, "the old one");
	put("agent", agent_text);
	ck_assert_int_eq(initramfs_write(nowhere, agent, NULL, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, nowhere));
}
END_TEST

/* --- the kernel --- */

static char *find(struct error *err)
{
	CLEANUP_FREE char *boot = in_folder("boot");
	CLEANUP_FREE char *modules = in_folder("modules");

	return kernel_find_in(boot, modules, err);
}

static void expect_kernel(const char *name)
{
	CLEANUP_FREE char *expected = in_folder(name);
	struct error err = { 0 };
	CLEANUP_FREE char *found = find(&err);

	ck_assert_msg(found != NULL, "%s", err.text);
	ck_assert_str_eq(found, expected);
}

START_TEST(kernel_newest_by_version)
{
	put("boot/vmlinuz-0-rescue-fedora", "k");
	expect_kernel("boot/vmlinuz-0-rescue-fedora");
	put("boot/vmlinuz-6.1.0-57-cloud-amd64", "k");
	put("boot/vmlinuz-6.1.0-9-cloud-amd64", "k");
	expect_kernel("boot/vmlinuz-6.1.0-57-cloud-amd64");
	/* As text, 6.12.9 would be the newer one. */
	put("boot/vmlinuz-6.12.10-amd64", "k");
	put("modules/6.12.9-amd64/vmlinuz", "k");
	expect_kernel("boot/vmlinuz-6.12.10-amd64");
	put("modules/6.12.11-amd64/vmlinuz", "k");
	expect_kernel("modules/6.12.11-amd64/vmlinuz");
	put("boot/vmlinuz-6.12.11-amd64", "k");
	expect_kernel("boot/vmlinuz-6.12.11-amd64");
}
END_TEST

START_TEST(kernel_is_a_file_with_something_in_it)
{
	CLEANUP_FREE char *directory = in_folder("boot/vmlinuz-9.1");
	CLEANUP_FREE char *dangling = in_folder("boot/vmlinuz-9.2");

	put("boot/vmlinuz-6.1", "k");
	put("boot/initrd.img-9.3", "k");
	put("boot/vmlinuz-9.4", "");
	put("modules/9.5/modules.dep", "k");
	ck_assert_int_eq(folder_make(directory, NULL), 0);
	ck_assert_int_eq(symlink("nowhere", dangling), 0);
	expect_kernel("boot/vmlinuz-6.1");
}
END_TEST

START_TEST(kernel_none_names_the_remedy)
{
	struct error err = { 0 };

	ck_assert_ptr_null(find(&err));
	ck_assert_int_eq(err.kind, ERROR_LAB);
	ck_assert_ptr_nonnull(strstr(err.text, "make deps"));
	ck_assert_ptr_nonnull(strstr(err.text, "linux-image-cloud-amd64"));
}
END_TEST

/* Ubuntu installs kernels with mode 0600. Root may read everything, so another user looks. */
static int look_as_another_user(void)
{
	CLEANUP_FREE char *found = NULL;
	struct error err = { 0 };

	if (getuid() == 0 && setuid(USER_NOBODY) < 0)
		return 10;
	found = find(&err);
	if (found)
		return strstr(found, "vmlinuz-6.1") ? 0 : 11;
	return strstr(err.text, "chmod a+r") && strstr(err.text, "vmlinuz-6.8") ? 1 : 12;
}

static int exit_status_of_a_look(void)
{
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(look_as_another_user());
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(kernel_that_this_user_may_not_read)
{
	CLEANUP_FREE char *secret = in_folder("boot/vmlinuz-6.8");
	CLEANUP_FREE char *readable = in_folder("boot/vmlinuz-6.1");

	put("boot/vmlinuz-6.8", "k");
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert_int_eq(chmod(secret, 0), 0);
	ck_assert_int_eq(exit_status_of_a_look(), 1);
	put("boot/vmlinuz-6.1", "k");
	ck_assert_int_eq(chmod(readable, 0644), 0);
	ck_assert_int_eq(exit_status_of_a_look(), 0);
}
END_TEST

/* --- parts of the agent --- */

START_TEST(cpuinfo_of_the_first_cpu)
{
	CLEANUP_FREE char *path = in_folder("cpuinfo");
	struct cpuinfo info;

	put("cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
		       "model\t\t: 33\nmodel name\t: 77 cores: model 5\nstepping\t: 2\n"
		       "flags\t\t: fpu\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n"
		       "cpu family\t: 6\nmodel\t\t: 1\nstepping\t: 1\n");
	ck_assert_int_eq(cpuinfo_read(path, &info), 0);
	ck_assert_str_eq(info.vendor, "AuthenticAMD");
	ck_assert_uint_eq(info.family, 25);
	ck_assert_uint_eq(info.model, 33);
	ck_assert_uint_eq(info.stepping, 2);
	/* Blanks belong to the name: leaf 0 of a Zhaoxin says "  Shanghai  ". */
	put("cpuinfo",
	    "vendor_id\t:   Shanghai  \ncpu family\t: 7\nmodel\t\t: 59\nstepping\t: 0\n");
	ck_assert_int_eq(cpuinfo_read(path, &info), 0);
	ck_assert_str_eq(info.vendor, "  Shanghai  ");
}
END_TEST

START_TEST(cpuinfo_that_lacks_something)
{
	CLEANUP_FREE char *path = in_folder("cpuinfo");
	struct cpuinfo info;

	ck_assert_int_eq(cpuinfo_read(path, &info), -1);
	ck_assert_int_eq(errno, ENOENT);
	put("cpuinfo",
	    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel name\t: 7\nstepping\t: 1\n");
	ck_assert_int_eq(cpuinfo_read(path, &info), -1);
	ck_assert_int_eq(errno, ENODATA);
}
END_TEST

START_TEST(cpuinfo_of_this_machine)
{
	struct dispatch_cpu cpu;
	struct cpuinfo info;

	ck_assert_int_eq(cpuinfo_read("/proc/cpuinfo", &info), 0);
	dispatch_identify(&cpu, dispatch_cpuid_instruction, NULL, true);
	ck_assert_str_eq(cpu.vendor, info.vendor);
	ck_assert_uint_eq(cpu.family, info.family);
	ck_assert_uint_eq(cpu.model, info.model);
	ck_assert_uint_eq(cpu.stepping, info.stepping);
}
END_TEST

/* Faults that are nobody's: the agent's last words need the vector and the place. */
#define FAULT_AS_EXPECTED 77

extern const char fault_here[];

static void expect_invalid_opcode(const struct platform_fault *fault)
{
	_exit(fault->signal == SIGILL && fault->exception && fault->vector == 6 &&
			      fault->rip == (uintptr_t)fault_here
		      ? FAULT_AS_EXPECTED
		      : 1);
}

START_TEST(platform_reports_an_exception)
{
	ck_assert_int_eq(platform_install(expect_invalid_opcode), 0);
	__asm__ volatile(".globl fault_here\nfault_here: ud2");
}
END_TEST

static void expect_abort(const struct platform_fault *fault)
{
	_exit(fault->signal == SIGABRT && !fault->exception ? FAULT_AS_EXPECTED : 1);
}

START_TEST(platform_reports_a_signal)
{
	ck_assert_int_eq(platform_install(expect_abort), 0);
	abort();
}
END_TEST

START_TEST(platform_without_a_last_word_dies_as_usual)
{
	ck_assert_int_eq(platform_install(NULL), 0);
	__asm__ volatile("ud2");
}
END_TEST

START_TEST(platform_can_be_removed)
{
	ck_assert_int_eq(platform_install(expect_abort), 0);
	platform_remove();
	abort();
}
END_TEST

Suite *suite_linux(void)
{
	Suite *suite = suite_create("linux");
	TCase *tcase = tcase_create("initramfs");

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, initramfs_has_what_a_kernel_needs);
	tcase_add_test(tcase, initramfs_of_a_rack);
	tcase_add_test(tcase, initramfs_depends_on_the_agent_alone);
	tcase_add_test(tcase, initramfs_is_whole_or_not_there);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("kernel");
	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, kernel_newest_by_version);
	tcase_add_test(tcase, kernel_is_a_file_with_something_in_it);
	tcase_add_test(tcase, kernel_none_names_the_remedy);
	tcase_add_test(tcase, kernel_that_this_user_may_not_read);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("agent");
	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, cpuinfo_of_the_first_cpu);
	tcase_add_test(tcase, cpuinfo_that_lacks_something);
	tcase_add_test(tcase, cpuinfo_of_this_machine);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("platform");
	tcase_add_exit_test(tcase, platform_reports_an_exception, FAULT_AS_EXPECTED);
	tcase_add_exit_test(tcase, platform_reports_a_signal, FAULT_AS_EXPECTED);
	tcase_add_test_raise_signal(tcase, platform_without_a_last_word_dies_as_usual, SIGILL);
	tcase_add_test_raise_signal(tcase, platform_can_be_removed, SIGABRT);
	suite_add_tcase(suite, tcase);
	return suite;
}
