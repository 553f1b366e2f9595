// SPDX-License-Identifier: MIT
/* Where the lab's own files are: an override, the build tree, or where they were installed. */
#include "harness/util/paths.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* The folder of the running program, without a slash at the end; NULL where /proc does not say. */
static char *program_folder(void)
{
	char link[4096];
	ssize_t length = readlink("/proc/self/exe", link, sizeof(link) - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	link[length] = '\0';
	slash = strrchr(link, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return xstrdup(link);
}

/* The first folder that has `mark`: OVERRIDE, PROGRAM/beside (a build tree), else `installed`. */
static char *find(const char *override, const char *const beside[], const char *mark,
		  const char *installed, const char *file)
{
	const char *chosen = getenv(override);
	CLEANUP_FREE char *program = program_folder();

	if (chosen && *chosen)
		return xasprintf("%s/%s", chosen, file);
	for (size_t i = 0; program && beside[i]; i++) {
		CLEANUP_FREE char *sign = xasprintf("%s/%s/%s", program, beside[i], mark);

		if (access(sign, F_OK) == 0)
			return xasprintf("%s/%s/%s", program, beside[i], file);
	}
	return xasprintf("%s/%s", installed, file);
}

/* A program of the build tree is build/quirklab or build/tests/NAME; the build tree has a link to
 * the data and a folder of images. An installed one may have been moved together with its prefix.
 */
char *path_models(const char *file)
{
	static const char *const beside[] = { "cpu-models", "../cpu-models",
					      "../share/quirklab/cpu-models", NULL };

	return find("QUIRKLAB_MODELS", beside, "catalogue.tsv", QUIRKLAB_DATADIR "/cpu-models",
		    file);
}

char *path_image(const char *file)
{
	static const char *const beside[] = { "images", "../images", "../libexec/quirklab/images",
					      NULL };

	return find("QUIRKLAB_IMAGES", beside, "bare.elf", QUIRKLAB_LIBEXECDIR "/images", file);
}

/* After su or sudo it may still be the other user's, whose files are not to be trusted, nor to be
 * made ours. */
static bool is_own(const char *path)
{
	struct stat status;

	if (!path || path[0] != '/')
		return false;
	if (stat(path, &status) < 0)
		return errno == ENOENT; /* is made */
	return status.st_uid == geteuid();
}

char *path_cache(const char *part)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char room[4096];
	struct passwd entry, *found = NULL;

	if (is_own(cache))
		return xasprintf("%s/quirklab/%s", cache, part);
	if (!is_own(home)) {
		if (getpwuid_r(geteuid(), &entry, room, sizeof(room), &found) || !found)
			return NULL;
		home = found->pw_dir;
	}
	return xasprintf("%s/.cache/quirklab/%s", home, part);
}
