#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# quirklab bench, all of it, twice and then beside hogs: verdicts may be missing, since the machine
# is never quite idle, but no two of them may contradict each other.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../lib.sh"

verdicts()
{
	jq -c '.measurements[] | select(.verdict | IN("good", "bad", "no difference")) |
		[.op, .path, .bytes, .threads, .verdict]' "$1" | sort
}

# contradictions A B: what both decided, differently
contradictions()
{
	jq -nc --slurpfile a <(verdicts "$1") --slurpfile b <(verdicts "$2") \
		'($a | map({ (.[:4] | tostring): .[4] }) | add // {}) as $first |
		$b[] | select($first[.[:4] | tostring] | . != null) | select($first[.[:4] | tostring] != .[4])'
}

# alike A B: "N of M", the verdicts of A that are the same in B
alike()
{
	echo "$(comm -12 <(verdicts "$1") <(verdicts "$2") | wc -l) of $(verdicts "$1" | wc -l)"
}

for run in first second; do
	exits 0 "the $run run" bench --json
	mv out "$run.json"
	check "ends when its minute is over" jq -e '.seconds < 70' "$run.json"
	echo "# $run: $(jq '.measurements | length' "$run.json") measurements, complete: $(jq .complete "$run.json")"
done
check "no verdict of one contradicts the other" lines 0 <(contradictions first.json second.json)
echo "# the same in both: $(alike first.json second.json)"

hogs=()
for ((cpu = 0; cpu < $(nproc); cpu++)); do
	(while :; do :; done) &
	hogs+=($!)
done
exits 0 "a run beside a hog on each CPU" bench --json
kill "${hogs[@]}"
mv out hogs.json
check "no verdict contradicts the first run" lines 0 <(contradictions first.json hogs.json)
check "nor the second" lines 0 <(contradictions second.json hogs.json)
check "what was disturbed says so" jq -e '[.measurements[] | select(.verdict == "noisy, no conclusion" or .disturbed > 0)] | length > 0' hogs.json
echo "# decided beside hogs: $(verdicts hogs.json | wc -l), the same as in the first run: $(alike hogs.json first.json)"
finish
