// SPDX-License-Identifier: MIT
/* Where the rows of the quirk table stand: the line of each row's name in quirks.c. */
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "lab/lint.h"

#define SOURCE	    "tests/dispatch/quirks.c"
#define SOURCE_MOST (4 << 20)

/* Blanks comments out, line by line, so that a row in one is no row. Strings are left alone. */
static void blank_comments(char *text)
{
	bool string = false;

	for (char *at = text; *at; at++) {
		const char *end;

		if (string) {
			if (*at == '\\' && at[1])
				at++;
			else if (*at == '"')
				string = false;
			continue;
		}
		string = *at == '"';
		if (*at != '/' || (at[1] != '*' && at[1] != '/'))
			continue;
		end = at[1] == '/' ? strchr(at, '\n') : strstr(at + 2, "*/");
		end = !end ? at + strlen(at) : *end == '*' ? end + 2 : end;
		for (; at < end; at++)
			if (*at != '\n')
				*at = ' ';
		at--;
	}
}

/* The next `.name = "..."`: its line, and the name's bytes. */
static const char *next_name(const char *at, unsigned *line, const char **name, size_t *length)
{
	for (; *at; at++) {
		const char *end;

		*line += *at == '\n';
		if (strncmp(at, ".name", 5))
			continue;
		end = at + 5 + strspn(at + 5, " \t");
		if (*end != '=')
			continue;
		end++;
		end += strspn(end, " \t");
		if (*end != '"')
			continue;
		*name = end + 1;
		*length = strcspn(*name, "\"\n");
		return *name + *length;
	}
	return NULL;
}

void quirk_source_scan(struct quirk_source *source, const struct dispatch_quirk_table *quirks,
		       const char *bytes)
{
	CLEANUP_FREE char *text = xstrdup(bytes);
	const char *at = text, *name;
	unsigned line = 1;
	size_t length, i = 0;

	*source = (struct quirk_source){ .bytes = xstrdup(bytes) };
	source->lines = xcalloc(quirks->count, sizeof(*source->lines));
	blank_comments(text);
	while ((at = next_name(at, &line, &name, &length))) {
		source->named++;
		/* Rows are in the table in the order of the file. */
		if (i < quirks->count && strlen(quirks->rows[i].name) == length &&
		    !memcmp(quirks->rows[i].name, name, length))
			source->lines[i++] = line;
	}
	source->another = i != quirks->count || source->named != quirks->count;
}

void quirk_source_read(struct quirk_source *source, const struct dispatch_quirk_table *quirks)
{
	CLEANUP_FREE char *models = path_models(".");
	CLEANUP_FREE char *real = realpath(models, NULL);
	CLEANUP_FREE char *path = xasprintf("%s/../" SOURCE, real ? real : models);
	CLEANUP_FREE char *bytes = NULL;
	size_t length;

	*source = (struct quirk_source){ .lines = xcalloc(quirks->count, sizeof(unsigned)) };
	if (file_read(path, SOURCE_MOST, &bytes, &length, NULL) < 0)
		return;
	quirk_source_free(source);
	quirk_source_scan(source, quirks, bytes);
}

void quirk_source_free(struct quirk_source *source)
{
	free(source->bytes);
	free(source->lines);
	*source = (struct quirk_source){ 0 };
}
