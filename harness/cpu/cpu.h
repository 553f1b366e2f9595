/* SPDX-License-Identifier: MIT */
/*
 * One CPU: who it is, and the bits that are known of it. The same type serves for the CPU that was
 * asked for, and for what a guest saw (cpu_from_dump).
 */
#ifndef QUIRKLAB_HARNESS_CPU_CPU_H
#define QUIRKLAB_HARNESS_CPU_CPU_H

#include "harness/cpu/cpuid.h"
#include "harness/cpu/feature.h"
#include "harness/util/error.h"

#define CPU_NAME_MAX 96

enum cpu_origin {
	CPU_CATALOGUE, /* catalogue.tsv */
	CPU_UNKNOWN,   /* unknown.tsv */
	CPU_MODEL, /* a libvirt model by name; identity and bits from models.tsv where it has it */
	CPU_SIGNATURE, /* given by the user: a signature that no table has */
	CPU_DUMP,      /* read from a dump */
};

struct cpu {
	char name[CPU_NAME_MAX]; /* unique in a run; no '/' and no blank */
	char spec[256]; /* what the user wrote for it, without edits, where the name does not
			   mean it: a signature or a file; else "" */
	enum cpu_origin origin;
	char vendor[13];		  /* the 12 bytes of leaf 0 */
	unsigned family, model, stepping; /* full numbers: family 0..270, model 0..255 */
	unsigned stepping_max;		  /* last stepping that the row stands for */
	bool identity_known;		  /* false: a libvirt model that models.tsv does not have */
	char uarch[64];
	struct feature_set known; /* bits of which the source says anything */
	struct feature_set on;	  /* of those, the ones that are set */
	unsigned line_bytes;	  /* CLFLUSH line; 0 unknown */
	uint64_t llc_bytes;	  /* last-level cache; 0 unknown */
	int level;		  /* maximum basic leaf asked for by an edit; -1: not said */
	char *libvirt_model;	  /* CPU_MODEL: the name; owned; else NULL */
	char *edits[16];	  /* as the user wrote them: "+erms", "stepping=7"; owned */
	size_t edit_count;
	char note[256];
};

struct cpu_list {
	struct cpu *cpus; /* owned */
	size_t count, room;
};

void cpu_init(struct cpu *cpu); /* all unknown, level -1 */
void cpu_copy(struct cpu *to, const struct cpu *from);
void cpu_free(struct cpu *cpu);
struct cpu *cpu_list_add(struct cpu_list *list); /* a new one, initialised */
void cpu_list_free(struct cpu_list *list);

/* The order of tables and reports: vendor, family, model, stepping, name. */
struct cpu_order {
	const char *vendor;
	unsigned family, model, stepping;
	const char *name;
};
int cpu_order_compare(const struct cpu_order *a, const struct cpu_order *b);

/* Full family and model from leaf 1 EAX: base + extended family if base = 15; model |= extended
 * model << 4 if the base family >= 6 (CPUs of Zhaoxin's family 7 need it). */
void signature_decode(uint32_t eax, unsigned *family, unsigned *model, unsigned *stepping);
uint32_t signature_encode(unsigned family, unsigned model, unsigned stepping);

/* Last-level cache by the vendor's rule (leaf 4; 0x8000001D; 0x80000006); 0: the dump does not say.
 */
uint64_t cpu_llc_from_dump(const struct cpuid_dump *dump, const char *vendor);

/* What a dump says. Every feature whose register the dump has is known. */
int cpu_from_dump(struct cpu *cpu, const struct cpuid_dump *dump, struct error *err);

/* The leaves that stand for an asked CPU (for replay): identity, features, cache in the leaf that
 * the vendor's rule reads, line size. */
void cpu_to_dump(const struct cpu *cpu, struct cpuid_dump *dump);

/*
 * Asked against seen. Each list holds names: features ("fsrs"), or identity fields ("vendor",
 * "family", "model", "stepping", "level"); static strings, not owned.
 */
struct cpu_difference {
	const char *missing[512]; /* asked on, seen off */
	size_t missing_count;
	const char *extra[512]; /* asked off, seen on */
	size_t extra_count;
	const char *identity[8];
	size_t identity_count;
};
void cpu_compare(const struct cpu *asked, const struct cpu *seen, struct cpu_difference *out);

#endif
