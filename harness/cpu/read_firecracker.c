/* SPDX-License-Identifier: MIT */
/*
 * Firecracker's fingerprints and custom CPU templates: bit patterns of registers, "0b" and 32 of 0,
 * 1 and x, the highest bit first. What is x, and a register that is not there, is left to the host:
 * unknown.
 */
#include "harness/cpu/read.h"

#include <jansson.h>
#include <string.h>

static bool pattern(const char *text, uint32_t *value, uint32_t *known)
{
	unsigned count = 0;

	*value = *known = 0;
	if (!text || strncmp(text, "0b", 2))
		return false;
	for (text += 2; *text; text++) {
		if (*text == '_')
			continue;
		if (!strchr("01x", *text) || count++ == 32)
			return false;
		*value = *value << 1 | (*text == '1');
		*known = *known << 1 | (*text != 'x');
	}
	return count == 32;
}

static bool number_of(const json_t *object, const char *key, uint32_t *number)
{
	const json_t *value = json_object_get(object, key);
	const char *end;

	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) <= UINT32_MAX) {
		*number = (uint32_t)json_integer_value(value);
		return true;
	}
	end = json_is_string(value) ? scan_number(json_string_value(value), number) : NULL;
	return end && !*end;
}

static void take_leaf(struct reading *reading, const json_t *item)
{
	static const char *const registers[] = { "eax", "ebx", "ecx", "edx" };
	const json_t *modifiers = json_object_get(item, "modifiers");
	uint32_t leaf, subleaf = 0;
	size_t i;
	json_t *modifier;

	if (!number_of(item, "leaf", &leaf) || !number_of(item, "subleaf", &subleaf)) {
		reading_warn(reading, 0, "a leaf without its number or its subleaf's: left out");
		return;
	}
	if (!json_is_array(modifiers))
		reading_warn(reading, 0, "leaf 0x%x: no list of registers", leaf);
	json_array_foreach(modifiers, i, modifier)
	{
		const char *name = json_string_value(json_object_get(modifier, "register"));
		const char *bits = json_string_value(json_object_get(modifier, "bitmap"));
		uint32_t value, known;
		int reg = 0;

		while (reg < 4 && (!name || strcmp(name, registers[reg])))
			reg++;
		if (reg == 4)
			reading_warn(reading, 0, "leaf 0x%x: a pattern without its register", leaf);
		else if (pattern(bits, &value, &known))
			reading_bits(reading, leaf, subleaf, (enum cpuid_register)reg, value,
				     known);
		else
			reading_warn(reading, 0, "leaf 0x%x: %s has no pattern of 32 bits: unknown",
				     leaf, name);
	}
}

bool firecracker_read(struct reading *reading, const json_t *root)
{
	static const char *const inside[] = { "guest_cpu_config", "cpu_config", "cpu-config" };
	const json_t *modifiers = json_object_get(root, "cpuid_modifiers");
	size_t i;
	json_t *item;

	for (i = 0; !modifiers && i < sizeof(inside) / sizeof(inside[0]); i++)
		modifiers = json_object_get(json_object_get(root, inside[i]), "cpuid_modifiers");
	if (!json_array_size(modifiers))
		return false;
	reading->dump->format = "Firecracker CPU configuration";
	json_array_foreach(modifiers, i, item) take_leaf(reading, item);
	return true;
}
