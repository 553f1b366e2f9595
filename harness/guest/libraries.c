// SPDX-License-Identifier: MIT
/* A program's needs: its loader, its libraries, its interpreter; and whether it can run at all. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness/guest/payload.h"
#include "harness/util/cleanup.h"
#include "harness/util/clock.h"
#include "harness/util/file.h"
#include "harness/util/text.h"
#include "images/linux/job.h"

#define HEAD_BYTES	(1U << 20) /* of a program: its headers and the loader's name */
#define LIST_BYTES_MAX	(64U * 1024)
#define LIST_SECONDS	20.0
#define SCRIPTS_MAX	4 /* the kernel follows as many: BINPRM_MAX_RECURSION */
#define FOLDER_PROGRAM	JOB_SUBJECT "/run"
#define LIBRARY_FOLDERS "LD_LIBRARY_PATH"

/* A loader is code of whoever made the file: only one that was installed is run here. */
static const char *const system_folders[] = { "/lib/",	     "/lib64/",		"/usr/lib/",
					      "/usr/lib64/", "/usr/local/lib/", "/opt/",
					      "/nix/store/", "/gnu/store/" };

/* The subfolders that the loader looks into by itself, by what the CPU has: the host's choice is
 * not the guest's. */
#define HWCAPS "/glibc-hwcaps/"
static const char *const hwcaps[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4" };

/* --- ELF -----------------------------------------------------------------------------------------
 */

static const struct {
	unsigned machine;
	const char *name;
} machines[] = {
	{ EM_386, "32-bit x86" }, { EM_AARCH64, "aarch64" },	 { EM_ARM, "arm" },
	{ EM_RISCV, "riscv" },	  { EM_PPC64, "powerpc64" },	 { EM_S390, "s390x" },
	{ EM_MIPS, "mips" },	  { EM_LOONGARCH, "loongarch" },
};

static int refuse_machine(const char *path, unsigned machine, struct error *err)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == machine)
			return error_set(err, ERROR_INPUT,
					 "%s: is a program for %s; one for x86-64 was expected",
					 path, machines[i].name);
	return error_set(err, ERROR_INPUT,
			 "%s: is a program for ELF machine %u; one for x86-64 was expected", path,
			 machine);
}

/* Copies the loader's name, "" for a static program. */
static int find_loader(char *out, size_t room, const char *path, const char *bytes, size_t length,
		       struct error *err)
{
	Elf64_Ehdr header;

	*out = '\0';
	memcpy(&header, bytes, sizeof(header));
	if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > length ||
	    header.e_phnum > (length - header.e_phoff) / sizeof(Elf64_Phdr))
		return error_set(err, ERROR_INPUT, "%s: a damaged ELF file: no program headers",
				 path);
	for (unsigned i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_offset > length || segment.p_filesz > length - segment.p_offset ||
		    !segment.p_filesz || segment.p_filesz > room ||
		    bytes[segment.p_offset + segment.p_filesz - 1])
			return error_set(err, ERROR_INPUT,
					 "%s: a damaged ELF file: its loader has no name", path);
		memcpy(out, bytes + segment.p_offset, segment.p_filesz);
	}
	return 0;
}

