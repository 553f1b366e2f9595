// SPDX-License-Identifier: MIT
/* What BASE and HEAD mean: a git revision, the work tree, results, a kernel, a C library. */
#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "lab/child.h"
#include "lab/diff.h"
#include "lab/records.h"

#define DISPATCHER "tests/dispatch/dispatch.h" /* what a tree must have */

/* --- strings --- */

static int compare_strings(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *strings_keep(struct strings *strings, const char *bytes, size_t length)
{
	char *copy = xmalloc(4 * length + 1);
	char **found;

	text_printable(copy, 4 * length + 1, bytes, length);
	found = tsearch(copy, &strings->tree, compare_strings);
	if (!found)
		abort();
	if (*found != copy)
		free(copy);
	return *found;
}

void strings_free(struct strings *strings)
{
	tdestroy(strings->tree, free);
	strings->tree = NULL;
}

/* --- git --- */

static char *first_line(const struct text *text)
{
	return strndup(text_string(text), strcspn(text_string(text), "\n"));
}

/* What git says of a name, or NULL. */
static char *git_parse(const char *word, const char *suffix)
{
	CLEANUP_FREE char *name = xasprintf("%s%s", word, suffix);
	const char *const argv[] = { "git", "rev-parse", "--verify", "--quiet", "--end-of-options",
				     name,  NULL };
	CLEANUP_TEXT struct text out = { 0 };

	return child_run("git", argv, NULL, &out, NULL) == 0 ? first_line(&out) : NULL;
}

static char *git_top(const char *folder, struct error *err)
{
	const char *const argv[] = { "git", "rev-parse", "--show-toplevel", NULL };
	CLEANUP_TEXT struct text out = { 0 };

	return child_run(folder ? folder : "the work tree", argv, folder, &out, err) == 0
		       ? first_line(&out)
		       : NULL;
}

/* --- one side --- */

static bool has(const char *folder, const char *file)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", folder, file);

	return access(path, R_OK) == 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void put_title(struct diff_side *side, const char *what)
{
	char inert[512];

	free(side->title);
	side->title = xstrdup(text_printable(inert, sizeof(inert), what, strlen(what)));
}

/* The work tree around a folder: git's, else the folder itself. */
static int resolve_folder(struct diff_side *side, const char *folder, struct error *err)
{
	side->kind = SIDE_TREE;
	side->tree = git_top(folder, err);
	if (!side->tree && folder && has(folder, DISPATCHER))
		side->tree = realpath(folder, NULL);
	if (!side->tree)
		return -1;
	if (!has(side->tree, DISPATCHER))
		return error_set(err, ERROR_INPUT, "%s: no tree of quirklab: it has no " DISPATCHER,
				 side->tree);
	put_title(side, "the work tree");
	return 0;
}

static bool resolve_revision(struct diff_side *side, const char *word)
{
	CLEANUP_FREE char *commit = git_parse(word, "^{commit}");
	CLEANUP_FREE char *title = NULL;

	side->id = commit ? git_parse(word, "^{tree}") : NULL;
	if (!side->id)
		return false;
	side->kind = SIDE_TREE;
	title = xasprintf("%s (%.12s)", word, commit);
	put_title(side, title);
	return true;
}

/* A folder with a C library in it, however deep, or a package of one. */
static bool is_libc(const char *path)
{
	const char *end = strrchr(path, '.');
	static const char *const places[] = { "libc.so.6", "lib/x86_64-linux-gnu/libc.so.6",
					      "usr/lib/x86_64-linux-gnu/libc.so.6",
					      "lib64/libc.so.6" };

	if (!is_folder(path))
		return end && !strcmp(end, ".deb") && access(path, R_OK) == 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (has(path, places[i]))
			return true;
	return false;
}

static int resolve_path(struct diff_side *side, const char *path, struct error *err)
{
	put_title(side, path);
	if (records_are_at(path)) {
		side->kind = SIDE_RECORDS;
		return 0;
	}
	if (is_libc(path)) {
		side->kind = SIDE_LIBC;
		return 0;
	}
	if (is_folder(path))
		return resolve_folder(side, path, err);
	if (kernel_check(path, GUEST_LINUX, NULL) == 0) {
		side->kind = SIDE_KERNEL;
		return 0;
	}
	return error_set(err, ERROR_INPUT,
			 "'%s': a git revision, the work tree (.), a results folder or file, a "
			 "kernel, or a C library (DEB or folder) was expected",
			 side->title);
}

/* Names like ./x are paths; other words are revisions first, as in git. */
int side_resolve(struct diff_side *side, const char *word, struct error *err)
{
	bool path;

	*side = (struct diff_side){ .word = word ? word : "." };
	if (!word || !strcmp(word, "."))
		return resolve_folder(side, NULL, err);
	path = *word == '/' || !strncmp(word, "./", 2) || !strncmp(word, "../", 3);
	if (!path && resolve_revision(side, word))
		return 0;
	if (access(word, F_OK) < 0) {
		put_title(side, word);
		return error_set(err, ERROR_INPUT, "'%s': no git revision here, and no file",
				 side->title);
	}
	return resolve_path(side, word, err);
}

static void answer_free(struct diff_answer *answer)
{
	free(answer->picks);
}

void side_free(struct diff_side *side)
{
	if (side->locked)
		close(side->lock);
	for (size_t i = 0; i < side->count; i++) {
		for (size_t j = 0; j < side->cpus[i].count; j++)
			answer_free(&side->cpus[i].answers[j]);
		free(side->cpus[i].answers);
	}
	for (size_t i = 0; i < SWEEPS; i++) {
		for (size_t j = 0; j < side->sweeps[i].count; j++)
			answer_free(&side->sweeps[i].jumps[j].answer);
		free(side->sweeps[i].jumps);
	}
	free(side->cpus);
	free(side->title);
	free(side->tree);
	free(side->id);
	free(side->build);
	*side = (struct diff_side){ 0 };
}
