#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A guest for each CPU gives the verdicts that a rack gives.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cpus='skylake-x broadwell-x icelake-x intel/6:143 amd/23:1 amd/23:49 amd/25:1 amd/26:2 hygon/24:1 intel/6:15'
# shellcheck disable=SC2086 # a list of words
exits 0 "one guest for each CPU" run --pack 1 --results one $cpus
# shellcheck disable=SC2086
exits 0 "one rack of all" run --results rack $cpus
facts='[.cell, .verdict, ([.picks[] | [.op, .class, .expected, .says, .does, .row, .verdict]] | tostring)] | @tsv'
check "the same verdicts, picks and witnesses" \
	diff <(jq -r "$facts" one/results.jsonl | sort) <(jq -r "$facts" rack/results.jsonl | sort)
check "each record says how it ran" [ "$(count '.pack == 1' one/results.jsonl)" = "$(wc -l <one/results.jsonl)" ]
check "the rack's share their guest's seconds" lines 0 <(jq -c 'select(.seconds.total <= 0)' rack/results.jsonl)
finish
