/* SPDX-License-Identifier: MIT */
/* What a Linux guest is booted with: the kernel's command line and the memory. */
#ifndef QUIRKLAB_IMAGES_LINUX_CMDLINE_H
#define QUIRKLAB_IMAGES_LINUX_CMDLINE_H

#define LINUX_CMDLINE	 "console=ttyS0 quiet panic=-1"
#define LINUX_MEMORY_MIB 192

#endif
