/* SPDX-License-Identifier: MIT */
/* One instruction's store, flush or fence: what it is called, and how many bytes it stores. */
#include "harness/judge/instruction.h"

#include <stdio.h>
#include <string.h>
#include <Zydis/Zydis.h>

#define WIDTH_MOST 64 /* wider ones save a state (XSAVE, FXSAVE): no way to fill memory */

/* Instructions with a name of their own. Width 0: that of the memory operand. */
static const struct known {
	ZydisMnemonic mnemonic;
	enum act_kind kind;
	const char *name;
	unsigned width;
	bool by_width; /* the name ends with the register's size */
} known[] = {
	{ ZYDIS_MNEMONIC_MOVNTI, ACT_STORE, "movnti", 0, false },
	{ ZYDIS_MNEMONIC_MOVNTDQ, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_MOVNTPS, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_MOVNTPD, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_VMOVNTDQ, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_VMOVNTPS, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_VMOVNTPD, ACT_STORE, "movntdq", 0, true },
	{ ZYDIS_MNEMONIC_MOVNTQ, ACT_STORE, "movntq", 0, false },
	{ ZYDIS_MNEMONIC_MOVNTSD, ACT_STORE, "movntsd", 0, false },
	{ ZYDIS_MNEMONIC_MOVNTSS, ACT_STORE, "movntss", 0, false },
	{ ZYDIS_MNEMONIC_MOVDIRI, ACT_STORE, "movdiri", 0, false },
	{ ZYDIS_MNEMONIC_MOVDIR64B, ACT_STORE, "movdir64b", 64, false },
	{ ZYDIS_MNEMONIC_CLZERO, ACT_STORE, "clzero", 64, false },
	{ ZYDIS_MNEMONIC_CLFLUSH, ACT_FLUSH, "clflush", 0, false },
	{ ZYDIS_MNEMONIC_CLFLUSHOPT, ACT_FLUSH, "clflushopt", 0, false },
	{ ZYDIS_MNEMONIC_CLWB, ACT_FLUSH, "clwb", 0, false },
	{ ZYDIS_MNEMONIC_SFENCE, ACT_FENCE, "sfence", 0, false },
	{ ZYDIS_MNEMONIC_MFENCE, ACT_FENCE, "mfence", 0, false },
};

static const struct known *find_known(ZydisMnemonic mnemonic)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].mnemonic == mnemonic)
			return &known[i];
	return NULL;
}

/* --- registers that point into the stack
 * ------------------------------------------------------------ */

/* The number of the general register that holds this one; -1: none. */
static int general_number(ZydisRegister reg)
{
	ZydisRegister whole;

	if (reg == ZYDIS_REGISTER_NONE)
		return -1;
	whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole)
								    : -1;
}

static bool on_stack(const struct stack_registers *stack, ZydisRegister reg)
{
	int number = general_number(reg);

	return number >= 0 && stack->mask >> number & 1;
}

static bool memory_on_stack(const struct stack_registers *stack, const ZydisDecodedOperand *operand)
{
	return on_stack(stack, operand->mem.base) || on_stack(stack, operand->mem.index);
}

/* lea and mov make a register an address of the stack, arithmetic on it leaves it one, anything
 * else that writes it ends that. */
