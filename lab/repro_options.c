// SPDX-License-Identifier: MIT
/* The options of `quirklab repro`. */
#include <stdlib.h>
#include <string.h>

#include "lab/repro.h"

enum {
	OPT_IMAGE = OPTION_LONG,
	OPT_KERNEL,
	OPT_EMULATOR,
	OPT_ACCEL,
	OPT_TIMEOUT_SCALE,
	OPT_STRICT,
	OPT_PRINT_XML,
	OPT_PRINT_QEMU,
	OPT_SHELL,
	OPT_GDB,
	OPT_KEEP,
	OPT_AGAINST,
	OPT_OP,
	OPT_NO_BOOT,
};

const struct option_row repro_option_rows[] = {
	{ OPT_IMAGE, "image", "IMAGE", "what boots: bare (the default), or linux" },
	{ OPT_STRICT, "strict", NULL, "a mismatch or a skip gives exit status 1 as well" },
	{ OPT_PRINT_XML, "print-xml", NULL, "the guest as domain XML, for virsh create" },
	{ OPT_PRINT_QEMU, "print-qemu", NULL, "the guest as a command of QEMU alone, for a shell" },
	{ OPT_SHELL, "shell", NULL, "a shell in a Linux guest, on this terminal; Ctrl-] leaves" },
	{ OPT_GDB, "gdb", NULL, "the guest waits for gdb; the line that connects is printed" },
	{ OPT_KEEP, "keep", NULL, "a guest that stays, for virsh; the lines for it are printed" },
	{ OPT_AGAINST, "against", "CPU",
	  "what makes the pick of --op another than CPU's (a SPEC or a file): the\n"
	  "smallest set of bits and fields, found by replay, then shown by a guest" },
	{ OPT_OP, "op", "OP[@CLASS]", "the operation for --against, such as clear_extent@llc" },
	{ OPT_NO_BOOT, "no-boot", NULL, "with --against: replay alone" },
	{ OPT_KERNEL, "kernel", "FILE", "the kernel to boot, as for 'run'" },
	{ OPT_EMULATOR, "emulator", "FILE", "the QEMU to use (default: libvirt's choice)" },
	{ OPT_ACCEL, "accel", ACCELERATORS, ACCELERATORS_HELP },
	{ OPT_TIMEOUT_SCALE, "timeout-scale", "X", "all limits of the watchdog times X" },
	{ 0 },
};

/* One thing at a time. */
static int set_action(struct repro_options *options, enum repro_action action, struct error *err)
{
	if (options->action != REPRO_BOOT && options->action != action)
		return error_set(
			err, ERROR_INPUT,
			"of --print-xml, --print-qemu, --shell, --gdb and --keep only one at a "
			"time");
	options->action = action;
	return 0;
}

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const images[] = {
		[GUEST_BARE] = "bare", [GUEST_LINUX] = "linux", NULL
	};
	struct repro_options *options = state;
	unsigned word = 0;

	switch (key) {
	case OPT_IMAGE:
		if (parse_word(&word, argument, images, "image", err) < 0)
			return -1;
		options->image = (enum guest_image)word;
		options->image_given = true;
		break;
	case OPT_ACCEL:
		return parse_accelerator(&options->accelerator, argument, err);
	case OPT_TIMEOUT_SCALE:
		return parse_scale(&options->timeout_scale, argument, err);
	case OPT_KERNEL:
		options->kernel = argument;
		break;
	case OPT_EMULATOR:
		options->emulator = argument;
		break;
	case OPT_PRINT_XML:
		return set_action(options, REPRO_PRINT_XML, err);
	case OPT_PRINT_QEMU:
		return set_action(options, REPRO_PRINT_QEMU, err);
	case OPT_SHELL:
		return set_action(options, REPRO_SHELL, err);
	case OPT_GDB:
		return set_action(options, REPRO_GDB, err);
	case OPT_KEEP:
		return set_action(options, REPRO_KEEP, err);
	case OPT_AGAINST:
		options->against = argument;
		break;
	case OPT_OP:
		options->operation = argument;
		return repro_check_operation(argument, err);
	case OPT_NO_BOOT:
		options->no_boot = true;
		break;
	case OPT_STRICT:
		options->strict = true;
		break;
	}
	return 0;
}

/* What does not go together. */
static int check_options(struct repro_options *options, struct error *err)
{
	if (options->action == REPRO_SHELL && options->image_given && options->image == GUEST_BARE)
		return error_set(err, ERROR_INPUT,
				 "--shell: a shell needs Linux, not --image bare");
	if (!options->against != !options->operation)
		return error_set(err, ERROR_INPUT, "--against and --op go together");
	if (options->no_boot && !options->against)
		return error_set(err, ERROR_INPUT, "--no-boot is for --against");
	if (options->against && (options->action != REPRO_BOOT || options->image != GUEST_BARE))
		return error_set(err, ERROR_INPUT, "--against boots bare guests, for nobody else");
	return 0;
}

int repro_options_parse(struct repro_options *options, int argc, char **argv, struct error *err)
{
	int first;

	*options = (struct repro_options){ .timeout_scale = 1 };
	first = options_parse(repro_option_rows, true, argc, argv, each_option, options, err);
	if (first < 0)
		return first;
	if (check_options(options, err) < 0)
		return OPTIONS_BAD;
	if (options->action == REPRO_SHELL)
		options->image = GUEST_LINUX;
	if (argc - first != 1) {
		error_set(err, ERROR_INPUT, "repro: one SPEC, file, '-' or 'host' was expected");
		return OPTIONS_BAD;
	}
	return first;
}
