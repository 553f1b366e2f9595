// SPDX-License-Identifier: MIT
/* Our program for persistent memory, and the modules of the kernel that is to boot. */
#include "harness/guest/pmem.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/paths.h"
#include "harness/util/text.h"

#define PROGRAM		 "subjects/pmem" /* among the images */
#define MODULES		 "/lib/modules"
#define MODULE_BYTES_MAX (32UL << 20) /* Debian's libnvdimm has 0.5 MB, with debug info 10 */

#define LIST_BYTES_MAX (1UL << 20)

/* In the order in which they are loaded. Names are those of 4.20 and later. */
static const struct {
	const char *path, *name;
} needed[] = {
	{ "kernel/drivers/nvdimm/libnvdimm.ko", "1-libnvdimm.ko" },
	{ "kernel/drivers/nvdimm/nd_e820.ko", "2-nd_e820.ko" },
	{ "kernel/drivers/acpi/nfit/nfit.ko", "3-nfit.ko" },
	{ "kernel/drivers/dax/device_dax.ko", "4-device_dax.ko" },
	{ "kernel/drivers/dax/dax_pmem.ko", "5-dax_pmem.ko" },
};

static void free_archive(struct archive **archive)
{
	if (*archive)
		archive_read_free(*archive);
}

/* What the file holds, be it compressed or not. */
static int unpack(struct text *out, const char *path, struct error *err)
{
	__attribute__((cleanup(free_archive))) struct archive *archive = archive_read_new();
	CLEANUP_FREE char *buffer = xmalloc(1 << 16);
	struct archive_entry *entry;
	la_ssize_t got;

	archive_read_support_filter_xz(archive);
	archive_read_support_filter_zstd(archive);
	archive_read_support_filter_gzip(archive);
	archive_read_support_format_raw(archive);
	if (archive_read_open_filename(archive, path, 1 << 16) != ARCHIVE_OK ||
	    archive_read_next_header(archive, &entry) != ARCHIVE_OK)
		return error_set(err, ERROR_INPUT, "%s: %s", path, archive_error_string(archive));
	while ((got = archive_read_data(archive, buffer, 1 << 16)) > 0) {
		text_add(out, buffer, (size_t)got);
		if (out->length > MODULE_BYTES_MAX)
			return error_set(err, ERROR_INPUT, "%s: a module has at most %lu MB", path,
					 MODULE_BYTES_MAX >> 20);
	}
	return got < 0 ? error_set(err, ERROR_INPUT, "%s: %s", path, archive_error_string(archive))
		       : 0;
}

/* The file as it is, or compressed; NULL: none. Caller frees. */
static char *find_module(const char *folder, const char *path)
{
	static const char *const endings[] = { "", ".xz", ".zst", ".gz" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		char *file = xasprintf("%s/%s%s", folder, path, endings[i]);

		if (access(file, R_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

/* modules.builtin has a line for each, as a path below the release's folder. */
static bool is_built_in(const char *folder, const char *path)
{
	CLEANUP_FREE char *list = xasprintf("%s/modules.builtin", folder);
	CLEANUP_FREE char *text = NULL;
	size_t length;
	struct error err = { 0 };
	const char *at;

	if (file_read(list, LIST_BYTES_MAX, &text, &length, &err) < 0)
		return false;
	at = strstr(text, path);
	return at && (at == text || at[-1] == '\n');
}

static int add_modules(struct payload *payload, const char *folder, const char *release,
		       struct error *err)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		CLEANUP_FREE char *file = find_module(folder, needed[i].path);
		CLEANUP_FREE char *name = xasprintf("/modules/%s", needed[i].name);
		CLEANUP_TEXT struct text module = { 0 };

		if (!file && is_built_in(folder, needed[i].path))
			continue;
		if (!file)
			return error_set(err, ERROR_INPUT,
					 "--subject pmem: the kernel %s has no %s, neither in %s "
					 "nor built in",
					 release, needed[i].path, folder);
		if (unpack(&module, file, err) < 0)
			return error_prefix(err, "--subject pmem");
		payload_add_bytes(payload, name, module.bytes, module.length, 0644, false);
	}
	return 0;
}

int pmem_payload(struct payload *payload, const char *kernel, const char *modules,
		 struct error *err)
{
	CLEANUP_FREE char *program = path_image(PROGRAM);
	CLEANUP_FREE char *found = kernel ? NULL : kernel_find(err);
	CLEANUP_FREE char *release = NULL;
	CLEANUP_FREE char *folder = NULL;

	if (!kernel && !found)
		return -1;
	release = kernel_release(kernel ? kernel : found, err);
	if (!release)
		return error_prefix(err, "--subject pmem");
	if (access(program, R_OK) < 0)
		return error_set(err, ERROR_LAB, "%s: %s: 'make images' builds it", program,
				 strerror(errno));
	folder = xasprintf("%s/%s", modules ? modules : MODULES, release);
	if (payload_add_program(payload, program, NULL, err) < 0)
		return -1;
	return add_modules(payload, folder, release, err);
}
