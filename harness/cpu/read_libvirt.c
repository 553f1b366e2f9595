/* SPDX-License-Identifier: MIT */
/*
 * libvirt's XML: <cpudata> with the registers themselves (tests/cputestdata), and <cpu> of a
 * domain, of the capabilities or of the domain capabilities: a model's name, and features by name
 * and policy.
 */
#include <ctype.h>
#include <libxml/xmlreader.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cpu/read.h"
#include "harness/util/cleanup.h"

/* Root elements: how they begin, and how they end. */
struct root {
	const char *start, *end;
};

/* Names that the readers below look for: a wrap may have broken one in two. */
static const char *const names[] = {
	"cpudata", "cpuid",	"arch",	     "eax_in",	 "ecx_in",	"eax",	     "ebx",
	"ecx",	   "edx",	"cpu",	     "mode",	 "match",	"check",     "model",
	"vendor",  "feature",	"policy",    "name",	 "fallback",	"vendor_id", "signature",
	"family",  "stepping",	"function",  "topology", "sockets",	"dies",	     "clusters",
	"cores",   "threads",	"cache",     "level",	 "maxphysaddr", "bits",	     "migratable",
	"usable",  "supported", "microcode", "version",	 "counter",	"frequency", "scaling",
	"pages",   "size",	"unit",
};

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Whether what stands before and behind the end of line is one name. */
static bool breaks_name(const char *start, const char *newline, const char *end)
{
	const char *from = newline, *to = newline + 1;

	while (from > start && is_name_char(from[-1]))
		from--;
	while (to < end && is_name_char(*to))
		to++;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]), before = (size_t)(newline - from);

		if (before && to > newline + 1 && (size_t)(to - from - 1) == length &&
		    !memcmp(names[i], from, before) &&
		    !memcmp(names[i] + before, newline + 1, length - before))
			return true;
	}
	return false;
}

/* Whether it stands within a sign of several letters, where XML has no blank: "</", "/>". */
static bool breaks_sign(const char *start, const char *newline, const char *end)
{
	char before = newline > start ? newline[-1] : 0;
	char behind = newline + 1 < end ? newline[1] : 0;

	return before == '<' ||
	       (before == '/' && (behind == '>' || (newline - start > 1 && newline[-2] == '<')));
}

/* Behind the comment that begins here; quotes in it are none. */
static const char *skip_comment(const char *at, const char *end)
{
	const char *close = NULL;

	if (end - at > 4 && !memcmp(at, "<!--", 4))
		close = memmem(at + 4, (size_t)(end - at - 4), "-->", 3);
	return close ? close + 3 : at;
}

/* A copy without the ends of lines that a wrap has put into values, names and signs; NULL: there
 * are none. */
static char *unwrap(const char *start, size_t *length)
{
	const char *end = start + *length, *from = start;
	struct text out = { 0 };
	bool tag = false;
	char quote = 0;

	for (const char *at = start; at < end; at++) {
		if (!quote)
			at = skip_comment(at, end);
		if (at == end)
			break;
		if (quote)
			quote = *at == quote ? 0 : quote;
		else if (tag && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == '<' || *at == '>')
			tag = *at == '<';
		if (*at != '\n' || !tag ||
		    (!quote && !breaks_name(start, at, end) && !breaks_sign(start, at, end)))
			continue;
		text_add(&out, from, (size_t)(at - from));
		from = at + 1;
	}
	if (from == start)
		return NULL;
	text_add(&out, from, (size_t)(end - from));
	*length = out.length;
	return out.bytes;
}

/* The reader, what it reads if that is a copy, and whether it met what is no XML. */
struct document {
	xmlTextReaderPtr xml;
	char *copy;
	bool damaged;
};

static void note_damage(void *argument, const xmlError *error)
{
	struct document *document = argument;

	(void)error;
	document->damaged = true;
}

static void close_document(struct document *document)
{
	xmlFreeTextReader(document->xml);
	free(document->copy);
}

