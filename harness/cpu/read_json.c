/* SPDX-License-Identifier: MIT */
/*
 * JSON documents, one or several, with prose around them: finds them, mends one that is cut off by
 * closing what is open, and asks the readers of each kind. Also reads what `quirklab cpuid --to
 * json` writes.
 */
#include "harness/cpu/read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"

/* jansson's tree takes many times the text, so the text is bounded. The largest known has 50 KB. */
#define JSON_BYTES_MAX (16u << 20)
#define DOCUMENTS_MAX  64u
#define DEPTH_MAX      64u

static bool own_cpu(struct reading *reading, const json_t *cpu)
{
	static const char *const registers[] = { "eax", "ebx", "ecx", "edx" };
	const json_t *leaves = json_object_get(cpu, "leaves");
	size_t i;
	json_t *item;

	if (!json_array_size(leaves))
		return false;
	reading_cpu(reading, -1);
	json_array_foreach(leaves, i, item)
	{
		struct cpuid_leaf leaf = { 0 };
		const json_t *number = json_object_get(item, "leaf");
		unsigned count = 0;

		leaf.leaf = (uint32_t)json_integer_value(number);
		leaf.subleaf = (uint32_t)json_integer_value(json_object_get(item, "subleaf"));
		for (; count < 4; count++) {
			const json_t *value = json_object_get(item, registers[count]);

			if (!json_is_integer(value))
				break;
			leaf.reg[count] = (uint32_t)json_integer_value(value);
		}
		if (json_is_integer(number))
			reading_leaf(reading, &leaf, count);
	}
	return true;
}

bool own_json_read(struct reading *reading, const json_t *root)
{
	bool found = false;
	size_t i;
	json_t *cpu;

	if (json_is_object(root))
		return own_cpu(reading, root);
	json_array_foreach(root, i, cpu) found |= own_cpu(reading, cpu);
	return found;
}

/* --- a document that is cut off --- */

/* Where the text could end and be closed: behind the last value that is whole. */
struct open_ends {
	char closers[DEPTH_MAX];
	size_t depth;
	size_t safe, safe_depth;
};

static void find_open_ends(struct open_ends *ends, const char *text, size_t length)
{
	bool string = false;

	*ends = (struct open_ends){ 0 };
	for (size_t i = 0; i < length; i++) {
		if (string && text[i] == '\\') {
			i++;
		} else if (text[i] == '"') {
			string = !string;
		} else if (string) {
			continue;
		} else if (text[i] == '{' || text[i] == '[') {
			if (ends->depth == DEPTH_MAX)
				return;
			ends->closers[ends->depth++] = text[i] == '{' ? '}' : ']';
		} else if (text[i] == '}' || text[i] == ']') {
			if (!ends->depth)
				return;
			ends->depth--;
			ends->safe = i + 1;
			ends->safe_depth = ends->depth;
			if (!ends->depth)
				return;
		}
	}
}

static json_t *mend(struct reading *reading, const char *text, size_t length)
{
	CLEANUP_TEXT struct text mended = { 0 };
	struct open_ends ends;
	json_t *root;

	find_open_ends(&ends, text, length);
	if (!ends.safe || !ends.safe_depth)
		return NULL;
	text_add(&mended, text, ends.safe);
	while (ends.safe_depth)
		text_add(&mended, &ends.closers[--ends.safe_depth], 1);
	root = json_loadb(mended.bytes, mended.length, 0, NULL);
	if (root)
		reading_warn(reading, 0, "the JSON is cut off or damaged: read up to there");
	return root;
}

static bool read_document(struct reading *reading, const json_t *root)
{
	return firecracker_read(reading, root) || qmp_read(reading, root) ||
	       own_json_read(reading, root);
}

static int read_json(struct reading *reading, const struct dump_text *text, struct error *err)
{
	const char *at = text->bytes, *end = text->bytes + text->length;

	if (text->length > JSON_BYTES_MAX)
		return error_set(err, ERROR_INPUT, "JSON of more than %u MB", JSON_BYTES_MAX >> 20);
	for (size_t i = 0; i < DOCUMENTS_MAX && at < end; i++) {
		json_error_t where;
		json_t *root;
		bool found;

		while (at < end && *at != '{' && *at != '[')
			at++;
		if (at == end)
			break;
		root = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &where);
		if (root) {
			at += where.position;
		} else {
			root = mend(reading, at, (size_t)(end - at));
			at = root ? end : at + 1;
		}
		found = root && read_document(reading, root);
		json_decref(root);
		if (found)
			break;
	}
	return 0;
}

const struct dump_reader reader_json = {
	.name = "JSON",
	.marks = { "\"cpuid_modifiers\"", "\"props\"", "\"leaves\"" },
	.read = read_json,
};
