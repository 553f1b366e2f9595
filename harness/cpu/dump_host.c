/* SPDX-License-Identifier: MIT */
/* The CPUID of the machine that this runs on, read on each CPU that the process may use. */
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "harness/cpu/read.h"

#define SUBLEAVES_MAX 64u
#define LEAVES_MAX    0x80u /* of one range; no CPU has as many */

/* How a leaf says that it has no further subleaf. */
enum list_end {
	ONE,	    /* it has one only */
	TYPE_ZERO,  /* until EAX bits 4:0 are zero */
	LEVEL_ZERO, /* until ECX bits 15:8 are zero */
	IN_EAX,	    /* subleaf 0 EAX is the last */
	STATES,	    /* leaf 0xD: 63 of them, the empty ones left out */
	FOUR,	    /* a few, the empty ones left out */
};

static const struct {
	uint32_t leaf;
	enum list_end end;
} lists[] = {
	{ 0x4, TYPE_ZERO },
	{ 0x7, IN_EAX },
	{ 0xB, LEVEL_ZERO },
	{ 0xD, STATES },
	{ 0xF, FOUR },
	{ 0x10, FOUR },
	{ 0x12, FOUR },
	{ 0x14, IN_EAX },
	{ 0x17, IN_EAX },
	{ 0x18, IN_EAX },
	{ 0x1D, IN_EAX },
	{ 0x1E, FOUR },
	{ 0x1F, LEVEL_ZERO },
	{ 0x20, IN_EAX },
	{ 0x23, FOUR },
	{ 0x24, IN_EAX },
	{ 0x8000001Du, TYPE_ZERO },
	{ 0x80000020u, FOUR },
	{ 0x80000026u, LEVEL_ZERO },
};

static enum list_end list_of(uint32_t leaf)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i].leaf == leaf)
			return lists[i].end;
	return ONE;
}

static void ask(struct cpuid_leaf *leaf)
{
	__cpuid_count(leaf->leaf, leaf->subleaf, leaf->reg[0], leaf->reg[1], leaf->reg[2],
		      leaf->reg[3]);
}

static bool empty(const struct cpuid_leaf *leaf)
{
	return !(leaf->reg[0] | leaf->reg[1] | leaf->reg[2] | leaf->reg[3]);
}

static void read_leaf(struct reading *reading, uint32_t number)
{
	enum list_end end = list_of(number);
	struct cpuid_leaf leaf = { .leaf = number };
	uint32_t last = end == STATES ? SUBLEAVES_MAX - 1
			: end == FOUR ? 3
			: end == ONE  ? 0
				      : SUBLEAVES_MAX;

	for (; leaf.subleaf <= last; leaf.subleaf++) {
		ask(&leaf);
		if (leaf.subleaf && (end == STATES || end == FOUR) && empty(&leaf))
			continue;
		reading_leaf(reading, &leaf, 4);
		if (end == IN_EAX && !leaf.subleaf)
			last = leaf.reg[CPUID_EAX] < SUBLEAVES_MAX ? leaf.reg[CPUID_EAX]
								   : SUBLEAVES_MAX;
		if ((end == TYPE_ZERO && !(leaf.reg[CPUID_EAX] & 0x1F)) ||
		    (end == LEVEL_ZERO && !(leaf.reg[CPUID_ECX] & 0xFF00)))
			break;
	}
}

static void read_range(struct reading *reading, uint32_t first)
{
	struct cpuid_leaf base = { .leaf = first };

	ask(&base);
	reading_leaf(reading, &base, 4);
	for (uint32_t leaf = first + 1; leaf <= base.reg[CPUID_EAX] && leaf < first + LEAVES_MAX;
	     leaf++)
		if (leaf != 3)
			read_leaf(reading, leaf);
}

static void read_this_cpu(struct reading *reading, unsigned number)
{
	struct cpuid_leaf one = { .leaf = 1 };

	reading_cpu(reading, (long)number);
	read_range(reading, 0);
	ask(&one);
	if (one.reg[CPUID_ECX] >> 31)
		read_range(reading, 0x40000000u);
	read_range(reading, 0x80000000u);
	read_range(reading, 0xC0000000u);
}

int dump_read_host(struct dump *dump, struct error *err)
{
	cpu_set_t mine, one;
	struct reading reading;

	*dump = (struct dump){ .format = "this machine" };
	if (sched_getaffinity(0, sizeof(mine), &mine) < 0)
		return error_set(err, ERROR_LAB, "the CPUs of this process: %s", strerror(errno));
	reading_begin(&reading, dump);
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &mine))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one) == 0)
			read_this_cpu(&reading, i);
	}
	sched_setaffinity(0, sizeof(mine), &mine);
	reading_end(&reading);
	return dump_identity(dump, err);
}
