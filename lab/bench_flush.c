// SPDX-License-Identifier: MIT
/* Durable stores: memory that keeps them, and where flushing loses to stores past the cache. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/util/cleanup.h"
#include "lab/bench.h"

int bench_map_pmem(struct bench_pmem *pmem, const char *path, size_t bytes, struct error *err)
{
	CLEANUP_FD int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *memory;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, ERROR_INPUT, "--pmem: %s: %s", path, strerror(errno));
	/* A DAX device has no size of its own here; mmap says whether it is large enough. */
	if (S_ISREG(st.st_mode) && (size_t)st.st_size < bytes)
		return error_set(err, ERROR_INPUT,
				 "--pmem: %s: %zu MiB are needed for these extents and threads, "
				 "the file has %zu",
				 path, (bytes + (1 << 20) - 1) >> 20, (size_t)st.st_size >> 20);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
	if (memory == MAP_FAILED)
		return error_set(err, ERROR_INPUT,
				 "--pmem: %s: %s%s: a file on a file system mounted with DAX, or a "
				 "DAX device, was expected",
				 path, strerror(errno), errno == EOPNOTSUPP ? " (MAP_SYNC)" : "");
	*pmem = (struct bench_pmem){ memory, bytes };
	return 0;
}

void bench_unmap_pmem(struct bench_pmem *pmem)
{
	if (pmem->memory)
		munmap(pmem->memory, pmem->bytes);
	*pmem = (struct bench_pmem){ 0 };
}

/* --- the crossover
 * ---------------------------------------------------------------------------------- */

/* Whether the path stores through the cache and flushes behind itself. */
static bool flushes(const struct bench_line *line)
{
	const char *path = line->measured.path->path;

	return !line->reference && (strstr(path, "+cl") || !strcmp(path, "clflushopt-copy"));
}

/* The verdict against movnti, by number of threads, for one path and extent. */
static void add_crossover(struct text *out, const struct bench_result *result, size_t first)
{
	const struct bench_line *line = &result->lines[first];
	char size[32];

	bench_size_text(size, sizeof(size), line->measured.bytes);
	text_addf(out, "  %-17s %-18s %8s:", line->measured.path->operation,
		  line->measured.path->path, size);
	for (size_t i = first; i < result->line_count; i++) {
		const struct bench_line *other = &result->lines[i];

		if (other->measured.bytes != line->measured.bytes ||
		    strcmp(other->measured.path->operation, line->measured.path->operation) ||
		    strcmp(other->measured.path->path, line->measured.path->path))
			continue;
		text_addf(out, "%s %u thread%s %s", i == first ? "" : ",", other->measured.threads,
			  other->measured.threads == 1 ? "" : "s",
			  conclusion_name(other->conclusion));
		if (other->compared)
			text_addf(out, " (%+.1f %%)", 100 * (other->comparison.ratio - 1));
	}
	text_addf(out, "\n");
}

/* Lines of the fewest threads stand for all numbers of threads. */
static bool is_first(const struct bench_result *result, size_t index)
{
	const struct measured *measured = &result->lines[index].measured;

	for (size_t i = 0; i < index; i++) {
		const struct measured *earlier = &result->lines[i].measured;

		if (earlier->bytes == measured->bytes &&
		    !strcmp(earlier->path->operation, measured->path->operation) &&
		    !strcmp(earlier->path->path, measured->path->path))
			return false;
	}
	return true;
}

static void add_picks(struct text *out, const struct dispatch_cpu *cpu)
{
	struct dispatch_choice many = dispatch_choose(cpu, DISPATCH_MEMCPY_FLUSHCACHE, 4096);
	struct dispatch_choice one = dispatch_choose(cpu, DISPATCH_MEMCPY_FLUSHCACHE_SINGLE, 4096);

	text_addf(out,
		  "  the dispatcher takes %s for any number of writers and %s for a single one "
		  "(from 768 bytes on)\n",
		  dispatch_path_name(many.path), dispatch_path_name(one.path));
}

void bench_crossover(struct text *out, const struct bench_result *result)
{
	for (size_t i = 0; i < result->line_count; i++) {
		if (!flushes(&result->lines[i]) || !is_first(result, i))
			continue;
		if (!out->length) {
			text_addf(out, "flushing against movnti, by the number of writers\n");
			add_picks(out, &result->machine.cpu);
		}
		add_crossover(out, result, i);
	}
}
