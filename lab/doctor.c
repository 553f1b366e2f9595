// SPDX-License-Identifier: MIT
/* quirklab doctor: what a run needs on this machine, and the remedy for what is missing. */
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/guest/accelerator.h"
#include "harness/guest/guest.h"
#include "harness/util/cleanup.h"
#include "harness/util/paths.h"
#include "lab/cpus.h"
#include "lab/lab.h"
#include "lab/terminal.h"

const struct option_row doctor_option_rows[] = { { 0 } };

enum finding_level {
	FINDING_OK,
	FINDING_NOTE,	 /* a run works without it, or slower */
	FINDING_MISSING, /* no run works without it */
};

struct finding {
	enum finding_level level;
	char text[1200];
	char remedy[400]; /* "" : none needed */
};

struct examination {
	struct lab *lab;
	struct connection *connection; /* NULL until, or unless, check_libvirt opened it */
};

static void __attribute__((format(printf, 3, 4)))
found(struct finding *finding, enum finding_level level, const char *format, ...)
{
	va_list args;

	finding->level = level;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

static void __attribute__((format(printf, 2, 3)))
remedy(struct finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->remedy, sizeof(finding->remedy), format, args);
	va_end(args);
}

static void check_kvm(struct examination *examination, struct finding *finding)
{
	char words[512];
	enum accelerator_kvm kvm = accelerator_explain(NULL, words, sizeof(words));

	(void)examination;
	found(finding, kvm == ACCELERATOR_KVM_WORKS ? FINDING_OK : FINDING_NOTE, "%s", words);
	if (kvm != ACCELERATOR_KVM_WORKS)
		remedy(finding,
		       "for speed only: virtualisation in the firmware, or nested in the host of "
		       "this machine; kvm_intel or kvm_amd loaded; this user in the group kvm");
}

static void check_user(struct examination *examination, struct finding *finding)
{
	if (examination->lab->uri_count) {
		found(finding, FINDING_OK, "the connection's own daemon starts QEMU");
	} else if (geteuid() != 0) {
		found(finding, FINDING_OK, "QEMU runs as this user");
	} else if (getpwnam("libvirt-qemu")) {
		found(finding, FINDING_OK, "root, and the user libvirt-qemu is there");
	} else {
		found(finding, FINDING_MISSING,
		      "as root libvirt's QEMU driver wants the user libvirt-qemu");
		remedy(finding, "apt-get install libvirt-daemon-system, or run as another user");
	}
}

static void check_libvirt(struct examination *examination, struct finding *finding)
{
	struct connection_options options = {
		.uri = examination->lab->uri_count ? examination->lab->uris[0] : NULL,
	};
	struct error err = { 0 };

	examination->connection = connection_open(&options, &err);
	if (examination->connection) {
		found(finding, FINDING_OK, "libvirt %s, %s",
		      connection_libvirt_text(examination->connection),
		      options.uri ? options.uri : "embedded driver");
		return;
	}
	found(finding, FINDING_MISSING, "%s", err.text);
	if (!options.uri)
		remedy(finding, "make deps, or apt-get install libvirt-daemon-driver-qemu "
				"libvirt-daemon-system qemu-system-x86");
}

static void check_qemu(struct examination *examination, struct finding *finding)
{
	const struct hypervisor *hypervisor;

	if (!examination->connection) {
		found(finding, FINDING_NOTE, "not looked at: there is no connection to libvirt");
		return;
	}
	hypervisor = connection_hypervisor(examination->connection);
	found(finding, FINDING_OK, "QEMU %s, guests run under %s",
	      connection_qemu_text(examination->connection), hypervisor->kvm ? "KVM" : "TCG");
}

static void check_data(struct examination *examination, struct finding *finding)
{
	struct cpu_tables tables = { 0 };
	struct error err = { 0 };

	(void)examination;
	if (cpu_tables_read(&tables, &err) == 0) {
		found(finding, FINDING_OK, "%zu CPUs, %zu libvirt models with expected picks",
		      tables.known.count, tables.models.count);
	} else {
		found(finding, FINDING_MISSING, "%s", err.text);
		remedy(finding, "make, or make install");
	}
	cpu_tables_free(&tables);
}

static void check_image(struct finding *finding, const char *name, enum finding_level level,
			const char *what)
{
	CLEANUP_FREE char *path = path_image(name);

	if (access(path, R_OK) == 0) {
		found(finding, FINDING_OK, "%s", path);
	} else {
		found(finding, level, "%s: %s%s", path, strerror(errno), what);
		remedy(finding, "make images");
	}
}

static void check_bare(struct examination *examination, struct finding *finding)
{
	(void)examination;
	check_image(finding, "bare.elf", FINDING_MISSING, "");
}

static void check_agent(struct examination *examination, struct finding *finding)
{
	(void)examination;
	check_image(finding, "agent", FINDING_NOTE, " (--image linux needs it)");
}

static void check_kernel(struct examination *examination, struct finding *finding)
{
	struct error err = { 0 };
	CLEANUP_FREE char *kernel = kernel_find(&err);

	(void)examination;
	if (kernel) {
		found(finding, FINDING_OK, "%s", kernel);
		return;
	}
	found(finding, FINDING_NOTE, "%s (--image linux needs one)", err.text);
	remedy(finding, "apt-get install linux-image-cloud-amd64, or --kernel FILE; where /boot is "
			"readable for root only, copy the kernel");
}

static const struct {
	const char *name;
	void (*check)(struct examination *examination, struct finding *finding);
} checks[] = {
	{ "data", check_data },		{ "bare guest", check_bare }, { "user", check_user },
	{ "libvirt", check_libvirt },	{ "qemu", check_qemu },	      { "kvm", check_kvm },
	{ "linux guest", check_agent }, { "kernel", check_kernel },
};

int command_doctor(struct lab *lab, const struct command *command, int argc, char **argv)
{
	static const char *const words[] = { "ok", "note", "missing" };
	static const char *const colours[] = { "\033[32m", "\033[33m", "\033[31;1m" };
	struct examination examination = { .lab = lab };
	struct terminal terminal = terminal_of(stdout);
	struct error err = { 0 };
	bool works = true;
	int first;

	first = options_parse(command->options, true, argc, argv, NULL, NULL, &err);
	if (first < 0)
		return lab_stop(command, first, &err);
	if (first != argc) {
		error_set(&err, ERROR_INPUT, "doctor: no argument was expected, not '%s'",
			  argv[first]);
		return lab_fail(&err);
	}
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		struct finding finding = { 0 };

		checks[i].check(&examination, &finding);
		works = works && finding.level != FINDING_MISSING;
		printf("%s%-8s%s %-12s %s\n", terminal.colour ? colours[finding.level] : "",
		       words[finding.level], terminal.colour ? "\033[0m" : "", checks[i].name,
		       finding.text);
		if (*finding.remedy)
			printf("%21s -> %s\n", "", finding.remedy);
	}
	connection_close(examination.connection);
	printf("%s\n", works ? "'quirklab run' works here" : "'quirklab run' does not work here");
	return works ? STATUS_OK : STATUS_LAB;
}
