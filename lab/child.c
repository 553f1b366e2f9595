// SPDX-License-Identifier: MIT
/* Other programs, run by a command. */
#include "lab/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "lab/interrupt.h"

#define OUTPUT_MOST (64 << 20)
#define TAIL	    8192 /* of a complaint */

/* Never returns. */
static void become(const struct child *child, const char *const argv[], const char *folder,
		   int input)
{
	static const char *const variables[] = { "MAKEFLAGS", "MAKELEVEL", "MFLAGS",
						 "MAKEOVERRIDES" };

	/* Where we are killed our locks go, so what makes use of them has to go as well. */
	if (child->alone) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	}
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	setenv("LC_ALL", "C", 1); /* in words that child_complaint knows */
	if (dup2(input, 0) < 0 || dup2(child->output, 1) < 0 || dup2(child->complaint, 2) < 0)
		_exit(127);
	if (folder && chdir(folder) < 0) {
		dprintf(2, "%s: %s\n", folder, strerror(errno));
		_exit(127);
	}
	execvp(argv[0], (char *const *)argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int write_input(const struct text *input)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	size_t put = 0;

	while (fd >= 0 && input && put < input->length) {
		ssize_t more = write(fd, input->bytes + put, input->length - put);

		if (more < 0) {
			close(fd);
			return -1;
		}
		put += (size_t)more;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

static int start(struct child *child, const char *const argv[], const char *folder,
		 const struct text *input, bool alone, struct error *err)
{
	CLEANUP_FD int from = write_input(input);

	*child = (struct child){ .alone = alone,
				 .output = memfd_create("output", MFD_CLOEXEC),
				 .complaint = memfd_create("complaint", MFD_CLOEXEC) };
	if (from < 0 || child->output < 0 || child->complaint < 0) {
		child_close(child);
		return error_set(err, ERROR_LAB, "%s: %s", argv[0], strerror(errno));
	}
	fflush(stdout);
	/* Whoever started us may have it ignored; then there is nothing to wait for. */
	signal(SIGCHLD, SIG_DFL);
	child->pid = fork();
	if (child->pid == 0)
		become(child, argv, folder, from);
	if (child->pid > 0)
		return 0;
	child_close(child);
	return error_set(err, ERROR_LAB, "%s: %s", argv[0], strerror(errno));
}

int child_start(struct child *child, const char *const argv[], const char *folder,
		const struct text *input, struct error *err)
{
	return start(child, argv, folder, input, false, err);
}

int child_start_alone(struct child *child, const char *const argv[], const char *folder,
		      struct error *err)
{
	return start(child, argv, folder, NULL, true, err);
}

/* Until its end. A signal to us ends its process group: make and what that runs. */
static void wait_or_end(const struct child *child)
{
	struct pollfd fd = { .fd = pidfd_open(child->pid, 0), .events = POLLIN };
	bool told = false;

	/* poll is interrupted by a signal even where its handler restarts system calls. */
	while (fd.fd >= 0 && poll(&fd, 1, -1) <= 0) {
		if (errno != EINTR)
			break;
		if (interrupt_signal() && !told)
			kill(-child->pid, SIGTERM);
		told |= interrupt_signal() != 0;
	}
	if (fd.fd >= 0)
		close(fd.fd);
}

int child_wait(struct child *child)
{
	int status;

	if (child->alone)
		wait_or_end(child);
	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_output(const struct child *child, struct text *out, size_t most, struct error *err)
{
	char chunk[65536];
	ssize_t got;

	lseek(child->output, 0, SEEK_SET);
	while ((got = read(child->output, chunk, sizeof(chunk))) > 0) {
		if (out->length + (size_t)got > most)
			return error_set(err, ERROR_LAB, "a program printed more than %zu bytes",
					 most);
		text_add(out, chunk, (size_t)got);
	}
	return 0;
}

/* How much a line says: a compiler's own words say more than make's about them. */
enum weight { WEIGHT_ANY, WEIGHT_ERROR, WEIGHT_FULL };

static enum weight weight(const char *line)
{
	if (strstr(line, strerror(ENOSPC)))
		return WEIGHT_FULL;
	return strstr(line, "error:") ? WEIGHT_ERROR : WEIGHT_ANY;
}

enum error_kind child_complaint(const struct child *child, char *out, size_t room)
{
	char tail[TAIL + 1];
	off_t end = lseek(child->complaint, 0, SEEK_END);
	off_t from = end > TAIL ? end - TAIL : 0;
	ssize_t got = pread(child->complaint, tail, TAIL, from);
	char *line = NULL;

	tail[got > 0 ? got : 0] = '\0';
	for (char *at = tail, *next; at; at = next) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		if (*at && (!line || weight(at) >= weight(line)))
			line = at;
	}
	if (!line)
		line = tail + strlen(tail);
	text_printable(out, room, line, strlen(line));
	return weight(line) == WEIGHT_FULL ? ERROR_LAB : ERROR_INPUT;
}

void child_close(struct child *child)
{
	if (child->output >= 0)
		close(child->output);
	if (child->complaint >= 0)
		close(child->complaint);
	*child = (struct child){ .output = -1, .complaint = -1 };
}

int child_run(const char *what, const char *const argv[], const char *folder, struct text *out,
	      struct error *err)
{
	struct child child;
	char complaint[512];
	enum error_kind kind;
	int status, result = 0;

	if (child_start_alone(&child, argv, folder, err) < 0)
		return -1;
	status = child_wait(&child);
	if (interrupt_signal()) {
		result = error_set(err, ERROR_LAB, "interrupted");
	} else if (status) {
		kind = child_complaint(&child, complaint, sizeof(complaint));
		result = error_set(err, kind, "%s: %s: %s", what, argv[0],
				   *complaint ? complaint : "it failed and does not say why");
	} else if (out) {
		result = child_output(&child, out, OUTPUT_MOST, err);
	}
	child_close(&child);
	return result;
}
