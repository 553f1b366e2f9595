// SPDX-License-Identifier: MIT
/* A guest's payload: its members in order, and the job that says how the program is run. */
#include "harness/guest/payload.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"
#include "images/linux/job.h"

/* All of it lies in the guest's memory more than once: what is larger is a mistake, or wants a disk
 * image. */
#define BYTES_MAX   (256UL << 20)
#define MEMBERS_MAX 4096
#define DEPTH_MAX   32 /* of folders */

struct member {
	char *name;
	mode_t mode;
	void *bytes;
	size_t length;
	char *target;
	bool library;
};

struct payload {
	struct member *members;
	size_t count, room;
	size_t bytes;
	struct text arguments, environment; /* as the job has them */
	unsigned seconds;
	bool read_only;
};

struct payload *payload_new(void)
{
	return xcalloc(1, sizeof(struct payload));
}

static void empty_member(struct member *member)
{
	free(member->name);
	free(member->bytes);
	free(member->target);
}

void payload_free(struct payload *payload)
{
	if (!payload)
		return;
	for (size_t i = 0; i < payload->count; i++)
		empty_member(&payload->members[i]);
	free(payload->members);
	text_free(&payload->arguments);
	text_free(&payload->environment);
	free(payload);
}

size_t payload_bytes(const struct payload *payload)
{
	return payload->bytes;
}

/* --- members -------------------------------------------------------------------------------------
 */

static struct member *find(const struct payload *payload, const char *name)
{
	for (size_t i = 0; i < payload->count; i++)
		if (!strcmp(payload->members[i].name, name))
			return &payload->members[i];
	return NULL;
}

/* Takes what the member owns. One of that name is replaced, but a folder stays one. */
static void put(struct payload *payload, const struct member *member)
{
	struct member *place = find(payload, member->name);

	if (place) {
		payload->bytes -= place->length;
		empty_member(place);
	} else {
		if (payload->count == payload->room) {
			payload->room = payload->room ? 2 * payload->room : 16;
			payload->members = xrealloc(payload->members,
						    payload->room * sizeof(*payload->members));
		}
		place = &payload->members[payload->count++];
	}
	*place = *member;
	payload->bytes += member->length;
}

/* The folders above a name. What is in a folder of the system is the system's, like it. */
static void put_folders(struct payload *payload, const char *name, bool library)
{
	for (const char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		CLEANUP_FREE char *folder = strndup(name, (size_t)(slash - name));
		struct member *there = folder ? find(payload, folder) : NULL;

		if (there)
			there->library &= library;
		else if (folder)
			put(payload, &(struct member){ .name = xstrdup(folder),
						       .mode = S_IFDIR | 0755,
						       .library = library });
	}
}

void payload_add_bytes(struct payload *payload, const char *name, const void *bytes, size_t length,
		       mode_t mode, bool library)
{
	struct member member = { .name = xstrdup(name),
				 .mode = S_IFREG | (mode & 07777),
				 .bytes = xmalloc(length + 1),
				 .length = length,
				 .library = library };

	if (length)
		memcpy(member.bytes, bytes, length);
	put_folders(payload, name, library);
	put(payload, &member);
}

void payload_add_link(struct payload *payload, const char *name, const char *target, bool library)
{
	put_folders(payload, name, library);
	put(payload, &(struct member){ .name = xstrdup(name),
				       .mode = S_IFLNK | 0777,
				       .target = xstrdup(target),
				       .library = library });
}

static int check_room(const struct payload *payload, const char *path, size_t length,
		      struct error *err)
{
	if (payload->count >= MEMBERS_MAX)
		return error_set(err, ERROR_INPUT, "%s: more than %d files for a guest", path,
				 MEMBERS_MAX);
	if (length > BYTES_MAX - payload->bytes)
		return error_set(err, ERROR_INPUT, "%s: more than %lu MiB for a guest", path,
				 BYTES_MAX >> 20);
	return 0;
}

