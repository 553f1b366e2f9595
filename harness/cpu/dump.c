/* SPDX-License-Identifier: MIT */
/* Dumps as files, as CPUs of a SPEC, and as whole leaves. */
#include "harness/cpu/dump.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "harness/util/cleanup.h"
#include "harness/util/file.h"
#include "harness/util/text.h"

#define ALL 0xFFFFFFFFu

void dump_free(struct dump *dump)
{
	for (size_t i = 0; i < dump->cpu_count; i++) {
		cpu_free(&dump->cpus[i].cpu);
		free(dump->cpus[i].numbers);
		free(dump->cpus[i].leaves);
	}
	free(dump->cpus);
	for (size_t i = 0; i < dump->warning_count; i++)
		free(dump->warnings[i]);
	free(dump->warnings);
	*dump = (struct dump){ 0 };
}

int dump_identity(const struct dump *dump, struct error *err)
{
	const struct dump_cpu *cpu = dump->cpus;
	const char *missing[3] = { "", "", "" };
	size_t count = 0;

	if (!dump->cpu_count)
		return error_set(err, ERROR_INPUT, "no CPU");
	if (cpu->cpu.identity_known || cpu->cpu.libvirt_model)
		return 0;
	if (!cpu->vendor_known)
		missing[count++] = "vendor";
	if (!cpu->family_known)
		missing[count++] = "family";
	if (!cpu->model_known)
		missing[count++] = "model";
	return error_set(err, ERROR_INPUT, "no identity can be read: %s%s%s%s%s missing in this %s",
			 missing[0], count > 1 ? ", " : "", count > 1 ? missing[1] : "",
			 count > 2 ? ", " : "", count > 2 ? missing[2] : "", dump->format);
}

void dump_whole_leaves(const struct dump_cpu *cpu, struct cpuid_dump *out)
{
	*out = (struct cpuid_dump){ 0 };
	for (size_t i = 0; i < cpu->leaf_count; i++) {
		const struct dump_leaf *from = &cpu->leaves[i];
		struct cpuid_leaf leaf = { .leaf = from->leaf, .subleaf = from->subleaf };

		if ((from->known[0] & from->known[1] & from->known[2] & from->known[3]) != ALL)
			continue;
		memcpy(leaf.reg, from->reg, sizeof(leaf.reg));
		cpuid_add(out, &leaf);
	}
}

/* --- files --- */

static int open_input(const char *path, size_t *size, struct error *err)
{
	int fd = strcmp(path, "-") ? file_open(path, err) : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	struct stat st;

	*size = 0;
	if (fd < 0)
		return strcmp(path, "-") ? -1 : error_set(err, ERROR_INPUT, "%s", strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(err, ERROR_INPUT, "is a folder, a file was expected");
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0)
		*size = (size_t)st.st_size;
	return fd;
}

/* All of it, and a NUL; a file of known size in one piece. */
static int read_input(const char *path, char **bytes, size_t *length, struct error *err)
{
	size_t size, room, used = 0;
	CLEANUP_FD int fd = open_input(path, &size, err);
	CLEANUP_FREE char *buffer = NULL;
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	for (room = size < DUMP_BYTES_MAX ? size + 2 : 0; got; used += (size_t)got) {
		if (used > DUMP_BYTES_MAX || size > DUMP_BYTES_MAX)
			return error_set(err, ERROR_INPUT, "larger than %u MB",
					 DUMP_BYTES_MAX >> 20);
		if (!buffer || used + 1 >= room) {
			room = buffer ? room * 2 : room > 65536 ? room : 65536;
			buffer = xrealloc(buffer, room);
		}
		do {
			got = read(fd, buffer + used, room - used - 1);
		} while (got < 0 && errno == EINTR);
		if (got < 0)
			return error_set(err, ERROR_INPUT, "%s", strerror(errno));
	}
	buffer[used] = '\0';
	*bytes = buffer;
	*length = used;
	buffer = NULL;
	return 0;
}

int dump_read_file(struct dump *dump, const char *path, struct error *err)
{
	CLEANUP_FREE char *bytes = NULL;
	char name[256];
	size_t length = 0;

	*dump = (struct dump){ 0 };
	if (read_input(path, &bytes, &length, err) == 0 && dump_read(dump, bytes, length, err) == 0)
		return 0;
	text_printable(name, sizeof(name), path, strlen(path));
	return error_prefix(err, "%s", strcmp(path, "-") ? name : "standard input");
}

void dump_name_after(char *name, size_t room, const char *path)
{
	CLEANUP_FREE char *copy = xstrdup(path);
	char *base = basename(copy), *dot = strrchr(base, '.');

	if (dot && dot > base)
		*dot = '\0';
	snprintf(name, room, "%s", strcmp(base, "-") ? base : "stdin");
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.+", *c))
			*c = '-';
}

/* --- for a SPEC --- */

int dump_parse(struct cpuid_dump *dump, const char *path, const char *bytes, size_t length,
	       struct error *err)
{
	CLEANUP_FREE char *copy = xmalloc(length + 1);
	struct dump read;

