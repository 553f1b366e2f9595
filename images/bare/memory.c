// SPDX-License-Identifier: MIT
/*
 * Memory is taken from the end of the image upwards. It is not part of the image's bss, which QEMU
 * would clear and so touch before each boot.
 */
#include "images/bare/memory.h"

#define PAGE 4096
/* Where the loader gives no memory map: less than any guest of the harness has. */
#define RAM_ASSUMED (32ull << 20)
/* start.S maps this much; addresses in page tables and for the trampoline are 32 bits wide. */
#define RAM_MAX (1ull << 30)

extern char image_end[];

static uint64_t next, end;

void memory_init(const struct pvh_start_info *info)
{
	const uint64_t image = (uint64_t)image_end;
	const struct pvh_memory *entry = (const void *)info->memory_map;

	next = (image + PAGE - 1) & -(uint64_t)PAGE;
	end = RAM_ASSUMED;
	if (info->magic != PVH_MAGIC || info->version < 1 || !entry)
		return;
	for (uint32_t i = 0; i < info->memory_map_count; i++, entry++)
		if (entry->type == PVH_MEMORY_RAM && entry->address <= image &&
		    entry->address + entry->size > image)
			end = entry->address + entry->size;
	if (end > RAM_MAX)
		end = RAM_MAX;
}

void *memory_take(size_t bytes)
{
	uint64_t taken = next;

	bytes = (bytes + PAGE - 1) & -(size_t)PAGE;
	if (end < next || bytes > end - next)
		return NULL;
	next += bytes;
	return (void *)taken;
}