int payload_add_file(struct payload *payload, const char *name, const char *path, bool library,
		     struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	struct stat st;
	size_t length;

	if (stat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s is no file", path);
	if (check_room(payload, path, (size_t)st.st_size, err) < 0 ||
	    file_read(path, BYTES_MAX, &bytes, &length, err) < 0 ||
	    check_room(payload, path, length, err) < 0)
		return -1;
	payload_add_bytes(payload, name, bytes, length, st.st_mode, library);
	return 0;
}

/* --- a tree --------------------------------------------------------------------------------------
 */

static int add_link(struct payload *payload, const char *name, const char *path, struct error *err)
{
	char target[4096];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	target[length] = '\0';
	payload_add_link(payload, name, target, false);
	return 0;
}

static int add_entry(struct payload *payload, const char *name, const char *path, unsigned depth,
		     struct error *err);

int payload_add_tree(struct payload *payload, const char *name, const char *path, unsigned depth,
		     struct error *err)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int result = 0;

	if (!folder)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	put_folders(payload, name, false);
	put(payload, &(struct member){ .name = xstrdup(name), .mode = S_IFDIR | 0755 });
	while (!result && (entry = readdir(folder))) {
		CLEANUP_FREE char *inner = xasprintf("%s/%s", name, entry->d_name);
		CLEANUP_FREE char *from = xasprintf("%s/%s", path, entry->d_name);

		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			result = add_entry(payload, inner, from, depth, err);
	}
	closedir(folder);
	return result;
}

/* A socket, a pipe or a device cannot come along. */
static int add_entry(struct payload *payload, const char *name, const char *path, unsigned depth,
		     struct error *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (check_room(payload, path, 0, err) < 0)
		return -1;
	if (S_ISLNK(st.st_mode))
		return add_link(payload, name, path, err);
	if (S_ISREG(st.st_mode))
		return payload_add_file(payload, name, path, false, err);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERROR_INPUT,
				 "%s: neither a file, a folder nor a symbolic link: it cannot come "
				 "into a guest",
				 path);
	if (depth == DEPTH_MAX)
		return error_set(err, ERROR_INPUT, "%s: more than %d folders deep", path,
				 DEPTH_MAX);
	return payload_add_tree(payload, name, path, depth + 1, err);
}

/* --- the job -------------------------------------------------------------------------------------
 */

static void add_string(struct text *text, const char *key, const char *value)
{
	text_addf(text, "%s=%s", key, value);
	text_add(text, "", 1);
}

void payload_set_arguments(struct payload *payload, const char *const *argv)
{
	text_free(&payload->arguments);
	for (; *argv; argv++)
		add_string(&payload->arguments, JOB_ARGUMENT, *argv);
}

void payload_set_environment(struct payload *payload, const char *name, const char *value)
{
	CLEANUP_FREE char *pair = xasprintf("%s=%s", name, value);

	add_string(&payload->environment, JOB_ENVIRONMENT, pair);
}

void payload_set_seconds(struct payload *payload, unsigned seconds)
{
	payload->seconds = seconds;
}

void payload_set_read_only(struct payload *payload)
{
	payload->read_only = true;
}

static void write_job(struct text *out, const struct payload *payload)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "%u",
		 payload->seconds ? payload->seconds : JOB_SECONDS_DEFAULT);
	add_string(out, JOB_SECONDS, digits);
	if (payload->read_only)
		add_string(out, JOB_READ_ONLY, "1");
	text_add(out, payload->arguments.bytes, payload->arguments.length);
	text_add(out, payload->environment.bytes, payload->environment.length);
}

/* --- handing it over -----------------------------------------------------------------------------
 */

static int compare_names(const void *left, const void *right)
{
	const struct member *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

int payload_each(const struct payload *payload,
		 int (*each)(void *context, const struct payload_member *member), void *context)
{
	CLEANUP_FREE const struct member **sorted = xcalloc(payload->count + 1, sizeof(*sorted));
	CLEANUP_TEXT struct text job = { 0 };
	int result = 0;

	for (size_t i = 0; i < payload->count; i++)
		sorted[i] = &payload->members[i];
	qsort(sorted, payload->count, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < payload->count && !result; i++)
		result = each(context, &(struct payload_member){
					       .name = sorted[i]->name,
					       .mode = sorted[i]->mode,
					       .bytes = sorted[i]->bytes,
					       .length = sorted[i]->length,
					       .target = sorted[i]->target,
					       .library = sorted[i]->library,
				       });
	if (result)
		return result;
	write_job(&job, payload);
	return each(context, &(struct payload_member){
				     .name = JOB_FILE,
				     .mode = S_IFREG | 0644,
				     .bytes = job.bytes,
				     .length = job.length,
			     });
}
