// SPDX-License-Identifier: MIT
/* The user's folders that libvirt's drivers write to: lent where the user has none. */
#include "harness/guest/home.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/root.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* It is there, or can be made: what is there of the way to it decides. */
static bool can_be_written(const char *folder)
{
	CLEANUP_FREE char *path = xstrdup(folder);
	char *slash;

	while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) && slash > path)
		*slash = '\0';
	return *folder == '/' && access(path, W_OK | X_OK) == 0;
}

static const char *home(void)
{
	const char *named = getenv("HOME");
	const struct passwd *entry;

	if (named && *named)
		return named;
	entry = getpwuid(geteuid());
	return entry ? entry->pw_dir : "/";
}

/* The folder that a variable of the specification stands for, or its default below the home. */
static void lend(const char *variable, const char *in_home)
{
	const char *named = getenv(variable);
	CLEANUP_FREE char *usual = xasprintf("%s/%s", home(), in_home);
	CLEANUP_FREE char *ours = NULL;

	if (can_be_written(named && *named ? named : usual))
		return;
	ours = root_private_folder(in_home);
	if (ours)
		setenv(variable, ours, 1);
}

void home_lend(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		return; /* its libvirt has /run and /var */
	/* After su it may still be the other user's. Without one libvirt takes the cache. */
	if (runtime && *runtime && !can_be_written(runtime))
		unsetenv("XDG_RUNTIME_DIR");
	lend("XDG_CACHE_HOME", ".cache");
	lend("XDG_CONFIG_HOME", ".config");
}
