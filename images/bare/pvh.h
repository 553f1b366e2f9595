/* SPDX-License-Identifier: MIT */
/*
 * What a PVH loader passes in EBX: struct hvm_start_info, as Xen's public header
 * arch-x86/hvm/start_info.h lays it out (version 1).
 */
#ifndef QUIRKLAB_BARE_PVH_H
#define QUIRKLAB_BARE_PVH_H

#include <stdint.h>

#define PVH_MAGIC      0x336ec578
#define PVH_MEMORY_RAM 1

struct pvh_start_info {
	uint32_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t module_count;
	uint64_t modules;
	uint64_t command_line; /* physical address of a string, or 0 */
	uint64_t rsdp;
	uint64_t memory_map; /* since version 1: physical address, or 0 */
	uint32_t memory_map_count;
	uint32_t reserved;
};

struct pvh_memory {
	uint64_t address;
	uint64_t size;
	uint32_t type;
	uint32_t reserved;
};

/* Where start.S hands over: every guest that links libbare.a defines it. */
void guest_main(const struct pvh_start_info *info);

#endif
