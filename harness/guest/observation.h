/* SPDX-License-Identifier: MIT */
/*
 * What a guest reported, per CPU: the frames of images/protocol.h, decoded with every length
 * bounded. The guest is hostile: nothing in here is believed beyond its shape.
 */
#ifndef QUIRKLAB_HARNESS_GUEST_OBSERVATION_H
#define QUIRKLAB_HARNESS_GUEST_OBSERVATION_H

#include "harness/cpu/cpuid.h"
#include "harness/util/text.h"
#include "images/protocol.h"

struct observed_step {
	uint8_t rounds;	 /* 7 means 7 and more */
	uint8_t flags;	 /* REPORT_STEP_* */
	uint16_t offset; /* in the code image; REPORT_NO_CODE: bytes unknown */
};

struct observed_trace {
	uint8_t end; /* enum report_trace_end, never SAME */
	uint8_t step_count;
	struct observed_step steps[REPORT_TRACE_STEPS_MAX];
};

struct observed_pick {
	char operation[32], class[16], says[32]; /* printable */
	char row[64];				 /* "" : no row */
	char reason[256];
	uint64_t size;
	uint8_t executable; /* enum report_executable */
	uint8_t trace_count;
	uint8_t trace[2]; /* indices into traces */
};

struct observed_check {
	char path[32], operation[32], what[128];
	uint8_t executable;
	uint32_t cases, failures, length;
	uint16_t offset;
};

/* A kernel that is itself the subject (REPORT_ROUTINE, REPORT_CALLS, REPORT_FACT). */
struct observed_kernel {
	struct observed_routine {
		char name[64];
		uint64_t address;
		uint16_t length;
		uint8_t code[REPORT_ROUTINE_MAX];
	} routines[REPORT_ROUTINES_MAX];
	size_t routine_count;
	struct observed_calls {
		char name[64];
		uint32_t count;
	} calls[REPORT_CALLS_MAX];
	size_t calls_count;
	char flags[4096];		      /* of /proc/cpuinfo, printable */
	char symbols[REPORT_SYMBOLS_MAX + 1]; /* hexadecimal digits and signs; "": not said */
	struct observed_fact {
		char name[64], text[256]; /* printable */
	} vulnerabilities[REPORT_FACTS_MAX];
	size_t vulnerability_count;
	/* Both printable; "": not said. */
	char options[256];  /* of its command line, those that choose a mitigation */
	char microcode[16]; /* the revision, as /proc/cpuinfo has it: "0x1" */
};

/* A program that is the subject (REPORT_OUTPUT, REPORT_EXIT). Raw: nothing of it is printable yet.
 */
struct observed_program {
	struct text output; /* standard output */
	struct text errors; /* standard error */
	bool ended;	    /* a REPORT_EXIT came: the fields below are valid */
	uint8_t how;	    /* enum report_exit */
	uint8_t code;
	uint64_t written, left_out; /* bytes, as the guest says */
};

#define OBSERVED_PICKS_MAX  64
#define OBSERVED_CHECKS_MAX 32
#define OBSERVED_LEAVES_MAX 512

struct observation { /* one CPU */
	uint16_t cpu;
	bool started, done;
	bool complete; /* the guest says that everything ran */
	char version[64];
	uint32_t misc_enable;
	struct cpuid_dump cpuid;
	uint8_t code[REPORT_CODE_MAX];
	bool code_known[REPORT_CODE_MAX];
	struct observed_trace traces[REPORT_TRACES_MAX];
	size_t trace_count;
	struct observed_pick picks[OBSERVED_PICKS_MAX];
	size_t pick_count;
	struct observed_check checks[OBSERVED_CHECKS_MAX];
	size_t check_count;
	bool fault;
	uint8_t fault_vector;
	uint32_t fault_error;
	uint64_t fault_rip, fault_cr2;
	char note[256];
	struct observed_kernel *kernel;	  /* NULL: nothing of it was reported; owned */
	struct observed_program *program; /* the same */
	unsigned malformed;		  /* frames of this CPU whose payload did not parse */
};

/* A reader of one guest's report stream. It keeps partial frames between calls. */
struct report_reader;
/* most_cpus: how many different CPUs may report, whatever their numbers; further ones are ignored.
 */
struct report_reader *report_reader_new(size_t most_cpus);
void report_reader_free(struct report_reader *reader);

/* Feeds bytes; returns the number of good frames found in them (progress, for the watchdog). */
size_t report_feed(struct report_reader *reader, const void *bytes, size_t length);

/* No more bytes will come: what still waits for the rest of a frame is searched for whole frames.
 */
size_t report_finish(struct report_reader *reader);

bool report_ended(const struct report_reader *reader);	   /* REPORT_END was seen */
size_t report_skipped(const struct report_reader *reader); /* bytes that were in no good frame */
/* The highest CPU number that the guest has asked for before it started (REPORT_BEAT), bounded by
 * most_cpus; 0: none. */
uint16_t report_wanted(const struct report_reader *reader);
/* The observation of that CPU number, or NULL where it never started. Owned by the reader. */
const struct observation *report_cpu(const struct report_reader *reader, uint16_t cpu);

#endif