/* Up to the end of the last tag: values of one that is cut may be cut. */
static size_t whole_tags(const char *start, size_t length)
{
	const char *close = memrchr(start, '>', length);

	return close ? (size_t)(close - start) + 1 : 0;
}

/* From the element's start to its end: what a person writes around it is no XML. No reader where
 * there is none. What is damaged is passed over, and what is behind it read. */
static void open_root(struct document *document, struct reading *reading,
		      const struct dump_text *text, const struct root roots[])
{
	const char *start = NULL, *end;
	size_t i, length;

	for (i = 0; roots[i].start && !start; i++)
		start = text_find(text, roots[i].start);
	*document = (struct document){ 0 };
	if (!start)
		return;
	length = text->length - (size_t)(start - text->bytes);
	document->copy = unwrap(start, &length);
	if (document->copy) {
		start = document->copy;
		reading_warn(reading, 0, "the XML is wrapped: broken words are read as one");
	}
	end = memmem(start, length, roots[i - 1].end, strlen(roots[i - 1].end));
	if (end)
		length = (size_t)(end - start) + strlen(roots[i - 1].end);
	else
		length = whole_tags(start, length);
	if (length > INT32_MAX)
		return;
	document->xml =
		xmlReaderForMemory(start, (int)length, NULL, NULL,
				   XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
					   XML_PARSE_NOBLANKS | XML_PARSE_RECOVER);
	if (document->xml)
		xmlTextReaderSetStructuredErrorHandler(document->xml,
						       (xmlStructuredErrorFunc)note_damage,
						       document);
}

static bool is(const xmlChar *name, const char *other)
{
	return name && !strcmp((const char *)name, other);
}

static bool has_element(xmlTextReaderPtr xml, const char *name)
{
	return xmlTextReaderNodeType(xml) == XML_READER_TYPE_ELEMENT &&
	       is(xmlTextReaderConstName(xml), name);
}

static bool ends_element(xmlTextReaderPtr xml, const char *name)
{
	return xmlTextReaderNodeType(xml) == XML_READER_TYPE_END_ELEMENT &&
	       is(xmlTextReaderConstName(xml), name);
}

static char *attribute(xmlTextReaderPtr xml, const char *name)
{
	return (char *)xmlTextReaderGetAttribute(xml, (const xmlChar *)name);
}

static bool number_of(xmlTextReaderPtr xml, const char *name, uint32_t *number)
{
	CLEANUP_FREE char *value = attribute(xml, name);
	const char *end = value ? scan_number(value, number) : NULL;

	return end && !*end;
}

static unsigned line_of(xmlTextReaderPtr xml)
{
	return (unsigned)xmlTextReaderGetParserLineNumber(xml);
}

/* --- <cpudata> --- */

static void take_leaf(struct reading *reading, xmlTextReaderPtr xml)
{
	static const char *const registers[] = { "eax", "ebx", "ecx", "edx" };
	struct cpuid_leaf leaf = { 0 };

	/* Old files have a function, and no subleaf. */
	if (number_of(xml, "eax_in", &leaf.leaf) ? !number_of(xml, "ecx_in", &leaf.subleaf)
						 : !number_of(xml, "function", &leaf.leaf)) {
		reading_warn(reading, line_of(xml),
			     "a leaf without its number or its subleaf's: left out");
		return;
	}
	for (int i = 0; i < 4; i++) {
		if (number_of(xml, registers[i], &leaf.reg[i]))
			continue;
		reading_warn(reading, line_of(xml), "leaf 0x%x has no readable %s: left out",
			     leaf.leaf, registers[i]);
		return;
	}
	reading_leaf(reading, &leaf, 4);
}