static void follow_registers(struct stack_registers *stack,
			     const ZydisDecodedInstruction *instruction,
			     const ZydisDecodedOperand *operands)
{
	uint16_t before = stack->mask;

	for (int i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *to = &operands[i], *from = &operands[1];
		int number;
		bool points = false;

		if (to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		number = general_number(to->reg.value);
		if (number < 0 || number == 4)
			continue;
		if (i == 0 && instruction->mnemonic == ZYDIS_MNEMONIC_LEA)
			points = memory_on_stack(stack, from);
		else if (i == 0 && instruction->mnemonic == ZYDIS_MNEMONIC_MOV &&
			 from->type == ZYDIS_OPERAND_TYPE_REGISTER)
			points = on_stack(stack, from->reg.value);
		else if (to->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			points = before >> number & 1;
		stack->mask =
			(uint16_t)((stack->mask & ~(1u << number)) | (unsigned)points << number);
	}
}

/* --- stores
 * ---------------------------------------------------------------------------------------- */

static const char *vector_suffix(unsigned width)
{
	return width <= 16 ? "-xmm" : width <= 32 ? "-ymm" : "-zmm";
}

static bool uses_vector(const ZydisDecodedInstruction *instruction,
			const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < instruction->operand_count; i++) {
		ZydisRegisterClass class;

		if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		class = ZydisRegisterGetClass(operands[i].reg.value);
		if (class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
		    class == ZYDIS_REGCLASS_ZMM)
			return true;
	}
	return false;
}

/* stos and movs with rep: "rep-stosq". Without, they store as mov does. */
static const char *string_word(const ZydisDecodedInstruction *instruction)
{
	if (instruction->meta.category != ZYDIS_CATEGORY_STRINGOP ||
	    !(instruction->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPNE)))
		return NULL;
	return ZydisMnemonicGetString(instruction->mnemonic);
}

static const ZydisDecodedOperand *written_memory(const ZydisDecodedInstruction *instruction,
						 const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < instruction->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
		    operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			return &operands[i];
	return NULL;
}

static void name_store(struct act *act, const ZydisDecodedInstruction *instruction,
		       const ZydisDecodedOperand *operands, const struct known *named)
{
	const char *word = string_word(instruction);

	act->cached = !named;
	act->repeats = word != NULL;
	if (word)
		snprintf(act->name, sizeof(act->name), "rep-%s", word);
	else if (named)
		snprintf(act->name, sizeof(act->name), "%s%s", named->name,
			 named->by_width ? vector_suffix(act->width) : "");
	else
		snprintf(act->name, sizeof(act->name), "mov%s",
			 uses_vector(instruction, operands) ? vector_suffix(act->width) : "");
}

static void classify(struct act *act, const ZydisDecodedInstruction *instruction,
		     const ZydisDecodedOperand *operands, const struct stack_registers *stack)
{
	const struct known *named = find_known(instruction->mnemonic);
	const ZydisDecodedOperand *memory = written_memory(instruction, operands);

	if (named && named->kind != ACT_STORE) {
		act->kind = named->kind;
		snprintf(act->name, sizeof(act->name), "%s", named->name);
		return;
	}
	if (named && named->width)
		act->width = named->width;
	else if (memory && !memory_on_stack(stack, memory))
		act->width = memory->size / 8u;
	if (!act->width || act->width > WIDTH_MOST)
		return;
	act->kind = ACT_STORE;
	name_store(act, instruction, operands, named);
}

/* The registers that address memory. clzero's is implied; it is no operand in memory. */
static void note_bases(struct act *act, const ZydisDecodedInstruction *instruction,
		       const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < instruction->operand_count; i++) {
		const ZydisDecodedOperand *operand = &operands[i];
		int number;

		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		number = general_number(operand->mem.base);
		if (number < 0)
			continue;
		if (act->kind == ACT_FLUSH)
			act->flush_by |= 1u << number;
		else if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		else if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			act->stores_by |= 1u << number;
		else
			act->loads_by |= 1u << number;
	}
}

/* --- where in memory
 * ------------------------------------------------------------------------------- */

static int base_number(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RIP ? ACT_RIP : general_number(reg);
}

static bool is_masked(const ZydisDecodedInstruction *instruction)
{
	const ZydisRegister mask = instruction->avx.mask.reg;

	return (mask != ZYDIS_REGISTER_NONE && mask != ZYDIS_REGISTER_K0) ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_VMASKMOVPS ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_VMASKMOVPD ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_VPMASKMOVD ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_VPMASKMOVQ ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU ||
	       instruction->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ;
}

static void read_operand(struct act_memory *memory, const ZydisDecodedOperand *operand)
{
	memory->base = base_number(operand->mem.base);
	memory->index = general_number(operand->mem.index);
	memory->scale = operand->mem.scale;
	memory->displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	memory->bytes = operand->size / 8u;
	memory->reach = operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB ||
					operand->mem.segment == ZYDIS_REGISTER_FS ||
					operand->mem.segment == ZYDIS_REGISTER_GS
				? REACH_UNKNOWN
				: REACH_KNOWN;
}

