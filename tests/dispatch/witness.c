/* SPDX-License-Identifier: MIT */
/*
 * One step costs 0.3 us in a bare guest and 30 us in a Linux one, so a step finds its instruction
 * by a hash and its place in the trace without a search, and rep is not followed byte by byte.
 */
#include "tests/dispatch/witness.h"
#include "tests/dispatch/emulate.h"

#define RFLAGS_TF (1U << 8) /* trap flag: SDM volume 1, 3.4.3.3 */
enum { RSP = 4 };

/* A loop has shown what it is after so many rounds. */
#define ROUNDS 4
/* So has one that leaves the destination as it was: it writes nothing, or elsewhere. */
#define ROUNDS_WITHOUT_STORE 64
/* The longest call traced to its return is 4 KiB byte by byte, 4 instructions each: 16384. */
#define STEPS_MAX	      20000
#define ROUNDS_TOLD	      7	 /* what the report tells: 7 is 7 and more */
#define INSTRUCTION_BYTES_MAX 15 /* SDM volume 2, 2.3.11 */

void witness_begin(struct witness *witness)
{
	witness->instruction_count = 0;
	witness->trace_count = 0;
	witness->serial = 0;
	witness->state = WITNESS_IDLE;
	for (unsigned i = 0; i < WITNESS_SLOTS; i++)
		witness->slots[i] = 0;
}

/* --- recording ------------------------------------------------------------------------------- */

/* The instruction at rip; NULL where the table is full. */
static struct witness_instruction *find_instruction(struct witness *witness, uint64_t rip)
{
	unsigned slot = (rip ^ rip >> 11) % WITNESS_SLOTS;
	struct witness_instruction *instruction;

	for (; witness->slots[slot]; slot = (slot + 1) % WITNESS_SLOTS) {
		instruction = &witness->instructions[witness->slots[slot] - 1];
		if (instruction->rip == rip)
			return instruction;
	}
	if (witness->instruction_count == WITNESS_INSTRUCTIONS)
		return NULL;
	instruction = &witness->instructions[witness->instruction_count++];
	witness->slots[slot] = witness->instruction_count;
	instruction->rip = rip;
	instruction->trace = 0;
	instruction->unreadable = false;
	instruction->in_trace = false;
	return instruction;
}

/* The step of the trace under way that stands for rip; a new one where there is none yet. NULL: no
 * room. */
static struct witness_step *find_step(struct witness *witness, uint64_t rip)
{
	struct witness_instruction *instruction = find_instruction(witness, rip);
	struct witness_trace *trace = witness_current(witness);
	struct witness_step *step;

	if (!instruction)
		return NULL;
	if (instruction->trace == witness->serial)
		return &trace->steps[instruction->step];
	if (trace->step_count == REPORT_TRACE_STEPS_MAX)
		return NULL;
	instruction->trace = witness->serial;
	instruction->step = trace->step_count;
	step = &trace->steps[trace->step_count++];
	step->instruction = (uint16_t)(instruction - witness->instructions);
	step->rounds = 0;
	step->flags = 0;
	return step;
}

static void add_rounds(struct witness_step *step, uint64_t rounds)
{
	uint64_t sum = step->rounds + rounds;

	step->rounds = sum > UINT8_MAX ? UINT8_MAX : (uint8_t)sum;
}

static uint8_t rounds_told(const struct witness_step *step)
{
	return step->rounds > ROUNDS_TOLD ? ROUNDS_TOLD : step->rounds;
}

void witness_start_trace(struct witness *witness, const struct witness_call *call)
{
	witness->serial++;
	witness_current(witness)->end = REPORT_TRACE_LIMIT; /* should the call never be seen */
	witness_current(witness)->step_count = 0;
	witness->entry = call->entry;
	witness->last_rip = 0;
	witness->steps = 0;
	witness->repeats = 0;
	witness->abandon = call->abandon;
	witness->storing = false;
	witness->first = call->first;
	witness->last = call->last;
	witness->poison = call->poison;
	witness->state = WITNESS_BEFORE;
}

