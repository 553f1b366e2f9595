/* SPDX-License-Identifier: MIT */
/* Family, model and stepping in leaf 1 EAX: Intel SDM vol. 2A, CPUID, figure 3-6; AMD APM vol. 3,
 * E.3.2. */
#include "harness/cpu/cpu.h"

void signature_decode(uint32_t eax, unsigned *family, unsigned *model, unsigned *stepping)
{
	unsigned base = eax >> 8 & 0xF;

	*stepping = eax & 0xF;
	*family = base == 0xF ? base + (eax >> 20 & 0xFF) : base;
	*model = eax >> 4 & 0xF;
	if (base >= 6)
		*model |= (eax >> 16 & 0xF) << 4;
}

uint32_t signature_encode(unsigned family, unsigned model, unsigned stepping)
{
	unsigned base = family < 0xF ? family : 0xF;

	return (family - base) << 20 | (model >> 4) << 16 | base << 8 | (model & 0xF) << 4 |
	       stepping;
}
