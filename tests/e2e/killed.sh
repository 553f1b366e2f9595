#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# kill -9 in the middle: the QEMUs end within 2 s, no finished cell is lost, --resume does the rest once.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Starts a long run (one guest for each CPU) and waits until some cells have finished.
begin()
{
	"$program" run --pack 1 --results "$1" >out 2>err </dev/null &
	pid=$!
	within 60 some_finished "$1"
}

some_finished()
{
	[ "$(wc -l <"$1/results.jsonl" 2>/dev/null || echo 0)" -ge 8 ]
}

check "a run is under way" begin r
kill -9 "$pid"
wait "$pid" 2>/dev/null || :
check "2 s after kill -9 no QEMU is left" within 2 no_qemu
cp r/results.jsonl before
finished=$(grep -c '}$' before)
# The worst moment: half a record at the end.
printf '{"schema":1,"run":"torn' >>r/results.jsonl
exits 0 "--resume finishes it" run --resume --results r
check "every planned cell has one record" complete r
check "the $finished finished cells were not run again" \
	diff <(head -n "$finished" before) <(head -n "$finished" r/results.jsonl)
check "the summary counts all of them" has "^(# )?$(wc -l <r/plan.jsonl) cells: " out
exits 0 "--resume of a finished run has nothing to do" run --resume --results r
check "and adds nothing" complete r

check "another run" begin s
status=0
quirklab run --resume --results s skylake-x >out2 2>err2 || status=$?
check "its folder is locked to others" [ $status = 2 -o $status = 3 ]
check "in one line" lines 1 err2
kill -9 "$pid"
wait "$pid" 2>/dev/null || :
check "no QEMU is left" within 2 no_qemu
exits 0 "the next run sweeps" run --results t skylake-x
check "nothing of the killed run is left" no_state
finish
