/* SPDX-License-Identifier: MIT */
/*
 * The report protocol: what a guest sends on its second serial port, and the one header that the
 * guest side and the host side share. All numbers are little endian; nothing here is aligned.
 *
 * The stream is a sequence of frames:
 *
 *   offset  size  field
 *        0     2  magic 'Q' 'L'
 *        2     1  version, REPORT_VERSION
 *        3     1  kind, enum report_kind
 *        4     2  length of the payload, at most REPORT_PAYLOAD_MAX
 *        6     2  cpu: which CPU speaks: its APIC id in a rack, 0 in a guest of one CPU
 *        8     n  payload
 *      8+n     4  CRC-32 (polynomial 0xEDB88320, as zlib's) of the bytes before it
 *
 * The reader skips bytes until it finds a frame whose header is in range and whose CRC is right,
 * and counts what it skipped. For one CPU the order is: REPORT_START, then any number of
 * REPORT_STRINGS, REPORT_CPUID, REPORT_CODE, REPORT_PICKS, REPORT_CHECKS, REPORT_FAULT,
 * REPORT_NOTE, REPORT_BEAT, and, of a kernel that is itself the subject, REPORT_ROUTINE,
 * REPORT_CALLS and REPORT_FACT, of a program, REPORT_OUTPUT and one REPORT_EXIT; then REPORT_DONE.
 * REPORT_END closes the whole stream. A string is sent before its first use.
 */
#ifndef QUIRKLAB_IMAGES_PROTOCOL_H
#define QUIRKLAB_IMAGES_PROTOCOL_H

#define REPORT_MAGIC_0	   'Q'
#define REPORT_MAGIC_1	   'L'
#define REPORT_VERSION	   1
#define REPORT_HEADER_SIZE 8
#define REPORT_CRC_SIZE	   4
#define REPORT_PAYLOAD_MAX 2048

enum report_kind {
	/* u8 string length, the subject's version or "" (kernel release for Linux); u32
	 * misc_enable: REPORT_MISC_ENABLE_* */
	REPORT_START = 1,
	/* Strings, each u8 length + bytes, numbered from 0 in the order sent, per CPU (a
	 * REPORT_START empties the table). At most 255 of them: the number 255 means "none". */
	REPORT_STRINGS = 2,
	/* CPUID leaves, see below. */
	REPORT_CPUID = 3,
	/* Picks, see below. */
	REPORT_PICKS = 4,
	/* Functional checks of the paths, each: u8 path (string), u8 operation (string), u8
	 * executable (enum report_executable), u32 cases run, u32 cases that failed, u8 what failed
	 * first (string), u32 length and u16 offset of that case. */
	REPORT_CHECKS = 5,
	/* An exception that no test asked for: u8 vector, u32 error code, u64 RIP, u64 CR2. The CPU
	 * sends REPORT_DONE next where it could go on. Vector 8 (double fault) is the last word. */
	REPORT_FAULT = 6,
	/* Free text for the record, at most 255 bytes. */
	REPORT_NOTE = 7,
	/* A sign of progress, no payload. Of a CPU that has not started yet: a Linux guest waits
	 * for it to be plugged (images/linux/sockets.c). */
	REPORT_BEAT = 8,
	/* This CPU has finished: u8 1 where everything ran, 0 where a REPORT_FAULT ended it. */
	REPORT_DONE = 9,
	/* The guest has finished: u16 how many CPUs reported. */
	REPORT_END = 10,
	/* Part of the code image, see below. */
	REPORT_CODE = 11,
	/* The code of one of the running kernel's routines, see below. */
	REPORT_ROUTINE = 12,
	/* How many places of the kernel's text call a routine, see below. */
	REPORT_CALLS = 13,
	/* What the kernel says of its CPU, see below. */
	REPORT_FACT = 14,
	/* A piece of what a program that is the subject wrote, see below. */
	REPORT_OUTPUT = 15,
	/* How that program ended, see below. */
	REPORT_EXIT = 16,
};

#define REPORT_NO_STRING 255

/* MISC_ENABLE (MSR 0x1A0) bit 0, fast strings; read on Intel only. */
enum report_misc_enable {
	REPORT_MISC_ENABLE_UNREAD = 0, /* not Intel, or no way to read it: taken as set */
	REPORT_MISC_ENABLE_SET = 1,
	REPORT_MISC_ENABLE_CLEAR = 2,
};

/*
 * REPORT_CPUID: entries, each
 *   u8  bits 0-3: which of EAX EBX ECX EDX are not zero and follow; bit 4: a subleaf byte follows;
 *       bits 6-7: base of the leaf: 0 0x00000000, 1 0x40000000, 2 0x80000000, 3 0xC0000000
 *   u8  leaf, from its base
 *   u8  subleaf, where bit 4 says so
 *   u32 each register that is not zero, in the order EAX EBX ECX EDX
 * Every leaf up to its range's maximum (at most 64 of a range) is sent, a zero one too. Of
 * subleaves that are a list, the one that ends it (leaf 4, type 0) is not sent, but for subleaf 0.
 */
#define REPORT_CPUID_SUBLEAF	0x10
#define REPORT_CPUID_BASE_SHIFT 6

/* Whether this CPU can execute the path. */
enum report_executable {
	REPORT_EXECUTABLE_NO = 0, /* raised #UD and nothing could stand in for it */
	REPORT_EXECUTABLE_YES = 1,
	REPORT_EXECUTABLE_EMULATED = 2, /* the guest's own #UD handler did the instruction's work */
};

