// SPDX-License-Identifier: MIT
/* The options of `quirklab repro`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/util/cleanup.h"
#include "lab/repro.h"

enum {
	OPT_IMAGE = OPTION_LONG,
	OPT_KERNEL,
	OPT_EMULATOR,
	OPT_ACCEL,
	OPT_TIMEOUT_SCALE,
	OPT_STRICT,
};

const struct option_row repro_option_rows[] = {
	{ OPT_IMAGE, "image", "IMAGE", "what boots: bare (the default), or linux" },
	{ OPT_STRICT, "strict", NULL, "a mismatch or a skip gives exit status 1 as well" },
	{ OPT_KERNEL, "kernel", "FILE", "the kernel to boot, as for 'run'" },
	{ OPT_EMULATOR, "emulator", "FILE", "the QEMU to use (default: libvirt's choice)" },
	{ OPT_ACCEL, "accel", "kvm|tcg|auto", "auto (the default): KVM where it works, else TCG" },
	{ OPT_TIMEOUT_SCALE, "timeout-scale", "X", "all limits of the watchdog times X" },
	{ 0 },
};

static int choose(unsigned *out, const char *text, const char *const words[], const char *what,
		  const char *expected, struct error *err)
{
	for (unsigned i = 0; words[i]; i++)
		if (!strcmp(words[i], text)) {
			*out = i;
			return 0;
		}
	return error_set(err, ERROR_INPUT, "--%s '%s': %s was expected", what, text, expected);
}

static int parse_scale(double *scale, const char *text, struct error *err)
{
	char *end = NULL;

	*scale = strtod(text, &end);
	if (end == text || *end || !isfinite(*scale) || *scale < 0.01 || *scale > 1000)
		return error_set(
			err, ERROR_INPUT,
			"--timeout-scale: a number from 0.01 to 1000 was expected, not '%s'", text);
	return 0;
}

static int each_option(void *state, int key, const char *argument, struct error *err)
{
	static const char *const images[] = {
		[GUEST_BARE] = "bare", [GUEST_LINUX] = "linux", NULL
	};
	static const char *const accelerators[] = {
		[ACCEL_AUTO] = "auto", [ACCEL_KVM] = "kvm", [ACCEL_TCG] = "tcg", NULL
	};
	struct repro_options *options = state;
	unsigned word = 0;

	switch (key) {
	case OPT_IMAGE:
		if (choose(&word, argument, images, "image", "bare or linux", err) < 0)
			return -1;
		options->image = (enum guest_image)word;
		options->image_given = true;
		break;
	case OPT_ACCEL:
		if (choose(&word, argument, accelerators, "accel", "auto, kvm or tcg", err) < 0)
			return -1;
		options->accelerator = (enum accelerator)word;
		break;
	case OPT_TIMEOUT_SCALE:
		return parse_scale(&options->timeout_scale, argument, err);
	case OPT_KERNEL:
		options->kernel = argument;
		break;
	case OPT_EMULATOR:
		options->emulator = argument;
		break;
	case OPT_STRICT:
		options->strict = true;
		break;
	}
	return 0;
}

int repro_options_parse(struct repro_options *options, int argc, char **argv, struct error *err)
{
	int first;

	*options = (struct repro_options){ .timeout_scale = 1 };
	first = options_parse(repro_option_rows, true, argc, argv, each_option, options, err);
	if (first < 0)
		return first;
	if (argc - first != 1) {
		error_set(err, ERROR_INPUT, "repro: one SPEC, file, '-' or 'host' was expected");
		return OPTIONS_BAD;
	}
	return first;
}