static int read_cpudata(struct reading *reading, const struct dump_text *text, struct error *err)
{
	static const struct root roots[] = { { "<cpudata", "</cpudata>" }, { NULL, NULL } };
	CLEANUP_FREE char *architecture = NULL;
	struct document document;
	xmlTextReaderPtr xml;
	bool ended = false;
	int result = 0;

	open_root(&document, reading, text, roots);
	xml = document.xml;
	while (xml && !ended && xmlTextReaderRead(xml) == 1) {
		if (!architecture && has_element(xml, "cpudata"))
			architecture = attribute(xml, "arch");
		else if (has_element(xml, "cpuid"))
			take_leaf(reading, xml);
		ended = ends_element(xml, "cpudata") ||
			(architecture && strcmp(architecture, "x86"));
	}
	if (architecture && strcmp(architecture, "x86"))
		result = error_set(err, ERROR_INPUT, "not of an x86 CPU, but of %.32s",
				   architecture);
	else if (!ended || document.damaged)
		reading_warn(reading, 0, "the XML is cut off or damaged: leaves may be missing");
	close_document(&document);
	return result;
}

const struct dump_reader reader_cpudata = {
	.name = "libvirt <cpudata>",
	.marks = { "<cpudata" },
	.small_letters = true,
	.read = read_cpudata,
};

/* --- <cpu> --- */

static const struct {
	const char *name, *vendor;
} vendors[] = {
	{ "Intel", "GenuineIntel" },   { "AMD", "AuthenticAMD" },     { "Hygon", "HygonGenuine" },
	{ "Zhaoxin", "  Shanghai  " }, { "Centaur", "CentaurHauls" },
};

/* What a policy says of the bit; of "optional" the host decides. */
static const struct {
	const char *policy;
	int on;
} policies[] = {
	{ "require", 1 }, { "force", 1 }, { "disable", 0 }, { "forbid", 0 }, { "optional", -1 },
};

static void take_vendor(struct reading *reading, const char *name, unsigned line)
{
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!strcasecmp(name, vendors[i].name)) {
			reading_vendor(reading, vendors[i].vendor);
			return;
		}
	reading_warn(reading, line, "unknown vendor '%s'", name);
}

static void take_feature(struct reading *reading, xmlTextReaderPtr xml)
{
	CLEANUP_FREE char *name = attribute(xml, "name");
	CLEANUP_FREE char *policy = attribute(xml, "policy");
	int index = name ? feature_find(name) : -1, on = policy ? -2 : 1;

	for (size_t i = 0; policy && i < sizeof(policies) / sizeof(policies[0]); i++)
		if (!strcmp(policy, policies[i].policy))
			on = policies[i].on;
	if (on == -2)
		reading_warn(reading, line_of(xml), "unknown policy '%s'", policy);
	else if (!policy && xmlTextReaderAttributeCount(xml) != 1)
		reading_warn(reading, line_of(xml), "a feature without a policy: unknown");
	else if (on == -1 && name)
		reading_warn(reading, line_of(xml), "feature '%s' is optional: unknown", name);
	else if (index >= 0)
		reading_feature(reading, index, on);
	else if (!name)
		reading_warn(reading, line_of(xml), "a feature without a name");
	else if (strncmp(name, "vmx-", 4)) /* those are bits of MSRs */
		reading_warn(reading, line_of(xml), "unknown feature '%s'", name);
}

/* An element that nobody knows, with what features have. */
static void note_stranger(struct reading *reading, xmlTextReaderPtr xml)
{
	CLEANUP_FREE char *name = attribute(xml, "name");
	CLEANUP_FREE char *policy = attribute(xml, "policy");
	static const char *const known[] = { "topology", "cache", "maxphysaddr", "numa",
					     "counter",	 "enum",  "pages",	 "microcode" };

	if (xmlTextReaderNodeType(xml) != XML_READER_TYPE_ELEMENT || (!name && !policy))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (has_element(xml, known[i]))
			return;
	reading_warn(reading, line_of(xml), "an element that looks like a feature: unknown");
}

static void take_signature(struct reading *reading, xmlTextReaderPtr xml)
{
	uint32_t family, model, stepping;
	bool has_stepping = number_of(xml, "stepping", &stepping);

	if (!number_of(xml, "family", &family) || !number_of(xml, "model", &model))
		reading_warn(reading, line_of(xml), "a signature without family or model: unknown");
	else if (!reading_signature(reading, family, model, has_stepping ? (long)stepping : -1))
		reading_warn(reading, line_of(xml), "no CPU can have this signature");
}

