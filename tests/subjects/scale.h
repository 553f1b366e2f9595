/* SPDX-License-Identifier: MIT */
/* The workloads of scale.c by name, each with what will-it-scale calls it. */
#ifndef QUIRKLAB_TESTS_SUBJECTS_SCALE_H
#define QUIRKLAB_TESTS_SUBJECTS_SCALE_H

#define SCALE_WORKLOADS(EACH)                            \
	EACH(malloc1, "malloc/free of a large block")    \
	EACH(page_fault1, "anonymous memory page fault") \
	EACH(tlb_flush1, "TLB flush of a private file's pages")

/* As in a sentence: "malloc1, page_fault1, ". */
#define SCALE_WORD(name, text) #name ", "
#define SCALE_WORDS	       SCALE_WORKLOADS(SCALE_WORD)

#endif
