/* SPDX-License-Identifier: MIT */
/*
 * From a CPU to the QEMU properties that present it. Two tables decide: what a 64-bit guest needs
 * where the CPU does not say, and what is never forced on a guest that would execute it unasked.
 */
#include "harness/cpu/realise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the x86-64 baseline (psABI, micro-architecture level 1) and what a kernel of that
 * baseline takes for granted. Set where the source of a CPU says nothing of them. apic: without it
 * QEMU refuses the machine's PCI bridges. */
static const char *const baseline[] = {
	"fpu",	"vme",	"de",	"pse",	"tsc",	   "msr",  "pae", "mce",   "cx8",
	"apic", "sep",	"mtrr", "pge",	"mca",	   "cmov", "pat", "pse36", "clflush",
	"mmx",	"fxsr", "sse",	"sse2", "syscall", "nx",   "lm",
};

/* Those of them without which no guest of ours runs under TCG: it refuses their instructions.
 * Knights Corner has long mode, and neither cmov nor SSE. */
static const char *const required[] = { "cmov", "fxsr", "sse", "sse2" };

/* Linux halts without them, and without a word (arch/x86/kernel/verify_cpu.S). */
static const char *const linux_required[] = { "fpu", "msr", "pae", "cx8" };

/*
 * Never forced on a Linux guest: its kernel or libc uses them unasked. Measured bit by bit
 * (QEMU 7.2 TCG, Debian's 6.1 kernel): each hangs or breaks the boot, or belongs to a group that
 * does.
 */
static const struct {
	const char *name;
	bool prefix;	     /* the name and all that begin with it */
	unsigned until_qemu; /* only under TCG before this QEMU; 0: always */
} never_forced[] = {
	{ "pcid", false, 0 },
	{ "invpcid", false, 0 },
	{ "serialize", false, 0 },
	{ "xsavec", false, 0 },
	{ "xsaves", false, 0 },
	{ "rtm", false, 0 },
	{ "hle", false, 0 },
	{ "xfd", false, 0 },
	{ "intel_pt", false, 0 },
	{ "vmx", false, 0 },
	{ "smx", false, 0 },
	{ "avx512", true, 0 },
	{ "amx", true, 0 },
	/* TCG of 7.2 miscounts "cmpxchg16b %gs:": kernels from 6.12 on die of a double fault. */
	{ "cx16", false, 10000 },
};

static bool may_force(const struct feature *feature, enum realise_guest guest,
		      const struct hypervisor *hypervisor)
{
	if (guest != REALISE_LINUX)
		return true;
	for (size_t i = 0; i < sizeof(never_forced) / sizeof(never_forced[0]); i++) {
		const char *name = never_forced[i].name;
		unsigned until = never_forced[i].until_qemu;

		if (never_forced[i].prefix ? strncmp(feature->name, name, strlen(name))
					   : strcmp(feature->name, name))
			continue;
		if (!until || (!hypervisor->kvm && hypervisor->qemu_version < until))
			return false;
	}
	return true;
}

const char *realise_property(int index, const struct hypervisor *hypervisor)
{
	const struct feature *feature = &features[index];

	if (hypervisor->asked && !feature_in(&hypervisor->named, index))
		return NULL;
	if (feature->qemu)
		return feature->qemu;
	return hypervisor->asked || hypervisor->qemu_version >= feature->qemu_since
		       ? feature->qemu_new
		       : NULL;
}

bool realise_is_native(int index, const struct hypervisor *hypervisor)
{
	const struct feature *feature = &features[index];

	if (hypervisor->asked)
		return feature_in(&hypervisor->native, index);
	return hypervisor->kvm ||
	       (feature->tcg_since && feature->tcg_since <= hypervisor->qemu_version);
}

static const char *property_of(const struct feature *feature, const struct hypervisor *hypervisor)
{
	return realise_property((int)(feature - features), hypervisor);
}

/* A value with a comma cannot stand in -cpu: it has its own -global. */
static void write_text(struct realised *out)
{
	out->qemu.length = 0;
	for (size_t i = 0; i < out->property_count; i++)
		if (!strchr(out->property[i].value, ','))
			text_addf(&out->qemu, "%s%s=%s", out->qemu.length ? "," : "",
				  out->property[i].name, out->property[i].value);
}

static void put(struct realised *out, const char *name, const char *value)
{
	if (out->property_count == REALISED_PROPERTIES_MAX)
		abort(); /* more than there are features: a bug of ours */
	text_addf(&out->qemu, "%s%s=%s", out->property_count ? "," : "", name, value);
	out->property[out->property_count].name = xstrdup(name);
	out->property[out->property_count++].value = xstrdup(value);
}

