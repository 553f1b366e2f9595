// SPDX-License-Identifier: MIT
/* Compares what a kernel showed after a short boot with what it showed after a full one. */
#include "harness/judge/boots.h"

#include <stdio.h>
#include <string.h>

struct difference {
	char *what;
	size_t room;
};

/* False, and says so, where the values differ. */
static bool same(const struct difference *difference, const char *name, const char *brief,
		 const char *full)
{
	if (!strcmp(brief, full))
		return true;
	snprintf(difference->what, difference->room,
		 "%s: '%.150s' after a short boot, '%.150s' "
		 "after a full one",
		 name, brief, full);
	return false;
}

static bool same_count(const struct difference *difference, const char *name, size_t brief,
		       size_t full)
{
	char digits[2][24];

	snprintf(digits[0], sizeof(digits[0]), "%zu", brief);
	snprintf(digits[1], sizeof(digits[1]), "%zu", full);
	return same(difference, name, digits[0], digits[1]);
}

static bool same_pick(const struct difference *difference, const struct pick *brief,
		      const struct pick *full)
{
	char name[64];

	snprintf(name, sizeof(name), "%s@%s", brief->operation, brief->class);
	return same(difference, "a pick's operation", brief->operation, full->operation) &&
	       same(difference, "a pick's class", brief->class, full->class) &&
	       same(difference, name, brief->row, full->row) &&
	       same(difference, name, brief->says, full->says) &&
	       same(difference, name, brief->does, full->does) &&
	       same(difference, name, verdict_name(brief->verdict), verdict_name(full->verdict));
}

static bool same_picks(const struct difference *difference, const struct cell_result *brief,
		       const struct cell_result *full)
{
	if (!same_count(difference, "how many picks", brief->pick_count, full->pick_count))
		return false;
	for (size_t i = 0; i < brief->pick_count; i++)
		if (!same_pick(difference, &brief->picks[i], &full->picks[i]))
			return false;
	return true;
}

/* The first word that one list has and the other lacks is named, not both lists. */
static bool same_flags(const struct difference *difference, const char *brief, const char *full)
{
	char words[2][sizeof(((struct cell_kernel *)NULL)->flags)];
	char *save[2], *at[2];

	snprintf(words[0], sizeof(words[0]), "%s", brief);
	snprintf(words[1], sizeof(words[1]), "%s", full);
	at[0] = strtok_r(words[0], " ", &save[0]);
	at[1] = strtok_r(words[1], " ", &save[1]);
	while (at[0] && at[1] && !strcmp(at[0], at[1])) {
		at[0] = strtok_r(NULL, " ", &save[0]);
		at[1] = strtok_r(NULL, " ", &save[1]);
	}
	return same(difference, "the flags from here on", at[0] ? at[0] : "", at[1] ? at[1] : "");
}

/* Files of one folder, in the order in which the kernel lists them. */
static bool same_vulnerabilities(const struct difference *difference,
				 const struct cell_kernel *brief, const struct cell_kernel *full)
{
	if (!same_count(difference, "how many vulnerabilities", brief->vulnerability_count,
			full->vulnerability_count))
		return false;
	for (size_t i = 0; i < brief->vulnerability_count; i++)
		if (!same(difference, "a vulnerability's name", brief->vulnerabilities[i].name,
			  full->vulnerabilities[i].name) ||
		    !same(difference, brief->vulnerabilities[i].name,
			  brief->vulnerabilities[i].text, full->vulnerabilities[i].text))
			return false;
	return true;
}

static bool same_sites(const struct difference *difference, const struct cell_kernel *brief,
		       const struct cell_kernel *full)
{
	if (!same_count(difference, "how many routines are called", brief->site_count,
			full->site_count))
		return false;
	for (size_t i = 0; i < brief->site_count; i++) {
		char name[96];

		snprintf(name, sizeof(name), "calls of %s", brief->sites[i].name);
		if (!same(difference, "a routine's name", brief->sites[i].name,
			  full->sites[i].name) ||
		    !same_count(difference, name, brief->sites[i].count, full->sites[i].count))
			return false;
	}
	return true;
}

bool boots_agree(char *what, size_t room, const struct cell_result *brief,
		 const struct cell_result *full)
{
	const struct difference difference = { what, room };
	const struct cell_kernel *left = brief->kernel_seen, *right = full->kernel_seen;

	if (!left || !right)
		return same(&difference, "what the kernel showed", left ? "there" : "not there",
			    right ? "there" : "not there");
	return same_picks(&difference, brief, full) &&
	       same_flags(&difference, left->flags, right->flags) &&
	       same_vulnerabilities(&difference, left, right) &&
	       same_sites(&difference, left, right);
}
