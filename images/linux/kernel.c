// SPDX-License-Identifier: MIT
/*
 * Reports the running kernel's memory routines as they are after patching. Nothing is decided here:
 * the harness decodes the bytes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "images/linux/calls.h"
#include "images/linux/cmdline.h"
#include "images/linux/kcore.h"
#include "images/linux/kernel.h"
#include "images/linux/symbols.h"
#include "tests/dispatch/cpuid_report.h"

#define VULNERABILITIES	  "/sys/devices/system/cpu/vulnerabilities"
#define TEXT_BLOCK_BYTES  (1024 * 1024)
#define FLAGS_FRAME_BYTES 1500
#define CPUINFO_BYTES	  16384
#define CMDLINE_BYTES	  4096 /* the kernel's own limit is 2048 */
#define OPTIONS_BYTES	  256

/* What is sent of each symbol. Linux 6.1 has the first form of an operation, 6.4 and later the
 * second: arch/x86/lib/{mem{set,cpy,move},copy_page,copy_user,clear_page,usercopy}_64.[Sc]. */
enum { ROUTINE = 1, CALLS = 2 };
static const struct {
	const char *name;
	unsigned what;
} sent[] = {
	{ "_text", 0 },
	{ "clear_page_orig", ROUTINE | CALLS },
	{ "clear_page_rep", ROUTINE | CALLS },
	{ "clear_page_erms", ROUTINE | CALLS },
	{ "__clear_pages_unrolled", ROUTINE | CALLS },
	{ "memset", ROUTINE },
	{ "__memset", ROUTINE },
	{ "memset_orig", ROUTINE },
	{ "memset_erms", ROUTINE },
	{ "memcpy", ROUTINE },
	{ "__memcpy", ROUTINE },
	{ "memcpy_orig", ROUTINE },
	{ "memcpy_erms", ROUTINE },
	{ "memmove", ROUTINE },
	{ "__memmove", ROUTINE },
	{ "copy_page", ROUTINE },
	{ "copy_page_regs", ROUTINE },
	{ "copy_user_generic_unrolled", ROUTINE | CALLS },
	{ "copy_user_generic_string", ROUTINE | CALLS },
	{ "copy_user_enhanced_fast_string", ROUTINE | CALLS },
	{ "copy_user_short_string", ROUTINE },
	{ "rep_movs_alternative", ROUTINE | CALLS },
	{ "_copy_from_user", ROUTINE },
	{ "_copy_to_user", ROUTINE },
	{ "clear_user", ROUTINE }, /* or, where it is inline everywhere, one that clears by it: */
	{ "read_zero", ROUTINE },
	{ "clear_user_original", ROUTINE | CALLS },
	{ "clear_user_rep_good", ROUTINE | CALLS },
	{ "clear_user_erms", ROUTINE | CALLS },
	{ "rep_stos_alternative", ROUTINE | CALLS },
	{ "__memcpy_flushcache", ROUTINE },
	{ "arch_wb_cache_pmem", ROUTINE },
	{ "clean_cache_range", ROUTINE },
	{ "entry_SYSCALL_64_after_hwframe", ROUTINE }, /* turns IBRS on, if anything does */
	{ "__x86_indirect_thunk_rax", CALLS },	       /* a retpoline */
	{ "retbleed_untrain_ret", CALLS },
	{ "_etext", 0 },
};
#define SENT (sizeof(sent) / sizeof(sent[0]))
_Static_assert(SENT + 2 <= REPORT_ROUTINES_MAX, "the harness takes no more routines");

/*
 * From 6.19 on the alternatives of clear_page are code in its callers: seven bytes in place of the
 * call of __clear_pages_unrolled (page_64.h, clear_pages()).
 */
#define UNROLLED "__clear_pages_unrolled"
static const struct {
	const char *name;
	uint8_t code[INLINE_BYTES];
} inline_forms[] = {
	{ "clear_pages:rep", { 0x48, 0xC1, 0xE9, 0x03, 0xF3, 0x48, 0xAB } },  /* shr, rep stosq */
	{ "clear_pages:erms", { 0xF3, 0xAA, 0x0F, 0x1F, 0x44, 0x00, 0x00 } }, /* rep stosb, nop */
};
#define INLINE_FORMS (sizeof(inline_forms) / sizeof(inline_forms[0]))

