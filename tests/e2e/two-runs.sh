#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two runs at once do not meet: not in state, not in results, not in each other's guests.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

"$program" run intel/6:85 amd/25:1 amd/23:49 >out1 2>err1 </dev/null &
one=$!
"$program" run --pack 1 intel/6:106 amd/23:1 intel/6:79 >out2 2>err2 </dev/null &
two=$!
s1=0 s2=0
wait $one || s1=$?
wait $two || s2=$?
ended $s1 "the first" out1 err1
ended $s2 "the second" out2 err2
check "two result folders" lines 2 <(find results -mindepth 1 -maxdepth 1 -type d)
for folder in results/[0-9]*; do
	check "$folder is complete" complete "$folder"
done

# One killed beside a living one: the living one's guests go on.
"$program" run --pack 1 >out1 2>err1 </dev/null &
one=$!
"$program" run --pack 1 intel/6:85 intel/6:79 intel/6:106 amd/23:49 amd/25:1 --results living \
	>out2 2>err2 </dev/null &
two=$!
sleep 1
kill -9 $one
s2=0
wait $two || s2=$?
wait $one 2>/dev/null || :
ended $s2 "a neighbour that is killed does no harm" out2 err2
check "the living one is complete" complete living
check "no error was retried in it" lines 0 <(jq -c 'select(.tries > 1)' living/results.jsonl)
check "the killed one's QEMUs are gone" within 2 no_qemu
exits 0 "the next run sweeps" run --results t skylake-x
finish
