/* SPDX-License-Identifier: MIT */
/* A program of user space as the subject. */
#ifndef QUIRKLAB_IMAGES_LINUX_PROGRAM_H
#define QUIRKLAB_IMAGES_LINUX_PROGRAM_H

#include "tests/dispatch/selftest.h"

/* The job of JOB_FILE; NULL where there is none, or it is not one (errno). */
struct program_job;
struct program_job *program_job_read(void);

/*
 * Runs it once on the CPU that this thread is bound to, and reports that CPU from REPORT_START (the
 * kernel's release) and its CPUID to REPORT_DONE. platform->cpu is the number in the frames.
 * Nothing of the program is left when it returns: no process, and no copy of its files, but one
 * that it could not write to, for other CPUs of this kind. A kind below 0 is like no other.
 */
void program_report(const struct program_job *job, int kind,
		    const struct selftest_platform *platform);

#endif
