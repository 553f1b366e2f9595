// SPDX-License-Identifier: MIT
/* Which of the differences between two CPUs matter: an exhaustive search by size. */
#include "lab/bisect.h"

#include <string.h>

/* Beside the dispatch bits: without it the line of leaf 1 EBX means nothing. */
static bool is_looked_at(int feature)
{
	return features[feature].dispatch || !strcmp(features[feature].name, "clflush");
}

static bool is_on(const struct cpu *cpu, int feature)
{
	return feature_in(&cpu->known, feature) && feature_in(&cpu->on, feature);
}

size_t flips_between(struct flip flips[FLIPS_MAX], const struct cpu *a, const struct cpu *b)
{
	const bool differs[] = {
		[FLIP_VENDOR] = memcmp(a->vendor, b->vendor, 12) != 0,
		[FLIP_FAMILY] = a->family != b->family,
		[FLIP_MODEL] = a->model != b->model,
		[FLIP_STEPPING] = a->stepping != b->stepping,
		[FLIP_LEVEL] = a->level >= 0 && b->level >= 0 && a->level != b->level,
		[FLIP_LINE] = a->line_bytes && b->line_bytes && a->line_bytes != b->line_bytes,
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(differs) / sizeof(differs[0]); i++)
		if (differs[i])
			flips[count++] = (struct flip){ .kind = (enum flip_kind)i, .bit = -1 };
	for (int i = 0; i < (int)feature_count && count < FLIPS_MAX; i++)
		if (is_looked_at(i) && is_on(a, i) != is_on(b, i))
			flips[count++] = (struct flip){ .kind = FLIP_BIT, .bit = i };
	return count;
}

static void apply(struct cpu *to, const struct cpu *from, const struct flip *flip)
{
	switch (flip->kind) {
	case FLIP_VENDOR:
		memcpy(to->vendor, from->vendor, sizeof(to->vendor));
		break;
	case FLIP_FAMILY:
		to->family = from->family;
		break;
	case FLIP_MODEL:
		to->model = from->model;
		break;
	case FLIP_STEPPING:
		to->stepping = to->stepping_max = from->stepping;
		break;
	case FLIP_LEVEL:
		to->level = from->level;
		break;
	case FLIP_LINE:
		to->line_bytes = from->line_bytes;
		break;
	case FLIP_BIT:
		feature_put(&to->known, flip->bit, true);
		feature_put(&to->on, flip->bit, is_on(from, flip->bit));
		break;
	}
}

void flips_apply(struct cpu *to, const struct cpu *from, const struct flip *flips, uint32_t set)
{
	for (unsigned i = 0; i < FLIPS_MAX; i++)
		if (set >> i & 1)
			apply(to, from, &flips[i]);
}

static void write_flip(struct text *out, const struct cpu *a, const struct cpu *b,
		       const struct flip *flip)
{
	char from[64], to[64];

	switch (flip->kind) {
	case FLIP_VENDOR:
		text_addf(out, "vendor '%s' -> '%s'",
			  text_printable(from, sizeof(from), a->vendor, 12),
			  text_printable(to, sizeof(to), b->vendor, 12));
		break;
	case FLIP_FAMILY:
		text_addf(out, "family %u -> %u", a->family, b->family);
		break;
	case FLIP_MODEL:
		text_addf(out, "model %u -> %u", a->model, b->model);
		break;
	case FLIP_STEPPING:
		text_addf(out, "stepping %u -> %u", a->stepping, b->stepping);
		break;
	case FLIP_LEVEL:
		text_addf(out, "level %d -> %d", a->level, b->level);
		break;
	case FLIP_LINE:
		text_addf(out, "line %u -> %u", a->line_bytes, b->line_bytes);
		break;
	case FLIP_BIT:
		text_addf(out, "%s %s -> %s", features[flip->bit].name,
			  is_on(a, flip->bit) ? "on" : "off", is_on(b, flip->bit) ? "on" : "off");
		break;
	}
}

void flips_write(struct text *out, const struct cpu *a, const struct cpu *b,
		 const struct flip *flips, uint32_t set)
{
	const char *between = "";

	for (unsigned i = 0; i < FLIPS_MAX; i++) {
		if (!(set >> i & 1))
			continue;
		text_addf(out, "%s", between);
		write_flip(out, a, b, &flips[i]);
		between = ", ";
	}
}

size_t flips_search(uint32_t sets[FLIP_SETS_MAX], size_t count,
		    bool (*holds)(void *context, uint32_t set), void *context)
{
	size_t found = 0;

	for (int size = 0; size <= (int)count && !found; size++)
		for (uint32_t set = 0; set < 1u << count && found < FLIP_SETS_MAX; set++)
			if (__builtin_popcount(set) == size && holds(context, set))
				sets[found++] = set;
	return found;
}