/* clzero and movdir64b take the address itself as their operand, in a register. */
static void read_register_operand(struct act_memory *memory,
				  const ZydisDecodedInstruction *instruction,
				  const ZydisDecodedOperand *operands)
{
	const bool clzero = instruction->mnemonic == ZYDIS_MNEMONIC_CLZERO;

	*memory = (struct act_memory){
		.reach = REACH_KNOWN,
		.base = clzero ? 0 : general_number(operands[0].reg.value),
		.index = ACT_NO_REGISTER,
		.bytes = 64,
		.align = clzero ? 64 : 1,
	};
}

static void note_memory(struct act *act, const ZydisDecodedInstruction *instruction,
			const ZydisDecodedOperand *operands)
{
	const bool flush = act->kind == ACT_FLUSH;
	const ZydisDecodedOperand *operand = written_memory(instruction, operands);

	act->memory.base = act->memory.index = ACT_NO_REGISTER;
	act->memory.align = 1;
	for (int i = 0; flush && !operand && i < instruction->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			operand = &operands[i];
	if (operand)
		read_operand(&act->memory, operand);
	else if (instruction->mnemonic == ZYDIS_MNEMONIC_CLZERO ||
		 (instruction->mnemonic == ZYDIS_MNEMONIC_MOVDIR64B &&
		  operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER))
		read_register_operand(&act->memory, instruction, operands);
	act->memory.narrow = instruction->address_width == 32;
	if (operand && !flush && is_masked(instruction))
		act->memory.reach = REACH_UNKNOWN;
	act->counted = instruction->attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	act->locked = instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
		      (operand && instruction->mnemonic == ZYDIS_MNEMONIC_XCHG);
}

uint64_t act_address(const struct act *act, uint64_t rip, const uint64_t registers[16])
{
	const struct act_memory *memory = &act->memory;
	uint64_t address = (uint64_t)memory->displacement;

	if (memory->base == ACT_RIP)
		address += rip + act->length;
	else if (memory->base != ACT_NO_REGISTER)
		address += registers[memory->base];
	if (memory->index != ACT_NO_REGISTER)
		address += registers[memory->index] * memory->scale;
	if (memory->narrow)
		address &= UINT32_MAX;
	return address & ~(uint64_t)(memory->align - 1);
}

static bool is_direct(const ZydisDecodedInstruction *instruction,
		      const ZydisDecodedOperand *operands)
{
	return instruction->operand_count && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
	       operands[0].imm.is_relative;
}

static enum act_flow flow_of(const ZydisDecodedInstruction *instruction,
			     const ZydisDecodedOperand *operands)
{
	bool direct = is_direct(instruction, operands);

	switch (instruction->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return direct ? FLOW_BRANCH : FLOW_END;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return direct ? FLOW_JUMP : FLOW_END;
	case ZYDIS_CATEGORY_CALL:
		return direct ? FLOW_CALL : FLOW_ON;
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT:
		return FLOW_END;
	default:
		return instruction->mnemonic == ZYDIS_MNEMONIC_UD2 ? FLOW_END : FLOW_ON;
	}
}

void instruction_decode(struct act *act, const uint8_t *bytes, size_t length, uint32_t offset,
			struct stack_registers *stack)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	*act = (struct act){ .kind = ACT_UNKNOWN };
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, length, &instruction, operands)))
		return;
	act->kind = ACT_NONE;
	classify(act, &instruction, operands, stack);
	note_bases(act, &instruction, operands);
	note_memory(act, &instruction, operands);
	follow_registers(stack, &instruction, operands);
	act->length = instruction.length;
	act->flow = flow_of(&instruction, operands);
	if (!is_direct(&instruction, operands))
		return;
	act->target = (int64_t)offset + instruction.length + operands[0].imm.value.s;
	act->jumps_back = act->flow != FLOW_CALL && act->target <= (int64_t)offset;
}
