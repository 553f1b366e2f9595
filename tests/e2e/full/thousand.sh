#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thousand cells, a guest each: nothing is lost, nothing leaks, nothing slows down.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

# 1,000 different identities: four vendors' families, steppings 0 to 9.
cpus=$(for model in $(seq 1 100); do
	for stepping in $(seq 0 9); do
		echo "intel/6:$((model + 1)),stepping=$stepping"
	done
done)
# A signature may be two rows of the catalogue (bits that nobody knows): at least a thousand cells.
# shellcheck disable=SC2086 # a list of words
exits 0 "a thousand cells" run --pack 1 --results r $cpus
check "a thousand at least" [ "$(wc -l <r/plan.jsonl)" -ge 1000 ]
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "none hung, crashed or is in error" \
	lines 0 <(jq -c 'select(.verdict | IN("hung", "crashed", "error"))' r/results.jsonl)
finish
