#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The main job: every CPU of the tables in bare guests, each with a record, each verdict explained.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

exits 0 "the catalogue against the dispatcher" run --results r
check "it ends with the summary" has_summary out
check "every planned cell has one record" complete r
check "the plan has every CPU of both tables" \
	[ "$(wc -l <r/plan.jsonl)" -ge "$(($(cat "$top"/cpu-models/catalogue.tsv "$top"/cpu-models/unknown.tsv | wc -l) - 2))" ]
check "the records are well formed" well_formed r/results.jsonl
check "none failed, hung, crashed, is skipped or in error" \
	lines 0 <(jq -c 'select(.verdict | IN("pass", "mismatch") | not)' r/results.jsonl)
check "each mismatch says which bit" \
	lines 0 <(jq -c 'select(.verdict == "mismatch" and (.reason | length) == 0)' r/results.jsonl)
# QEMU has FSRS from 8.0 on; a CPU with it is a mismatch by that name before.
check "a mismatch is about fsrs and nothing else" \
	lines 0 <(jq -c '.picks[] | select(.verdict == "mismatch" and .depends != ["fsrs"])' r/results.jsonl)
check "each pass was said, done and expected" \
	lines 0 <(jq -c 'select(.verdict == "pass") | .picks[] |
		select((.says != .expected) or (.expected as $path | (.does // "") | startswith($path // "-") | not))
		| {op, class, expected, says, does}' r/results.jsonl)
check "the summary counts the records" \
	has "^(# )?$(wc -l <r/results.jsonl) cells: $(count '.verdict == "pass"' r/results.jsonl) pass" out
check "each cell has its logs" \
	[ "$(find r/cells -name report.log | wc -l)" -gt 0 ]
check "results/latest is not made for a folder of one's own" test ! -e results

# Another run, of one CPU, in the default folder.
exits 0 "one CPU by name" run skylake-x
check "results/latest leads to it" [ "$(wc -l <results/latest/results.jsonl)" -ge 1 ]
check "the quirk row is named" \
	[ "$(jq -r '[.picks[].row // empty] | unique | .[]' results/latest/results.jsonl | head -n 1)" = skylake-x ]
check "its large memset is no non-temporal store" \
	lines 0 <(jq -c '.picks[] | select(.op == "memset" and .says == "movnti")' results/latest/results.jsonl)
finish