struct kernel {
	struct report report;
	struct kcore kcore;
	struct symbol symbols[SENT];
	struct callee callees[SENT];
	struct inlined inlined[INLINE_FORMS];
	uint8_t text[TEXT_BLOCK_BYTES];
};

/* --- the routines ---------------------------------------------------------------------------- */

static void send_routine(struct kernel *kernel, const struct symbol *symbol)
{
	uint8_t code[REPORT_ROUTINE_MAX];
	size_t length = sizeof(code);

	if (symbol->next && symbol->next - symbol->address < length)
		length = (size_t)(symbol->next - symbol->address);
	length = kcore_read(&kernel->kcore, symbol->address, code, length);
	report_u64(&kernel->report, symbol->address);
	report_text(&kernel->report, symbol->name);
	report_bytes(&kernel->report, code, length);
	report_send(&kernel->report, REPORT_ROUTINE);
}

static bool has_symbol(const struct kernel *kernel, const char *name)
{
	size_t i;

	for (i = 0; i < SENT; i++)
		if (!strcmp(sent[i].name, name))
			return kernel->symbols[i].address;
	return false;
}

/* -1: the text cannot be read to its end. */
static int scan_text(struct kernel *kernel)
{
	const bool inlines = has_symbol(kernel, UNROLLED);
	const uint64_t end = kernel->symbols[SENT - 1].address;
	uint64_t at = kernel->symbols[0].address;
	size_t i;

	for (i = 0; i < SENT; i++)
		if (sent[i].what & CALLS)
			kernel->callees[i].address = kernel->symbols[i].address;
	for (i = 0; i < INLINE_FORMS; i++)
		memcpy(kernel->inlined[i].code, inline_forms[i].code, INLINE_BYTES);
	while (at + INLINE_BYTES <= end) {
		size_t length = TEXT_BLOCK_BYTES;

		if (length > end - at)
			length = (size_t)(end - at);
		if (kcore_read(&kernel->kcore, at, kernel->text, length) != length)
			return -1;
		/* Both for what begins before the last INLINE_BYTES - 1 bytes: the next block has
		 * those. */
		calls_count(kernel->callees, SENT, at, kernel->text,
			    length - INLINE_BYTES + CALL_BYTES);
		for (i = 0; inlines && i < INLINE_FORMS; i++)
			inlined_count(&kernel->inlined[i], at, kernel->text, length);
		at += length - INLINE_BYTES + 1;
	}
	return 0;
}

static void add_calls(struct kernel *kernel, const char *name, uint32_t calls)
{
	report_room(&kernel->report, REPORT_CALLS, 1 + strlen(name) + 4);
	report_text(&kernel->report, name);
	report_u32(&kernel->report, calls);
}

static void send_calls(struct kernel *kernel)
{
	size_t i;

	for (i = 0; i < INLINE_FORMS; i++) {
		if (!kernel->inlined[i].places)
			continue;
		report_u64(&kernel->report, kernel->inlined[i].first);
		report_text(&kernel->report, inline_forms[i].name);
		report_bytes(&kernel->report, inline_forms[i].code, INLINE_BYTES);
		report_send(&kernel->report, REPORT_ROUTINE);
	}
	for (i = 0; i < SENT; i++)
		if (kernel->callees[i].address)
			add_calls(kernel, sent[i].name, kernel->callees[i].calls);
	for (i = 0; i < INLINE_FORMS; i++)
		if (has_symbol(kernel, UNROLLED))
			add_calls(kernel, inline_forms[i].name, kernel->inlined[i].places);
	report_send(&kernel->report, REPORT_CALLS);
}

/* --- what an earlier guest of this kernel knew ------------------------------------------------ */

/*
 * The address of _text, then for each symbol how far from there it is and how long, up to the next
 * one: "ffffffff81000000:0.5f,,3a8e40.10,". Nothing where the kernel lacks it.
 */
