// SPDX-License-Identifier: MIT
/*
 * Reads /proc/kallsyms: some 100 000 lines, so in large blocks and without stdio (0.2 s under an
 * emulator, against seconds line by line). The kernel's own symbols stand in order of address.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "images/linux/symbols.h"

#define BLOCK_BYTES    (256 * 1024)
#define ADDRESS_DIGITS 16
/* "ffffffff81000000 T _text" */
#define NAME_AT (ADDRESS_DIGITS + 3)

struct reader {
	struct symbol *wanted;
	size_t count;
	const char *last;
	uint64_t highest; /* of all addresses so far */
	int done;
};

/* 0 where these are no 16 hexadecimal digits. */
static uint64_t read_address(const char *digits)
{
	uint64_t value = 0;
	size_t i;

	for (i = 0; i < ADDRESS_DIGITS; i++) {
		unsigned digit = (unsigned char)digits[i];

		if (digit - '0' < 10)
			digit -= '0';
		else if (digit - 'a' < 6)
			digit -= 'a' - 10;
		else
			return 0;
		value = value << 4 | digit;
	}
	return value;
}

static void read_line(struct reader *reader, const char *line, size_t length)
{
	const char *name = line + NAME_AT, *tab;
	uint64_t address;
	size_t i;

	if (length <= NAME_AT)
		return;
	address = read_address(line);
	length -= NAME_AT;
	tab = memchr(name, '\t', length); /* a module's name follows */
	if (tab)
		length = (size_t)(tab - name);
	if (address > reader->highest) {
		/* Those that wait for the next symbol are the ones of the highest address so far.
		 */
		for (i = 0; i < reader->count; i++)
			if (reader->wanted[i].address && !reader->wanted[i].next)
				reader->wanted[i].next = address;
		reader->highest = address;
	}
	for (i = 0; i < reader->count; i++) {
		struct symbol *symbol = &reader->wanted[i];

		if (symbol->address || strncmp(symbol->name, name, length) != 0 ||
		    symbol->name[length])
			continue;
		symbol->address = address;
		if (reader->last && !strcmp(reader->last, symbol->name))
			reader->done = 1;
	}
}

/* Reads the whole lines of a block; returns how many bytes they are. */
static size_t read_lines(struct reader *reader, const char *block, size_t length)
{
	size_t at = 0;

	while (at < length && !reader->done) {
		const char *end = memchr(block + at, '\n', length - at);

		if (!end)
			break;
		read_line(reader, block + at, (size_t)(end - block) - at);
		at = (size_t)(end - block) + 1;
	}
	return at;
}

int symbols_read(const char *path, struct symbol *wanted, size_t count, const char *last)
{
	struct reader reader = { .wanted = wanted, .count = count, .last = last };
	char *block = malloc(BLOCK_BYTES);
	size_t have = 0, used, i;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (i = 0; i < count; i++)
		wanted[i].address = wanted[i].next = 0;
	while (block && fd >= 0 && !reader.done) {
		ssize_t got = read(fd, block + have, BLOCK_BYTES - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
		used = read_lines(&reader, block, have);
		have -= used;
		memmove(block, block + used, have);
		if (have == BLOCK_BYTES)
			have = 0; /* a line of that length is no symbol */
	}
	free(block);
	if (fd < 0 || !block)
		return -1;
	close(fd);
	if (reader.highest)
		return 0;
	errno = ENODATA;
	return -1;
}
