// SPDX-License-Identifier: MIT
/* The script that makes QEMU run all CPUs in one thread. */
#include "harness/guest/single_thread.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libvirt/virterror.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

/* `for` goes over the words as they were; each leaves in front and comes back at the end. */
static const char words[] = "#!/bin/sh\n"
			    "last=\n"
			    "for word; do\n"
			    "\tshift\n"
			    "\tcase $last:$word in -accel:tcg) word=tcg,thread=single ;; esac\n"
			    "\tset -- \"$@\" \"$word\"\n"
			    "\tlast=$word\n"
			    "done\n";

/* libvirt keeps what it knows of an emulator by the path, until the file there is another: a QEMU
 * that was updated needs a script of another name. Caller frees. */
static char *script_path(const char *folder, const char *emulator)
{
	const char *name = strrchr(emulator, '/');
	struct stat st;

	if (!name || stat(emulator, &st) < 0)
		return NULL;
	return xasprintf("%s/%lx-%lx-%lx-%s", folder, (unsigned long)st.st_ino,
			 (unsigned long)st.st_size, (unsigned long)st.st_ctime, name + 1);
}

/* One that is there is left alone: to libvirt one written anew would be another emulator. */
static int write_script(const char *path, const char *emulator)
{
	CLEANUP_TEXT struct text script = { 0 };
	CLEANUP_FREE char *there = NULL;
	size_t length = 0;

	text_addf(&script, "%sexec ", words);
	text_add_word(&script, emulator);
	text_addf(&script, " \"$@\"\n");
	if (file_read(path, script.length, &there, &length, NULL) == 0 && length == script.length &&
	    !memcmp(there, script.bytes, length))
		return access(path, X_OK);
	if (file_write(path, script.bytes, script.length, NULL) < 0)
		return -1;
	return chmod(path, 0755) < 0 ? -1 : access(path, X_OK);
}

char *single_thread_script(const char *folder, const char *emulator)
{
	char *path = script_path(folder, emulator);

	if (path && folder_make(folder, NULL) == 0 && write_script(path, emulator) == 0)
		return path;
	free(path);
	return NULL;
}

static char *make(virConnectPtr libvirt, const char *emulator)
{
	CLEANUP_FREE char *folder = path_cache("emulators");
	CLEANUP_FREE char *path = folder ? single_thread_script(folder, emulator) : NULL;
	CLEANUP_FREE char *answer = NULL;

	if (!path)
		return NULL;
	answer = virConnectGetDomainCapabilities(libvirt, path, "x86_64", "pc", "qemu", 0);
	virResetLastError();
	return answer ? xstrdup(path) : NULL;
}

const char *single_thread_emulator(struct single_thread *single, virConnectPtr libvirt,
				   const char *emulator)
{
	pthread_mutex_lock(&single->lock);
	if (!single->asked && emulator)
		single->path = make(libvirt, emulator);
	single->asked = true;
	pthread_mutex_unlock(&single->lock);
	return single->path;
}

void single_thread_free(struct single_thread *single)
{
	pthread_mutex_destroy(&single->lock);
	free(single->path);
}
