/* SPDX-License-Identifier: MIT */
/* The guest's machine, as PID 1 needs it: file systems, the report port, the way to end. */
#ifndef QUIRKLAB_IMAGES_LINUX_MACHINE_H
#define QUIRKLAB_IMAGES_LINUX_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mounts /proc, /sys and /dev. -1 with errno. */
int machine_mount(void);

/* Whether the kernel's command line has WORD=VALUE. An initrd may start PID 1 without the variables
 * that the kernel makes of its words. */
bool machine_word(const char *word, const char *value);

/* Opens the report port raw: every byte arrives as it was sent. Returns the descriptor, or -1 with
 * errno (EIO: the machine has no such port). */
int machine_open_report(void);

/* Writes everything, blocking. -1 with errno. */
int machine_write(int fd, const void *bytes, size_t length);

/* enum report_misc_enable of the CPU that runs this. */
uint32_t machine_misc_enable(void);

/* Waits until what was written to the console has left. */
void machine_drain_console(void);

/* Waits until what was written to the report port (-1: none) and the console has left, and powers
 * the machine off. */
void machine_off(int report) __attribute__((noreturn));

#endif
