/* SPDX-License-Identifier: MIT */
/*
 * What the agent is to run, as the harness writes it: a file of strings, each ended by a NUL,
 *
 *   argument=WORD    one of argv, in order; the first is the program's name in its root
 *   environment=NAME=VALUE
 *   seconds=N        a program that writes nothing for so long is killed, and one that does not
 *                    end in JOB_TOTAL_FACTOR times as long
 *   read-only=1      the program has no use for a root that it can write to
 *
 * and nothing else. In an initramfs the job is JOB_FILE and the program's root is JOB_ROOT, of
 * which the agent makes a fresh copy for each CPU (harness/guest/payload.h says why), or, of a job
 * that is read-only, one for each kind of CPU. In a
 * distribution's image there is no JOB_ROOT: the program runs in the image's own root.
 */
#ifndef QUIRKLAB_IMAGES_LINUX_JOB_H
#define QUIRKLAB_IMAGES_LINUX_JOB_H

#define JOB_FOLDER "/quirklab"
#define JOB_FILE   JOB_FOLDER "/job"
#define JOB_ROOT   JOB_FOLDER "/root"
#define JOB_COPY   JOB_FOLDER "/copy" /* where the program's copy of JOB_ROOT is mounted */
#define JOB_KEPT   JOB_FOLDER "/kept" /* the copies that more than one CPU may use */
#define JOB_AGENT                                                                       \
	JOB_FOLDER "/agent" /* in a distribution's image; the initramfs has it as /init \
			     */
/* Where the program itself is in its root, and its working folder. */
#define JOB_SUBJECT "/subject"

#define JOB_ARGUMENT	"argument"
#define JOB_ENVIRONMENT "environment"
#define JOB_SECONDS	"seconds"
#define JOB_READ_ONLY	"read-only"

#define JOB_SECONDS_DEFAULT 60
#define JOB_SECONDS_MOST    86400
#define JOB_TOTAL_FACTOR    5
#define JOB_BYTES_MAX	    (256 * 1024)

/* How many CPUs are plugged beside the boot CPU, each another subject of the run: a word of the
 * kernel's command line, which it makes a variable of. Without it the boot CPU is the one. */
#define JOB_CPUS_WORD "quirklab_cpus"
/* A number for each of them, with commas between: CPUs of one number have the same bits, so that
 * code that was translated for one serves the other. Without it no two are alike. */
#define JOB_KINDS_WORD "quirklab_kinds"

#endif
