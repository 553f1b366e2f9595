// SPDX-License-Identifier: MIT
/* The table of commands. */
#include "lab/lab.h"
#include "tests/subjects/scale.h"

const struct option_row lab_global_options[] = {
	{ 'c', "connect", "URI",
	  "a libvirt connection; repeatable: guests are spread over all of them\n"
	  "(default: the embedded driver, which needs no daemon)" },
	{ 'v', "verbose", NULL, "say more: every cell of a table, not only what did not pass" },
	{ 0 },
};

const struct command lab_commands[] = {
	{ "run", "[SPEC...]", "boot a guest for each CPU and judge what its dispatcher does",
	  "SPEC is a CPU: a name of the catalogue, [VENDOR/]FAMILY:MODEL[:STEPPING],\n"
	  "model:LIBVIRT-NAME, or a file with a CPUID dump, then edits such as ,+erms or "
	  ",stepping=7.\n"
	  "The words catalogue, unknown and models mean all CPUs of the catalogue, those that "
	  "nobody\n"
	  "has seen, and all CPU models of the connection. Without SPEC: catalogue unknown.\n\n"
	  "exit status: 0 all well; 1 a CPU failed, hung or crashed; 2 bad usage or input, nothing "
	  "was\n"
	  "booted; 3 the lab could not work; 130 interrupted. With --bisect: 0 pass, 1 fail, 125 "
	  "else.",
	  run_option_rows, command_run },
	{ "replay", "[SPEC|FILE|-]...",
	  "judge the choices for each CPU on this host, without any guest",
	  "SPEC and FILE as for 'cpuid'; models means those of models.tsv. Thousands of files may "
	  "be given; one\n"
	  "that cannot be read is a line on stderr, and exit status 2 at the end. Only the choice "
	  "is judged: what "
	  "the\n"
	  "chosen path really does is not seen here, so there are no records (--output jsonl of "
	  "'run').\n"
	  "Each operation is shown as its path at the smallest extent, then CLASS:PATH where it "
	  "changes.",
	  replay_option_rows, command_replay },
	{ "list", "cpus|models|subjects|operations", "list what the lab knows", NULL,
	  list_option_rows, command_list },
	{ "show", "SPEC", "everything about one CPU: bits, expected picks, how it is presented",
	  NULL, show_option_rows, command_show },
	{ "cpuid", "SPEC|FILE|-|host",
	  "identify a CPU from a dump, a report or a paste, and convert it",
	  "FILE is in any of the formats that people send: cpuid -r, AIDA64, libcpuid, hwloc "
	  "archives,\n"
	  "libvirt XML and JSON, Firecracker, kcpuid, xen-cpuid, x86info, CPU-Z, "
	  "OpenHardwareMonitor,\n"
	  "/proc/cpuinfo, lscpu, FreeBSD's messages and others; what it says decides, not its "
	  "name.\n"
	  "'-' is standard input, 'host' this machine. What is not certain is unknown, with a "
	  "warning.\n\n"
	  "exit status: 0 read, perhaps with warnings; 2 vendor, family and model cannot be read.",
	  cpuid_option_rows, command_cpuid },
	{ "cpuid-diff", "A B", "two CPUs by leaf, subleaf, register and bit",
	  "A and B as for 'cpuid'.\n\nexit status: 0 no difference, 1 they differ, 2 bad input.",
	  cpuid_diff_option_rows, command_cpuid_diff },
	{ "repro", "SPEC|FILE|-|host",
	  "reproduce one CPU in a guest: its picks, and what is not as asked",
	  "SPEC and FILE as for 'cpuid', with edits behind a comma. Prints each pick with its "
	  "reason, then what "
	  "the\n"
	  "guest does not see as asked and what depends on it; -v shows every register.\n\n"
	  "exit status: as for 'run'.",
	  repro_option_rows, command_repro },
	{ "diff", "BASE [HEAD [SPEC...]]", "the CPUs that take another path, and nothing else",
	  "BASE and HEAD are each a git revision of these sources (its dispatcher is built), '.' "
	  "for "
	  "the\n"
	  "work tree (HEAD's default), a results folder or file, a kernel, or a C library (DEB or "
	  "folder). A\n"
	  "word that is no revision is a path; ./NAME always is. Revisions are asked on this host "
	  "about every\n"
	  "CPU of the tables, every SPEC (dumps as well) and all signatures of the known vendors; "
	  "then HEAD's\n"
	  "guests confirm it for what changes, its neighbours and a sample. Building runs the "
	  "revision's own\n"
	  "Makefile.\n\n"
	  "exit status: 0 no CPU changes path, or each change is what HEAD's expect/ says; 1 a "
	  "change that\n"
	  "nobody agreed on, or a guest that contradicts; 2 bad input; 3 the lab could not work.",
	  diff_option_rows, command_diff },
	{ "accept", "RESULTS", "make what a run picked the expected picks",
	  "RESULTS is a results folder or a file of records. The tables of cpu-models/expect/ that "
	  "fit are\n"
	  "written again: only the cells that changed, rows in their order; a CPU of the catalogue "
	  "without a\n"
	  "row gets one. What the run is no witness for is named and stays as it is: cells that "
	  "are "
	  "mismatch,\n"
	  "hung, crashed or error, and CPUs whose dispatcher does not do what it says. Read the "
	  "diff before you\n"
	  "commit it.\n\n"
	  "exit status: 0 written, or nothing changed; 1 a cell was hung, crashed, error or "
	  "untrue; "
	  "2 bad input.",
	  accept_option_rows, command_accept },
	{ "lint", "", "what is wrong with the quirk table, before anything boots",
	  "Rows that no CPU of the catalogue gets, that earlier rows take or contradict; models "
	  "that "
	  "a row\n"
	  "takes and nobody measured; picks that are not the agreed ones, and whether a row is to "
	  "blame. The\n"
	  "table is that of this program; the lines are those of quirks.c of its tree.\n\n"
	  "exit status: 0 nothing, or warnings and notes; 1 an error is found; 2 bad input.",
	  lint_option_rows, command_lint },
	{ "report", "DIR|FILE...", "make reports of results: shards merged, or two runs compared",
	  "DIR is a results folder, FILE its results.jsonl or another file of records. Sources "
	  "without common\n"
	  "cells are shards of one run. Where a source has cells of those before it, it begins a "
	  "second run, and\n"
	  "the two are compared: by --output html, markdown or table.\n\n"
	  "exit status: 0 the reports are written, whatever the verdicts are; 2 bad usage or "
	  "input; 3 they could\n"
	  "not be written. A torn last line of a killed run is left out, with a warning.",
	  report_option_rows, command_report },
	{ "bench", "", "measure every path on this machine: which is faster, from which extent on",
	  "The paths take turns; what something else disturbed is measured again while there is "
	  "time. A verdict\n"
	  "is good or bad only where no run of one path lies among those of the other.\n\n"
	  "exit status: 0 measured; 2 bad usage; 3 the times of this machine mean nothing; 130 "
	  "interrupted.",
	  bench_option_rows, command_bench },
	{ "scale", "WORKLOAD",
	  "scalability of the kernel's memory paths: here, or of two kernels in turn",
	  "WORKLOAD: one of " SCALE_WORDS "with _threads or _processes. Without --base it runs\n"
	  "here, with the output of will-it-scale. With --base and --head both are booted in turn "
	  "(A B A B) in\n"
	  "guests of one CPU, and compared: operations where time means something, and "
	  "interrupts between\n"
	  "CPUs for each operation.\n\n"
	  "exit status: 0 measured; 2 bad usage; 3 the lab could not work; 130 interrupted.",
	  scale_option_rows, command_scale },
	{ "doctor", "", "check what a run needs on this machine, with a remedy for what is missing",
	  "exit status: 0 where 'run' would work, 3 where not.", doctor_option_rows,
	  command_doctor },
};
const size_t lab_command_count = sizeof(lab_commands) / sizeof(*lab_commands);
