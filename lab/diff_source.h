/* SPDX-License-Identifier: MIT */
/* images/chooser/chooser.c as text. */
#ifndef QUIRKLAB_LAB_DIFF_SOURCE_H
#define QUIRKLAB_LAB_DIFF_SOURCE_H

extern const char diff_chooser_source[];

#endif
