// SPDX-License-Identifier: MIT
/*
 * The dispatchers of two trees, built by their own Makefiles. A revision is unpacked and built once
 * and kept in the user's cache by the name of its git tree; of the work tree only the objects are
 * kept, and make sees what changed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "lab/child.h"
#include "lab/diff.h"
#include "lab/diff_source.h"
#include "lab/interrupt.h"

#define BUILDS_KEPT  24
#define CC_WORDS     8
#define LOCK_TICK_US 100000

char *side_image(const struct diff_side *side)
{
	return xasprintf("%s/images/bare.elf", side->build);
}

char *side_chooser(const struct diff_side *side)
{
	return xasprintf("%s/chooser", side->build);
}

/* --- the cache --- */

/* FNV-1a (Fowler, Noll, Vo), 64 bits: a folder's name from a path. */
static uint64_t hash(const char *text)
{
	uint64_t value = 0xcbf29ce484222325;

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3;
	return value;
}

/* Waits for as long as another diff takes, unless LOCK_NB is there. */
static int take_lock(int fd, int operation)
{
	bool told = false;

	while (flock(fd, operation | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || operation & LOCK_NB || interrupt_signal())
			return -1;
		if (!told)
			fprintf(stderr, "quirklab: waiting for another diff\n");
		told = true;
		usleep(LOCK_TICK_US);
	}
	return 0;
}

/* FOLDER/lock, made where it is missing. */
static int lock_folder(const char *folder, int operation, struct error *err)
{
	CLEANUP_FREE char *file = xasprintf("%s/lock", folder);
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0 && take_lock(fd, operation) == 0)
		return fd;
	error_set(err, ERROR_LAB, "%s: %s", file, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The folder of all builds, locked until *lock is closed. */
static char *open_cache(int *lock, struct error *err)
{
	char *cache = path_cache("diff");

	if (!cache) {
		error_set(err, ERROR_LAB,
			  "diff builds in the user's cache, and there is none: set "
			  "XDG_CACHE_HOME to a folder of yours");
		return NULL;
	}
	if (folder_make(cache, err) == 0)
		*lock = lock_folder(cache, LOCK_EX, err);
	if (*lock >= 0)
		return cache;
	free(cache);
	return NULL;
}

/* Removes a build that nobody uses. The lock of all builds is held, so nobody begins to. */
static void remove_unused(const char *place)
{
	CLEANUP_FD int lock = lock_folder(place, LOCK_EX | LOCK_NB, NULL);

	if (lock >= 0)
		folder_remove(place, NULL);
}

struct kept {
	char *path;
	time_t used;
};

static int compare_kept(const void *left, const void *right)
{
	const struct kept *a = left, *b = right;

	return a->used < b->used ? 1 : a->used > b->used ? -1 : 0;
}

/* Removes the builds that were not used for longest. */
static void prune(const char *cache)
{
	DIR *folder = opendir(cache);
	struct kept *list = NULL;
	const struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder))) {
		struct stat st;
		char *path;

		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock"))
			continue;
		path = xasprintf("%s/%s", cache, entry->d_name);
		if (lstat(path, &st) < 0) {
			free(path);
			continue;
		}
		list = xrealloc(list, (count + 1) * sizeof(*list));
		list[count++] = (struct kept){ path, st.st_mtime };
	}
	if (folder)
		closedir(folder);
	if (count)
		qsort(list, count, sizeof(*list), compare_kept);
	for (size_t i = 0; i < count; i++) {
		if (i >= BUILDS_KEPT)
			remove_unused(list[i].path);
		free(list[i].path);
	}
	free(list);
}

/* --- the sources --- */