	*dump = (struct cpuid_dump){ 0 };
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	if (dump_read(&read, copy, length, err))
		return error_prefix(err, "%s", path);
	dump_whole_leaves(&read.cpus[0], dump);
	dump_free(&read);
	if (dump->count)
		return 0;
	return error_set(err, ERROR_INPUT, "%s: no whole leaf of CPUID", path);
}

int dump_read_cpu(struct cpu *cpu, const char *path, struct error *err)
{
	struct dump dump;

	cpu_init(cpu);
	if (dump_read_file(&dump, path, err))
		return -1;
	if (dump_identity(&dump, err)) {
		dump_free(&dump);
		return error_prefix(err, "%s", path);
	}
	cpu_copy(cpu, &dump.cpus[0].cpu);
	dump_free(&dump);
	dump_name_after(cpu->name, CPU_NAME_MAX - 32, path);
	return 0;
}

void dump_lay_over_model(struct cpu *cpu, const struct cpu_list *models)
{
	const struct cpu *model = NULL;

	if (!cpu->libvirt_model)
		return;
	for (size_t i = 0; i < models->count && !model; i++)
		if (!strcasecmp(models->cpus[i].libvirt_model, cpu->libvirt_model))
			model = &models->cpus[i];
	for (size_t i = 0; model && i < FEATURE_WORDS; i++) {
		cpu->on.word[i] |= model->on.word[i] & ~cpu->known.word[i];
		cpu->known.word[i] |= model->known.word[i];
	}
	if (model && !cpu->identity_known && model->identity_known) {
		if (!*cpu->vendor)
			memcpy(cpu->vendor, model->vendor, sizeof(cpu->vendor));
		cpu->family = model->family;
		cpu->model = model->model;
		cpu->stepping = model->stepping;
		cpu->stepping_max = model->stepping_max;
		cpu->identity_known = true;
	}
	/* libvirt tells capitals apart; a paste may have lost them. */
	if (model) {
		free(cpu->libvirt_model);
		cpu->libvirt_model = xstrdup(model->libvirt_model);
	}
	if (!cpu->identity_known)
		cpu->origin = CPU_MODEL;
}

/* --- a CPU that is no dump --- */

static struct dump_leaf *leaf_of(struct dump_cpu *cpu, uint32_t leaf, uint32_t subleaf)
{
	for (size_t i = 0; i < cpu->leaf_count; i++)
		if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf)
			return &cpu->leaves[i];
	cpu->leaves = xrealloc(cpu->leaves, (cpu->leaf_count + 1) * sizeof(*cpu->leaves));
	cpu->leaves[cpu->leaf_count] = (struct dump_leaf){ .leaf = leaf, .subleaf = subleaf };
	return &cpu->leaves[cpu->leaf_count++];
}

static int compare_leaves(const void *left, const void *right)
{
	const struct dump_leaf *a = left, *b = right;

	if (a->leaf != b->leaf)
		return a->leaf < b->leaf ? -1 : 1;
	return a->subleaf < b->subleaf ? -1 : a->subleaf > b->subleaf;
}

void dump_from_cpu(struct dump *dump, const struct cpu *cpu)
{
	struct dump_cpu *out = xcalloc(1, sizeof(*out));
	struct dump_leaf *leaf;

	*dump = (struct dump){ .format = "the lab's own tables", .cpus = out, .cpu_count = 1 };
	cpu_copy(&out->cpu, cpu);
	out->core_type = -1;
	out->rep_good = -1;
	out->count = 1;
	out->number_count = 1;
	out->numbers = xcalloc(1, sizeof(*out->numbers));
	for (int i = 0; i < (int)feature_count; i++) {
		if (!feature_in(&cpu->known, i))
			continue;
		leaf = leaf_of(out, features[i].leaf, features[i].subleaf);
		leaf->known[features[i].reg] |= 1u << features[i].bit;
		if (feature_in(&cpu->on, i))
			leaf->reg[features[i].reg] |= 1u << features[i].bit;
	}
	if (cpu->identity_known) {
		out->vendor_known = out->family_known = out->model_known = out->stepping_known =
			true;
		leaf = leaf_of(out, 1, 0);
		leaf->reg[CPUID_EAX] = signature_encode(cpu->family, cpu->model, cpu->stepping);
		leaf->known[CPUID_EAX] = 0x0FFF0FFFu;
		leaf = leaf_of(out, 0, 0);
		memcpy(&leaf->reg[CPUID_EBX], cpu->vendor, 4);
		memcpy(&leaf->reg[CPUID_EDX], cpu->vendor + 4, 4);
		memcpy(&leaf->reg[CPUID_ECX], cpu->vendor + 8, 4);
		leaf->known[CPUID_EBX] = leaf->known[CPUID_ECX] = leaf->known[CPUID_EDX] = ALL;
	}
	qsort(out->leaves, out->leaf_count, sizeof(*out->leaves), compare_leaves);
}
