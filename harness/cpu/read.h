/* SPDX-License-Identifier: MIT */
/*
 * What the readers of dump formats (read_*.c) share: the cleaned text and its lines, small
 * scanners, and the CPU that is being put together. A format is a struct dump_reader; detect.c has
 * the list.
 */
#ifndef QUIRKLAB_HARNESS_CPU_READ_H
#define QUIRKLAB_HARNESS_CPU_READ_H

#include "harness/cpu/dump.h"
#include "harness/util/text.h"

/* --- the text (dump_clean.c) --- */

/* A NUL behind the last byte; lines end in '\n'. Once cleaned there is no other NUL. */
struct dump_text {
	char *bytes;
	size_t length;
};

/*
 * In place: UTF-16 and the byte order marks, CRLF, marks of quotation, time stamps of a console,
 * colours of a terminal, names of signs in HTML; tabs become blanks. -1 where the bytes are no
 * text.
 */
int text_clean(struct dump_text *text);

struct line {
	const char *at, *end; /* *end is '\n' or NUL */
	unsigned number;      /* from 1 */
};

/* The next line into *line, which is all zero before the first; false after the last. */
bool line_next(const struct dump_text *text, struct line *line);
/* Where a screen, or a tool, has cut off all lines that were longer: the length of the longest
 * ones, if there are two that do not begin alike; else 0. */
size_t text_cut_width(const struct dump_text *text);
/* Whether the text holds the word; NULL or where. */
const char *text_find(const struct dump_text *text, const char *word);
/* The same in a line, in any case. */
const char *line_find(const struct line *line, const char *word);

/* --- scanners (dump_scan.c) --- */

/*
 * Each returns where it ended, or NULL. None crosses the end of a line. A cleaned text has no tabs.
 */

const char *scan_blanks(const char *at); /* never NULL */
/* In any case; a blank of the word stands for one or more. */
const char *scan_word(const char *at, const char *word);
/* least..most digits, and no further one behind them. */
const char *scan_hex(const char *at, unsigned least, unsigned most, uint32_t *value);
const char *scan_decimal(const char *at, uint32_t *value);
/* Decimal, or hexadecimal with 0x. */
const char *scan_number(const char *at, uint32_t *value);
/* The same, of which nothing is missing: at the end of the text a number may have lost digits. */
const char *scan_whole_number(const char *at, uint32_t *value);
/* Such a one, and nothing behind it on its line: "1 3" was once "143". */
bool scan_last_number(const char *at, uint32_t *value);
/* "key  <blanks><mark><blanks>": where the value begins, if the line has this key. */
const char *scan_key(const char *at, const char *key, char mark);

/* --- the CPU in the making (dump_build.c) --- */

struct flag_table;

#define ROW_LEAVES_MAX 32u
#define ROWS_MAX       64u /* of one leaf */

/* Lines of one leaf that have no number of a subleaf. */
struct row_leaf {
	uint32_t leaf;
	unsigned count;
	bool damaged; /* one of them may be lost or cut */
};

/* Where such lines are kept until all of them are read: subleaves that no CPU has. */
#define ROW_FIRST 0x80000000u

struct reading {
	struct dump *dump;
	/* the CPU being read */
	struct dump_leaf *leaves;
	size_t leaf_count, leaf_room;
	bool sorted;
	bool touched;  /* something of it was read */
	bool overfull; /* it has more leaves than a CPU has */
	unsigned number, next_number;
	char brand[49];
	int rep_good;
	char *libvirt_model;
	uint32_t last_leaf; /* of the line that was read last */
	uint32_t cut_list;  /* a leaf behind whose lines one could not be read */
	bool arrays;	    /* see struct leaf_format; of the whole file */
	bool unwrapped;	    /* blanks of names may be lost; of the whole file */
	bool any_case;	    /* the letters may have been others; of the whole file */
	struct row_leaf rows[ROW_LEAVES_MAX];
	size_t row_leaf_count;
	bool lost_row; /* since the last line that could be read */
	/* made when a list of flags is met (dump_flags.c) */
	struct flag_table *flags;
};

void reading_begin(struct reading *reading, struct dump *dump);
/* A header of the file: what follows is of that logical CPU. -1: the next one. */
void reading_cpu(struct reading *reading, long number);
/* Gives up what was read since. */
void reading_drop(struct reading *reading);
/* Ends the last CPU, and works out what the dump says of each. */
void reading_end(struct reading *reading);
/* Gives the lines without a number of a subleaf their numbers, or gives them up. */
void reading_settle_rows(struct reading *reading);

/* Known bits of one register. What is known already stays; two sources that differ are a warning.
 */
void reading_bits(struct reading *reading, uint32_t leaf, uint32_t subleaf, enum cpuid_register reg,
		  uint32_t value, uint32_t known);
/* A line of a dump with the first `registers` registers. A second leaf 0 begins the next CPU. */
void reading_leaf(struct reading *reading, const struct cpuid_leaf *leaf, unsigned registers);
#define SUBLEAF_BY_PLACE UINT32_MAX
/* The same of a format without the numbers of subleaves: they follow from all lines of that leaf
 * (dump_rows.c). */
