/* SPDX-License-Identifier: MIT */
/*
 * JSON documents, one or several, with prose around them: finds them, mends one that is wrapped,
 * takes the whole leaves of one that is cut off, and asks the readers of each kind. Also reads what
 * `quirklab cpuid --to json` writes.
 */
#include "harness/cpu/read.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"

/* jansson's tree takes many times the text, so the text is bounded. The largest known has 50 KB. */
#define JSON_BYTES_MAX	(16u << 20)
#define DOCUMENTS_MAX	64u
#define LEAF_BYTES_MAX	(16 << 10) /* the largest known has 1 KB */
#define LEAF_HEIGHT_MAX 2u	   /* a leaf has objects in it, and they have none */
#define DEPTH_MAX	64u

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
		const json_t *subleaf = json_object_get(item, "subleaf");
		unsigned count = 0;

		leaf.leaf = (uint32_t)json_integer_value(number);
		leaf.subleaf = (uint32_t)json_integer_value(subleaf);
		for (; count < 4; count++) {
			const json_t *value = json_object_get(item, registers[count]);

			if (!json_is_integer(value))
				break;
			leaf.reg[count] = (uint32_t)json_integer_value(value);
		}
		if (json_is_integer(number) && json_is_integer(subleaf))
			reading_leaf(reading, &leaf, count);
		if (count < 4 || !json_is_integer(number) || !json_is_integer(subleaf))
			reading_warn(reading, 0, "leaf 0x%x is not whole in the JSON", leaf.leaf);
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

/* --- a document that is damaged --- */

/*
 * A wrap has broken lines where no JSON has an end of line: within strings, and between the letters
 * or digits of one word. Blanks of a string that it dropped are lost.
 */
static bool unwrap(struct text *out, const char *text, size_t length)
{
	bool string = false;
	size_t from = 0;

	for (size_t i = 0; i < length; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		if (i >= length || text[i] != '\n' || !i || i + 1 == length)
			continue;
		if (!string &&
		    !(isalnum((unsigned char)text[i - 1]) && isalnum((unsigned char)text[i + 1])))
			continue;
		text_add(out, text + from, i - from);
		from = i + 1;
	}
	text_add(out, text + from, length - from);
	return from > 0;
}

/* Puts the leaf into the list of the document that is mended; false for another object. */
static bool salvage_leaf(json_t *leaves, const char *at, const char *end, bool *registers)
{
	json_t *leaf = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
	bool is_leaf = json_object_get(leaf, "leaf") && json_object_get(leaf, "subleaf");

	if (is_leaf) {
		*registers |= json_object_get(leaf, "modifiers") == NULL;
		json_array_append(leaves, leaf);
	}
	json_decref(leaf);
	return is_leaf;
}

/* Objects that are open, and how many levels of others each has in it. */
struct open_objects {
	const char *start[DEPTH_MAX];
	unsigned height[DEPTH_MAX];
	unsigned depth;
};

/* The object that ends here, if it can be a leaf; NULL for others. */
static const char *close_object(struct open_objects *open, const char *end)
{
	unsigned height;

	if (!open->depth)
		return NULL;
	height = open->height[--open->depth] + 1;
	if (open->depth && open->height[open->depth - 1] < height)
		open->height[open->depth - 1] = height;
	return height <= LEAF_HEIGHT_MAX && end - open->start[open->depth] < LEAF_BYTES_MAX
		       ? open->start[open->depth]
		       : NULL;
}

/* The leaves that are whole, each for itself, of a document that is not. */
static json_t *salvage(struct reading *reading, const char *text, size_t length)
{
	struct open_objects open = { .depth = 0 };
	json_t *leaves = json_array(), *root = NULL;
	bool registers = false, string = false;

	for (const char *at = text; at < text + length; at++) {
		const char *start = NULL;

		/* No string goes over the end of a line, so one that is damaged ends there. */
		if (*at == '"' || *at == '\n')
			string = *at == '"' && !string;
		else if (string)
			at += *at == '\\' && at + 1 < text + length && at[1] != '\n';
		else if (*at == '{' && open.depth < DEPTH_MAX)
			open.start[open.depth] = at, open.height[open.depth++] = 0;
		else if (*at == '}')
			start = close_object(&open, at + 1);
		if (start)
			salvage_leaf(leaves, start, at + 1, &registers);
	}
	if (json_array_size(leaves)) {
		reading_warn(reading, 0,
			     "the JSON is cut off or damaged: only the leaves that are whole are "
			     "read");
		root = json_pack("{sO}", registers ? "leaves" : "cpuid_modifiers", leaves);
	}
	json_decref(leaves);
	return root;
}

