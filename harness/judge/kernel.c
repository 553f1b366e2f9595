// SPDX-License-Identifier: MIT
/* From the routines and calls that a kernel's guest reported to the paths that it picked. */
#include "harness/judge/kernel.h"

#include <stdio.h>
#include <string.h>

#include "harness/judge/routine.h"
#include "harness/util/text.h"

#define NAMES_MAX 6

/*
 * Where each operation's code is. callers: routines that an alternative puts as calls into every
 * caller; the one that is called is the pick. Where none of them is called or there: the first of
 * the entries, with the calls into `into` followed. Sources: Linux 6.1, 6.12 and 7.2, arch/x86/.
 */
static const struct operation {
	const char *operation, *class;
	uint64_t size;
	const char *callers[NAMES_MAX], *entries[NAMES_MAX], *into[NAMES_MAX];
} operations[] = {
	{ "clear_page",
	  "4k",
	  4096,
	  { "clear_page_orig", "clear_page_rep", "clear_page_erms", "__clear_pages_unrolled",
	    "clear_pages:rep", "clear_pages:erms" },
	  { NULL },
	  { NULL } },
	{ "copy_page", "4k", 4096, { NULL }, { "copy_page" }, { NULL } },
	{ "memset", "any", 0, { NULL }, { "memset", "__memset" }, { NULL } },
	{ "memcpy", "any", 0, { NULL }, { "memcpy", "__memcpy" }, { NULL } },
	{ "memmove", "any", 0, { NULL }, { "memmove", "__memmove" }, { NULL } },
	{ "copy_user",
	  "any",
	  0,
	  { "copy_user_generic_unrolled", "copy_user_generic_string",
	    "copy_user_enhanced_fast_string" },
	  { "_copy_from_user", "_copy_to_user" },
	  { "rep_movs_alternative" } },
	{ "clear_user",
	  "any",
	  0,
	  { "clear_user_original", "clear_user_rep_good", "clear_user_erms" },
	  { "clear_user", "read_zero" },
	  { "rep_stos_alternative" } },
	{ "memcpy_flushcache",
	  "any",
	  0,
	  { NULL },
	  { "__memcpy_flushcache" },
	  { "clean_cache_range" } },
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static const char *const flush_entries[] = { "arch_wb_cache_pmem", "clean_cache_range", NULL };
static const char *const flush_into[] = { "clean_cache_range", NULL };

/* What a name claims. */
static const struct {
	const char *symbol, *path;
} claims[] = {
	{ "clear_page_orig", "mov" },
	{ "clear_page_rep", "rep-stosq" },
	{ "clear_page_erms", "rep-stosb" },
	{ "__clear_pages_unrolled", "mov" },
	{ "memset_orig", "mov" },
	{ "memset_erms", "rep-stosb" },
	{ "memcpy_orig", "mov" },
	{ "memcpy_erms", "rep-movsb" },
	{ "copy_page_regs", "mov" },
	{ "copy_user_generic_unrolled", "mov" },
	{ "copy_user_generic_string", "rep-movsq" },
	{ "copy_user_enhanced_fast_string", "rep-movsb" },
	{ "clear_user_original", "mov" },
	{ "clear_user_rep_good", "rep-stosq" },
	{ "clear_user_erms", "rep-stosb" },
};

static const char *claim_of(const struct routine *routine)
{
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++)
		if (!strcmp(claims[i].symbol, routine->symbol))
			return claims[i].path;
	return routine->path;
}

static uint32_t calls_of(const struct observed_kernel *kernel, const char *name)
{
	for (size_t i = 0; i < kernel->calls_count; i++)
		if (!strcmp(kernel->calls[i].name, name))
			return kernel->calls[i].count;
	return 0;
}

