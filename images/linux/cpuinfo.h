/* SPDX-License-Identifier: MIT */
/* The kernel's view of the CPU's identity, from /proc/cpuinfo. */
#ifndef QUIRKLAB_IMAGES_LINUX_CPUINFO_H
#define QUIRKLAB_IMAGES_LINUX_CPUINFO_H

struct cpuinfo {
	char vendor[13];
	unsigned family, model, stepping;
};

/* Reads the first CPU of a file in the format of /proc/cpuinfo. -1 with errno: no such file, or
 * (ENODATA) one of the four is not there. */
int cpuinfo_read(const char *path, struct cpuinfo *info);

#endif