/* A document without leaves up to its last whole member, with all closed that is open there. */
static json_t *close_cut(struct reading *reading, const char *text, size_t length)
{
	CLEANUP_TEXT struct text closed = { 0 };
	char closers[DEPTH_MAX];
	size_t depth = 0, comma = 0, open = 0;
	bool string = false;
	json_t *root;

	for (size_t i = 0; i < length; i++) {
		if (string && text[i] == '\\') {
			i++;
		} else if (text[i] == '"') {
			string = !string;
		} else if (string) {
			continue;
		} else if ((text[i] == '{' || text[i] == '[') && depth < DEPTH_MAX) {
			closers[depth++] = text[i] == '{' ? '}' : ']';
		} else if (text[i] == '}' || text[i] == ']') {
			if (!depth--)
				return NULL;
		} else if (text[i] == ',') {
			comma = i;
			open = depth;
		}
	}
	/* A value that was closed behind the comma has taken its closer with it. */
	if (!depth || depth < open)
		return NULL;
	text_add(&closed, text, comma);
	while (open)
		text_add(&closed, &closers[--open], 1);
	root = json_loadb(text_string(&closed), closed.length, 0, NULL);
	if (root)
		reading_warn(reading, 0, "the JSON is cut off: read up to there");
	return root;
}

/* Of a document that is cut off or damaged, and may be wrapped as well. */
static json_t *mend(struct reading *reading, const struct text *unwrapped, const char *text,
		    size_t length)
{
	json_t *root = salvage(reading, text, length);

	root = root ? root : salvage(reading, unwrapped->bytes, unwrapped->length);
	return root ? root : close_cut(reading, text, length);
}

static bool read_document(struct reading *reading, const json_t *root)
{
	return firecracker_read(reading, root) || qmp_read(reading, root) ||
	       own_json_read(reading, root);
}

static int read_json(struct reading *reading, const struct dump_text *text, struct error *err)
{
	const char *at = text->bytes, *end = text->bytes + text->length;
	bool found = false;

	if (text->length > JSON_BYTES_MAX)
		return error_set(err, ERROR_INPUT, "JSON of more than %u MB", JSON_BYTES_MAX >> 20);
	for (size_t i = 0; i < DOCUMENTS_MAX && at < end && !found; i++) {
		json_error_t where;
		json_t *root;

		while (at < end && *at != '{' && *at != '[')
			at++;
		if (at == end)
			break;
		root = json_loadb(at, (size_t)(end - at), JSON_DISABLE_EOF_CHECK, &where);
		at += root ? where.position : 1;
		found = root && read_document(reading, root);
		json_decref(root);
	}
	return 0;
}

/* Once no whole document has a CPU: the first that begins as one does. */
static int read_damaged_json(struct reading *reading, const struct dump_text *text,
			     struct error *err)
{
	CLEANUP_TEXT struct text unwrapped = { 0 };
	const char *at = strpbrk(text->bytes, "{[");
	json_t *root;
	int result = read_json(reading, text, err);
	size_t length = at ? (size_t)(text->bytes + text->length - at) : 0;

	if (result || reading->touched || !at)
		return result;
	if (unwrap(&unwrapped, at, length)) {
		struct dump_text whole = { unwrapped.bytes, unwrapped.length };

		reading->unwrapped = true;
		read_json(reading, &whole, err);
		if (reading->touched) {
			reading_warn(reading, 0,
				     "the JSON is wrapped: broken words are read as one");
			return 0;
		}
		reading->unwrapped = false;
	}
	root = mend(reading, &unwrapped, at, length);
	if (root)
		read_document(reading, root);
	json_decref(root);
	return 0;
}

const struct dump_reader reader_json = {
	.name = "JSON",
	/* More than one of each kind: a wrap breaks some of them. */
	.marks = { "\"cpuid_modifiers\"", "\"bitmap\"", "\"leaves\"", "\"props\"", "\"vendor\"",
		   "\"family\"" },
	.small_letters = true,
	.read = read_damaged_json,
};
