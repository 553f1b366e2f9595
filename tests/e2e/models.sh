#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libvirt's CPU models by name: each is the CPU that models.tsv says, or a skip with its reason.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

exits 0 "all models of the connection" run --results r models
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "none boots with another" lines 0 <(jq -c 'select(.pack != 1)' r/results.jsonl)
check "a name of models.tsv is no skip" \
	lines 0 <(jq -r 'select(.verdict == "skip") | .cpu.name' r/results.jsonl | sed 's/^model://' |
		grep -xFf <(cut -f 1 "$top/cpu-models/models.tsv" | sed 1d))
check "any other is, for want of an expected pick" \
	lines 0 <(jq -c 'select(.verdict == "skip" and (.reason | startswith("no expected pick") | not))' r/results.jsonl)
# The machine decides which version of a model a name means: models.tsv is about pc's.
check "none is another version than models.tsv's" \
	lines 0 <(jq -c 'select(.cpuid.identity != []) | [.cell, .cpuid.identity]' r/results.jsonl)
finish