/* The one routine that all callers call; NULL: none is called, or (fault) they disagree. */
static const char *agreed(struct kernel_pick *pick, const struct operation *operation,
			  const struct observed_kernel *kernel, uint32_t *sites)
{
	CLEANUP_TEXT struct text all = { 0 };
	const char *called = NULL;
	size_t different = 0;

	*sites = 0;
	for (size_t i = 0; i < NAMES_MAX && operation->callers[i]; i++) {
		uint32_t calls = calls_of(kernel, operation->callers[i]);

		if (!calls)
			continue;
		text_addf(&all, "%s%u of %s", different ? ", " : "", calls, operation->callers[i]);
		different++;
		called = operation->callers[i];
		*sites = calls;
	}
	if (different < 2)
		return called;
	snprintf(pick->fault, sizeof(pick->fault), "the call sites disagree: %s", all.bytes);
	return NULL;
}

static void describe(struct kernel_pick *pick, const struct routine *routine, uint32_t sites)
{
	struct deed *deed = &pick->deed;

	snprintf(deed->path, sizeof(deed->path), "%s", routine->path);
	snprintf(deed->flush, sizeof(deed->flush), "%s", routine->flush);
	deed->returned = true; /* all of its code was read */
	deed->flushes = *routine->flush;
	snprintf(deed->text, sizeof(deed->text), "%s%s%s",
		 *routine->path ? routine->path : "nothing", *routine->flush ? "; " : "",
		 routine->flush);
	if (sites)
		snprintf(deed->text + strlen(deed->text), sizeof(deed->text) - strlen(deed->text),
			 "; %u %s %s", sites,
			 strchr(routine->symbol, ':') ? "places with" : "calls of",
			 routine->symbol);
	snprintf(pick->says, sizeof(pick->says), "%s", claim_of(routine));
	snprintf(pick->row, sizeof(pick->row), "%s", routine->symbol);
}

/* False where the kernel has no such operation. */
static bool pick_of(struct kernel_pick *pick, const struct operation *operation,
		    const struct observed_kernel *kernel)
{
	const char *callers[] = { NULL, NULL };
	struct routine routine;
	uint32_t sites;

	*pick = (struct kernel_pick){ .operation = operation->operation,
				      .class = operation->class,
				      .size = operation->size };
	callers[0] = agreed(pick, operation, kernel, &sites);
	if (*pick->fault) {
		snprintf(pick->deed.text, sizeof(pick->deed.text), "%s", pick->fault);
		return true;
	}
	routine_follow(&routine, kernel, callers[0] ? callers : operation->entries,
		       operation->into);
	if (!routine.found)
		return false;
	describe(pick, &routine, sites);
	return true;
}

size_t kernel_picks(struct kernel_pick *out, size_t room, const struct observed_kernel *kernel)
{
	size_t count = 0;

	for (size_t i = 0; i < OPERATIONS && count < room; i++)
		count += pick_of(&out[count], &operations[i], kernel);
	return count;
}

void kernel_flush(char *out, size_t room, const struct observed_kernel *kernel)
{
	struct routine routine;

	routine_follow(&routine, kernel, flush_entries, flush_into);
	snprintf(out, room, "%s", routine.flush);
}

struct cell_kernel *kernel_facts(const struct observed_kernel *kernel)
{
	struct cell_kernel *facts = xcalloc(1, sizeof(*facts));

	_Static_assert(sizeof(facts->flags) == sizeof(kernel->flags), "the same text");
	_Static_assert(CELL_FACTS_MAX >= REPORT_FACTS_MAX && CELL_FACTS_MAX >= REPORT_CALLS_MAX,
		       "every fact has a place");
	memcpy(facts->flags, kernel->flags, sizeof(facts->flags));
	for (size_t i = 0; i < kernel->vulnerability_count; i++) {
		struct cell_fact *to = &facts->vulnerabilities[facts->vulnerability_count++];

		memcpy(to->name, kernel->vulnerabilities[i].name, sizeof(to->name));
		memcpy(to->text, kernel->vulnerabilities[i].text, sizeof(to->text));
	}
	for (size_t i = 0; i < kernel->calls_count; i++) {
		memcpy(facts->sites[i].name, kernel->calls[i].name, sizeof(facts->sites[i].name));
		facts->sites[i].count = kernel->calls[i].count;
	}
	facts->site_count = kernel->calls_count;
	memcpy(facts->options, kernel->options, sizeof(facts->options));
	memcpy(facts->microcode, kernel->microcode, sizeof(facts->microcode));
	return facts;
}
