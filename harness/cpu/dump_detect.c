/* SPDX-License-Identifier: MIT */
/*
 * Which format a text has. Each reader has marks that are in every file of its format; those whose
 * marks are found are tried, from the one that says most of a CPU to the one that says least, and
 * the first that gives a CPU with an identity is it. Without one, that which knows the most bits
 * is.
 */
#include "harness/cpu/dump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/read.h"
#include "harness/util/cleanup.h"

static const struct dump_reader *const readers[] = {
	/* whole registers */
	&reader_json,
	&reader_cpudata,
	&reader_aida64,
	&reader_cpuid_r,
	&reader_libcpuid,
	&reader_kcpuid,
	&reader_xen,
	&reader_x86info,
	&reader_hwloc,
	&reader_cpuz,
	&reader_ohm,
	&reader_cpu_features,
	&reader_csv,
	/* some registers, or bits by name */
	&reader_freebsd,
	&reader_decoded,
	&reader_cpuinfo,
	&reader_lscpu,
	&reader_darwin,
	&reader_cpu_xml,
};

static bool has_marks(const struct dump_reader *reader, const struct dump_text *text, bool any_case)
{
	for (size_t i = 0; i < sizeof(reader->marks) / sizeof(reader->marks[0]); i++) {
		const char *mark = reader->marks[i];

		if (mark && (any_case ? strcasestr(text->bytes, mark) : text_find(text, mark)))
			return true;
	}
	return false;
}

/* Words of systems that are no x86. A text that has one, and no x86 CPU, is refused by its name. */
static const struct {
	const char *word, *machine;
} foreign[] = {
	{ "CPU implementer", "Arm" }, { "aarch64", "Arm" },	 { "armv7", "Arm" },
	{ "riscv64", "RISC-V" },      { "isa  : rv", "RISC-V" }, { "ppc64", "POWER" },
	{ "POWER", "POWER" },	      { "s390x", "IBM Z" },	 { "IBM/S390", "IBM Z" },
	{ "loongarch", "LoongArch" }, { "mips64", "MIPS" },
};

static int refuse(const struct dump_text *text, struct error *err)
{
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (text_find(text, foreign[i].word))
			return error_set(err, ERROR_INPUT, "not of an x86 CPU, but of %s",
					 foreign[i].machine);
	return error_set(
		err, ERROR_INPUT,
		"nothing that tells of an x86 CPU: no CPUID dump, no cpuinfo, no report of a "
		"format that is known");
}

static size_t known_bits(const struct dump *dump)
{
	size_t bits = 0;

	for (size_t i = 0; dump->cpu_count && i < dump->cpus[0].leaf_count; i++)
		for (size_t reg = 0; reg < 4; reg++)
			bits += (size_t)__builtin_popcount(dump->cpus[0].leaves[i].known[reg]);
	return bits + (dump->cpu_count && dump->cpus[0].cpu.libvirt_model);
}

static char *in_small_letters(const struct dump_text *text)
{
	char *copy = xmalloc(text->length + 1);

	for (size_t i = 0; i < text->length; i++)
		copy[i] = (char)tolower((unsigned char)text->bytes[i]);
	copy[text->length] = '\0';
	return copy;
}

static int read_text(struct dump *dump, const struct dump_reader *reader,
		     const struct dump_text *text, bool any_case, struct error *err)
{
	CLEANUP_FREE char *copy = any_case && reader->small_letters ? in_small_letters(text) : NULL;
	struct dump_text other = { copy ? copy : text->bytes, text->length };
	struct reading reading;
	int result = 0;

	*dump = (struct dump){ .format = reader->name };
	reading_begin(&reading, dump);
	reading.any_case = any_case;
	if (copy)
		reading_warn(&reading, 0, "names are read without regard to capitals");
	if (reader->lines)
		read_leaf_lines(&reading, &other, reader->lines);
	else
		result = reader->read(&reading, &other, err);
	reading_end(&reading);
	if (result)
		dump_free(dump);
	return result;
}

/* The best of what the readers make of it; -1 where one knows why the file must be refused. */
static int try_readers(struct dump *dump, const struct dump_text *text, bool any_case,
		       struct error *err)
{
	struct dump best = { 0 };

	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		struct dump found;

		if (!has_marks(readers[i], text, any_case))
			continue;
		if (read_text(&found, readers[i], text, any_case, err)) {
			dump_free(&best);
			return -1;
		}
		if (dump_identity(&found, NULL) == 0 || known_bits(&found) > known_bits(&best)) {
			struct dump worse = best;

			best = found;
			found = worse;
		}
		dump_free(&found);
		if (dump_identity(&best, NULL) == 0)
			break;
	}
	*dump = best;
	return 0;
}

static int detect(struct dump *dump, const struct dump_text *text, struct error *err)
{
	if (try_readers(dump, text, false, err))
		return -1;
	/* All in capitals, or in none: rare, so not looked for at first. */
	if (dump_identity(dump, NULL)) {
		struct dump other;

		if (try_readers(&other, text, true, err)) {
			dump_free(dump);
			return -1;
		}
		if (!dump_identity(&other, NULL) || known_bits(&other) > known_bits(dump)) {
			struct dump worse = *dump;

			*dump = other;
			other = worse;
		}
		dump_free(&other);
	}
	return known_bits(dump) ? 0 : (dump_free(dump), refuse(text, err));
}

static int read_archive(struct dump *dump, const char *bytes, size_t length, struct error *err)
{
	struct reading reading;
	int result;

	*dump = (struct dump){ .format = "archive of hwloc-gather-cpuid" };
	reading_begin(&reading, dump);
	result = archive_read(&reading, bytes, length, err);
	reading_end(&reading);
	if (!result && !known_bits(dump))
		result =
			error_set(err, ERROR_INPUT, "an archive without CPUID dumps of an x86 CPU");
	if (result)
		dump_free(dump);
	return result;
}

int dump_read(struct dump *dump, char *bytes, size_t length, struct error *err)
{
	struct dump_text text = { bytes, length };

	*dump = (struct dump){ 0 };
	if (archive_looks(bytes, length))
		return read_archive(dump, bytes, length, err);
	if (text_clean(&text))
		return error_set(err, ERROR_INPUT, "binary: no text, and no archive that is known");
	if (strspn(text.bytes, " \t\n") == text.length)
		return error_set(err, ERROR_INPUT, "empty: nothing to read a CPU from");
	return detect(dump, &text, err);
}
