// SPDX-License-Identifier: MIT
/* `quirklab repro --shell` and `--gdb`: a guest with a person at it. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "harness/util/cleanup.h"
#include "lab/interrupt.h"
#include "lab/raw_terminal.h"
#include "lab/repro.h"

#define LEAVE	    0x1D /* Ctrl-] */
#define POLL_MS	    5
#define PENDING_MAX 4096

/*
 * PID 1 of a guest with a shell. The variables are words of the kernel's command line. READY is
 * what it says before it reads: what is typed earlier would be lost.
 */
#define READY "Ctrl-] leaves"
static const char script[] = "#!/bin/busybox sh\n"
			     "export PATH=/sbin:/usr/sbin:/bin:/usr/bin HOME=/root\n"
			     "/bin/busybox mount -t proc proc /proc\n"
			     "/bin/busybox mount -t sysfs sysfs /sys\n"
			     "/bin/busybox mount -t devtmpfs dev /dev\n"
			     "/bin/busybox --install -s\n"
			     "cd /root\n"
			     "[ -z \"$ROWS\" ] || stty rows \"$ROWS\" cols \"$COLUMNS\"\n"
			     "echo \"quirklab: a guest of $(uname -sr); " READY ", so does exit\"\n"
			     "setsid cttyhack sh\n"
			     "poweroff -f\n";

int repro_shell_initramfs(const char *path, struct error *err)
{
	return initramfs_write_shell(path, "/bin/busybox", script, err);
}

/* Between the console and this terminal. */
struct session {
	struct guest_attended *guest;
	bool ready, ended_input;
	char said[64]; /* the end of what the guest said, until it is ready */
	size_t said_length;
	char pending[PENDING_MAX]; /* typed, not yet taken */
	size_t pending_length;
};

static void put_all(const char *bytes, size_t length)
{
	while (length) {
		ssize_t put = write(STDOUT_FILENO, bytes, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return;
		bytes += put;
		length -= (size_t)put;
	}
}

static void watch_for_ready(struct session *session, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length && !session->ready; i++) {
		if (session->said_length == sizeof(session->said) - 1)
			memmove(session->said, session->said + 1, --session->said_length);
		session->said[session->said_length++] = bytes[i] ? bytes[i] : ' ';
		session->said[session->said_length] = '\0';
		session->ready = strstr(session->said, READY) != NULL;
	}
}

static void from_guest(void *context, const void *bytes, size_t length)
{
	struct session *session = context;

	watch_for_ready(session, bytes, length);
	put_all(bytes, length);
}

/* False where Ctrl-] was typed. */
static bool from_person(struct session *session)
{
	char *at = session->pending + session->pending_length;
	ssize_t got = read(STDIN_FILENO, at, PENDING_MAX - session->pending_length);

	if (got <= 0) {
		session->ended_input = got == 0 || errno != EINTR;
		return true;
	}
	if (memchr(at, LEAVE, (size_t)got))
		return false;
	session->pending_length += (size_t)got;
	return true;
}

static void to_guest(struct session *session)
{
	size_t taken;

	if (!session->ready || !session->pending_length)
		return;
	taken = guest_attended_write(session->guest, session->pending, session->pending_length);
	session->pending_length -= taken;
	memmove(session->pending, session->pending + taken, session->pending_length);
}

/* Until the guest ends, the person leaves, or a signal comes. */
static void converse(struct session *session)
{
	while (guest_attended_read(session->guest)) {
		bool room = !session->ended_input && session->pending_length < PENDING_MAX;
		struct pollfd input = { .fd = room ? STDIN_FILENO : -1, .events = POLLIN };

		if (poll(&input, 1, POLL_MS) > 0 && !from_person(session))
			return;
		to_guest(session);
	}
}

/* The terminal's size and kind, for the guest. */
static char *terminal_words(void)
{
	struct winsize size = { 0 };
	const char *term = getenv("TERM");

	for (const char *at = term; at && *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.+", *at))
			term = NULL;
	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		return xasprintf("%s%s", term ? "TERM=" : "", term ? term : "");
	return xasprintf("ROWS=%u COLUMNS=%u%s%s", size.ws_row, size.ws_col, term ? " TERM=" : "",
			 term ? term : "");
}

int repro_shell(struct repro_guest *guest, const struct realised *realised, struct error *err)
{
	CLEANUP_FREE char *words = terminal_words();
	CLEANUP_FREE char *cmdline = repro_cmdline(GUEST_LINUX, words);
	const struct guest_request request = repro_request(guest, &realised, cmdline);
	const struct guest_definition definition = { .name = "shell" };
	struct session session = { 0 };

	session.guest =
		guest_attend(guest->connection, &request, &definition, from_guest, &session, err);
	if (!session.guest)
		return -1;
	raw_terminal_enter();
	converse(&session);
	raw_terminal_leave();
	guest_attended_end(session.guest);
	put_all("\n", 1);
	return 0;
}

/* --- gdb
 * ------------------------------------------------------------------------------------------- */

static void print_console(void *context, const void *bytes, size_t length)
{
	(void)context;
	put_all(bytes, length);
}

int repro_gdb(struct repro_guest *guest, const struct realised *realised, struct error *err)
{
	CLEANUP_FREE char *cmdline = repro_cmdline(guest->image, REPRO_TEXT_WORDS);
	const struct guest_request request = repro_request(guest, &realised, cmdline);
	const struct guest_definition definition = { .name = "gdb", .gdb = true };
	struct guest_attended *attended =
		guest_attend(guest->connection, &request, &definition, print_console, NULL, err);

	if (!attended)
		return -1;
	printf("The guest waits before its first instruction. In another terminal:\n\n");
	if (guest->image == GUEST_BARE)
		printf("  gdb -ex 'target remote %s' -ex 'hbreak guest_main' -ex continue %s\n\n",
		       guest_attended_gdb(attended), guest->images.kernel);
	else
		printf("  gdb -ex 'target remote %s'\n\n", guest_attended_gdb(attended));
	printf("Its console follows. Ctrl-C here ends it.\n");
	fflush(stdout);
	while (guest_attended_read(attended))
		poll(NULL, 0, POLL_MS);
	guest_attended_end(attended);
	return 0;
}
