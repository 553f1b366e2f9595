/* SPDX-License-Identifier: MIT */
/*
 * What the dispatcher picks for each operation at each class, and what the dispatched call really
 * executes.
 */
#include "tests/dispatch/state.h"

/* Calls up to this size are traced to their return, larger ones are abandoned in their main loop
 * and traced a second time with a cache so small that they are short. */
#define TRACED_WHOLE_MAX 4096
#define SCALED_LLC_BYTES 512 /* half of it: 4 rounds of a loop that moves a line a round */

/* Where copies point, off any alignment: heads and tails are to be seen as well. */
#define COPY_TO_OFFSET	 3
#define COPY_FROM_OFFSET 5

/* One call of an operation. */
struct call {
	const struct dispatch_cpu *cpu;
	enum dispatch_operation operation;
	uint8_t *to;
	const uint8_t *from;
	size_t size;
	uint8_t byte;
};

static void make_call(void *argument)
{
	const struct call *call = argument;

	switch (call->operation) {
	case DISPATCH_CLEAR_PAGE:
		dispatch_clear_page(call->cpu, call->to);
		break;
	case DISPATCH_CLEAR_EXTENT:
		dispatch_clear_extent(call->cpu, call->to, call->size);
		break;
	case DISPATCH_MEMSET:
		dispatch_memset(call->cpu, call->to, call->byte, call->size);
		break;
	case DISPATCH_MEMCPY_FLUSHCACHE:
		dispatch_memcpy_flushcache(call->cpu, call->to, call->from, call->size);
		break;
	case DISPATCH_MEMCPY_FLUSHCACHE_SINGLE:
		dispatch_memcpy_flushcache_single(call->cpu, call->to, call->from, call->size);
		break;
	default:
		break;
	}
}

static uint64_t entry_of(enum dispatch_operation operation)
{
	static void (*const entries[DISPATCH_OPERATIONS])(void) = {
		[DISPATCH_CLEAR_PAGE] = (void (*)(void))dispatch_clear_page,
		[DISPATCH_CLEAR_EXTENT] = (void (*)(void))dispatch_clear_extent,
		[DISPATCH_MEMSET] = (void (*)(void))dispatch_memset,
		[DISPATCH_MEMCPY_FLUSHCACHE] = (void (*)(void))dispatch_memcpy_flushcache,
		[DISPATCH_MEMCPY_FLUSHCACHE_SINGLE] =
			(void (*)(void))dispatch_memcpy_flushcache_single,
	};

	return (uint64_t)entries[operation];
}

static bool copies(enum dispatch_operation operation)
{
	return operation == DISPATCH_MEMCPY_FLUSHCACHE ||
	       operation == DISPATCH_MEMCPY_FLUSHCACHE_SINGLE;
}

/* Traces one call and adds the trace to the pick. */
static void trace_call(struct selftest *test, struct selftest_pick *pick,
		       const struct dispatch_cpu *cpu, uint64_t size)
{
	enum dispatch_operation operation = pick->class->operation;
	struct call call = {
		.cpu = cpu,
		.operation = operation,
		.to = test->platform->arena + SELFTEST_DESTINATION,
		.from = test->platform->arena + SELFTEST_SOURCE + COPY_FROM_OFFSET,
		.size = size,
		/* The largest memset is one to zero, which is no reason to take clzero. */
		.byte = size > cpu->llc_bytes ? 0 : SELFTEST_BYTE,
	};
	struct witness_call watch = {
		.entry = entry_of(operation),
		.abandon = size > TRACED_WHOLE_MAX,
		.poison = SELFTEST_POISON,
	};
	bool returned;

	if (copies(operation))
		call.to += COPY_TO_OFFSET;
	watch.first = watch.last = call.to;
	if (!watch.abandon && size)
		watch.last += size - 1;
	*call.to = call.to[watch.last - watch.first] = SELFTEST_POISON;
	test->emulated = false;
	witness_start_trace(&test->witness, &watch);
	returned = selftest_guarded(test, make_call, &call, true);
	if (witness_current(&test->witness)->end == REPORT_TRACE_FAULTED)
		pick->executable = REPORT_EXECUTABLE_NO;
	else if (test->emulated && pick->executable == REPORT_EXECUTABLE_YES)
		pick->executable = REPORT_EXECUTABLE_EMULATED;
	pick->traces[pick->trace_count++] = (uint8_t)witness_end_trace(&test->witness, returned);
}