static int check_elf(const char *path, const char *bytes, size_t length, struct error *err)
{
	Elf64_Ehdr header;

	if (length < sizeof(header))
		return error_set(err, ERROR_INPUT, "%s: a damaged ELF file: it ends in its header",
				 path);
	memcpy(&header, bytes, sizeof(header));
	if (header.e_ident[EI_DATA] != ELFDATA2LSB)
		return error_set(err, ERROR_INPUT,
				 "%s: is a program for a big-endian machine; one for x86-64 was "
				 "expected",
				 path);
	if (header.e_machine != EM_X86_64)
		return refuse_machine(path, header.e_machine, err);
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return error_set(err, ERROR_INPUT,
				 "%s: is a program with 32-bit addresses (x32); one for x86-64 was "
				 "expected",
				 path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return error_set(err, ERROR_INPUT, "%s: is no program: ELF type %u (%s)", path,
				 header.e_type,
				 header.e_type == ET_REL ? "an object file" : "not executable");
	return 0;
}

static bool is_elf(const char *bytes, size_t length)
{
	return length >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

/* --- what the loader says ------------------------------------------------------------------------
 */

static int check_loader(const char *path, const char *loader, struct error *err)
{
	for (size_t i = 0; i < sizeof(system_folders) / sizeof(system_folders[0]); i++)
		if (!strncmp(loader, system_folders[i], strlen(system_folders[i])) &&
		    !strstr(loader, "/../"))
			return access(loader, X_OK) == 0
				       ? 0
				       : error_set(err, ERROR_INPUT,
						   "%s: its loader %s is not here: %s", path,
						   loader, strerror(errno));
	return error_set(err, ERROR_INPUT,
			 "%s: its loader %s is in no folder of the system: a folder with the "
			 "program, the loader and a script 'run' is a subject too",
			 path, loader);
}

/* Reads until the end, the bound or the limit of time. */
static void read_all(struct text *out, int fd)
{
	const double until = clock_seconds() + LIST_SECONDS;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	ssize_t got;

	while (out->length < LIST_BYTES_MAX && clock_seconds() < until) {
		if (poll(&wait, 1, 100) <= 0)
			continue;
		got = read(fd, bytes, sizeof(bytes));
		if (got <= 0)
			return;
		text_add(out, bytes, (size_t)got);
	}
}

/* Both streams of `LOADER --list PROGRAM`. Returns its exit status, -1 where it has none. */
static int run_loader(struct text *out, const char *loader, const char *path)
{
	const char *folders = getenv(LIBRARY_FOLDERS);
	CLEANUP_FREE char *variable = xasprintf(LIBRARY_FOLDERS "=%s", folders ? folders : "");
	char *const argv[] = { (char *)loader, (char *)"--list", (char *)path, NULL };
	char *const environment[] = { variable, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status, failed;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
	failed = posix_spawn(&pid, loader, &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (!failed)
		read_all(out, ends[0]);
	close(ends[0]);
	if (failed)
		return -1;
	kill(pid, SIGKILL); /* it is at its end, or beyond what a list can be */
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	text_add(out, "", 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The library's folder, without the subfolder that the host's CPU chose. */
static char *folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	const char *chosen = strstr(file, HWCAPS);

	if (chosen)
		slash = chosen;
	return strndup(file, (size_t)(slash - file));
}

/* Adds a folder to those that the loader is told of, once. */
static void note_folder(struct text *folders, const char *folder)
{
	size_t length = strlen(folder);

	for (const char *at = text_string(folders); at && *at; at = strchr(at, ':')) {
		at += *at == ':';
		if (!strncmp(at, folder, length) && (!at[length] || at[length] == ':'))
			return;
	}
	text_addf(folders, "%s%s", folders->length ? ":" : "", folder);
}

/* The library, and its forms for CPUs that have more. */
static int add_library(struct payload *payload, struct text *folders, const char *file,
		       struct error *err)
{
	CLEANUP_FREE char *folder = folder_of(file);
	const char *name = strrchr(file, '/') + 1;
	CLEANUP_FREE char *plain = xasprintf("%s/%s", folder ? folder : "", name);

	if (access(plain, R_OK) == 0 && payload_add_file(payload, plain, plain, true, err) < 0)
		return -1;
	if (strcmp(plain, file) && payload_add_file(payload, file, file, true, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(hwcaps) / sizeof(hwcaps[0]); i++) {
		CLEANUP_FREE char *form =
			xasprintf("%s" HWCAPS "%s/%s", folder ? folder : "", hwcaps[i], name);

		if (access(form, R_OK) == 0 && payload_add_file(payload, form, form, true, err) < 0)
			return -1;
	}
	if (folder)
		note_folder(folders, folder);
	return 0;
}

/*
 * One line of the loader's list:
 *     NAME => FILE (0x...)      or      /FILE (0x...)      or      NAME => not found
 * The vdso has no file.
 */
static int add_line(struct payload *payload, struct text *folders, const char *path, char *line,
		    struct error *err)
{
	char *arrow = strstr(line, " => ");
	char *file = arrow ? arrow + 4 : line + strspn(line, " \t");
	char *end = strstr(file, " (0x");

	if (arrow && !strncmp(file, "not found", 9)) {
		*arrow = '\0';
		return error_set(err, ERROR_INPUT,
				 "%s: the library %s, which it needs, is nowhere here", path,
				 line + strspn(line, " \t"));
	}
	if (*file != '/' || !end)
		return 0;
	*end = '\0';
	return add_library(payload, folders, file, err);
}

static int add_libraries(struct payload *payload, struct text *folders, const char *path,
			 const char *loader, struct error *err)
{
	CLEANUP_TEXT struct text list = { 0 };
	int status, result = 0;
	char *rest, *line;

	if (check_loader(path, loader, err) < 0 ||
	    payload_add_file(payload, loader, loader, true, err) < 0)
		return -1;
	status = run_loader(&list, loader, path);
	rest = list.bytes;
	while (!result && rest && (line = strsep(&rest, "\n"))) {
		if (strstr(line, "statically linked")) /* a static program with a loader's name */
			return 0;
		/* What the loader cannot do it says in its one line. */
		if (status && !strstr(line, " => ") && *line)
			return error_set(err, ERROR_INPUT, "%s: its loader says: %.300s", path,
					 line);
		result = add_line(payload, folders, path, line, err);
	}
	if (!result && status)
		return error_set(err, ERROR_INPUT, "%s: its loader %s does not list its libraries",
				 path, loader);
	return result;
}

/* --- programs ------------------------------------------------------------------------------------
 */

static int add_needs(struct payload *payload, struct text *folders, const char *path,
		     unsigned depth, struct error *err);

/* An interpreter goes where its script looks for it. */
static int add_interpreter(struct payload *payload, struct text *folders, const char *script,
			   const char *path, unsigned depth, struct error *err)
{
	if (depth == SCRIPTS_MAX)
		return error_set(err, ERROR_INPUT, "%s: its interpreter is a script of a script",
				 script);
	if (*path != '/')
		return error_set(err, ERROR_INPUT,
				 "%s: '#!%.100s': an absolute name of its interpreter was expected",
				 script, path);
	if (access(path, X_OK) < 0)
		return error_set(err, ERROR_INPUT, "%s: its interpreter %s: %s", script, path,
				 strerror(errno));
	if (payload_add_file(payload, path, path, true, err) < 0)
		return -1;
	return add_needs(payload, folders, path, depth + 1, err);
}

/* `#!/usr/bin/env NAME` finds NAME in the PATH. */
static int add_named(struct payload *payload, struct text *folders, const char *script,
		     const char *name, unsigned depth, struct error *err)
{
	static const char *const places[] = { "/usr/local/bin", "/usr/bin", "/bin" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		CLEANUP_FREE char *path = xasprintf("%s/%s", places[i], name);

		if (access(path, X_OK) == 0)
			return add_interpreter(payload, folders, script, path, depth, err);
	}
	return error_set(err, ERROR_INPUT, "%s: its interpreter %s is nowhere here", script, name);
}

static int add_script_needs(struct payload *payload, struct text *folders, const char *script,
			    const char *bytes, unsigned depth, struct error *err)
{
	CLEANUP_FREE char *line = strndup(bytes + 2, strcspn(bytes + 2, "\n"));
	char *rest = line, *interpreter, *argument;
	const char *name;

	interpreter = rest ? strtok_r(rest, " \t", &rest) : NULL;
	argument = interpreter ? strtok_r(NULL, " \t", &rest) : NULL;
	if (!interpreter)
		return error_set(err, ERROR_INPUT, "%s: no interpreter after '#!'", script);
	if (add_interpreter(payload, folders, script, interpreter, depth, err) < 0)
		return -1;
	name = strrchr(interpreter, '/') + 1;
	if (strcmp(name, "env") || !argument || *argument == '-')
		return 0;
	return add_named(payload, folders, script, argument, depth, err);
}

static int add_needs(struct payload *payload, struct text *folders, const char *path,
		     unsigned depth, struct error *err)
{
	CLEANUP_FREE char *bytes = xcalloc(1, HEAD_BYTES + 1);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	char loader[256];
	ssize_t got = 0;
	size_t length = 0;

	if (fd < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	while (length < HEAD_BYTES && (got = read(fd, bytes + length, HEAD_BYTES - length)) > 0)
		length += (size_t)got;
	if (got < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (length > 2 && bytes[0] == '#' && bytes[1] == '!')
		return add_script_needs(payload, folders, path, bytes, depth, err);
	if (!is_elf(bytes, length))
		return error_set(err, ERROR_INPUT,
				 "%s: is no program: neither an ELF file nor a script with '#!'",
				 path);
	if (check_elf(path, bytes, length, err) < 0 ||
	    find_loader(loader, sizeof(loader), path, bytes, length, err) < 0)
		return -1;
	return *loader ? add_libraries(payload, folders, path, loader, err) : 0;
}

static int check_program(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s is no file", path);
	if (!(st.st_mode & 0111))
		return error_set(err, ERROR_INPUT, "%s: is not executable: chmod +x", path);
	return 0;
}

static void set_arguments(struct payload *payload, const char *program,
			  const char *const *arguments)
{
	size_t count = 0;
	const char **argv;

	while (arguments && arguments[count])
		count++;
	argv = xcalloc(count + 2, sizeof(*argv));
	argv[0] = program;
	for (size_t i = 0; i < count; i++)
		argv[i + 1] = arguments[i];
	payload_set_arguments(payload, argv);
	free(argv);
}

/* A guest has no cache of where libraries are, and no other way to know. */
static void set_folders(struct payload *payload, const struct text *folders)
{
	if (folders->length)
		payload_set_environment(payload, LIBRARY_FOLDERS, folders->bytes);
}

int payload_add_program(struct payload *payload, const char *path, const char *const *arguments,
			struct error *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *name = xasprintf(JOB_SUBJECT "/%s", slash ? slash + 1 : path);
	CLEANUP_TEXT struct text folders = { 0 };

	if (check_program(path, err) < 0 || add_needs(payload, &folders, path, 0, err) < 0 ||
	    payload_add_file(payload, name, path, false, err) < 0)
		return -1;
	set_arguments(payload, name, arguments);
	set_folders(payload, &folders);
	return 0;
}

/* --- folders -------------------------------------------------------------------------------------
 */

/* The executables of a tree that is in the payload already, by their names there. */
struct executables {
	struct text names; /* each ended by a NUL */
};

static int note_executable(void *context, const struct payload_member *member)
{
	struct executables *executables = context;

	if (!S_ISREG(member->mode) || !(member->mode & 0111) ||
	    strncmp(member->name, JOB_SUBJECT "/", strlen(JOB_SUBJECT "/")))
		return 0;
	if (is_elf(member->bytes, member->length) ||
	    (member->length > 2 && !memcmp(member->bytes, "#!", 2)))
		text_add(&executables->names, member->name, strlen(member->name) + 1);
	return 0;
}

static int add_needs_of_all(struct payload *payload, struct text *folders, const char *path,
			    const struct executables *executables, struct error *err)
{
	const char *name = executables->names.bytes;
	const char *end = name + executables->names.length;

	for (; name < end; name += strlen(name) + 1) {
		CLEANUP_FREE char *file = xasprintf("%s%s", path, name + strlen(JOB_SUBJECT));

		if (add_needs(payload, folders, file, 0, err) < 0)
			return -1;
	}
	return 0;
}

int payload_add_folder(struct payload *payload, const char *path, const char *const *arguments,
		       struct error *err)
{
	struct executables executables = { 0 };
	CLEANUP_FREE char *run = xasprintf("%s/run", path);
	CLEANUP_TEXT struct text folders = { 0 };
	int result;

	if (access(run, F_OK) < 0)
		return error_set(err, ERROR_INPUT, "%s: has no program 'run', which would be run",
				 path);
	if (check_program(run, err) < 0 || payload_add_tree(payload, JOB_SUBJECT, path, 0, err) < 0)
		return -1;
	payload_each(payload, note_executable, &executables);
	result = add_needs_of_all(payload, &folders, path, &executables, err);
	text_free(&executables.names);
	if (result < 0)
		return -1;
	set_arguments(payload, FOLDER_PROGRAM, arguments);
	set_folders(payload, &folders);
	return 0;
}
