/* SPDX-License-Identifier: MIT */
/*
 * clzero (AMD APM volume 3), movdiri and movdir64b (Intel SDM volume 2) in 64-bit mode, and the
 * fast way through a rep. The encodings are those that a compiler or our paths emit.
 */
#include "tests/dispatch/emulate.h"

#define LINE_BYTES 64 /* what clzero and movdir64b move */

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

/* An instruction while it is being decoded. */
struct instruction {
	const uint8_t *next; /* the byte to read next */
	uint8_t rex;	     /* 0: none */
	bool operand_size;   /* 66h */
	bool address_size;   /* 67h: addresses of 32 bits */
	bool repeat;	     /* F3h */
};

static struct instruction decode_prefixes(const struct selftest_registers *registers)
{
	struct instruction in = { .next = (const uint8_t *)registers->rip };

	for (;; in.next++) {
		if (*in.next == 0x66)
			in.operand_size = true;
		else if (*in.next == 0x67)
			in.address_size = true;
		else if (*in.next == 0xF3)
			in.repeat = true;
		else
			break;
		if (in.next - (const uint8_t *)registers->rip >= 4)
			break; /* no compiler repeats prefixes */
	}
	if ((*in.next & 0xF0) == 0x40)
		in.rex = *in.next++;
	return in;
}

static bool take(struct instruction *in, uint8_t a, uint8_t b, uint8_t c)
{
	if (in->next[0] != a || in->next[1] != b || in->next[2] != c)
		return false;
	in->next += 3;
	return true;
}

static uint64_t displacement(struct instruction *in, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)*in->next++ << (8 * i);
	return bytes == 1 ? (uint64_t)(int8_t)value : (uint64_t)(int32_t)value;
}

static uint64_t of_address_size(const struct instruction *in, uint64_t address)
{
	return in->address_size ? (uint32_t)address : address;
}

/* Reads ModRM, SIB and displacement (SDM 2, tables 2-2 and 2-3). false: no memory operand. */
static bool decode_operands(struct instruction *in, const struct selftest_registers *registers,
			    unsigned *reg, uint64_t *address)
{
	uint8_t modrm = *in->next++;
	unsigned mod = modrm >> 6, rm = modrm & 7;
	bool rip_relative = mod == 0 && rm == 5;
	uint64_t sum = 0;

	*reg = (modrm >> 3 & 7) | (in->rex & REX_R ? 8 : 0);
	if (mod == 3)
		return false;
	if (rm == 4) {
		uint8_t sib = *in->next++;
		unsigned index = (sib >> 3 & 7) | (in->rex & REX_X ? 8 : 0);

		if (index != RSP)
			sum = registers->general[index] << (sib >> 6);
		if (mod == 0 && (sib & 7) == 5)
			sum += displacement(in, 4);
		else
			sum += registers->general[(sib & 7) | (in->rex & REX_B ? 8 : 0)];
	} else if (!rip_relative) {
		sum = registers->general[rm | (in->rex & REX_B ? 8 : 0)];
	}
	if (mod == 1)
		sum += displacement(in, 1);
	else if (mod == 2 || rip_relative)
		sum += displacement(in, 4);
	if (rip_relative)
		sum += (uint64_t)in->next;
	*address = of_address_size(in, sum);
	return true;
}

/* volatile: the compiler must not make a libc call of these loops. */
static void store_words(uint64_t address, const uint64_t *words, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		((volatile uint64_t *)address)[i] = words[i];
}

static bool emulate_clzero(const struct instruction *in, struct selftest_registers *registers)
{
	const uint64_t zeros[LINE_BYTES / 8] = { 0, 0, 0, 0, 0, 0, 0, 0 };

	if (in->operand_size || in->repeat)
		return false;
	store_words(of_address_size(in, registers->general[RAX]) & -(uint64_t)LINE_BYTES, zeros,
		    LINE_BYTES / 8);
	return true;
}

static bool emulate_movdiri(struct instruction *in, const struct selftest_registers *registers)
{
	uint64_t address;
	unsigned reg;

	if (in->operand_size || in->repeat || !decode_operands(in, registers, &reg, &address))
		return false;
	if (in->rex & REX_W)
		*(volatile uint64_t *)address = registers->general[reg];
	else
		*(volatile uint32_t *)address = (uint32_t)registers->general[reg];
	return true;
}

static bool emulate_movdir64b(struct instruction *in, const struct selftest_registers *registers)
{
	uint64_t line[LINE_BYTES / 8], from, to;
	unsigned reg;

	if (!in->operand_size || in->repeat || !decode_operands(in, registers, &reg, &from))
		return false;
	to = of_address_size(in, registers->general[reg]);
	if (to % LINE_BYTES) /* the CPU raises #GP */
		return false;
	for (unsigned i = 0; i < LINE_BYTES / 8; i++)
		line[i] = ((const volatile uint64_t *)from)[i];
	store_words(to, line, LINE_BYTES / 8);
	return true;
}

bool emulate(struct selftest_registers *registers)
{
	struct instruction in = decode_prefixes(registers);
	bool done = false;

	if (take(&in, 0x0F, 0x01, 0xFC))
		done = emulate_clzero(&in, registers);
	else if (take(&in, 0x0F, 0x38, 0xF9))
		done = emulate_movdiri(&in, registers);
	else if (take(&in, 0x0F, 0x38, 0xF8))
		done = emulate_movdir64b(&in, registers);
	if (done)
		registers->rip = (uint64_t)in.next;
	return done;
}

uint64_t emulate_rep(struct selftest_registers *registers)
{
	struct instruction in = decode_prefixes(registers);
	uint64_t *general = registers->general;
	uint64_t count = general[RCX] - 1;
	bool words = in.rex & REX_W;

	if (!in.repeat || in.operand_size || in.address_size || general[RCX] < 2)
		return 0;
	if (*in.next == 0xAA)
		__asm__ volatile("rep stosb"
				 : "+D"(general[RDI]), "+c"(count)
				 : "a"(general[RAX])
				 : "memory");
	else if (*in.next == 0xAB && words)
		__asm__ volatile("rep stosq"
				 : "+D"(general[RDI]), "+c"(count)
				 : "a"(general[RAX])
				 : "memory");
	else if (*in.next == 0xA4)
		__asm__ volatile("rep movsb"
				 : "+D"(general[RDI]), "+S"(general[RSI]), "+c"(count)
				 :
				 : "memory");
	else if (*in.next == 0xA5 && words)
		__asm__ volatile("rep movsq"
				 : "+D"(general[RDI]), "+S"(general[RSI]), "+c"(count)
				 :
				 : "memory");
	else
		return 0;
	count = general[RCX] - 1;
	general[RCX] = 1;
	return count;
}