void reading_row(struct reading *reading, const struct cpuid_leaf *leaf, unsigned registers);
/* The last line of a format whose numbers may be short: where the dump goes on to higher leaves in
 * the original, its last number may be cut. */
struct leaf_line;
void reading_end_of_lines(struct reading *reading, const struct leaf_line *last, unsigned line);
/* A line of which not even the leaf can be read. */
void reading_lost_row(struct reading *reading);

void reading_vendor(struct reading *reading, const char *bytes); /* 12 of them */
/* The same from a line's value, of which nothing may be missing; else a warning. */
void reading_vendor_named(struct reading *reading, const struct line *value);
/* Full numbers; false where no CPU can have them. The stepping may be -1: not said. */
bool reading_signature(struct reading *reading, uint32_t family, uint32_t model, long stepping);
void reading_brand(struct reading *reading, const char *bytes, size_t length);
void reading_feature(struct reading *reading, int index, bool on);

/* One line; line 0: of the whole file. The same line is said once. */
void reading_warn(struct reading *reading, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- formats of one leaf a line (dump_lines.c) --- */

enum line_kind {
	LINE_OTHER,
	LINE_LEAF,
	LINE_CUT,  /* begins as a leaf line does, and ends too early: `registers` of it are good;
		    * four: all but the number of its subleaf */
	LINE_CPU,  /* a header: number, -1 for the next */
	LINE_MORE, /* says nothing of the CPU, but that the dump goes on */
};

struct leaf_line {
	struct cpuid_leaf leaf; /* the subleaf may be SUBLEAF_BY_PLACE */
	unsigned registers;
	long number;
	uint32_t context; /* the format's own, carried from line to line */
	bool open;	  /* a LINE_LEAF that may go on in the next line */
	bool part;	  /* a LINE_CUT of numbers alone, fewer than a row has */
};

struct leaf_format {
	enum line_kind (*scan)(const char *at, struct leaf_line *out);
	/* A number of fewer digits than a register has is a whole number: the last of a text may be
	 * cut all the same. */
	bool any_width;
	/* What a line has that tells of a leaf, be it damaged; NULL: four words of eight digits. */
	const char *sign;
	/* Arrays of a fixed size: what is above the highest leaf is there as well. */
	bool arrays;
};

void read_leaf_lines(struct reading *reading, const struct dump_text *text,
		     const struct leaf_format *format);
/* Four registers of exactly eight digits, each behind its own word and any of the marks. */
unsigned scan_registers(const char *at, const char *const words[4], const char *marks,
			uint32_t reg[4], const char **end);

/* --- lists of flags (dump_flags.c) --- */

#define FLAG_LINES_MAX 64

/* The value of a flags line, and the lines onto which a paste has wrapped it. */
struct flag_list {
	struct line lines[FLAG_LINES_MAX];
	size_t line_count;
	bool complete;	       /* what the source writes behind it follows: it is not cut */
	unsigned kernel_least; /* what else the source says of the kernel's age; 0: nothing */
};

/* A kernel that says otherwise that the CPU has 64 bits names lm: a list without it is not whole.
 */
bool flags_name_lm(const struct flag_list *list);

/* The kernel's list: what it could name and does not is off. */
void read_kernel_flags(struct reading *reading, const struct flag_list *list);

/* Another system's names for bits; a list in them knows only what it names. */
struct flag_name {
	const char *name;
	uint32_t leaf, subleaf;
	enum cpuid_register reg;
	uint8_t bit;
};
#define FLAG_NOT_KEPT UINT32_MAX /* as its leaf: a name of which nothing is read */
void read_named_flags(struct reading *reading, const struct flag_list *list,
		      const struct flag_name *names, size_t count);
void flags_free(struct flag_table *table);

/* --- the readers --- */

struct dump_reader {
	const char *name;     /* for a person */
	const char *marks[6]; /* one of them is in every file of the format */
	bool small_letters;   /* its own words: of a text in capitals it is given a copy in these */
	const struct leaf_format *lines; /* either a format of lines, */
	/* or a function: nothing found is no error; an error is a reason to refuse the file. */
	int (*read)(struct reading *reading, const struct dump_text *text, struct error *err);
};

extern const struct dump_reader reader_aida64, reader_cpuid_r, reader_libcpuid, reader_hwloc,
	reader_kcpuid, reader_xen, reader_x86info, reader_cpuz, reader_ohm, reader_csv,
	reader_cpu_features, reader_cpudata, reader_cpu_xml, reader_json, reader_freebsd,
	reader_decoded, reader_cpuinfo, reader_lscpu, reader_darwin;

/* An archive (read_archive.c): bytes that no text has at their beginning. */
bool archive_looks(const char *bytes, size_t length);
int archive_read(struct reading *reading, const char *bytes, size_t length, struct error *err);

/* hwloc's file of one CPU, for the archive. */
void hwloc_read_cpu(struct reading *reading, const struct dump_text *text);

/* JSON documents that hold a CPU. */
#include <jansson.h>
bool firecracker_read(struct reading *reading, const json_t *root);
bool qmp_read(struct reading *reading, const json_t *root);
bool own_json_read(struct reading *reading, const json_t *root);

#endif
