/* SPDX-License-Identifier: MIT */
/* A glibc out of a folder or a package: its loader and its libc.so.6, with our probe beside them.
 */
#include "harness/guest/libc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "harness/guest/deb.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

#define PROBE  "subjects/glibc" /* among the images */
#define LOADER "ld-linux-x86-64.so.2"

/* Where they lie in the payload. The loader's name is what the probe's ELF file says; the library's
 * folder is told to it, since each build has its own. */
#define PAYLOAD_PROBE	"/subject/glibc"
#define PAYLOAD_LOADER	"/lib64/" LOADER
#define PAYLOAD_FOLDER	"/lib"
#define PAYLOAD_LIBRARY PAYLOAD_FOLDER "/libc.so.6"

/* Of a root, a folder of libraries, a build tree; the first that is there. Debian's own folder goes
 * before the one that only has links into it. */
static const char *const library_places[] = {
	"libc.so.6",
	"usr/lib/x86_64-linux-gnu/libc.so.6",
	"lib/x86_64-linux-gnu/libc.so.6",
	"lib64/libc.so.6",
	"usr/lib64/libc.so.6",
	"lib/libc.so.6",
	"usr/lib/libc.so.6",
	"libc.so",
	NULL,
};
static const char *const loader_places[] = {
	LOADER,
	"usr/lib/x86_64-linux-gnu/" LOADER,
	"lib/x86_64-linux-gnu/" LOADER,
	"lib64/" LOADER,
	"usr/lib64/" LOADER,
	"lib/" LOADER,
	"usr/lib/" LOADER,
	"elf/" LOADER,
	"elf/ld.so",
	NULL,
};

/* --- is it one? ---------------------------------------------------------------------------------
 */

static int check_elf(const struct blob *blob, const char *where, const char *what,
		     struct error *err)
{
	Elf64_Ehdr header;

	if (blob->length < sizeof(header) || memcmp(blob->bytes, ELFMAG, SELFMAG))
		return error_set(err, ERROR_INPUT, "%s: its %s is no ELF file", where, what);
	memcpy(&header, blob->bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_type != ET_DYN)
		return error_set(err, ERROR_INPUT,
				 "%s: its %s is no shared library for x86-64 (machine %u)", where,
				 what, header.e_machine);
	return 0;
}

static int check_glibc(const struct libc_files *files, const char *where, struct error *err)
{
	static const char banner[] = "GNU C Library";

	if (!files->library.bytes || !files->loader.bytes)
		return error_set(err, ERROR_INPUT, "%s: there is no glibc in it: no %s", where,
				 files->library.bytes ? LOADER : "libc.so.6");
	if (check_elf(&files->library, where, "libc.so.6", err) ||
	    check_elf(&files->loader, where, LOADER, err))
		return -1;
	if (!memmem(files->library.bytes, files->library.length, banner, sizeof(banner) - 1))
		return error_set(err, ERROR_INPUT, "%s: its libc.so.6 is no glibc", where);
	return 0;
}

/* --- a folder -----------------------------------------------------------------------------------
 */

static int open_below(int folder, const char *name)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				      .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
}

static int read_blob(struct blob *out, int fd, const char *name, struct error *err)
{
	struct stat st;
	size_t used = 0;
	ssize_t got;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, ERROR_INPUT, "%s is no file", name);
	if (st.st_size > LIBC_FILE_BYTES_MAX)
		return error_set(err, ERROR_INPUT, "%s: has more than %d MB", name,
				 LIBC_FILE_BYTES_MAX >> 20);
	out->bytes = xmalloc((size_t)st.st_size + 1);
	while (used < (size_t)st.st_size &&
	       (got = read(fd, out->bytes + used, (size_t)st.st_size - used)) > 0)
		used += (size_t)got;
	out->length = used;
	return 0;
}

static int read_first(struct blob *out, int folder, const char *where, const char *const *places,
		      struct error *err)
{
	for (; *places; places++) {
		CLEANUP_FD int fd = open_below(folder, *places);
		int result;

		if (fd < 0)
			continue;
		result = read_blob(out, fd, *places, err);
		return result ? error_prefix(err, "%s", where) : 0;
	}
	return 0;
}

static int read_folder(struct libc_files *files, const char *path, struct error *err)
{
	CLEANUP_FD int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return error_set(err, ERROR_INPUT, "%s: %s", path, strerror(errno));
	if (read_first(&files->library, folder, path, library_places, err))
		return -1;
	return read_first(&files->loader, folder, path, loader_places, err);
}

/* --- the payload --------------------------------------------------------------------------------
 */

void libc_files_free(struct libc_files *files)
{
	free(files->library.bytes);
	free(files->loader.bytes);
	*files = (struct libc_files){ 0 };
}

static int add_glibc(struct payload *payload, const char *path, struct error *err)
{
	__attribute__((cleanup(libc_files_free))) struct libc_files files = { 0 };
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(err, ERROR_INPUT, "--libc: %s: %s", path, strerror(errno));
	if ((S_ISDIR(st.st_mode) ? read_folder(&files, path, err) : deb_read(&files, path, err)) ||
	    check_glibc(&files, path, err))
		return error_prefix(err, "--libc");
	payload_add_bytes(payload, PAYLOAD_LOADER, files.loader.bytes, files.loader.length, 0755,
			  true);
	payload_add_bytes(payload, PAYLOAD_LIBRARY, files.library.bytes, files.library.length, 0755,
			  true);
	return 0;
}

int libc_payload(struct payload *payload, const char *libc, struct error *err)
{
	static const char *const argv[] = { PAYLOAD_PROBE, NULL };
	CLEANUP_FREE char *probe = path_image(PROBE);

	if (access(probe, R_OK) < 0)
		return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", probe,
				 strerror(errno));
	payload_set_read_only(payload);
	if (!libc)
		return payload_add_program(payload, probe, NULL, err);
	if (add_glibc(payload, libc, err) ||
	    payload_add_file(payload, PAYLOAD_PROBE, probe, false, err))
		return -1;
	payload_set_arguments(payload, argv);
	payload_set_environment(payload, "LD_LIBRARY_PATH", PAYLOAD_FOLDER);
	return 0;
}
