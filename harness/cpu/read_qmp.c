/* SPDX-License-Identifier: MIT */
/*
 * QEMU's answer to query-cpu-model-expansion (libvirt's cputestdata *.json): the properties of a
 * CPU model, numbers for the identity, true and false for bits. Several spellings of a bit are
 * there at once.
 */
#include "harness/cpu/read.h"

#include <jansson.h>
#include <string.h>

static long number_of(const json_t *props, const char *key)
{
	const json_t *value = json_object_get(props, key);

	return json_is_integer(value) && json_integer_value(value) >= 0 &&
			       json_integer_value(value) <= INT32_MAX
		       ? (long)json_integer_value(value)
		       : -1;
}

static void take_identity(struct reading *reading, const json_t *props)
{
	const char *vendor = json_string_value(json_object_get(props, "vendor"));
	const char *brand = json_string_value(json_object_get(props, "model-id"));
	long family = number_of(props, "family"), model = number_of(props, "model");
	long level = number_of(props, "level");

	if (vendor && strlen(vendor) == 12)
		reading_vendor(reading, vendor);
	if (family >= 0 && model >= 0 &&
	    !reading_signature(reading, (uint32_t)family, (uint32_t)model,
			       number_of(props, "stepping")))
		reading_warn(reading, 0, "family %ld, model %ld: no CPU can have these", family,
			     model);
	if (level >= 0)
		reading_bits(reading, 0, 0, CPUID_EAX, (uint32_t)level, UINT32_MAX);
	else
		reading_warn(reading, 0, "no level: unknown");
	if (brand)
		reading_brand(reading, brand, strlen(brand));
}

static const json_t *props_of(const json_t *root)
{
	const json_t *result = json_object_get(root, "return");
	const json_t *model = json_object_get(result ? result : root, "model");

	return json_object_get(model, "props");
}

bool qmp_read(struct reading *reading, const json_t *root)
{
	const json_t *props = props_of(root);
	const char *key;
	json_t *value;

	if (!json_object_get(props, "family"))
		return false;
	reading->dump->format = "QEMU's query-cpu-model-expansion";
	reading_cpu(reading, 0);
	take_identity(reading, props);
	json_object_foreach((json_t *)props, key, value)
	{
		int index = json_is_boolean(value) ? feature_find(key) : -1;

		if (index >= 0)
			reading_feature(reading, index, json_is_true(value));
	}
	return true;
}
