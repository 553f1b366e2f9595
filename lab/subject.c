// SPDX-License-Identifier: MIT
/* From the word after --subject to what guests run. */
#include "lab/subject.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/libc.h"
#include "harness/guest/pmem.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

static int pack_glibc(const struct subject *subject, struct error *err)
{
	return libc_payload(subject->payload, subject->libc, err);
}

static int pack_pmem(const struct subject *subject, struct error *err)
{
	return pmem_payload(subject->payload, subject->kernel, NULL, err);
}

const struct subject_row subject_rows[] = {
	{ "dispatch", "the dispatcher of this tree: its quirk table and its paths",
	  SUBJECT_DISPATCH, NULL, NULL },
	{ "linux", "the kernel that boots: what it has patched itself", SUBJECT_KERNEL, NULL,
	  NULL },
	{ "glibc", "the C library: which memset, memcpy ... it has resolved", SUBJECT_PROGRAM,
	  pack_glibc, NULL },
	{ "pmem", "this tree's memcpy_flushcache on emulated persistent memory: is it durable?",
	  SUBJECT_PROGRAM, pack_pmem, PMEM_WORDS },
	{ "PROGRAM",
	  "any program or folder with a program 'run', by its path: its TAP, KTAP or\n"
	  "           exit status is the verdict, its QL lines are judged",
	  SUBJECT_PROGRAM, NULL, NULL },
};
const size_t subject_row_count = sizeof(subject_rows) / sizeof(subject_rows[0]);

static int refuse_name(const char *path, struct error *err)
{
	return error_set(err, ERROR_INPUT,
			 "--subject %s: a name of at most %d letters, digits and ._+- that does "
			 "not begin with a dot was expected: it becomes part of the cells' names",
			 path, SUBJECT_NAME_MAX - 1);
}

static int set_name(struct subject *subject, const char *path, const char *absolute,
		    struct error *err)
{
	const char *name = strrchr(absolute, '/') + 1;
	size_t length = strlen(name);

	if (!length || length >= sizeof(subject->name) || *name == '.')
		return refuse_name(path, err);
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._+-", name[i]))
			return refuse_name(path, err);
	memcpy(subject->name, name, length + 1);
	return 0;
}

static int find_program(struct subject *subject, const char *path, struct error *err)
{
	/* A link's own name is the program's: busybox and its like tell by it. */
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	CLEANUP_FREE char *real = realpath(folder, NULL);
	CLEANUP_FREE char *absolute = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "--subject %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		absolute = realpath(path, NULL);
	else if (real)
		absolute = xasprintf("%s/%s", real, slash ? slash + 1 : path);
	if (!absolute || !real)
		return error_set(err, ERROR_INPUT, "--subject %s: %s", path, strerror(errno));
	if (set_name(subject, path, absolute, err) < 0)
		return -1;
	subject->kind = SUBJECT_PROGRAM;
	subject->path = path;
	subject->beside = xstrdup(S_ISDIR(st.st_mode) ? absolute : real);
	return 0;
}

int subject_find(struct subject *subject, const char *word, struct error *err)
{
	subject_free(subject);
	for (size_t i = 0; i + 1 < subject_row_count; i++)
		if (!strcmp(subject_rows[i].name, word)) {
			subject->kind = subject_rows[i].kind;
			subject->row = &subject_rows[i];
			memcpy(subject->name, word, strlen(word) + 1);
			return 0;
		}
	if (!strchr(word, '/') && access(word, F_OK) < 0)
		return error_set(
			err, ERROR_INPUT,
			"--subject '%s': dispatch, linux, glibc, pmem or the path of a program "
			"was expected",
			word);
	return find_program(subject, word, err);
}

int subject_pack(struct subject *subject, const char *const *arguments, unsigned seconds,
		 struct error *err)
{
	struct stat st;
	int result;

	if (subject->kind != SUBJECT_PROGRAM)
		return 0;
	payload_free(subject->payload);
	subject->payload = payload_new();
	payload_set_seconds(subject->payload, seconds);
	if (subject->row)
		return subject->row->pack(subject, err);
	if (stat(subject->path, &st) == 0 && S_ISDIR(st.st_mode))
		result = payload_add_folder(subject->payload, subject->path, arguments, err);
	else
		result = payload_add_program(subject->payload, subject->path, arguments, err);
	return result < 0 ? error_prefix(err, "--subject") : 0;
}

void subject_free(struct subject *subject)
{
	free(subject->beside);
	payload_free(subject->payload);
	*subject = (struct subject){ 0 };
}
