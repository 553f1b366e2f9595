#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every CPU model of the hypervisor, under a real kernel.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

# Some may be skipped (no expected pick): the verdicts are looked at below, not the exit status.
quirklab run --image linux --results r models >out 2>err </dev/null || :
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "none failed, hung, crashed or is in error" \
	lines 0 <(jq -c 'select(.verdict | IN("fail", "hung", "crashed", "error")) | {cell, verdict, reason}' r/results.jsonl)
exits 0 "the same in bare guests" run --results b models
check "every planned cell has one record" complete b
finish