static void run_pick(struct selftest *test, const struct dispatch_class *class)
{
	struct selftest_pick *pick = &test->picks[test->pick_count++];
	struct dispatch_cpu scaled;

	pick->class = class;
	pick->size = dispatch_class_size(class, test->cpu.llc_bytes);
	pick->choice = dispatch_choose(&test->cpu, class->operation, pick->size);
	pick->executable = REPORT_EXECUTABLE_YES;
	pick->trace_count = 0;
	trace_call(test, pick, &test->cpu, pick->size);
	if (pick->size <= TRACED_WHOLE_MAX)
		return;
	scaled = test->cpu;
	scaled.llc_bytes = SCALED_LLC_BYTES;
	trace_call(test, pick, &scaled, dispatch_class_size(class, scaled.llc_bytes));
}

/* The strings of a pick: their numbers, once they are in the table. */
struct pick_strings {
	uint8_t operation, class, path, row, reason;
};

static struct pick_strings strings_of(struct selftest *test, const struct selftest_pick *pick)
{
	struct report *report = &test->report;
	const struct dispatch_quirk_row *row = pick->choice.row;

	return (struct pick_strings){
		.operation = report_string(report, dispatch_operation_name(pick->class->operation)),
		.class = report_string(report, pick->class->name),
		.path = report_string(report, dispatch_path_name(pick->choice.path)),
		.row = report_string(report, row ? row->name : NULL),
		.reason = report_string(report, pick->choice.reason),
	};
}

#define PICK_HEAD_BYTES 15
#define NOT_SENT	0xFF

static void report_pick(struct selftest *test, const struct selftest_pick *pick, uint8_t *sent_as,
			uint8_t *sent)
{
	struct report *report = &test->report;
	struct pick_strings strings = strings_of(test, pick);
	size_t bytes = PICK_HEAD_BYTES;

	for (unsigned i = 0; i < pick->trace_count; i++)
		bytes += witness_trace_bytes_max(&test->witness.traces[pick->traces[i]]);
	report_room(report, REPORT_PICKS, bytes);
	report_u8(report, strings.operation);
	report_u8(report, strings.class);
	report_u8(report, strings.path);
	report_u8(report, strings.row);
	report_u8(report, strings.reason);
	report_u64(report, pick->size);
	report_u8(report, pick->executable);
	report_u8(report, pick->trace_count);
	for (unsigned i = 0; i < pick->trace_count; i++, ++*sent) {
		uint8_t *number = &sent_as[pick->traces[i]];

		if (*number == NOT_SENT) {
			*number = *sent;
			witness_report_trace(&test->witness, report,
					     &test->witness.traces[pick->traces[i]]);
		} else {
			report_u8(report, REPORT_TRACE_SAME);
			report_u8(report, *number);
		}
	}
}

static void report_all(struct selftest *test)
{
	uint8_t sent_as[WITNESS_TRACES + 1]; /* the number under which a trace was sent */
	uint8_t sent = 0;

	for (unsigned i = 0; i < sizeof(sent_as); i++)
		sent_as[i] = NOT_SENT;
	for (unsigned i = 0; i < test->pick_count; i++)
		strings_of(test, &test->picks[i]);
	report_send_strings(&test->report);
	for (unsigned i = 0; i < test->pick_count; i++)
		report_pick(test, &test->picks[i], sent_as, &sent);
	report_send(&test->report, REPORT_PICKS);
}

void selftest_picks(struct selftest *test)
{
	test->pick_count = 0;
	witness_begin(&test->witness);
	for (size_t i = 0; i < dispatch_class_count && i < SELFTEST_PICKS_MAX; i++)
		run_pick(test, &dispatch_classes[i]);
	witness_report_code(&test->witness, &test->report);
	report_all(test);
}