static bool same_trace(const struct witness_trace *a, const struct witness_trace *b)
{
	if (a->end != b->end || a->step_count != b->step_count)
		return false;
	for (unsigned i = 0; i < a->step_count; i++)
		if (a->steps[i].instruction != b->steps[i].instruction ||
		    rounds_told(&a->steps[i]) != rounds_told(&b->steps[i]) ||
		    a->steps[i].flags != b->steps[i].flags)
			return false;
	return true;
}

unsigned witness_end_trace(struct witness *witness, bool returned)
{
	struct witness_trace *trace = witness_current(witness);
	unsigned i;

	/* Where the call was the guarded function's last act, the platform saw the return. */
	if (witness->state == WITNESS_INSIDE && returned)
		trace->end = REPORT_TRACE_RETURNED;
	witness->state = WITNESS_IDLE;
	for (i = 0; i < witness->trace_count; i++)
		if (same_trace(&witness->traces[i], trace))
			return i;
	if (witness->trace_count < WITNESS_TRACES)
		witness->trace_count++;
	for (unsigned s = 0; s < trace->step_count; s++)
		witness->instructions[trace->steps[s].instruction].in_trace = true;
	return i;
}

static enum selftest_action end_trace(struct witness *witness, enum report_trace_end end)
{
	witness_current(witness)->end = (uint8_t)end;
	witness->state = WITNESS_IDLE;
	return SELFTEST_ESCAPE;
}

/*
 * The trace begins with the first instruction that changes the destination, the one before this
 * step: what was before is how the dispatcher made up its mind, several times as long as the path.
 * It is kept where nothing is ever stored.
 */
static void forget_before_first_store(struct witness *witness)
{
	struct witness_step *step;
	uint8_t flags;

	if (witness->storing ||
	    (*witness->first == witness->poison && *witness->last == witness->poison))
		return;
	witness->storing = true;
	step = find_step(witness, witness->last_rip);
	flags = step ? step->flags : 0;
	witness->serial++;
	witness_current(witness)->step_count = 0;
	step = find_step(witness, witness->last_rip);
	if (!step)
		return;
	step->flags = flags;
	add_rounds(step, 1);
}

/* registers->rip is about to be executed. */
enum selftest_action witness_step(struct witness *witness, struct selftest_registers *registers)
{
	uint64_t rip = registers->rip;
	struct witness_step *step;

	if (witness->state == WITNESS_IDLE) {
		registers->rflags &= ~(uint64_t)RFLAGS_TF;
		return SELFTEST_RESUME;
	}
	if (++witness->steps > STEPS_MAX)
		return end_trace(witness, REPORT_TRACE_LIMIT);
	if (witness->state == WITNESS_BEFORE) {
		if (rip != witness->entry)
			return SELFTEST_RESUME;
		witness->state = WITNESS_INSIDE;
		witness->return_rip = *(const uint64_t *)registers->general[RSP];
		witness->return_rsp = registers->general[RSP] + 8;
	} else {
		forget_before_first_store(witness);
	}
	if (rip == witness->return_rip && registers->general[RSP] == witness->return_rsp) {
		end_trace(witness, REPORT_TRACE_RETURNED);
		registers->rflags &= ~(uint64_t)RFLAGS_TF;
		return SELFTEST_RESUME;
	}
	step = find_step(witness, rip);
	if (!step)
		return end_trace(witness, REPORT_TRACE_LIMIT);
	if (witness->abandon && step->rounds >= (witness->storing ? ROUNDS : ROUNDS_WITHOUT_STORE))
		return end_trace(witness, REPORT_TRACE_ABANDONED);
	add_rounds(step, 1);
	witness->repeats = rip == witness->last_rip ? witness->repeats + 1 : 0;
	witness->last_rip = rip;
	if (!witness->abandon && witness->repeats >= ROUNDS)
		add_rounds(step, emulate_rep(registers));
	return SELFTEST_RESUME;
}

void witness_fault(struct witness *witness, uint64_t rip, bool page_fault, uint64_t address)
{
	struct witness_step *step;

	if (witness->state != WITNESS_INSIDE)
		return;
	step = find_step(witness, rip);
	if (step)
		step->flags |= REPORT_STEP_FAULTED;
	if (step && page_fault && address - rip < INSTRUCTION_BYTES_MAX)
		witness->instructions[step->instruction].unreadable = true;
	end_trace(witness, REPORT_TRACE_FAULTED);
}