static void put_number(struct realised *out, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put(out, name, text);
}

/* Notes how a bit that was asked for is presented; false where it cannot be. */
static bool note_bit(struct realised *out, int index, enum realise_guest guest,
		     const struct hypervisor *hypervisor)
{
	const struct feature *feature = &features[index];

	if (!property_of(feature, hypervisor) || !may_force(feature, guest, hypervisor)) {
		feature_put(&out->unavailable, index, true);
		return false;
	}
	if (!realise_is_native(index, hypervisor))
		feature_put(&out->forced, index, true);
	return true;
}

static int check_vendor(const char *vendor, struct error *err)
{
	for (int i = 0; i < 12; i++)
		if (vendor[i] < ' ' || vendor[i] > '~' || vendor[i] == ',')
			return error_set(err, ERROR_INPUT,
					 "vendor '%s': byte %d cannot be told to QEMU; expected 12 "
					 "printable characters, no comma",
					 vendor, i + 1);
	return 0;
}

static int put_identity(struct realised *out, const struct cpu *cpu, struct error *err)
{
	if (check_vendor(cpu->vendor, err))
		return error_prefix(err, "%s", cpu->name);
	put(out, "vendor", cpu->vendor);
	put_number(out, "family", cpu->family);
	put_number(out, "model", cpu->model);
	put_number(out, "stepping", cpu->stepping);
	return 0;
}

/*
 * The highest leaves. QEMU raises its own to what the bits need, but not to the leaves that say how
 * large the caches and the addresses are: 4, 0x80000006, 0x80000008, 0x8000001D.
 */
static void put_levels(struct realised *out, const struct cpu *cpu, const struct feature_set *on)
{
	uint32_t level = 4, extended = 0x80000008, centaur = 0;
	int topoext = feature_find("topoext");

	for (int i = 0; i < (int)feature_count; i++) {
		uint32_t leaf = features[i].leaf;
		uint32_t *highest = leaf < 0x80000000	? &level
				    : leaf < 0xC0000000 ? &extended
							: &centaur;

		if (feature_in(on, i) && leaf > *highest)
			*highest = leaf;
	}
	if (feature_in(on, topoext) && extended < 0x8000001E)
		extended = 0x8000001E;
	if (feature_in(on, feature_find("xsave")) && level < 0xD)
		level = 0xD;
	put_number(out, "level", cpu->level >= 0 ? (uint32_t)cpu->level : level);
	put_number(out, "xlevel", extended);
	if (centaur)
		put_number(out, "xlevel2", centaur);
}

/*
 * TCG takes CR4.OSXSAVE for reserved where leaf 0xD subleaf 1 is empty, and writing it then loops
 * for ever: every kernel on a CPU with XSAVE and no XSAVEOPT (Bulldozer, Piledriver). One more bit
 * helps.
 */
static bool needs_xgetbv1(const struct feature_set *on)
{
	return feature_in(on, feature_find("xsave")) && !feature_in(on, feature_find("xsaveopt"));
}

/* Those of libvirt's models. */
static const char *const models_need_xgetbv1[] = { "Opteron_G4", "Opteron_G5" };

static int realise_base(struct realised *out, const struct cpu *cpu, enum realise_guest guest,
			const struct hypervisor *hypervisor, struct error *err)
{
	int lm = feature_find("lm"), apic = feature_find("apic");
	struct feature_set on = cpu->on;

	if (feature_in(&cpu->known, lm) && !feature_in(&cpu->on, lm))
		return error_set(err, ERROR_INPUT,
				 "%s: has no long mode (lm); the guests are 64-bit programs",
				 cpu->name);
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		int index = feature_find(required[i]);

		if (feature_in(&cpu->known, index) && !feature_in(&cpu->on, index))
			return error_set(err, ERROR_INPUT,
					 "%s: has no %s; the guests are 64-bit programs, which all "
					 "take it for granted",
					 cpu->name, required[i]);
	}
	for (size_t i = 0; i < sizeof(linux_required) / sizeof(linux_required[0]); i++) {
		int index = feature_find(linux_required[i]);

		if (guest == REALISE_LINUX && feature_in(&cpu->known, index) &&
		    !feature_in(&cpu->on, index))
			return error_set(err, ERROR_INPUT,
					 "%s: has no %s, without which Linux does not start; "
					 "',+%s' adds it",
					 cpu->name, linux_required[i], linux_required[i]);
	}
	for (size_t i = 0; i < sizeof(baseline) / sizeof(baseline[0]); i++) {
		int index = feature_find(baseline[i]);

		if (!feature_in(&cpu->known, index) || index == apic)
			feature_put(&on, index, true);
	}
	if (guest == REALISE_LINUX && !hypervisor->kvm && needs_xgetbv1(&on))
		feature_put(&on, feature_find("xgetbv1"), true);
	if (put_identity(out, cpu, err))
		return -1;
	put_levels(out, cpu, &on);
	put(out, "x-force-features", "on");
	for (int i = 0; i < (int)feature_count;
	     i++) /* base itself has none: what is off stays so */
		if (feature_in(&on, i) && note_bit(out, i, guest, hypervisor))
			put(out, property_of(&features[i], hypervisor), "on");
	return 0;
}