static void send_symbols(struct kernel *kernel)
{
	const uint64_t base = kernel->symbols[0].address;
	char text[REPORT_SYMBOLS_MAX + 1];
	size_t length, i;

	length = (size_t)snprintf(text, sizeof(text), "%llx:", (unsigned long long)base);
	for (i = 0; i < SENT && length < sizeof(text); i++) {
		const struct symbol *symbol = &kernel->symbols[i];
		const uint64_t until = symbol->next ? symbol->next : symbol->address;

		if (symbol->address)
			length +=
				(size_t)snprintf(text + length, sizeof(text) - length, "%llx.%llx",
						 (unsigned long long)(symbol->address - base),
						 (unsigned long long)(until - symbol->address));
		if (length < sizeof(text))
			length += (size_t)snprintf(text + length, sizeof(text) - length, ",");
	}
	if (length >= sizeof(text))
		return; /* each guest looks for itself */
	report_u8(&kernel->report, REPORT_FACT_SYMBOLS);
	report_text(&kernel->report, "");
	report_bytes(&kernel->report, text, length);
	report_send(&kernel->report, REPORT_FACT);
}

/* False where the words are not of this kernel as it lies in memory. */
static bool take_symbols(struct kernel *kernel, const char *words)
{
	char *at;
	uint64_t base;
	size_t i;

	if (!words)
		return false;
	base = strtoull(words, &at, 16);
	if (*at != ':' || !kcore_begins(&kernel->kcore, base))
		return false;
	for (i = 0; i < SENT; i++) {
		struct symbol *symbol = &kernel->symbols[i];

		symbol->address = symbol->next = 0;
		if (*++at == ',')
			continue;
		symbol->address = base + strtoull(at, &at, 16);
		if (*at != '.')
			return false;
		symbol->next = symbol->address + strtoull(at + 1, &at, 16);
		if (*at != ',')
			return false;
		if (symbol->next == symbol->address)
			symbol->next = 0;
	}
	return true;
}

/* NULL, or what could not be done. */
static const char *find_symbols(struct kernel *kernel)
{
	size_t i;

	for (i = 0; i < SENT; i++)
		kernel->symbols[i].name = sent[i].name;
	if (!take_symbols(kernel, getenv(LINUX_SYMBOLS_WORD))) {
		if (symbols_read("/proc/kallsyms", kernel->symbols, SENT, sent[SENT - 1].name) < 0)
			return "/proc/kallsyms cannot be read";
		send_symbols(kernel);
	}
	if (!kernel->symbols[0].address || !kernel->symbols[SENT - 1].address)
		return "/proc/kallsyms does not say where the kernel's text is";
	return NULL;
}

/* NULL, or what could not be done. */
static const char *send_routines(struct kernel *kernel)
{
	const char *fault;
	size_t i;

	if (kcore_open(&kernel->kcore, "/proc/kcore") < 0)
		return "/proc/kcore cannot be read";
	fault = find_symbols(kernel);
	if (fault) {
		kcore_close(&kernel->kcore);
		return fault;
	}
	for (i = 0; i < SENT; i++)
		if (sent[i].what & ROUTINE && kernel->symbols[i].address)
			send_routine(kernel, &kernel->symbols[i]);
	if (scan_text(kernel) < 0)
		fault = "the kernel's text cannot be read from /proc/kcore";
	else
		send_calls(kernel);
	kcore_close(&kernel->kcore);
	return fault;
}

/* --- what the kernel says -------------------------------------------------------------------- */

/* The beginning of a file, as a string. Returns its length, -1 where there is none. */
static ssize_t read_file(const char *path, char *to, size_t room)
{
	size_t length = 0;
	ssize_t got = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while (length < room - 1 && (got = read(fd, to + length, room - 1 - length)) > 0)
		length += (size_t)got;
	close(fd);
	to[length] = '\0';
	return got < 0 ? -1 : (ssize_t)length;
}

static void send_fact(struct kernel *kernel, enum report_fact what, const char *name,
		      const char *text, size_t length)
{
	report_u8(&kernel->report, (uint8_t)what);
	report_text(&kernel->report, name);
	report_bytes(&kernel->report, text, length);
	report_send(&kernel->report, REPORT_FACT);
}