void witness_emulated(struct witness *witness, uint64_t rip)
{
	struct witness_step *step;

	if (witness->state != WITNESS_INSIDE)
		return;
	step = find_step(witness, rip);
	if (step)
		step->flags |= REPORT_STEP_EMULATED;
}

/* --- reporting ------------------------------------------------------------------------------- */

/* Order of instructions by RIP: Shell's sort, enough for some hundred nearly sorted ones. */
static void sort_by_rip(const struct witness *witness, uint16_t *order, unsigned count)
{
	static const uint8_t gaps[] = { 57, 23, 10, 4, 1 }; /* Ciura, 2001 */

	for (unsigned i = 0; i < count; i++)
		order[i] = (uint16_t)i;
	for (unsigned g = 0; g < sizeof(gaps); g++) {
		for (unsigned i = gaps[g]; i < count; i++) {
			uint16_t moved = order[i];
			unsigned at = i;

			for (; at >= gaps[g]; at -= gaps[g]) {
				uint16_t before = order[at - gaps[g]];

				if (witness->instructions[before].rip <=
				    witness->instructions[moved].rip)
					break;
				order[at] = before;
			}
			order[at] = moved;
		}
	}
}

/* Sends bytes from rip on at an offset of the image, in as many frames as it takes. */
static void send_code(struct report *report, uint16_t *offset, uint64_t rip, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++) {
		report_room(report, REPORT_CODE, 1);
		if (!report->used)
			report_u16(report, *offset);
		report_u8(report, ((const uint8_t *)rip)[i]);
		++*offset;
	}
}

/*
 * The image: instructions in the order of their addresses. One that begins within the 15 bytes that
 * the one before may have keeps its distance; any other follows those 15 bytes at once.
 */
void witness_report_code(struct witness *witness, struct report *report)
{
	uint16_t order[WITNESS_INSTRUCTIONS], offset = 0;
	struct witness_instruction *before = NULL;

	sort_by_rip(witness, order, witness->instruction_count);
	for (unsigned i = 0; i < witness->instruction_count; i++) {
		struct witness_instruction *instruction = &witness->instructions[order[i]];
		uint64_t gap = before ? instruction->rip - before->rip : 0;

		if (gap > INSTRUCTION_BYTES_MAX)
			gap = INSTRUCTION_BYTES_MAX;
		instruction->offset = REPORT_NO_CODE;
		if (!instruction->in_trace || instruction->unreadable ||
		    offset + 2 * INSTRUCTION_BYTES_MAX > REPORT_CODE_MAX)
			continue;
		if (before)
			send_code(report, &offset, before->rip, gap);
		instruction->offset = offset;
		before = instruction;
	}
	if (before)
		send_code(report, &offset, before->rip, INSTRUCTION_BYTES_MAX);
	if (report->used)
		report_send(report, REPORT_CODE);
}

size_t witness_trace_bytes_max(const struct witness_trace *trace)
{
	return 2 + 4 * (size_t)trace->step_count;
}

#define STEP_ROUNDS_SHIFT 4
#define STEP_HAS_FLAGS	  0x80
#define STEP_DISTANCE_MAX 15

void witness_report_trace(const struct witness *witness, struct report *report,
			  const struct witness_trace *trace)
{
	unsigned before = REPORT_NO_CODE;

	report_u8(report, trace->end);
	report_u8(report, trace->step_count);
	for (unsigned i = 0; i < trace->step_count; i++) {
		const struct witness_step *step = &trace->steps[i];
		unsigned offset = witness->instructions[step->instruction].offset;
		unsigned distance = offset - before;
		uint8_t head = (uint8_t)(rounds_told(step) << STEP_ROUNDS_SHIFT);

		if (before == REPORT_NO_CODE || offset == REPORT_NO_CODE ||
		    distance > STEP_DISTANCE_MAX)
			distance = 0;
		if (step->flags)
			head |= STEP_HAS_FLAGS;
		report_u8(report, head | (uint8_t)distance);
		if (!distance)
			report_u16(report, (uint16_t)offset);
		if (step->flags)
			report_u8(report, step->flags);
		before = offset;
	}
}
