// SPDX-License-Identifier: MIT
/* The process that ends what a dead harness left. */
#include "harness/guest/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "harness/guest/root.h"
#include "harness/guest/upload.h"
#include "harness/util/cleanup.h"
#include "harness/util/text.h"

/* A message is "+" or "-", the kind, TAB, two words with a TAB after each. */
#define MESSAGE_MOST 8192
#define KIND_ROOT    'R'
#define KIND_DOMAINS 'D'

/* A daemon that just died may come back. */
#define CONNECT_TRIES 5

struct duty {
	char kind;
	char *first, *second; /* root: path, ""; domains: URI, prefix */
	int hold;	      /* the root's lock */
};

struct duties {
	struct duty *list;
	size_t count;
};

static void quiet(void *opaque, virErrorPtr error)
{
	(void)opaque;
	(void)error;
}

static void clean_hypervisor(const char *uri, const char *prefix)
{
	virConnectPtr connection = NULL;
	virDomainPtr *domains = NULL;
	int count;

	if (virInitialize() < 0)
		return;
	virSetErrorFunc(NULL, quiet);
	for (int try = 0; try < CONNECT_TRIES && !connection; try++) {
		if (try)
			sleep(1);
		connection = virConnectOpen(uri);
	}
	if (!connection)
		return;
	count = virConnectListAllDomains(connection, &domains, 0);
	for (int i = 0; i < count; i++) {
		const char *name = virDomainGetName(domains[i]);

		if (name && !strncmp(name, prefix, strlen(prefix)))
			virDomainDestroy(domains[i]);
		virDomainFree(domains[i]);
	}
	free(domains);
	upload_remove(connection, prefix);
	virConnectClose(connection);
}

static void forget(struct duties *duties, size_t which)
{
	struct duty *duty = &duties->list[which];

	if (duty->hold >= 0)
		close(duty->hold);
	free(duty->first);
	free(duty->second);
	*duty = duties->list[--duties->count];
}

static void remember(struct duties *duties, char kind, const char *first, const char *second)
{
	duties->list = xrealloc(duties->list, (duties->count + 1) * sizeof(*duties->list));
	duties->list[duties->count++] = (struct duty){
		.kind = kind,
		.first = xstrdup(first),
		.second = xstrdup(second),
		.hold = kind == KIND_ROOT ? root_hold(first) : -1,
	};
}

static void obey(struct duties *duties, char *message)
{
	char *save = NULL;
	const char *command = strtok_r(message, "\t", &save);
	const char *first = strtok_r(NULL, "\t", &save);
	const char *second = strtok_r(NULL, "\t", &save);

	if (!command || !first)
		return;
	if (!second)
		second = "";
	if (command[0] == '+') {
		remember(duties, command[1], first, second);
		return;
	}
	for (size_t i = duties->count; i-- > 0;)
		if (duties->list[i].kind == command[1] && !strcmp(duties->list[i].first, first) &&
		    !strcmp(duties->list[i].second, second))
			forget(duties, i);
}

/* Obeys message by message until the other end is closed. */
static void listen_to(int fd, struct duties *duties)
{
	char message[MESSAGE_MOST + 1];

	for (;;) {
		ssize_t got = recv(fd, message, MESSAGE_MOST, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;
		message[got] = '\0';
		obey(duties, message);
	}
}

/* Nothing of the harness may be held open: neither its terminal nor the pipe of its output. */
static void let_go(int keep)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd <= 2; fd++)
		if (fd != keep && null >= 0)
			dup2(null, fd);
	if (keep > 3)
		close_range(3, (unsigned)keep - 1, 0);
	close_range((unsigned)(keep > 2 ? keep + 1 : 3), UINT_MAX, 0);
}

static _Noreturn void supervise(int fd)
{
	static const int deaf_to[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP };
	struct duties duties = { 0 };
	sigset_t none;

	setsid();
	let_go(fd);
	prctl(PR_SET_NAME, "quirklab-superv");
	for (size_t i = 0; i < sizeof(deaf_to) / sizeof(deaf_to[0]); i++)
		signal(deaf_to[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") < 0)
		_exit(1);
	listen_to(fd, &duties);
	/* The roots first: they take milliseconds, another host may not answer for a minute. */
	for (size_t i = 0; i < duties.count; i++)
		if (duties.list[i].kind == KIND_ROOT)
			root_end(duties.list[i].first);
	for (size_t i = 0; i < duties.count; i++)
		if (duties.list[i].kind == KIND_DOMAINS)
			clean_hypervisor(duties.list[i].first, duties.list[i].second);
	_exit(0);
}

int supervisor_start(struct supervisor *supervisor, struct error *err)
{
	sigset_t all, before;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, ERROR_LAB, "no socket for the supervisor: %s",
				 strerror(errno));
	/* Until it is deaf to them, a signal to the group would end it. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	supervisor->pid = fork();
	if (supervisor->pid == 0) {
		close(ends[1]);
		supervise(ends[0]);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	if (supervisor->pid < 0) {
		close(ends[1]);
		return error_set(err, ERROR_LAB, "cannot start the supervisor: %s",
				 strerror(errno));
	}
	supervisor->socket = ends[1];
	return 0;
}

void supervisor_stop(struct supervisor *supervisor)
{
	close(supervisor->socket);
	supervisor->socket = -1;
}

/* If the supervisor was killed there is nobody to tell: no reason to die of SIGPIPE. */
static void tell(struct supervisor *supervisor, char sign, char kind, const char *first,
		 const char *second)
{
	CLEANUP_FREE char *message = xasprintf("%c%c\t%s\t%s\t", sign, kind, first, second);
	ssize_t sent;

	do
		sent = send(supervisor->socket, message, strlen(message), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
}

void supervisor_add_root(struct supervisor *supervisor, const char *path)
{
	tell(supervisor, '+', KIND_ROOT, path, "");
}

void supervisor_drop_root(struct supervisor *supervisor, const char *path)
{
	tell(supervisor, '-', KIND_ROOT, path, "");
}

void supervisor_add_domains(struct supervisor *supervisor, const char *uri, const char *prefix)
{
	tell(supervisor, '+', KIND_DOMAINS, uri, prefix);
}

void supervisor_drop_domains(struct supervisor *supervisor, const char *uri, const char *prefix)
{
	tell(supervisor, '-', KIND_DOMAINS, uri, prefix);
}