/*
 * REPORT_PICKS: entries, each
 *   u8  operation, u8 class, u8 path (what the dispatcher says), u8 quirk row's name or 255,
 *   u8  reason in words        (all strings)
 *   u64 size in bytes of the call, as the class means it on this CPU
 *   u8  executable (enum report_executable)
 *   u8  number of traces (0..2), then each trace:
 *         u8  how it ended, enum report_trace_end. REPORT_TRACE_SAME: u8 follows, the number of an
 *             earlier trace of this CPU that was the same, and no more (from 0, in the order sent,
 *             those that are SAME counted too)
 *         u8  number of distinct instructions S, at most REPORT_TRACE_STEPS_MAX
 *         S steps, in the order in which each instruction was first executed:
 *            u8  bits 0-3: distance of its first byte from that of the step before it, 1..15;
 *                          0: a u16 follows, its offset in the code image (REPORT_CODE)
 *                bits 4-6: how often it was executed, 7 for 7 and more
 *                bit  7:   a flags byte follows (after the u16): REPORT_STEP_*
 * The first trace is of the call at its real size; one that is abandoned is followed by a second
 * one of the same call with the size and the CPU's last-level cache scaled down alike, traced to
 * its return: it shows the tail and the fence. Where a call changes its destination, the trace
 * begins with the first instruction that does: what the dispatcher did to choose is left out.
 *
 * REPORT_CODE: u16 offset, then code bytes from that offset on. The code image of a CPU holds the
 * bytes of every instruction that a trace names: at least 15 bytes from its offset on (an offset is
 * REPORT_NO_CODE where the bytes could not be read). It is sent before the picks; at most
 * REPORT_CODE_MAX bytes in all.
 */
enum report_trace_end {
	REPORT_TRACE_RETURNED = 0,  /* traced to the return */
	REPORT_TRACE_ABANDONED = 1, /* left after enough rounds of its main loop */
	REPORT_TRACE_FAULTED = 2,   /* an exception that could not be repaired ended it */
	REPORT_TRACE_LIMIT = 3,	    /* the limit of steps was reached */
	REPORT_TRACE_SAME = 0x80,
};
#define REPORT_STEP_EMULATED 0x01 /* raised #UD, done by the handler */
#define REPORT_STEP_FAULTED  0x02 /* raised an exception that ended the trace */

#define REPORT_TRACE_STEPS_MAX 128 /* distinct instructions in one trace */
#define REPORT_TRACES_MAX      64  /* traces of one CPU */
#define REPORT_CODE_MAX	       8192
#define REPORT_NO_CODE	       0xFFFF

/*
 * The subject `linux`: what the running kernel has patched. No routine is executed for it.
 *
 * REPORT_ROUTINE: u64 address, u8 length + name (of the symbol), then the bytes of its code as they
 * are in memory, up to the next symbol; at most REPORT_ROUTINE_MAX of them, of at most
 * REPORT_ROUTINES_MAX routines. Of several names of one address, each may be sent.
 *
 * Code that stands in place of a call counts as a routine of a made-up name with a colon, such as
 * `clear_pages:erms`: its first place, and its bytes.
 *
 * REPORT_CALLS: entries, each u8 length + name of a symbol, u32 number of direct calls (E8 and a
 * distance) of it between _text and _etext, or of places with that code. A symbol that the kernel
 * does not have is not sent. At most REPORT_CALLS_MAX.
 *
 * REPORT_FACT: u8 enum report_fact, u8 length + name, then the text, at most 255 bytes of it for a
 * vulnerability or the options. At most REPORT_FACTS_MAX vulnerabilities; flags in as many frames
 * as they need, which come in order.
 */
enum report_fact {
	REPORT_FACT_FLAGS = 0,	       /* of /proc/cpuinfo: words and blanks; no name */
	REPORT_FACT_VULNERABILITY = 1, /* of /sys/devices/system/cpu/vulnerabilities: file, line */
	/* No name. Where the symbols are, in words for the agent of the same kernel's next guest:
	 * hexadecimal digits and REPORT_SYMBOLS_SIGNS, one frame, at most REPORT_SYMBOLS_MAX. */
	REPORT_FACT_SYMBOLS = 2,
	/* No name. The words of the kernel's command line that choose a mitigation, and blanks. */
	REPORT_FACT_OPTIONS = 3,
	REPORT_FACT_MICROCODE = 4, /* its revision, as /proc/cpuinfo has it: 0x1; no name */
	REPORT_FACTS
};

#define REPORT_ROUTINE_MAX   1024
#define REPORT_ROUTINES_MAX  48
#define REPORT_CALLS_MAX     32
#define REPORT_FACTS_MAX     48
#define REPORT_SYMBOLS_MAX   1000
#define REPORT_SYMBOLS_SIGNS ",.:"

/*
 * A program that is the subject (images/linux/program.c).
 *
 * REPORT_OUTPUT: u8 stream (1 standard output, 2 standard error), then bytes, in the order in which
 * they were written. At most REPORT_OUTPUT_MAX bytes of a CPU; of a program that writes more, the
 * lines that carry a verdict (TAP, QL) go first and the rest is left out.
 *
 * REPORT_EXIT: u8 enum report_exit; u8 the exit status, the signal, the errno, or, of one that was
 * killed, enum report_limit; u64 bytes it wrote in all; u64 how many of them were left out.
 */
enum report_exit {
	REPORT_EXITED = 0,
	REPORT_SIGNALLED = 1,
	REPORT_TIMED_OUT = 2,	/* killed at one of the job's limits */
	REPORT_NOT_STARTED = 3, /* the system would not run it */
};
enum report_limit {
	REPORT_LIMIT_SILENCE = 0, /* it wrote nothing for too long */
	REPORT_LIMIT_TOTAL = 1,	  /* it wrote on and on */
};

#define REPORT_OUTPUT_MAX (256 * 1024)

#endif
