// SPDX-License-Identifier: MIT
/*
 * The MADT of a rack of Linux. QEMU's own says of a CPU that may be plugged later that it is
 * disabled. Linux before 2025-11 took such a one for possible; since then (6.18, and the stable
 * kernels of that time, Debian 13's among them) only where it knows the hypervisor's name, which
 * TCG does not give it. So the kernel gets this table in the place of QEMU's: its initrd may hold
 * one that is newer (Documentation/admin-guide/acpi/initrd_table_override.rst). All else is as
 * QEMU's hw/i386/acpi-common.c has it.
 */
#include "harness/guest/madt.h"

#include <stdint.h>

#define LOCAL_APIC_ADDRESS 0xfee00000
#define IO_APIC_ADDRESS	   0xfec00000
#define PCAT_COMPAT	   1 /* there are two 8259 */
#define ENABLED		   1
#define ALL_PROCESSORS	   0xff
#define HIGH_LEVEL	   0xd /* polarity and trigger mode of PCI's interrupts */

/* The kernel takes the place of a table with the same names and a lower revision; QEMU's is 1. */
#define OEM_ID	     "BOCHS "
#define OEM_TABLE_ID "BXPC    "
#define OEM_REVISION 2

enum structure { LOCAL_APIC, IO_APIC, OVERRIDE, LOCAL_APIC_NMI = 4 };

struct header {
	char signature[4];
	uint32_t length;
	uint8_t revision, checksum;
	char oem_id[6], oem_table_id[8];
	uint32_t oem_revision;
	char creator_id[4];
	uint32_t creator_revision;
	/* of this table */
	uint32_t local_apic, flags;
} __attribute__((packed));

struct local_apic {
	uint8_t type, length, processor, apic_id;
	uint32_t flags;
} __attribute__((packed));

struct io_apic {
	uint8_t type, length, id, reserved;
	uint32_t address, first_interrupt;
} __attribute__((packed));

struct override {
	uint8_t type, length, bus, source;
	uint32_t interrupt;
	uint16_t flags;
} __attribute__((packed));

struct local_apic_nmi {
	uint8_t type, length, processor;
	uint16_t flags;
	uint8_t pin;
} __attribute__((packed));

/* The ISA bus: the timer is at pin 2, the four of PCI's links are its own. */
static const struct override overrides[] = {
	{ OVERRIDE, sizeof(struct override), 0, 0, 2, 0 },
	{ OVERRIDE, sizeof(struct override), 0, 5, 5, HIGH_LEVEL },
	{ OVERRIDE, sizeof(struct override), 0, 9, 9, HIGH_LEVEL },
	{ OVERRIDE, sizeof(struct override), 0, 10, 10, HIGH_LEVEL },
	{ OVERRIDE, sizeof(struct override), 0, 11, 11, HIGH_LEVEL },
};

static const struct header header = {
	.signature = "APIC",
	.revision = 1,
	.oem_id = OEM_ID,
	.oem_table_id = OEM_TABLE_ID,
	.oem_revision = OEM_REVISION,
	.creator_id = "QLAB",
	.creator_revision = 1,
	.local_apic = LOCAL_APIC_ADDRESS,
	.flags = PCAT_COMPAT,
};

/* The bytes of a table add up to zero. */
static void finish(struct header *table)
{
	const uint8_t *bytes = (const uint8_t *)table;
	uint8_t sum = 0;

	for (uint32_t i = 0; i < table->length; i++)
		sum = (uint8_t)(sum + bytes[i]);
	table->checksum = (uint8_t)-sum;
}

void madt_add(struct text *out, unsigned cpus)
{
	const struct io_apic io = { IO_APIC, sizeof(io), 0, 0, IO_APIC_ADDRESS, 0 };
	const struct local_apic_nmi nmi = { LOCAL_APIC_NMI, sizeof(nmi), ALL_PROCESSORS, 0, 1 };
	const size_t begin = out->length;
	struct header *table;

	text_add(out, &header, sizeof(header));
	for (unsigned i = 0; i < cpus; i++) {
		const struct local_apic cpu = { LOCAL_APIC, sizeof(cpu), (uint8_t)i, (uint8_t)i,
						ENABLED };

		text_add(out, &cpu, sizeof(cpu));
	}
	text_add(out, &io, sizeof(io));
	text_add(out, overrides, sizeof(overrides));
	text_add(out, &nmi, sizeof(nmi));
	table = (struct header *)(out->bytes + begin);
	table->length = (uint32_t)(out->length - begin);
	finish(table);
}