/* What is seen of a <cpu> so far. */
struct definition {
	bool inside;	 /* between <cpu> and </cpu> */
	bool vendor_id;	 /* seen: what the guest sees, whatever <vendor> asks of the host */
	bool other_mode; /* in a <mode> that is not host-model: lists of what could be */
	bool done;
};

/* A name has none; a wrap may have put some in. */
static void drop_blanks(char *text)
{
	char *to = text;

	for (const char *at = text; at && *at; at++)
		if (!isspace((unsigned char)*at))
			*to++ = *at;
	if (text)
		*to = '\0';
}

static int take_element(struct reading *reading, struct definition *state, xmlTextReaderPtr xml,
			struct error *err)
{
	CLEANUP_FREE char *text = NULL;

	if (has_element(xml, "cpu")) {
		state->inside = !xmlTextReaderIsEmptyElement(xml);
	} else if (state->inside && has_element(xml, "mode")) {
		text = attribute(xml, "name");
		state->other_mode =
			!xmlTextReaderIsEmptyElement(xml) && text && strcmp(text, "host-model");
	} else if (state->inside && ends_element(xml, "mode")) {
		state->other_mode = false;
	} else if (!state->inside || state->other_mode) {
		return 0;
	} else if (has_element(xml, "arch")) {
		text = (char *)xmlTextReaderReadString(xml);
		drop_blanks(text);
		if (text && strcmp(text, "x86_64") && strcmp(text, "i686"))
			return error_set(err, ERROR_INPUT, "not of an x86 CPU, but of %.32s", text);
	} else if (has_element(xml, "model")) {
		CLEANUP_FREE char *vendor = attribute(xml, "vendor_id");

		state->vendor_id |= vendor != NULL;
		if (vendor && strlen(vendor) == 12)
			reading_vendor(reading, vendor);
		else if (vendor)
			reading_warn(reading, line_of(xml),
				     "a vendor has 12 characters, this one has not");
		text = (char *)xmlTextReaderReadString(xml);
		drop_blanks(text);
		if (text && *text && strlen(text) <= 60 && !reading->libvirt_model) {
			reading->libvirt_model = xstrdup(text);
			reading->touched = true;
		}
	} else if (has_element(xml, "vendor")) {
		text = (char *)xmlTextReaderReadString(xml);
		drop_blanks(text);
		if (text && !state->vendor_id)
			take_vendor(reading, text, line_of(xml));
	} else if (has_element(xml, "signature")) {
		take_signature(reading, xml);
	} else if (has_element(xml, "feature")) {
		take_feature(reading, xml);
	} else if (ends_element(xml, "cpu")) {
		state->inside = false;
		/* A topology has <cpu> elements too; the first that says something is the CPU. */
		state->done = reading->touched;
	} else {
		note_stranger(reading, xml);
	}
	return 0;
}

static int read_cpu_xml(struct reading *reading, const struct dump_text *text, struct error *err)
{
	static const struct root roots[] = {
		{ "<domainCapabilities", "</domainCapabilities>" },
		{ "<capabilities", "</capabilities>" },
		{ "<domain ", "</domain>" },
		{ "<domain>", "</domain>" },
		{ "<cpu ", "</cpu>" },
		{ "<cpu>", "</cpu>" },
		{ NULL, NULL },
	};
	struct definition state = { 0 };
	struct document document;
	xmlTextReaderPtr xml;
	int result = 0;

	open_root(&document, reading, text, roots);
	xml = document.xml;
	while (xml && !state.done && result == 0 && xmlTextReaderRead(xml) == 1)
		result = take_element(reading, &state, xml, err);
	if (reading->touched && (!state.done || document.damaged) && !result)
		reading_warn(reading, 0, "the XML is cut off or damaged: features may be missing");
	close_document(&document);
	return result;
}

const struct dump_reader reader_cpu_xml = {
	.name = "libvirt <cpu>",
	.marks = { "<cpu>", "<cpu " },
	.small_letters = true,
	.read = read_cpu_xml,
};
