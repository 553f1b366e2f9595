// SPDX-License-Identifier: MIT
/* The source of the program that asks another tree's dispatcher: it travels inside this one. */
#include "lab/diff_source.h"

__asm__(".pushsection .rodata\n"
	".global diff_chooser_source\n"
	"diff_chooser_source: .incbin \"images/chooser/chooser.c\"\n"
	".byte 0\n"
	".popsection\n");
