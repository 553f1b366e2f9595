/* SPDX-License-Identifier: MIT */
/* The guest's command line: words separated by blanks. */
#ifndef QUIRKLAB_BARE_COMMANDLINE_H
#define QUIRKLAB_BARE_COMMANDLINE_H

/* The number of the word KEY=NUMBER, the last one where there are several; absent where there is
 * none or it is no decimal number below a million. line may be NULL. */
unsigned commandline_number(const char *line, const char *key, unsigned absent);

#endif
