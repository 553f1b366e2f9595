/* SPDX-License-Identifier: MIT */
/* Scope-bound clean-up: a variable that is declared with one of these is released on every way out.
 */
#ifndef QUIRKLAB_HARNESS_UTIL_CLEANUP_H
#define QUIRKLAB_HARNESS_UTIL_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_FILE __attribute__((cleanup(cleanup_file)))
#define CLEANUP_FD   __attribute__((cleanup(cleanup_fd)))

#endif