/* Whole or not at all: unpacked beside its place, then renamed. */
static int unpack(struct diff_side *side, const char *place, struct error *err)
{
	CLEANUP_FREE char *new = xasprintf("%s/new", place);
	CLEANUP_FREE char *archive = xasprintf("%s/archive.tar", place);
	CLEANUP_FREE char *to = xasprintf("--output=%s", archive);
	const char *const pack[] = { "git", "archive", "--format=tar", to, side->id, NULL };
	const char *const extract[] = { "tar", "-xf", archive, "-C", new, NULL };
	CLEANUP_FREE char *top = NULL;
	CLEANUP_TEXT struct text out = { 0 };
	const char *const find[] = { "git", "rev-parse", "--show-toplevel", NULL };

	/* git archive packs the folder that it runs in. */
	if (child_run(side->title, find, NULL, &out, err) < 0)
		return -1;
	top = strndup(text_string(&out), strcspn(text_string(&out), "\n"));
	if (folder_remove(new, err) < 0 || folder_make(new, err) < 0 ||
	    child_run(side->title, pack, top, NULL, err) < 0 ||
	    child_run(side->title, extract, NULL, NULL, err) < 0)
		return -1;
	unlink(archive);
	if (rename(new, side->tree) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", side->tree, strerror(errno));
	return 0;
}

static char *place_of(const struct diff_side *side, const char *cache)
{
	if (side->id)
		return xasprintf("%s/%s", cache, side->id);
	return xasprintf("%s/work-%016llx", cache, (unsigned long long)hash(side->tree));
}

/* What is built of a revision stays as it is and may be used by many; the work tree's build is one
 * diff's until that has ended. */
static int lock_build(struct diff_side *side, const char *place, struct error *err)
{
	if (folder_make(place, err) < 0)
		return -1;
	side->lock = lock_folder(place, side->id ? LOCK_SH : LOCK_EX, err);
	side->locked = side->lock >= 0;
	return side->locked ? 0 : -1;
}

/*
 * Where compilers put what they need for a moment, as their environment has it: a compiler that is
 * killed with us may leave it, which then ends with the build, or when that is used again.
 */
#define SCRATCH "TMPDIR="

static char *scratch_of(const struct diff_side *side)
{
	return xasprintf(SCRATCH "%s/scratch", side->build);
}

static int empty_scratch(const struct diff_side *side, struct error *err)
{
	CLEANUP_FREE char *scratch = scratch_of(side);
	const char *folder = scratch + strlen(SCRATCH);

	return folder_remove(folder, err) < 0 ? -1 : folder_make(folder, err);
}

static int prepare(struct diff_side *side, const char *place, struct error *err)
{
	CLEANUP_FREE char *dispatcher = NULL;

	side->build = xasprintf("%s/build", place);
	if (folder_make(side->build, err) < 0 || empty_scratch(side, err) < 0)
		return -1;
	utimensat(AT_FDCWD, place, NULL, 0); /* used now */
	if (!side->id)
		return 0;
	side->tree = xasprintf("%s/src", place);
	if (access(side->tree, F_OK) < 0 && unpack(side, place, err) < 0)
		return -1;
	dispatcher = xasprintf("%s/tests/dispatch/dispatch.h", side->tree);
	if (access(dispatcher, R_OK) < 0)
		return error_set(err, ERROR_INPUT,
				 "%s: no revision of quirklab: it has no "
				 "tests/dispatch/dispatch.h",
				 side->title);
	return 0;
}

/* --- building --- */

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static bool is_built(const struct diff_side *side, bool image)
{
	CLEANUP_FREE char *chooser = side_chooser(side);
	CLEANUP_FREE char *bare = side_image(side);

	return side->id && there(chooser) && (!image || there(bare));
}

/* Whoever's warnings a newer compiler adds are no fault of the revision. */
static int start_make(struct child *child, const struct diff_side *side, bool image,
		      struct error *err)
{
	CLEANUP_FREE char *build = xasprintf("B=%s", side->build);
	CLEANUP_FREE char *library = xasprintf("%s/libdispatch.a", side->build);
	CLEANUP_FREE char *bare = side_image(side);
	CLEANUP_FREE char *jobs = xasprintf("-j%ld", sysconf(_SC_NPROCESSORS_ONLN));
	CLEANUP_FREE char *scratch = scratch_of(side);
	const char *const argv[] = {
		"env", scratch,	  "make",  "-s",    "--no-print-directory", jobs,
		build, "OPT=-O1", "WARN=", library, image ? bare : NULL,    NULL
	};

	return child_start_alone(child, argv, side->tree, err);
}

static int end_make(struct child *child, const struct diff_side *side, struct error *err)
{
	int status = child_wait(child), result = 0;
	enum error_kind kind;
	char complaint[512];

	kind = child_complaint(child, complaint, sizeof(complaint));
	if (status > 128)
		result = error_set(err, ERROR_LAB, "%s: make: ended by signal %d", side->title,
				   status - 128);
	else if (status)
		result = error_set(err, kind, "%s: its dispatcher does not build: %s", side->title,
				   complaint);
	child_close(child);
	return result;
}

/* Our program against the tree's dispatch.h, with the tree's dispatcher. */
static int link_chooser(const struct diff_side *side, struct error *err)
{
	CLEANUP_FREE char *source = xasprintf("%s/chooser.c", side->build);
	CLEANUP_FREE char *new = xasprintf("%s/chooser.new", side->build);
	CLEANUP_FREE char *chooser = side_chooser(side);
	CLEANUP_FREE char *library = xasprintf("%s/libdispatch.a", side->build);
	CLEANUP_FREE char *include = xasprintf("-I%s", side->tree);
	const char *compiler = getenv("CC");
	CLEANUP_FREE char *words = xstrdup(compiler && *compiler ? compiler : "cc");
	const char *const rest[] = { "-std=gnu17", "-O1", "-no-pie", include,
				     "-o",	   new,	  source,    library };
	CLEANUP_FREE char *scratch = scratch_of(side);
	const char *argv[2 + CC_WORDS + sizeof(rest) / sizeof(*rest) + 1] = { "env", scratch };
	size_t count = 2;
	char *save = NULL;

	for (char *word = strtok_r(words, " ", &save); word && count < 2 + CC_WORDS;
	     word = strtok_r(NULL, " ", &save))
		argv[count++] = word;
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++)
		argv[count++] = rest[i];
	argv[count] = NULL;
	if (file_write(source, diff_chooser_source, strlen(diff_chooser_source), err) < 0)
		return -1;
	if (child_run(side->title, argv, NULL, NULL, err) < 0)
		return error_prefix(err, "the dispatcher cannot be asked as today's");
	if (rename(new, chooser) < 0)
		return error_set(err, ERROR_LAB, "%s: %s", chooser, strerror(errno));
	return 0;
}

