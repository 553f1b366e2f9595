// SPDX-License-Identifier: MIT
/* What a stream of the program can show: NO_COLOR (no-color.org), TERM, COLUMNS, the locale. */
#include "lab/terminal.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct terminal terminal_of(FILE *stream)
{
	const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
	struct terminal terminal = {
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};

	terminal.interactive = isatty(fileno(stream)) && term && *term && strcmp(term, "dumb");
	terminal.colour = terminal.interactive && !(no_colour && *no_colour);
	return terminal;
}

unsigned terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	long width = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size = { 0 };

	if (width <= 0 && (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ||
			   ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0))
		width = size.ws_col;
	if (width <= 0)
		width = 80;
	return width < 20 ? 20 : width > 1000 ? 1000 : (unsigned)width;
}
