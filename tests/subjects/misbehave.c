// SPDX-License-Identifier: MIT
/* A program that does what its argument says, most of which no program should. For the tests. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOOD_BLOCK  (64 * 1024)
#define FLOOD_BLOCKS 1600 /* 100 MiB */

static int crash(void)
{
	static int *volatile nowhere = (int *)8;

	puts("1..1\nok 1 - before the crash");
	fflush(stdout);
	*nowhere = 1;
	return 0;
}

/* Its output is closed, and it ignores what could be ignored. */
static int __attribute__((noreturn)) hang(void)
{
	fclose(stdout);
	fclose(stderr);
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

/* A verdict before and after more than anybody keeps, some of it without a line's end. */
static int flood(void)
{
	static char block[FLOOD_BLOCK];

	puts("1..2\nok 1 - before");
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < FLOOD_BLOCKS; i++) {
		if (i == FLOOD_BLOCKS / 2)
			memset(block + sizeof(block) - 64, '\n', 64);
		fwrite(block, 1, sizeof(block), stdout);
	}
	puts("ok 2 - after");
	return 0;
}

static int partial(void)
{
	puts("TAP version 14\n1..3\nok 1 - of three");
	return 0;
}

static int failing(void)
{
	puts("1..2\nok 1 - one\nnot ok 2 - the second one");
	return 1;
}

/* What it leaves behind writes on for ever. */
static int leave(void)
{
	fflush(stdout); /* or both would write what waits there */
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		for (;;) {
			puts("still here");
			fflush(stdout);
			usleep(1000);
		}
	}
	return 0;
}

/* Never silent, so that on a slow machine it is not taken for hung before the memory is gone. */
static int __attribute__((noreturn)) eat(void)
{
	for (unsigned i = 0;; i++) {
		char *piece = malloc(FLOOD_BLOCK);

		for (int at = 0; piece && at < FLOOD_BLOCK; at += 4096)
			piece[at] = 1;
		if (i % 64 == 0) {
			puts("more");
			fflush(stdout);
		}
	}
}

static int skip(void)
{
	fputs("no such instruction here\n", stderr);
	return 77;
}

static const struct {
	const char *word;
	int (*act)(void);
} acts[] = {
	{ "crash", crash },  { "hang", hang },	 { "flood", flood }, { "partial", partial },
	{ "fail", failing }, { "leave", leave }, { "eat", eat },     { "skip", skip },
};

/* Several words are several acts: those that end leave it to the next. */
int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		for (size_t j = 0; j < sizeof(acts) / sizeof(acts[0]); j++)
			if (!strcmp(argv[i], acts[j].word))
				status |= acts[j].act();
	return status;
}
