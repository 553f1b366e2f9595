/* SPDX-License-Identifier: MIT */
/* The records of a run that is over: a results folder, or a file of them. */
#ifndef QUIRKLAB_LAB_RECORDS_H
#define QUIRKLAB_LAB_RECORDS_H

#include "harness/judge/cell.h"
#include "harness/util/error.h"

/* Whether path is a folder with results.jsonl, or a file whose first byte begins a record. */
bool records_are_at(const char *path);

/* Calls each() for every whole line; a torn last line of a killed run is left out. ERROR_INPUT with
 * file and line for what is no record. each() returns -1 with err filled to end it. */
int records_read(const char *path,
		 int (*each)(void *context, const struct cell_result *result, struct error *err),
		 void *context, struct error *err);

/* What the pick came to: what the dispatcher says, or, of one that says nothing, what it did. "" :
 * neither. room: of out. */
const char *record_path(char *out, size_t room, const struct pick *pick);
/* Whether it did what it says: false where both are known and differ. */
bool record_is_true(const struct pick *pick);

#endif
