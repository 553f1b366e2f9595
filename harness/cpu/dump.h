/* SPDX-License-Identifier: MIT */
/*
 * CPUs in files: what a dump, a report or a person's paste says, in any of the formats that read.h
 * lists. The format is found by what the bytes say, never by the file's name.
 *
 * Every source becomes the same thing: registers of CPUID leaves, of which each bit is known or
 * not. A dump of registers knows whole words; a list of flags knows single bits. What a source does
 * not say stays unknown, and what is uncertain in it is one warning a line.
 */
#ifndef QUIRKLAB_HARNESS_CPU_DUMP_H
#define QUIRKLAB_HARNESS_CPU_DUMP_H

#include "harness/cpu/cpu.h"

#define DUMP_BYTES_MAX (256u << 20) /* of a file, and of what an archive unpacks to */

/* One leaf; only the bits of `known` mean anything. Leaf 3 (serial numbers) is never here. */
struct dump_leaf {
	uint32_t leaf, subleaf;
	uint32_t reg[4], known[4]; /* EAX EBX ECX EDX */
};

struct dump_range {
	unsigned first, last; /* logical CPUs, as the file numbers them */
};

/* A CPU, and all the logical CPUs of the file that differ from it in nothing but their number. */
struct dump_cpu {
	struct cpu cpu; /* identity, bits, caches; identity_known: vendor, family and model are */
	bool vendor_known, family_known, model_known, stepping_known;
	char brand[49]; /* up to the first NUL byte, blanks as they are; "" where it is not known */
	int core_type;	/* leaf 0x1A EAX bits 31:24, 0x20 (Atom), 0x40 (Core); -1: not said */
	int rep_good;	/* the kernel's flag, which has no CPUID bit: 1, 0; -1: not said */
	struct dump_range *numbers; /* sorted; owned */
	size_t number_count;
	unsigned count;		  /* logical CPUs */
	struct dump_leaf *leaves; /* sorted by leaf and subleaf; owned */
	size_t leaf_count;
	uint32_t last_leaf; /* what was read last: the list of its subleaves may be cut */
};

struct dump {
	const char *format; /* "AIDA64 report"; static */
	struct dump_cpu
		*cpus; /* CPU 0 of the file, or the lowest that it has, comes first; owned */
	size_t cpu_count;
	char **warnings; /* one printable line each; owned */
	size_t warning_count, warnings_dropped;
};

/*
 * The CPUs that the bytes tell of. The bytes are scratch: cleaning is done in place; bytes[length]
 * must be a NUL. ERROR_INPUT, one line without the file's name, where nothing can be read of a CPU:
 * empty, binary, another architecture, no known format. 0 does not promise an identity: see
 * dump_identity.
 */
int dump_read(struct dump *dump, char *bytes, size_t length, struct error *err);
/* The same for a file ("-": standard input), with its name in the message. */
int dump_read_file(struct dump *dump, const char *path, struct error *err);
/* The machine that this runs on, each CPU that the process may use. */
int dump_read_host(struct dump *dump, struct error *err);
void dump_free(struct dump *dump);

/* 0 where the first CPU has vendor, family and model; else ERROR_INPUT that names what is missing.
 */
int dump_identity(const struct dump *dump, struct error *err);

/* The leaves of which every bit is known, for whoever works on whole registers. */
void dump_whole_leaves(const struct dump_cpu *cpu, struct cpuid_dump *out);
/* The reverse, for a CPU that is no dump: its known bits and its identity as leaves. */
void dump_from_cpu(struct dump *dump, const struct cpu *cpu);

/* For a SPEC: the whole leaves of the first CPU; path is for messages. */
int dump_parse(struct cpuid_dump *dump, const char *path, const char *bytes, size_t length,
	       struct error *err);
/* For a SPEC: the first CPU of a file, named after the file. It has an identity, or the name of a
 * libvirt model (libvirt_model) in its place. */
int dump_read_cpu(struct cpu *cpu, const char *path, struct error *err);
/* A CPU that names a libvirt model: what it leaves open is the model's, of models.tsv. A model that
 * is not there makes it a CPU of origin CPU_MODEL. */
void dump_lay_over_model(struct cpu *cpu, const struct cpu_list *models);
/* A file's name as a CPU's: without folder and suffix, without what no name has. */
void dump_name_after(char *name, size_t room, const char *path);

#endif