/* Both at once. */
static int build(struct diff_side *const sides[], size_t count, bool image, struct error *err)
{
	struct child makes[2];
	bool running[2] = { false, false };
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		bool wants_image = image && i + 1 == count;

		if (is_built(sides[i], wants_image))
			continue;
		result = start_make(&makes[i], sides[i], wants_image, err);
		running[i] = result == 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct error other = { 0 };

		if (!running[i])
			continue;
		if (end_make(&makes[i], sides[i], &other) < 0 && result == 0) {
			*err = other;
			result = -1;
		} else if (result == 0) {
			result = link_chooser(sides[i], err);
		}
	}
	return result;
}

/* What never was built is not kept, nor its sources. */
static void drop_failed(struct diff_side *side, const char *cache)
{
	CLEANUP_FREE char *place = place_of(side, cache);
	CLEANUP_FREE char *chooser = side_chooser(side);

	if (!side->locked || (side->build && there(chooser)))
		return;
	close(side->lock);
	side->locked = false;
	remove_unused(place);
}

/* The lock of all builds is held. */
static int prepare_and_build(struct diff_side *const sides[], size_t count, const char *cache,
			     bool image, struct error *err)
{
	bool same = false;

	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *place = place_of(sides[i], cache);

		if (i) {
			CLEANUP_FREE char *other = place_of(sides[0], cache);

			same = !strcmp(place, other);
		}
		if ((!same && lock_build(sides[i], place, err) < 0) ||
		    prepare(sides[i], place, err) < 0)
			return -1;
	}
	return build(sides + same, count - same, image, err);
}

int diff_build(struct diff *diff, bool image, struct error *err)
{
	struct diff_side *sides[2];
	CLEANUP_FREE char *cache = NULL;
	CLEANUP_FD int lock = -1;
	size_t count = 0;

	if (diff->base.kind == SIDE_TREE)
		sides[count++] = &diff->base;
	if (diff->head.kind == SIDE_TREE)
		sides[count++] = &diff->head;
	else
		image = false;
	if (!count)
		return 0;
	cache = open_cache(&lock, err);
	if (!cache)
		return -1;
	if (prepare_and_build(sides, count, cache, image, err) < 0) {
		for (size_t i = 0; i < count; i++)
			drop_failed(sides[i], cache);
		return -1;
	}
	prune(cache);
	return 0;
}
