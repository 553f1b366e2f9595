#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One kernel over the whole catalogue, by short boots; every 32nd cell by a full boot as well.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

kernel=/boot/vmlinuz-6.1.0-57-cloud-amd64
requires test -r $kernel || skip_all "written for this kernel of 6.1"

begin=$(date +%s)
quirklab run --subject linux --kernel $kernel --results r >out 2>err </dev/null && status=0 || status=$?
echo "# $(wc -l <r/results.jsonl) cells in $(($(date +%s) - begin)) s"
check "every planned cell has one record" complete r
check "the records are well formed" well_formed r/results.jsonl
check "no boot had to be repeated" lines 0 <(jq -c 'select(.tries != 1)' r/results.jsonl)
check "each passes, fails or is a mismatch" \
	lines 0 <(jq -c 'select(.verdict | IN("pass", "fail", "mismatch") | not)' r/results.jsonl)

# 6.1 has REP_GOOD for Intel's family 6 alone.
new='.cpu.vendor == "GenuineIntel" and .cpu.family > 15'
check "Intel's families above 15 fail" lines 0 <(jq -c "select(($new) and .verdict != \"fail\")" r/results.jsonl)
check "and nothing else does" lines 0 <(jq -c "select(.verdict == \"fail\" and ($new | not))" r/results.jsonl)
check "with the reference" \
	lines 0 <(jq -c 'select(.verdict == "fail" and (.reason | contains("15b7ddcf66fb") | not))' r/results.jsonl)
check "so the run fails" test "$status" = 1

# The run itself compares the first of each 32 with a full boot; a difference would be an error.
check "every 32nd was booted in full as well" \
	lines $((($(wc -l <r/results.jsonl) + 31) / 32)) <(jq -c 'select(.kernel.boot == "both")' r/results.jsonl)
finish