/* What stands behind the colon of a line of /proc/cpuinfo; NULL where there is no such line. */
static const char *cpuinfo_field(const char *text, const char *line_begins)
{
	const char *field = strstr(text, line_begins);

	field = field ? strchr(field, ':') : NULL;
	return field ? field + 1 : NULL;
}

static void send_microcode(struct kernel *kernel, const char *cpuinfo)
{
	const char *revision = cpuinfo_field(cpuinfo, "\nmicrocode");

	if (!revision)
		return;
	revision += strspn(revision, " ");
	send_fact(kernel, REPORT_FACT_MICROCODE, "", revision, strcspn(revision, "\n"));
}

static void send_flags(struct kernel *kernel, const char *cpuinfo)
{
	const char *flags = cpuinfo_field(cpuinfo, "\nflags"), *end;

	if (!flags)
		return;
	end = flags + strcspn(flags, "\n");
	while (flags < end) {
		size_t length = (size_t)(end - flags);

		if (length > FLAGS_FRAME_BYTES) {
			length = FLAGS_FRAME_BYTES;
			while (length && flags[length] != ' ')
				length--;
			if (!length)
				return;
		}
		send_fact(kernel, REPORT_FACT_FLAGS, "", flags, length);
		flags += length;
	}
}

static void send_cpuinfo(struct kernel *kernel)
{
	char text[CPUINFO_BYTES];

	if (read_file("/proc/cpuinfo", text, sizeof(text)) < 0)
		return;
	send_flags(kernel, text);
	send_microcode(kernel, text);
}

/* How the words begin that choose a mitigation of Spectre v2 or Retbleed
 * (Documentation/admin-guide/kernel-parameters.txt). */
static bool is_option(const char *word)
{
	static const char *const begins[] = { "mitigations=", "nospectre_v2",
					      "spectre_v2=", "retbleed=" };
	size_t i;

	for (i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(word, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static void send_options(struct kernel *kernel)
{
	char line[CMDLINE_BYTES], options[OPTIONS_BYTES], *word, *save;
	size_t used = 0;

	if (read_file("/proc/cmdline", line, sizeof(line)) < 0)
		return;
	for (word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		if (!is_option(word) || used + 1 + strlen(word) >= sizeof(options))
			continue;
		used += (size_t)snprintf(options + used, sizeof(options) - used, "%s%s",
					 used ? " " : "", word);
	}
	if (used)
		send_fact(kernel, REPORT_FACT_OPTIONS, "", options, used);
}

static void send_vulnerabilities(struct kernel *kernel)
{
	DIR *folder = opendir(VULNERABILITIES);
	struct dirent *entry;
	unsigned count = 0;

	while (folder && count < REPORT_FACTS_MAX && (entry = readdir(folder))) {
		char path[sizeof(VULNERABILITIES) + sizeof(entry->d_name)], line[256];

		snprintf(path, sizeof(path), VULNERABILITIES "/%s", entry->d_name);
		if (entry->d_name[0] == '.' || read_file(path, line, sizeof(line)) < 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		send_fact(kernel, REPORT_FACT_VULNERABILITY, entry->d_name, line, strlen(line));
		count++;
	}
	if (folder)
		closedir(folder);
}

void kernel_report(const struct selftest_platform *platform)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	const char *fault;

	if (!kernel)
		return;
	report_begin(&kernel->report, platform);
	report_text(&kernel->report, platform->version);
	report_u32(&kernel->report, platform->misc_enable);
	report_send(&kernel->report, REPORT_START);
	cpuid_report(&kernel->report, dispatch_cpuid_instruction, NULL);
	send_cpuinfo(kernel);
	send_options(kernel);
	send_vulnerabilities(kernel);
	fault = send_routines(kernel);
	if (fault)
		selftest_send_frame(platform, REPORT_NOTE, fault, strlen(fault));
	report_u8(&kernel->report, fault ? 0 : 1);
	report_send(&kernel->report, REPORT_DONE);
	free(kernel);
}