static void put_edit(struct realised *out, const struct cpu *cpu, const char *edit,
		     enum realise_guest guest, const struct hypervisor *hypervisor)
{
	static const char *const fields[] = { "vendor", "family", "model", "stepping", "level" };
	int index = *edit == '+' || *edit == '-' ? feature_find(edit + 1) : -1;
	const char *property = index < 0 ? NULL : property_of(&features[index], hypervisor);
	const uint64_t values[] = { 0, cpu->family, cpu->model, cpu->stepping,
				    cpu->level < 0 ? 0 : (uint64_t)cpu->level };

	if (property && (*edit == '-' || may_force(&features[index], guest, hypervisor)))
		put(out, property, *edit == '+' ? "on" : "off");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t length = strlen(fields[i]);

		if (strncmp(edit, fields[i], length) || edit[length] != '=')
			continue;
		if (i == 0)
			put(out, fields[i], cpu->vendor);
		else
			put_number(out, fields[i], values[i]);
	}
}

/* On top of a model: everything it has, though the accelerator has not; without what is never
 * forced. */
static int realise_model(struct realised *out, const struct cpu *cpu, enum realise_guest guest,
			 const struct hypervisor *hypervisor, struct error *err)
{
	size_t mends = sizeof(models_need_xgetbv1) / sizeof(models_need_xgetbv1[0]);

	out->model = xstrdup(cpu->libvirt_model);
	put(out, "x-force-features", "on");
	for (int i = 0; i < (int)feature_count; i++)
		if (!may_force(&features[i], guest, hypervisor) &&
		    property_of(&features[i], hypervisor))
			put(out, property_of(&features[i], hypervisor), "off");
	for (size_t i = 0; i < mends; i++)
		if (guest == REALISE_LINUX && !hypervisor->kvm &&
		    !strcmp(cpu->libvirt_model, models_need_xgetbv1[i]))
			put(out, "xgetbv1", "on");
	for (size_t i = 0; i < cpu->edit_count; i++) {
		if (!strncmp(cpu->edits[i], "vendor=", 7) && check_vendor(cpu->vendor, err))
			return error_prefix(err, "%s", cpu->name);
		put_edit(out, cpu, cpu->edits[i], guest, hypervisor);
	}
	for (int i = 0; i < (int)feature_count; i++)
		if (feature_in(&cpu->known, i) && feature_in(&cpu->on, i))
			note_bit(out, i, guest, hypervisor);
	return 0;
}

int realise(struct realised *out, const struct cpu *cpu, enum realise_guest guest,
	    const struct hypervisor *hypervisor, struct error *err)
{
	int result;

	*out = (struct realised){ 0 };
	result = cpu->origin == CPU_MODEL ? realise_model(out, cpu, guest, hypervisor, err)
					  : realise_base(out, cpu, guest, hypervisor, err);
	if (result)
		realised_free(out);
	return result;
}

void realise_set(struct realised *realised, const char *name, const char *value)
{
	for (size_t i = 0; i < realised->property_count; i++) {
		if (strcmp(realised->property[i].name, name))
			continue;
		free(realised->property[i].value);
		realised->property[i].value = xstrdup(value);
		write_text(realised);
		return;
	}
	put(realised, name, value);
	if (strchr(value, ','))
		write_text(realised);
}

void realised_free(struct realised *realised)
{
	free(realised->model);
	text_free(&realised->qemu);
	for (size_t i = 0; i < realised->property_count; i++) {
		free(realised->property[i].name);
		free(realised->property[i].value);
	}
	*realised = (struct realised){ 0 };
}
