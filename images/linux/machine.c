// SPDX-License-Identifier: MIT
/* What PID 1 needs of the guest's machine, in terms of Linux. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "images/linux/machine.h"
#include "images/protocol.h"
#include "tests/dispatch/dispatch.h"

#define REPORT_PORT "/dev/ttyS1"

/* Intel SDM volume 4: IA32_MISC_ENABLE, bit 0 "fast-strings enable". */
#define MSR_MISC_ENABLE	 0x1A0
#define MISC_ENABLE_FAST 1ULL
#define MSR_DEVICE	 "/dev/cpu/%d/msr"
/* Linux, arch/x86/kernel/cpu/intel.c, said once where the bit is clear. */
#define FAST_STRINGS_ARE_OFF "Disabled fast string operations"

int machine_mount(void)
{
	/* The last two: for programs, which may do without. */
	static const struct {
		const char *type, *where;
		bool needed;
	} mounts[] = {
		{ "proc", "/proc", true },	 { "sysfs", "/sys", true },
		{ "devtmpfs", "/dev", true },	 { "tmpfs", "/dev/shm", false },
		{ "devpts", "/dev/pts", false },
	};
	size_t i;

	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (!mounts[i].needed)
			mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, NULL) < 0 &&
		    errno != EBUSY && mounts[i].needed)
			return -1;
	}
	return 0;
}

bool machine_word(const char *word, const char *value)
{
	char line[4096]; /* the kernel takes 2 KiB */
	int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	size_t word_length = strlen(word);
	char *save = NULL;

	if (fd >= 0)
		close(fd);
	line[length > 0 ? length : 0] = '\0';
	for (const char *at = strtok_r(line, " \n", &save); at; at = strtok_r(NULL, " \n", &save))
		if (!strncmp(at, word, word_length) && at[word_length] == '=' &&
		    !strcmp(at + word_length + 1, value))
			return true;
	return false;
}

int machine_open_report(void)
{
	/* A port that does not exist has a device node all the same, and answers EIO. */
	int fd = open(REPORT_PORT, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios mode;

	if (fd < 0)
		return -1;
	if (tcgetattr(fd, &mode) == 0) {
		cfmakeraw(&mode);
		mode.c_cflag |= CLOCAL | CREAD;
		cfsetspeed(&mode, B115200);
		if (tcsetattr(fd, TCSANOW, &mode) == 0)
			return fd;
	}
	close(fd);
	return -1;
}

int machine_write(int fd, const void *bytes, size_t length)
{
	const char *next = bytes;

	while (length) {
		ssize_t done = write(fd, next, length);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		next += done;
		length -= (size_t)done;
	}
	return 0;
}

/* Whether the kernel's log has a record that contains the words. */
static int kernel_said(const char *words)
{
	char record[8192]; /* the kernel's own limit of a record is 8 KiB in total */
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int said = 0;

	while (fd >= 0 && !said) {
		ssize_t length = read(fd, record, sizeof(record) - 1);

		if (length < 0 && errno == EPIPE)
			continue; /* older records were overwritten: go on with the next */
		if (length <= 0)
			break;
		record[length] = '\0';
		said = strstr(record, words) != NULL;
	}
	if (fd >= 0)
		close(fd);
	return said;
}

uint32_t machine_misc_enable(void)
{
	struct dispatch_registers leaf;
	uint64_t value;
	uint32_t result = REPORT_MISC_ENABLE_UNREAD;
	char device[32];
	int fd;

	dispatch_cpuid_instruction(NULL, 0, 0, &leaf);
	if (leaf.ebx != 0x756E6547) /* "Genu" */
		return result;
	if (kernel_said(FAST_STRINGS_ARE_OFF))
		return REPORT_MISC_ENABLE_CLEAR;
	snprintf(device, sizeof(device), MSR_DEVICE, sched_getcpu());
	fd = open(device, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return result;
	if (pread(fd, &value, sizeof(value), MSR_MISC_ENABLE) == (ssize_t)sizeof(value))
		result = value & MISC_ENABLE_FAST ? REPORT_MISC_ENABLE_SET
						  : REPORT_MISC_ENABLE_CLEAR;
	close(fd);
	return result;
}

void machine_drain_console(void)
{
	fflush(NULL);
	tcdrain(STDOUT_FILENO);
}

void machine_off(int report)
{
	if (report >= 0)
		tcdrain(report);
	machine_drain_console();
	reboot(RB_POWER_OFF);
	for (;;)
		pause(); /* without a way to power off: the harness ends the guest */
}
