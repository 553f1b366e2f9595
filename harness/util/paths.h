/* SPDX-License-Identifier: MIT */
/*
 * Where the lab's own files are: the data (cpu-models/) and the guest images. In a build tree they
 * are found beside the program; installed, in the places that the Makefile compiled in
 * (QUIRKLAB_DATADIR, QUIRKLAB_LIBEXECDIR). The environment variables QUIRKLAB_MODELS and
 * QUIRKLAB_IMAGES override both, for tests.
 */
#ifndef QUIRKLAB_HARNESS_UTIL_PATHS_H
#define QUIRKLAB_HARNESS_UTIL_PATHS_H

char *path_models(const char *file); /* .../cpu-models/FILE; the caller frees it */
char *path_image(const char *file);  /* .../images/FILE, such as bare.elf or agent; caller frees */
/* The user's cache, .../quirklab/PART; caller frees. NULL where this user has none of his own. */
char *path_cache(const char *part);

#endif
